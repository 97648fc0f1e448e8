#include "espalier/program/source.hpp"

#include <gtest/gtest.h>

#include <utility>

/// Matmuls with a vector as an operand, or with batches of size 1, with the shapes that numpy gives them.
namespace espalier::program {
namespace {

Source product(std::vector<std::string> left, std::vector<std::string> right, std::string const& name) {
    Source out;
    out.dims = {{"B", 2}, {"K", 64}, {"N", 96}};
    out.inputs = {{"X", std::move(left)}, {"W", std::move(right)}};
    out.ops = {{{"Z"}, name, {"X", "W"}, {}}};
    out.outputs = {"Z"};
    return out;
}

/// The shape of a product of tensors with these dimensions, and the ops that it is made of.
std::pair<Shape, std::vector<OpCode>> product_of(std::vector<std::string> left, std::vector<std::string> right,
                                                 std::string const& name = "matmul") {
    auto const graph = build(product(std::move(left), std::move(right), name));
    std::vector<OpCode> ops;
    for (auto const& one : graph.ops) ops.push_back(one.code);
    return {infer(graph)[graph.outputs[0]].shape, ops};
}

TEST(VectorProduct, is_that_of_a_row_or_a_column_without_that_dimension) {
    using enum OpCode;
    std::vector const both{reshape, matmul, reshape};
    EXPECT_EQ(product_of({"K"}, {"K", "N"}), std::pair(Shape{96}, both));
    EXPECT_EQ(product_of({"B", "K"}, {"K"}), std::pair(Shape{2}, both));
    EXPECT_EQ(product_of({"K"}, {"B", "K", "N"}), std::pair(Shape{2, 96}, both));
    EXPECT_EQ(product_of({"N", "B", "K"}, {"K"}), std::pair(Shape{96, 2}, both));
    EXPECT_EQ(product_of({"K"}, {"N", "K"}, "matmul_nt"),
              std::pair(Shape{96}, std::vector{reshape, matmul_nt, reshape}));
    EXPECT_EQ(product_of({"K"}, {"K"}), std::pair(Shape{1}, std::vector{reshape, reshape, matmul, reshape}));
}

TEST(VectorProduct, of_another_size_is_refused_as_it_was_written) {
    auto const problems = check(product({"N"}, {"K", "N"}, "matmul"));

    ASSERT_EQ(problems.size(), 1u);
    EXPECT_NE(problems[0].message.find("got X [N] = [96] and W [K, N] = [64, 96]"), std::string::npos);
}

TEST(ProductWithOnes, uses_a_batch_of_size_1_for_all) {
    using enum OpCode;
    auto const of = [](std::vector<std::string> left, std::vector<std::string> right,
                       std::string const& name = "matmul") {
        return product_of(std::move(left), std::move(right), name);
    };

    EXPECT_EQ(of({"B", "N", "B", "K"}, {"1", "1", "K", "N"}),
              std::pair(Shape({2, 96, 2, 96}), std::vector({reshape, matmul})));
    EXPECT_EQ(of({"1", "B", "K"}, {"N", "K", "B"}), std::pair(Shape({96, 2, 2}), std::vector({reshape, matmul})));
    EXPECT_EQ(of({"B", "N", "B", "K"}, {"B", "1", "N", "K"}, "matmul_nt"),
              std::pair(Shape({2, 96, 2, 96}), std::vector({reshape, reshape, matmul_nt, reshape})));
    EXPECT_EQ(of({"B", "K"}, {"1", "K", "N"}), std::pair(Shape({1, 2, 96}), std::vector({matmul})));
    EXPECT_EQ(of({"N", "B", "K"}, {"1", "1", "K", "N"}),
              std::pair(Shape({1, 96, 2, 96}), std::vector({reshape, matmul, reshape})));
}

TEST(ProductWithOnes, of_other_batches_is_refused_as_it_was_written) {
    for (auto const& left : std::vector<std::vector<std::string>>{{"B", "1", "B", "K"}, {"N", "B", "B", "K"}}) {
        auto const problems = check(product(left, {"1", "N", "K", "N"}, "matmul"));

        ASSERT_EQ(problems.size(), 1u);
        EXPECT_NE(problems[0].message.find("matmul needs"), std::string::npos);
    }
}

} // namespace
} // namespace espalier::program
