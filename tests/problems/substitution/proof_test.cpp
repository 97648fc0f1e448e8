#include "proof.hpp"
#include "real_graphs.hpp"
#include "stored_rules.hpp"

#include "espalier/base/rng.hpp"
#include "espalier/problems/substitution/substitution.hpp"

#include <gtest/gtest.h>

#include <map>

using namespace espalier;
using namespace espalier::problems::substitution;
using enum Operator;

namespace {

constexpr Ref X1 = 0, X2 = 1, X3 = 2, W1 = 3, W2 = 4, I1 = 6, I2 = 7, K1 = 9, K2 = 10, L1 = 12, D = 18, s = 19;
constexpr Ref t(int op, int output = 0) { return result_of(op - 1, output); }

OperatorGraph graph(std::initializer_list<GraphOp> ops) {
    OperatorGraph out;
    for (auto const& op : ops) out.push(sorted(op));
    return out;
}

Proof proof(std::initializer_list<GraphOp> left, std::initializer_list<GraphOp> right) {
    TensorTable table(Sizes{}, 1);
    return prove(graph(left), graph(right), table);
}

/// All graphs of up to two operators, and some of three.
std::vector<OperatorGraph> some_graphs(base::Rng& rng) {
    Substitution const problem({.order = OperandOrder::all, .max_ops = 3}, 1);
    search::Notes notes{problem.info()};
    auto workspace = problem.make_workspace(notes);
    std::vector<Substitution::Node> level = problem.roots();
    std::vector<OperatorGraph> out;
    for (int ops = 1; ops <= 3; ++ops) {
        std::vector<Substitution::Node> next;
        for (auto const& node : level) {
            if (ops == 3 && rng.below(20) > 0) continue;
            std::vector<Substitution::Node> stack;
            search::Children<Substitution::Node> children(stack);
            problem.expand(node, workspace, children);
            next.insert(next.end(), stack.begin(), stack.end());
        }
        for (auto const& node : next) out.push_back(node.graph);
        level = std::move(next);
    }
    return out;
}

/// Another operator, or another operand: nearly always something else.
OperatorGraph mutated(OperatorGraph graph, base::Rng& rng) {
    auto const at = rng.below(graph.count);
    auto& op = graph.ops[at];
    auto const ref = [&] {
        auto const choice = rng.below(20 + at);
        return choice < 20 ? static_cast<Ref>(choice) : result_of(static_cast<int>(choice) - 20, 0);
    };
    auto const what = rng.below(3);
    if (what == 0) {
        auto const code = static_cast<Operator>(rng.below(operator_count));
        if (info(code).operands == info(op.code).operands) op.code = code;
    } else if (what == 1 && op.a != no_ref) {
        op.a = ref();
    } else if (op.b != no_ref) {
        op.b = ref();
    }
    op = sorted(op);
    return graph;
}

/// In real numbers, for three choices of sizes.
bool agree(OperatorGraph const& a, OperatorGraph const& b) {
    return real::agree(a, b, Sizes{}, 11) && real::agree(a, b, other_sizes(3, 6, 4, 7), 12) &&
           real::agree(a, b, other_sizes(5, 2, 3, 1), 13);
}

} // namespace

TEST(Proof, products_of_matrices_are_associative_for_all_sizes_that_fit) {
    auto const found = proof({{matmul, X1, W1}, {matmul, t(1), W2}}, {{matmul, W1, W2}, {matmul, X1, t(1)}});

    EXPECT_TRUE(found.holds);
    EXPECT_EQ(found.condition, "X1 [n0, n2], W1 [n2, n4], W2 [n4, n5]");
}

TEST(Proof, products_that_share_an_operand_are_one_product) {
    EXPECT_TRUE(
        proof({{concat2_1, W1, W2}, {matmul, X1, t(1)}, {split_1, t(2)}}, {{matmul, X1, W1}, {matmul, X1, W2}}).holds);
    EXPECT_TRUE(proof({{concat2_1, X1, X2}, {concat2_0, W1, W2}, {matmul, t(1), t(2)}},
                      {{matmul, X1, W1}, {matmul, X2, W2}, {add, t(1), t(2)}})
                    .holds);
}

TEST(Proof, convolutions_that_share_an_image_are_one_convolution) {
    EXPECT_TRUE(proof({{concat4_0, K1, K2}, {conv3x3, I1, t(1)}},
                      {{conv3x3, I1, K1}, {conv3x3, I1, K2}, {concat4_1, t(1), t(2)}})
                    .holds);
    EXPECT_TRUE(proof({{conv1x3, I1, L1}}, {{enlarge, L1}, {conv3x3, I1, t(1)}}).holds);
    EXPECT_TRUE(proof({{conv3x3_relu, I1, K1}}, {{conv3x3, I1, K1}, {relu, t(1)}}).holds);
}

TEST(Proof, a_plain_pool_is_a_convolution_with_ones) {
    EXPECT_TRUE(proof({{average_pool, I1}}, {{pool_kernel}, {conv3x3, I1, t(1)}}).holds);
    EXPECT_TRUE(proof({{relu, I1}}, {{identity_kernel}, {conv3x3_relu, I1, t(1)}}).holds);
    EXPECT_TRUE(proof({{conv3x3, I1, D}, {scale, t(1), s}}, {{scale, D, s}, {conv3x3, I1, t(1)}}).holds);
}

