#include "espalier/base/bytes.hpp"
#include "espalier/problems/substitution/operator_graph.hpp"
#include "espalier/problems/substitution/tensor_table.hpp"
#include "matching.hpp"

#include <gtest/gtest.h>

using namespace espalier::problems::substitution;
using enum Operator;

namespace {

constexpr Ref X1 = 0, X2 = 1, W1 = 3, W2 = 4, I1 = 6, K1 = 9, s = 19;

OperatorGraph graph(std::initializer_list<GraphOp> ops) {
    OperatorGraph out;
    for (auto const& op : ops) out.push(sorted(op));
    return out;
}
constexpr Ref t(int op, int output = 0) { return result_of(op - 1, output); }

} // namespace

TEST(TensorTable, inputs_stand_in_the_order_of_their_classes) {
    EXPECT_EQ(input_slots().count(), 20);
    EXPECT_EQ(name_of(X1), "X1");
    EXPECT_EQ(name_of(W2), "W2");
    EXPECT_EQ(name_of(K1), "K1");
    EXPECT_EQ(name_of(s), "s");
}

TEST(TensorTable, equal_tensors_have_one_id) {
    TensorTable table(Sizes{}, 1);

    auto const there = table.made(transpose_copy, table.input(X1), no_tensor).first;
    auto const back = table.made(transpose_copy, there, no_tensor).first;
    auto const matrix = table.made(identity_matrix, no_tensor, no_tensor).first;

    EXPECT_EQ(back, table.input(X1));
    EXPECT_EQ(table.made(matmul, table.input(W1), matrix).first, table.input(W1));
    EXPECT_NE(table.made(add, table.input(X1), table.input(X2)).first,
              table.made(mul, table.input(X1), table.input(X2)).first);
    EXPECT_FALSE(table.made(add, table.input(X1), table.input(W1)).is_there());
}

TEST(TensorTable, values_that_were_not_kept_are_made_again) {
    TensorTable table(Sizes{}, 1), other(Sizes{}, 1);
    auto const sum = [](TensorTable& of) { return of.made(add, of.input(X1), of.input(X2)).first; };
    auto const first = sum(table);
    static_cast<void>(table.made(relu, table.input(W1), no_tensor)); // in between

    auto const product = table.made(matmul, first, table.input(W1)).first;

    EXPECT_EQ(table.print(product), other.print(other.made(matmul, sum(other), other.input(W1)).first));
}

TEST(OperatorGraph, is_written_in_words) {
    auto const two = graph({{concat2_1, X1, X2}, {split_1, t(1)}, {relu, t(2, 1)}});

    EXPECT_EQ(to_text(two), "t1 = concat2_1 X1 X2; t2, t2' = split_1 t1; t3 = relu t2'; out t2 t3");
    EXPECT_EQ(two.outputs(), (std::vector{t(2), t(3)}));
    EXPECT_EQ(two.inputs_used()[0], 2);
}

TEST(OperatorGraph, is_connected_by_results_and_by_inputs) {
    EXPECT_TRUE(graph({{relu, X1}, {matmul, X1, W1}}).is_connected());
    EXPECT_TRUE(graph({{relu, X1}, {relu, W1}, {matmul, t(1), t(2)}}).is_connected());
    EXPECT_FALSE(graph({{relu, X1}, {relu, W1}}).is_connected());
    EXPECT_FALSE(graph({{relu, X1}, {identity_matrix}}).is_connected());
}

TEST(OperatorGraph, comes_back_from_its_bytes_and_nothing_else_does) {
    auto const one = graph({{conv3x3, I1, K1}, {scale, t(1), s}});
    espalier::base::Bytes bytes;
    espalier::base::ByteWriter writer(bytes);
    pack(one, writer);

    espalier::base::ByteReader reader(bytes);
    EXPECT_EQ(unpack_graph(reader), one);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        auto damaged = bytes;
        damaged[i] = std::byte{200};
        espalier::base::ByteReader from(damaged);
        EXPECT_THROW(static_cast<void>(unpack_graph(from)), espalier::base::SystemError) << i;
    }
    espalier::base::ByteReader cut({bytes.data(), 4});
    EXPECT_THROW(static_cast<void>(unpack_graph(cut)), espalier::base::SystemError);
}

TEST(Matching, graphs_that_compute_the_same_have_one_key_whatever_their_inputs_are_called) {
    TensorTable table(Sizes{}, 5);
    auto const left = graph({{matmul, X1, W1}, {matmul, t(1), W2}});  // (X1 W1) W2
    auto const right = graph({{matmul, W2, W1}, {matmul, X1, t(1)}}); // X1 (W2 W1)
    auto const other = graph({{matmul, W1, W2}, {relu, t(1)}, {matmul, X1, t(2)}});

    EXPECT_EQ(keyed(left, table).key, keyed(right, table).key);
    EXPECT_NE(keyed(left, table).key, keyed(other, table).key);
    auto const named = keyed(right, table).graph;
    EXPECT_EQ(signature(named, table), signature(keyed(left, table).graph, table))
        << "with these names both are the same";
}

TEST(Matching, a_rule_with_a_part_in_common_follows_from_a_smaller_one) {
    auto const left = graph({{relu, X1}, {matmul, t(1), W1}, {scale, t(2), s}});
    auto const right = graph({{relu, X1}, {scale, W1, s}, {matmul, t(1), t(2)}});

    EXPECT_TRUE(have_common_part(left, right));
    EXPECT_FALSE(
        have_common_part(graph({{matmul, X1, W1}, {scale, t(1), s}}), graph({{scale, W1, s}, {matmul, X1, t(1)}})));
}

TEST(Matching, a_rule_that_ends_in_the_same_operator_follows_from_a_smaller_one) {
    TensorTable table(Sizes{}, 6);
    auto const left = graph({{transpose_copy, W1}, {transpose_copy, t(1)}, {matmul, X1, t(2)}});
    auto const right = graph({{relu, W1}, {matmul, X1, W1}});
    auto const end = graph({{matmul, X1, W1}, {scale, t(1), s}, {add, t(2), X2}});
    auto const same_end = graph({{scale, W1, s}, {matmul, X1, t(1)}, {add, t(2), X2}});
    auto const other_end = graph({{scale, X1, s}, {matmul, t(1), W1}});

    EXPECT_TRUE(have_common_end(left, right, table)) << "matmul X1 of equal tensors";
    EXPECT_TRUE(have_common_end(end, same_end, table));
    EXPECT_FALSE(have_common_end(graph({{matmul, X1, W1}, {scale, t(1), s}}), other_end, table));
}

TEST(Matching, a_pair_is_the_same_whatever_its_inputs_and_sides_are_called) {
    auto const left = graph({{matmul, X1, W2}, {matmul, t(1), W1}}),
               right = graph({{matmul, W2, W1}, {matmul, X1, t(1)}});
    auto const again_left = graph({{matmul, X1, W1}, {matmul, t(1), W2}}),
               again_right = graph({{matmul, W1, W2}, {matmul, X1, t(1)}});

    auto const one = canonical_pair(left, right), two = canonical_pair(again_right, again_left);

    EXPECT_EQ(one.left, two.left);
    EXPECT_EQ(one.right, two.right);
}
