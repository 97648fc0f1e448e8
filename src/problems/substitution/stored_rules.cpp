#include "stored_rules.hpp"

#include "matching.hpp"
#include "proof.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/error.hpp"
#include "espalier/base/rng.hpp"
#include "espalier/problems/substitution/tensor_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace espalier::problems::substitution {
namespace {

library::Graph plain_graph(OperatorGraph const& graph) {
    library::Graph out;
    for (int op = 0; op < graph.count; ++op) {
        auto const& [code, a, b] = graph.ops[static_cast<std::size_t>(op)];
        library::Operator one{.op = std::string(info(code).name), .inputs = {}, .outputs = {}};
        for (auto const ref : {a, b})
            if (ref != no_ref) one.inputs.push_back(name_of(ref));
        for (int i = 0; i < info(code).outputs; ++i) one.outputs.push_back(name_of(result_of(op, i)));
        out.operators.push_back(std::move(one));
    }
    for (auto const ref : graph.outputs()) out.outputs.push_back(name_of(ref));
    return out;
}

/// `n0, 3` of `X1 [n0, 3], W1 [3, n1]`, asked for X1.
std::vector<std::string> dims_of(std::string const& name, std::string const& condition) {
    auto const at = condition.find(name + " [");
    if (at == std::string::npos) return {};
    auto const from = at + name.size() + 2;
    std::vector<std::string> out;
    std::istringstream sizes(condition.substr(from, condition.find(']', from) - from));
    for (std::string size; std::getline(sizes >> std::ws, size, ',');) out.push_back(size);
    return out;
}

library::InputClass class_of(InputClass const& row) {
    if (row.rank == 0) return library::InputClass::scalar;
    return row.is_kernel && row.rank == 4 ? library::InputClass::weights : library::InputClass::data;
}

std::vector<library::Input> plain_inputs(StoredRule const& rule) {
    std::vector<library::Input> out;
    for (int slot = 0; slot < input_slots().count(); ++slot) {
        auto const ref = static_cast<Ref>(slot);
        if (!rule.left.is_read(ref) && !rule.right.is_read(ref)) continue;
        auto const& row = input_classes()[static_cast<std::size_t>(input_slots().class_of(slot))];
        out.push_back({name_of(ref), class_of(row), row.rank, dims_of(name_of(ref), rule.condition)});
    }
    return out;
}

/// The right side's outputs in the order in which the left side has what they compute: both sides are found by the set
/// of their outputs.
void put_in_line(library::Graph& right, StoredRule const& rule) {
    TensorTable table(Sizes{}, 1);
    auto const wanted = prints_of_outputs(rule.left, table), there = prints_of_outputs(rule.right, table);
    ESP_EXPECT(wanted && there && wanted->size() == there->size());
    std::vector<std::string> outputs;
    for (auto const print : *wanted) {
        auto const found = std::ranges::find(*there, print);
        ESP_EXPECT(found != there->end());
        outputs.push_back(right.outputs[static_cast<std::size_t>(found - there->begin())]);
    }
    right.outputs = std::move(outputs);
}

} // namespace

StoredRule rule_of(search::ResultRecord const& record) {
    base::ByteReader reader(record.payload);
    auto const left = unpack_graph(reader), right = unpack_graph(reader);
    return {left, right, reader.get_text()};
}

std::string rule_text(StoredRule const& rule) { return to_text(rule.left) + "\n" + to_text(rule.right) + "\n"; }

library::Rule plain_rule(search::ResultRecord const& record) {
    auto const rule = rule_of(record);
    auto right = plain_graph(rule.right);
    put_in_line(right, rule);
    return {.key = fmt::format("{:016x}", record.key),
            .verified = record.verification,
            .condition = rule.condition,
            .inputs = plain_inputs(rule),
            .parameters = {},
            .left = plain_graph(rule.left),
            .right = std::move(right)};
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
