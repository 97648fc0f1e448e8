#include "affine_doubles.hpp"
#include "affine_proof.hpp"

#include <gtest/gtest.h>

#include <sstream>

using namespace espalier;
using namespace espalier::problems::substitution;
using library::InputClass;

namespace {

InputClass class_of(char name) {
    if (name == 'W') return InputClass::weights;
    if (name == 'x' || name == 'y') return InputClass::data;
    return std::string_view("vwbp").find(name) != std::string_view::npos ? InputClass::channel : InputClass::scalar;
}

/// Of `t1 = mul x c; t2 = relu t1`; the last one is the output.
library::Graph graph(std::string const& text, std::map<char, InputClass>& inputs) {
    library::Graph out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines >> std::ws, line, ';');) {
        std::istringstream words(line);
        library::Operator op;
        std::string made, equals, operand;
        words >> made >> equals >> op.op;
        while (words >> operand) {
            op.inputs.push_back(operand);
            if (operand.size() == 1 && !library::number_of(operand)) inputs[operand[0]] = class_of(operand[0]);
        }
        op.outputs = {made};
        out.operators.push_back(op);
    }
    out.outputs = out.operators.back().outputs;
    return out;
}

library::Rule rule(std::string const& left, std::string const& right, std::string const& positive = "") {
    std::map<char, InputClass> inputs;
    library::Rule out;
    out.left = graph(left, inputs);
    out.right = graph(right, inputs);
    for (auto const& [name, kind] : inputs) out.inputs.push_back({.name = std::string(1, name), .kind = kind});
    for (auto const name : positive) out.parameters.push_back({std::string(1, name), library::Sign::positive});
    return out;
}

/// What models have, and what back ends have a form for.
std::vector<library::Rule> known_rules() {
    return {
        rule("t1 = mul x c; t2 = mul t1 d", "k1 = mul c d; t1 = mul x k1"),
        rule("t1 = conv x W; t2 = mul t1 b", "k1 = scale_outputs W b; t1 = conv x k1"),
        rule("t1 = conv x W b; t2 = add t1 p", "k1 = add b p; t1 = conv x W k1"),
        rule("t1 = mul x v; t2 = conv t1 W", "k1 = scale_inputs W v; t1 = conv x k1"),
        rule("t1 = div x c; t2 = conv t1 W", "k1 = div 1 c; k2 = mul W k1; t1 = conv x k2"),
        rule("t1 = conv x W b; t2 = mul t1 p; t3 = add t2 w",
             "k1 = scale_outputs W p; k2 = mul b p; k3 = add k2 w; t1 = conv x k1 k3"),
        rule("t1 = clip x c d; t2 = mul t1 e", "k1 = mul c e; k2 = mul d e; t1 = mul x e; t2 = clip t1 k1 k2", "e"),
        rule("t1 = add x c; t2 = clip t1 0 d; t3 = div t2 d", "k1 = div 1 d; k2 = div c d; t1 = hard_sigmoid x k1 k2",
             "d"),
        rule("t1 = add x 3; t2 = clip t1 0 6; t3 = mul t2 x; t4 = div t3 6", "t1 = hard_swish x"),
        rule("t1 = hard_sigmoid x 1/6 1/2; t2 = mul x t1", "t1 = hard_swish x"),
        rule("t1 = conv x W", "k1 = merge_groups W; t1 = conv x k1"),
        rule("t1 = mul x c; t2 = relu t1", "t1 = relu x; t2 = mul t1 c", "c"),
        rule("t1 = relu x; t2 = mul t1 v; t3 = conv t2 W", "k1 = scale_inputs W v; t1 = relu x; t2 = conv t1 k1"),
        rule("t1 = clip x 0 c; t2 = relu t1", "t1 = clip x 0 c"),
        rule("t1 = add x y; t2 = mul t1 c", "t1 = mul x c; t2 = mul y c; t3 = add t1 t2"),
    };
}

library::Rule mutated(library::Rule rule, base::Rng& rng) {
    static std::vector<std::string> const numbers{"0", "1", "3", "6", "1/6", "1/2"};
    auto& side = rng.below(2) == 0 ? rule.left : rule.right;
    auto& op = side.operators[rng.below(side.operators.size())];
    if (rng.below(6) == 0 && !rule.parameters.empty()) {
        rule.parameters.pop_back();
    } else if (rng.below(3) == 0 && op.inputs.size() == 2 && op.op != "conv") {
        op.op = std::vector<std::string>{"add", "mul", "div"}[rng.below(3)];
    } else {
        auto& operand = op.inputs[rng.below(op.inputs.size())];
        auto const choice = rng.below(numbers.size() + rule.inputs.size());
        operand = choice < numbers.size() ? numbers[choice] : rule.inputs[choice - numbers.size()].name;
    }
    return rule;
}

