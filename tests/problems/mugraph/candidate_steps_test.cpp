#include "candidate_steps.hpp"

#include "parts.hpp"

#include <gtest/gtest.h>

#include <set>

/// Which ops on which operands: against all lists of operands, counted up. Rows that the table does not have show that
/// arities and numbers of outputs are not written down anywhere else.
namespace espalier::problems::mugraph {
namespace {

using program::OpCode;
using program::OpInfo;
using Steps = std::set<std::pair<int, std::vector<std::uint8_t>>>;

OpInfo row_of(int inputs, bool is_commutative) {
    OpInfo out;
    out.name = "made up";
    out.inputs = inputs;
    out.is_commutative = is_commutative;
    return out;
}

/// A graph of `count` tensors, [8, 8] each.
struct Graph {
    explicit Graph(int count) {
        for (int i = 0; i < count; ++i) {
            PartialTensor value;
            value.shape = {program::Word::symbol(0), program::Word::symbol(0)};
            tensors.add(values.add(value));
        }
    }
    [[nodiscard]] Steps steps(std::vector<SearchOp> const& ops, std::uint64_t last_key,
                              SelfProducts self_products = SelfProducts::kept) const {
        Steps out;
        for_each_step({ops, tensors, values, last_key}, self_products, [&](Step const& step) {
            EXPECT_TRUE(out.insert({step.op, {step.in.begin(), step.in.begin() + step.count}}).second) << "twice";
            EXPECT_GT(key_of(step), last_key);
        });
        return out;
    }
    Values values;
    Tensors tensors;
};

/// Every op on every list, by counting; of a commutative op those in order.
Steps brute_force(std::vector<SearchOp> const& ops, int count, std::uint64_t last_key) {
    Steps out;
    for (std::size_t o = 0; o < ops.size(); ++o) {
        auto const arity = ops[o].row().inputs;
        int lists = 1;
        for (int i = 0; i < arity; ++i) lists *= count;
        for (int n = 0; n < lists; ++n) {
            std::vector<std::uint8_t> list;
            for (int i = 0, rest = n; i < arity; ++i, rest /= count)
                list.push_back(static_cast<std::uint8_t>(rest % count));
            auto const is_twin = ops[o].row().is_commutative && !std::ranges::is_sorted(list);
            if (!is_twin && order_key(list, static_cast<std::uint8_t>(o)) > last_key)
                out.insert({static_cast<int>(o), list});
        }
    }
    return out;
}

TEST(CandidateSteps, are_all_lists_of_every_arity_each_once) {
    auto const one = row_of(1, false), two = row_of(2, false), three = row_of(3, false), four = row_of(4, false);
    auto const sum_of_3 = row_of(3, true), sum_of_4 = row_of(4, true);
    std::vector<SearchOp> ops;
    for (auto const* row : {&one, &two, &three, &four, &sum_of_3, &sum_of_4}) ops.push_back({*row, {}, {}});
    for (int count = 1; count <= 4; ++count)
        EXPECT_EQ(Graph(count).steps(ops, 0), brute_force(ops, count, 0)) << count << " tensors";
}

TEST(CandidateSteps, come_after_the_last_one) {
    auto const two = row_of(2, false), three = row_of(3, true);
    std::vector<SearchOp> const ops{{two, {}, {}}, {three, {}, {}}};
    Graph const graph(4);
    for (auto const& [op, list] : brute_force(ops, 4, 0)) {
        auto const last = order_key(list, static_cast<std::uint8_t>(op));
        EXPECT_EQ(graph.steps(ops, last), brute_force(ops, 4, last));
    }
}

TEST(CandidateSteps, a_square_is_not_also_a_product) {
    std::vector<SearchOp> const ops{{OpCode::mul, {}, {}}, {OpCode::add, {}, {}}};
    auto const with = Graph(3).steps(ops, 0), without = Graph(3).steps(ops, 0, SelfProducts::left_out);

    EXPECT_EQ(with.size(), 12u);
    EXPECT_EQ(without.size(), 9u);
    EXPECT_TRUE(without.contains({1, {2, 2}})) << "x + x is nothing else";
    EXPECT_FALSE(without.contains({0, {2, 2}}));
}

TEST(CandidateSteps, sums_of_products_have_factors_that_can_be_multiplied) {
    Graph graph(2);
    PartialTensor wide;
    wide.shape = {program::Word::symbol(1), program::Word::symbol(0)};
    graph.tensors.add(graph.values.add(wide));
    std::vector<SearchOp> const ops{{OpCode::concat_matmul, {}, {}}};

    auto const pairs = product_pairs({ops, graph.tensors, graph.values});
    auto const steps = graph.steps(ops, 0);

    // [B, A] comes from the left only: (0,0) (0,1) (1,0) (1,1) (2,0) (2,1), and pairs of these
    EXPECT_EQ(pairs.size(), 6u);
    EXPECT_EQ(steps.size(), 21u);
}

} // namespace
} // namespace espalier::problems::mugraph
