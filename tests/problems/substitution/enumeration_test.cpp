#include "augmentation.hpp"
#include "espalier/problems/substitution/substitution.hpp"
#include "support/engine.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace espalier;
using namespace espalier::problems::substitution;
using enum Operator;

namespace {

constexpr Ref X1 = 0, X2 = 1, X3 = 2, W1 = 3, W2 = 4;
OperatorGraph graph(std::initializer_list<GraphOp> ops) {
    OperatorGraph out;
    for (auto const& op : ops) out.push(sorted(op));
    return out;
}
constexpr Ref t(int op, int output = 0) { return result_of(op - 1, output); }

search::Counts counts(SubstitutionConfig const& config) {
    return toys::search_all(Substitution(config, 1), {.threads = 1}).counts;
}
/// Connected graphs, those with one output, and all of 1, 2, .. operators.
std::vector<std::uint64_t> numbers(search::Counts const& counts) {
    auto out = std::vector(counts.counters.begin(), counts.counters.end() - 1); // the last one is the engine's
    out.erase(out.begin() + 2, out.begin() + 4);
    return out;
}

/// The smallest code of a graph over every order of its operators and every name of its inputs, by trying them all.
OperatorGraph smallest(OperatorGraph const& graph) {
    std::optional<OperatorGraph> best;
    for (int last = 0; last < graph.count; ++last) {
        if (graph.is_read(last)) continue;
        auto const other = canonical(graph, last);
        if (!best || other < *best) best = other;
    }
    return best.value();
}

/// Graphs with one operator more than these, each once, by a table of all of them.
std::set<OperatorGraph> extended(std::set<OperatorGraph> const& graphs, TensorTable& table) {
    std::set<OperatorGraph> out;
    for (auto const& parent : graphs) {
        std::vector<std::pair<Ref, TensorId>> refs{{no_ref, no_tensor}};
        std::set<TensorId> present;
        for (int slot = 0; slot < input_slots().count(); ++slot) {
            refs.emplace_back(static_cast<Ref>(slot), table.input(slot));
            present.insert(table.input(slot));
        }
        for (int i = 0; i < parent.count; ++i) {
            auto const& op = parent.ops[static_cast<std::size_t>(i)];
            auto const id = [&](Ref ref) {
                return std::ranges::find(refs, ref, &std::pair<Ref, TensorId>::first)->second;
            };
            auto const made = table.made(op.code, id(op.a), id(op.b));
            refs.emplace_back(result_of(i, 0), made.first);
            if (made.second != no_tensor) refs.emplace_back(result_of(i, 1), made.second);
            present.insert({made.first, made.second});
        }
        present.erase(no_tensor);
        for (auto const& row : operators())
            for (auto const& [a, of_a] : refs)
                for (auto const& [b, of_b] : refs) {
                    if ((a != no_ref) != (row.operands > 0) || (b != no_ref) != (row.operands > 1)) continue;
                    auto const made = table.made(row.code, of_a, of_b);
                    if (!made.is_there() || present.contains(made.first) || present.contains(made.second)) continue;
                    auto child = parent;
                    child.push(sorted({row.code, a, b}));
                    out.insert(smallest(child));
                }
    }
    return out;
}

} // namespace