/// Operands of the classes that operators take.
bool is_well_formed(library::Rule const& rule) {
    for (auto const* side : {&rule.left, &rule.right}) {
        std::map<std::string, InputClass> kinds;
        for (auto const& input : rule.inputs) kinds[input.name] = input.kind;
        auto const kind_of = [&](std::string const& name) {
            return library::number_of(name) ? InputClass::scalar : kinds.at(name);
        };
        for (auto const& op : side->operators) {
            std::vector<InputClass> in;
            for (auto const& name : op.inputs) in.push_back(kind_of(name));
            auto const is_weights = [](InputClass kind) { return kind == InputClass::weights; };
            auto const reads_weights =
                op.op == "conv" || op.op == "merge_groups" || op.op.starts_with("scale") || is_weights(in[0]);
            auto const at = op.op == "conv" ? 1u : 0u;
            for (std::size_t i = 0; i < in.size(); ++i)
                if (is_weights(in[i]) != (reads_weights && i == at)) return false;
            if (op.op == "conv" && in[0] != InputClass::data) return false;
            if (op.op == "conv" && in.size() > 2 && in[2] != InputClass::channel) return false;
            if (op.op.starts_with("scale") && in[1] != InputClass::channel) return false;
            if (is_weights(in[0]) && op.op == "mul" && in[1] != InputClass::scalar) return false;
            if (is_weights(in[0]) && (op.op == "add" || op.op == "div")) return false;
            if ((op.op == "clip" || op.op == "hard_sigmoid") &&
                (in[1] != InputClass::scalar || in[2] != InputClass::scalar))
                return false;
            auto const is_data = std::ranges::find(in, InputClass::data) != in.end();
            auto const is_channel = std::ranges::find(in, InputClass::channel) != in.end();
            kinds[op.outputs.front()] = is_data             ? InputClass::data
                                        : is_weights(in[0]) ? InputClass::weights
                                        : is_channel        ? InputClass::channel
                                                            : InputClass::scalar;
        }
        if (kinds.at(side->outputs.front()) != InputClass::data) return false;
    }
    return true;
}

} // namespace

TEST(AffineProof, known_rules_are_proved_for_all_values) {
    for (auto const& one : known_rules()) {
        EXPECT_TRUE(affine::prove(one)) << to_text(one.left) << "\n" << to_text(one.right);
        EXPECT_TRUE(tests::agrees_in_doubles(one, 7, 50)) << to_text(one.left);
    }
}

TEST(AffineProof, wrong_rules_are_not_proved) {
    for (auto const& one : {
             rule("t1 = add x c; t2 = conv t1 W",
                  "t1 = conv x W; t2 = add t1 c"), // nothing is added outside the border
             rule("t1 = add x v; t2 = conv t1 W", "t1 = conv x W v"),
             rule("t1 = clip x c d; t2 = mul t1 e", "k1 = mul c e; k2 = mul d e; t1 = mul x e; t2 = clip t1 k1 k2"),
             rule("t1 = add x c; t2 = clip t1 0 d; t3 = div t2 d",
                  "k1 = div 1 d; k2 = div c d; t1 = hard_sigmoid x k1 k2"),
             rule("t1 = mul x c; t2 = relu t1", "t1 = relu x; t2 = mul t1 c"),
             rule("t1 = add x 3; t2 = clip t1 0 6; t3 = mul t2 x", "t1 = hard_swish x"),
             rule("t1 = mul x v; t2 = conv t1 W", "k1 = scale_outputs W v; t1 = conv x k1"),
             rule("t1 = conv x W b; t2 = mul t1 p", "k1 = scale_outputs W p; t1 = conv x k1 b"),
             rule("t1 = clip x 0 c; t2 = clip t1 0 d", "t1 = clip x 0 d"),
             rule("t1 = relu x; t2 = conv t1 W", "t1 = conv x W; t2 = relu t1"),
         }) {
        EXPECT_FALSE(affine::prove(one)) << to_text(one.left) << "\n" << to_text(one.right);
        EXPECT_FALSE(tests::agrees_in_doubles(one, 7, 200)) << to_text(one.left);
    }
}

TEST(AffineProof, no_wrong_rule_is_proved_among_rules_that_were_changed_at_random) {
    base::Rng rng{base::Seed{5}};
    auto const known = known_rules();
    int proved = 0, tried = 0;
    while (tried < 10'000) {
        auto const one = mutated(mutated(known[rng.below(known.size())], rng), rng);
        if (!is_well_formed(one)) continue;
        ++tried;
        if (!affine::prove(one)) continue;
        ++proved;
        EXPECT_TRUE(tests::agrees_in_doubles(one, rng(), 30)) << to_text(one.left) << "\n" << to_text(one.right);
    }
    EXPECT_GT(proved, 100); // else nothing was tested
}
