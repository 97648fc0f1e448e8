#include "stored_rules.hpp"

#include "matching.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/rng.hpp"

namespace espalier::problems::substitution {
namespace {

base::Json graph_json(OperatorGraph const& graph) {
    auto ops = base::Json::array(), outputs = base::Json::array();
    for (int op = 0; op < graph.count; ++op) {
        auto const& [code, a, b] = graph.ops[static_cast<std::size_t>(op)];
        auto inputs = base::Json::array(), made = base::Json::array();
        for (auto const ref : {a, b})
            if (ref != no_ref) inputs.push_back(name_of(ref));
        for (int i = 0; i < info(code).outputs; ++i) made.push_back(name_of(result_of(op, i)));
        ops.push_back({{"op", info(code).name}, {"inputs", inputs}, {"outputs", made}});
    }
    for (auto const ref : graph.outputs()) outputs.push_back(name_of(ref));
    return {{"operators", ops}, {"outputs", outputs}};
}

} // namespace

StoredRule rule_of(search::ResultRecord const& record) {
    base::ByteReader reader(record.payload);
    auto const left = unpack_graph(reader);
    return {left, unpack_graph(reader)};
}

std::string rule_text(StoredRule const& rule) { return to_text(rule.left) + "\n" + to_text(rule.right) + "\n"; }

base::Json rule_json(StoredRule const& rule) {
    return {{"left", graph_json(rule.left)}, {"right", graph_json(rule.right)}};
}

bool holds_again(StoredRule const& rule, std::uint64_t seed) {
    base::Rng rng{base::Seed{seed}};
    auto const size = [&](std::uint64_t least) { return static_cast<std::int32_t>(least + rng.below(4)); };
    for (int i = 0; i < 2; ++i) {
        auto const batch = size(2);
        TensorTable table(other_sizes(batch, batch + size(1), size(3), size(3)), rng());
        auto const left = signature(rule.left, table);
        if (!left || left != signature(rule.right, table)) return false;
    }
    return true;
}

} // namespace espalier::problems::substitution
