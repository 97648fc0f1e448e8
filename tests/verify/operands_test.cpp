#include "espalier/base/error.hpp"
#include "espalier/verify/tiles.hpp"

#include <gtest/gtest.h>

/// Operands that do not fit are refused in every build: the loops behind read by their sizes.
namespace espalier::verify {
namespace {

using program::OpCode;
using program::Shape;

Tiles tiles(Shape const& shape, std::int64_t batch = 1) {
    Tiles out{shape, batch, false, {}, {}};
    out.p.assign(static_cast<std::size_t>(batch * program::element_count(shape)), 1);
    return out;
}

OpStatus evaluate(OpCode code, std::vector<Tiles> const& operands, program::Attributes const& attributes = {},
                  std::int64_t loop = 1) {
    std::vector<Tiles const*> pointers;
    for (auto const& one : operands) pointers.push_back(&one);
    Tiles out;
    auto const model = field::make_model(1, field::Roots::power, false);
    return evaluate_op({info(code), attributes, model, pointers, loop}, out);
}

TEST(Operands, that_fit_are_taken) {
    EXPECT_EQ(evaluate(OpCode::matmul, {tiles({2, 3}), tiles({3, 4})}), OpStatus::done);
}

TEST(Operands, of_other_sizes_are_refused) {
    EXPECT_THROW((void)evaluate(OpCode::matmul, {tiles({8, 4}), tiles({8, 8})}), base::SystemError);
    EXPECT_THROW((void)evaluate(OpCode::add, {tiles({8, 4}), tiles({8, 8})}), base::SystemError);
    EXPECT_THROW((void)evaluate(OpCode::sum, {tiles({8, 4})}, program::Attributes::axis(2)), base::SystemError);
}

TEST(Operands, a_size_that_does_not_divide_is_refused) {
    auto const to = [](std::int64_t size) { return program::Attributes().with(program::AttributeName::size, size); };

    EXPECT_EQ(evaluate(OpCode::sum_to, {tiles({2, 6})}, to(3)), OpStatus::done);
    EXPECT_THROW((void)evaluate(OpCode::sum_to, {tiles({2, 6})}, to(4)), base::SystemError);
    EXPECT_THROW((void)evaluate(OpCode::sum_to, {tiles({2, 6})}, to(0)), base::SystemError);
    EXPECT_THROW((void)evaluate(OpCode::sum_to, {tiles({2, 6})}, to(-3)), base::SystemError);
}

TEST(Operands, with_fewer_values_than_their_shape_says_are_refused) {
    auto damaged = tiles({2, 6});
    damaged.p.pop_back();

    EXPECT_THROW((void)evaluate(OpCode::exp, {damaged}), base::SystemError);
}

TEST(Operands, with_another_batch_or_loop_are_refused) {
    EXPECT_THROW((void)evaluate(OpCode::add, {tiles({2}, 4), tiles({2}, 2)}), base::SystemError);
    EXPECT_THROW((void)evaluate(OpCode::accumulate, {tiles({2}, 4)}, {}, 3), base::SystemError);
    EXPECT_THROW((void)evaluate(OpCode::accumulate, {tiles({2}, 4)}, {}, 0), base::SystemError);
}

} // namespace
} // namespace espalier::verify