// The numbers are those that TASO enumerates (its public code, canonicalised graph by graph); all orders of concat
// besides.
TEST(Enumeration, has_the_published_numbers_of_graphs_with_one_and_two_operators) {
    EXPECT_EQ(numbers(counts({.order = OperandOrder::taso, .max_ops = 2})),
              (std::vector<std::uint64_t>{1'890, 1'248, 69, 4'173 - 69}));
    EXPECT_EQ(numbers(counts({.order = OperandOrder::all, .max_ops = 2})),
              (std::vector<std::uint64_t>{2'248, 1'537, 71, 4'664 - 71}));
}

TEST(Enumeration, has_the_published_numbers_of_graphs_with_three_operators) {
    EXPECT_EQ(numbers(counts({.order = OperandOrder::taso, .max_ops = 3})),
              (std::vector<std::uint64_t>{84'563, 33'838, 69, 4'173 - 69, 250'026 - 4'173}));
}

TEST(EnumerationLarge, has_the_number_of_all_graphs_with_three_operators) {
    EXPECT_EQ(numbers(counts({.order = OperandOrder::all, .max_ops = 3}))[4], 310'107u - 4'664u);
}

TEST(Enumeration, makes_every_graph_once_without_a_table_of_graphs) {
    TensorTable table(Sizes{}, 3);

    auto const one = extended({OperatorGraph{}}, table);
    auto const two = extended(one, table);

    EXPECT_EQ(one.size(), 71u);
    EXPECT_EQ(two.size(), 4'664u - 71u);
}

TEST(Enumeration, one_output_leaves_out_graphs_that_can_no_longer_have_one) {
    auto const any = counts({.order = OperandOrder::all, .max_ops = 2});
    auto const one = counts({.order = OperandOrder::all, .max_ops = 2, .outputs = OutputsWanted::one});

    EXPECT_EQ(numbers(one)[1], numbers(any)[1]);
    EXPECT_EQ(numbers(one)[2] + numbers(one)[3], numbers(any)[1]) << "only these are counted";
    EXPECT_GT(one.funnel[1], 0u);
}

TEST(Augmentation, a_graph_is_symmetric_where_inputs_can_be_exchanged) {
    EXPECT_EQ(Parent(graph({{add, X1, X2}})).automorphisms().size(), 1u);
    EXPECT_EQ(Parent(graph({{matmul, X1, W1}})).automorphisms().size(), 0u);
    EXPECT_EQ(Parent(graph({{relu, X1}, {relu, X2}})).automorphisms().size(), 1u);
    EXPECT_EQ(Parent(graph({{add, X1, X2}, {add, t(1), X3}})).automorphisms().size(), 1u);
    EXPECT_EQ(Parent(graph({{matmul, W1, W2}, {matmul, W2, W1}})).automorphisms().size(), 1u);
}

TEST(Augmentation, of_extensions_that_are_the_same_one_is_accepted) {
    Parent const sum(graph({{add, X1, X2}}));

    EXPECT_NE(sum.accepts({matmul, X1, W1}), sum.accepts({matmul, X2, W1}));
}

TEST(Order, a_concat_asks_for_its_first_operand_first) {
    EXPECT_TRUE(has_order(graph({{concat2_0, X1, W1}})));
    EXPECT_FALSE(has_order(graph({{concat2_0, W1, X1}}))) << "X comes before W";
    EXPECT_FALSE(has_order(graph({{relu, X1}, {concat2_0, t(1), X2}}))) << "inputs come before results";
    EXPECT_TRUE(has_order(graph({{relu, X1}, {concat2_0, X2, t(1)}})));
    EXPECT_FALSE(has_order(graph({{concat2_0, X1, X2}, {concat2_1, X2, X1}}))) << "each before the other";
    EXPECT_TRUE(has_order(graph({{concat2_0, X1, X2}, {concat2_1, X2, X3}})));
    EXPECT_FALSE(has_order(graph({{relu, X1}, {scale, t(1), 19}, {concat2_0, t(2), t(1)}})))
        << "a result before its operand";
    EXPECT_FALSE(has_order(graph({{concat2_0, X1, X2}, {split_0, t(1)}, {concat2_1, t(2, 1), t(2)}})));
}

TEST(Substitution, nodes_come_back_from_their_bytes) {
    Substitution const problem({}, 1);
    auto const again = [&](Substitution::Node const& node) {
        base::Bytes bytes;
        problem.pack(node, bytes);
        return problem.unpack(bytes);
    };
    Substitution::Node pair{.kind = Substitution::NodeKind::pair,
                            .graph = graph({{relu, X1}}),
                            .other = graph({{matmul, X1, W1}}),
                            .bucket = {}};

    EXPECT_EQ(again(pair).graph, pair.graph);
    EXPECT_EQ(again(pair).other, pair.other);
    EXPECT_EQ(again(problem.bucket_root({.stage = 0, .list = 1, .bits = 3, .number = 5})).bucket.number, 5u);
    EXPECT_THROW(static_cast<void>(problem.unpack(std::array{std::byte{9}})), base::SystemError);
}

TEST(Substitution, a_rule_must_hold_for_other_sizes_too) {
    Substitution const problem({}, 1);
    search::Notes notes{problem.info()};
    auto workspace = problem.make_workspace(notes);
    auto const pair = [](OperatorGraph const& a, OperatorGraph const& b) {
        return Substitution::Node{.kind = Substitution::NodeKind::pair, .graph = a, .other = b, .bucket = {}};
    };
    auto const associative =
        pair(graph({{matmul, X1, W1}, {matmul, t(1), W2}}), graph({{matmul, W1, W2}, {matmul, X1, t(1)}}));
    auto const wrong = pair(graph({{add, X1, X2}}), graph({{mul, X1, X2}}));

    auto const found = problem.verify(std::array{associative, wrong}, workspace);

    ASSERT_TRUE(found[0].result.has_value());
    EXPECT_LT(found[0].result->error_bound, 1e-15);
    EXPECT_FALSE(found[1].result.has_value());
}