TEST(Proof, a_concatenation_is_split_where_it_was_joined) {
    EXPECT_TRUE(proof({{concat2_0, X1, X2}, {relu, t(1)}, {split_0, t(2)}}, {{relu, X1}, {relu, X2}}).holds);
    EXPECT_TRUE(proof({{transpose_copy, W1}, {transpose_copy, X1}, {matmul, t(1), t(2)}},
                      {{matmul, X1, W1}, {transpose_copy, t(1)}})
                    .holds);
}

TEST(Proof, a_maximum_is_taken_of_each_part) {
    EXPECT_TRUE(
        proof({{concat4_1, I1, I2}, {max_pool, t(1)}}, {{max_pool, I1}, {max_pool, I2}, {concat4_1, t(1), t(2)}})
            .holds);
    EXPECT_FALSE(proof({{add, I1, I2}, {max_pool, t(1)}}, {{max_pool, I1}, {max_pool, I2}, {add, t(1), t(2)}}).holds);
}

// Known to be wrong in public sets of rules.
TEST(Proof, wrong_rules_are_not_proved) {
    EXPECT_FALSE(proof({{conv3x3, I1, K1}, {conv3x3, I2, K2}, {concat4_1, t(1), t(2)}},
                       {{concat4_1, I1, I2}, {concat4_0, K1, K2}, {conv3x3, t(1), t(2)}})
                     .holds)
        << "it is a convolution with groups, if they are equal";
    EXPECT_FALSE(
        proof({{ones}, {add, I1, t(1)}, {conv3x3, t(2), K1}}, {{conv3x3, I1, K1}, {ones}, {add, t(1), t(2)}}).holds);
    EXPECT_FALSE(proof({{average_pool, I1}, {average_pool, t(1)}}, {{average_pool, I1}}).holds);
    EXPECT_FALSE(proof({{relu, X1}, {matmul, t(1), W1}}, {{matmul, X1, W1}, {relu, t(1)}}).holds);
    EXPECT_FALSE(proof({{matmul, W1, W2}}, {{matmul, W2, W1}}).holds);
    EXPECT_FALSE(proof({{add, X1, X2}}, {{mul, X1, X2}}).holds);
    EXPECT_FALSE(proof({{add, X1, X2}}, {{add, X1, X3}}).holds);
}

/// An image is 0 outside of itself, but what was made of it is cut off there.
TEST(Proof, results_of_a_convolution_outside_the_image_are_gone) {
    EXPECT_FALSE(proof({{conv3x3, I1, D}, {average_pool, t(1)}}, {{average_pool, I1}, {conv3x3, t(1), D}}).holds);
    EXPECT_TRUE(agree(graph({{average_pool, I1}}), graph({{pool_kernel}, {conv3x3, I1, t(1)}})));
    EXPECT_FALSE(
        agree(graph({{conv3x3, I1, D}, {average_pool, t(1)}}), graph({{average_pool, I1}, {conv3x3, t(1), D}})));
}

/// The concatenation makes the depth of K1 equal to that of D, which is 1: its convolution would be mistaken for
/// another one.
TEST(Proof, a_convolution_does_not_get_a_group_for_each_channel_by_accident) {
    std::initializer_list<GraphOp> const ops{
        {conv3x3, I1, K1}, {concat4_1, K1, D}, {concat4_1, D, K2}, {add, t(2), t(3)}};

    EXPECT_FALSE(proof(ops, ops).holds);
}

TEST(Proof, no_wrong_rule_is_proved_among_rules_that_were_changed_at_random) {
    base::Rng rng{base::Seed{3}};
    TensorTable table(Sizes{}, 1);
    auto const graphs = some_graphs(rng);
    std::map<std::uint64_t, std::vector<OperatorGraph>> groups;
    for (auto const& one : graphs) {
        auto const [key, named] = keyed(one, table);
        groups[key].push_back(named);
    }
    std::erase_if(groups, [](auto const& group) { return group.second.size() < 2; });
    int right = 0, changed = 0, still_right = 0;
    for (int round = 0; changed < 10'000 && round < 200; ++round)
        for (auto const& [key, members] : groups) {
            auto const& left = members[rng.below(members.size())];
            auto const& good = members[rng.below(members.size())];
            if (round == 0 && prove(left, good, table).holds) ++right;
            auto const other = mutated(good, rng);
            if (!evaluate(other, table)) continue;
            ++changed;
            if (!prove(left, other, table).holds) continue;
            ++still_right;
            ASSERT_TRUE(agree(left, other)) << to_text(left) << "\n" << to_text(other);
        }

    EXPECT_GE(changed, 10'000);
    EXPECT_GT(still_right, 0) << "some changes do nothing";
    EXPECT_GT(right * 10, static_cast<int>(groups.size()) * 9);
}

TEST(StoredRules, a_condition_that_was_changed_is_noticed) {
    auto const left = graph({{matmul, X1, W1}, {matmul, t(1), W2}}),
               right = graph({{matmul, W1, W2}, {matmul, X1, t(1)}});
    TensorTable table(Sizes{}, 1);
    StoredRule rule{left, right, prove(left, right, table).condition};

    EXPECT_TRUE(is_proved_again(rule));
    rule.condition += " ";
    EXPECT_FALSE(is_proved_again(rule));
}
