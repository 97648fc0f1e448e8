#include "stored_rules.hpp"

#include "matching.hpp"
#include "proof.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/rng.hpp"

#include <fmt/format.h>

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
    auto const left = unpack_graph(reader), right = unpack_graph(reader);
    return {left, right, reader.get_text()};
}

std::string rule_text(StoredRule const& rule) { return to_text(rule.left) + "\n" + to_text(rule.right) + "\n"; }

base::Json rule_json(search::ResultRecord const& record) {
    auto const rule = rule_of(record);
    base::Json out{{"key", fmt::format("{:016x}", record.key)}, {"verified", search::name(record.verification)}};
    if (!rule.condition.empty()) out["condition"] = rule.condition;
    out["left"] = graph_json(rule.left);
    out["right"] = graph_json(rule.right);
    return out;
}

bool is_proved_again(StoredRule const& rule) {
    TensorTable table(Sizes{}, 1);
    auto const proof = prove(rule.left, rule.right, table);
    return proof.holds && proof.condition == rule.condition;
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
