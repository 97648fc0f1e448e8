#include "plain_operators.hpp"

#include "espalier/base/rng.hpp"
#include "espalier/problems/substitution/tensor_table.hpp"

#include <gtest/gtest.h>

using namespace espalier::problems::substitution;
using plain::Index;

namespace {

Tensor random_tensor(int rank, std::array<std::int32_t, max_rank> const& dims, std::uint64_t seed) {
    Tensor out{.layout = contiguous(rank, dims), .values = {}};
    espalier::base::Rng rng{espalier::base::Seed{seed}};
    for (int i = 0; i < out.layout.size(); ++i) out.values.push_back(rng() % plain::prime);
    return out;
}

constexpr Nonlinear square_plus_one{1, 0, 1};

struct Computed {
    Layouts layouts;
    Outputs values;
};
std::optional<Computed> compute(Operator code, Tensor const* a = nullptr, Tensor const* b = nullptr) {
    Operands const in{a, b, Sizes{}};
    auto const layouts = info(code).layout(code, in);
    if (!layouts) return std::nullopt;
    Computed out{*layouts, {}};
    for (std::size_t i = 0; i < static_cast<std::size_t>(layouts->count); ++i)
        out.values.of[i].resize(static_cast<std::size_t>(layouts->of[i].size()));
    info(code).values(code, in, square_plus_one, *layouts, out.values);
    return out;
}
bool takes(Operator code, Tensor const& a, Tensor const& b) { return compute(code, &a, &b).has_value(); }

Tensor const x = random_tensor(2, {2, 4}, 1), w = random_tensor(2, {4, 4}, 2);
Tensor const image = random_tensor(4, {2, 4, 5, 5}, 3), kernel = random_tensor(4, {4, 4, 3, 3}, 4);
Tensor const depthwise = random_tensor(4, {4, 1, 3, 3}, 5), flat = random_tensor(4, {4, 2, 1, 3}, 6);
Tensor const scalar = random_tensor(0, {}, 7);

} // namespace

TEST(Operators, a_matrix_product_is_the_sum_over_the_inner_dimension) {
    auto const found = compute(Operator::matmul, &x, &w).value();

    EXPECT_EQ(found.values.of[0], plain::filled(contiguous(2, {2, 4}), [](Index const& i) {
                  std::uint64_t sum = 0;
                  for (int k = 0; k < 4; ++k)
                      sum = plain::plus(sum, plain::times(plain::at(x, {i[0], k}), plain::at(w, {k, i[1]})));
                  return sum;
              }));
}

TEST(Operators, convolutions_have_groups_by_the_channels_of_the_weight) {
    for (auto const* weight : {&kernel, &depthwise}) {
        auto const found = compute(Operator::conv3x3, &image, weight).value();
        EXPECT_EQ(found.values.of[0],
                  plain::filled(image.layout, [&](Index const& i) { return plain::convolved(image, *weight, i); }));
    }
    auto const found = compute(Operator::conv1x3, &image, &flat).value();
    EXPECT_EQ(found.values.of[0],
              plain::filled(image.layout, [](Index const& i) { return plain::convolved(image, flat, i); }));
}

TEST(Operators, a_convolution_with_relu_is_the_function_of_the_convolution) {
    auto const found = compute(Operator::conv3x3_relu, &image, &kernel).value();

    EXPECT_EQ(found.values.of[0], plain::filled(image.layout, [](Index const& i) {
                  auto const sum = plain::convolved(image, kernel, i);
                  return plain::plus(plain::times(sum, sum), 1);
              }));
}

TEST(Operators, an_average_pool_is_a_plain_sum_and_a_maximum_is_one_of_its_values) {
    auto const sums = compute(Operator::average_pool, &image).value().values.of[0];
    auto const largest = compute(Operator::max_pool, &image).value().values.of[0];

    EXPECT_EQ(sums, plain::filled(image.layout, [](Index const& i) { return plain::summed_window(image, i); }));
    for (int y = 0; y < 5; ++y)
        for (int z = 0; z < 5; ++z) {
            auto const found = largest[static_cast<std::size_t>(y * 5 + z)];
            bool is_there = false;
            for (int i = -1; i <= 1; ++i)
                for (int j = -1; j <= 1; ++j) is_there = is_there || plain::at(image, {0, 0, y + i, z + j}) == found;
            EXPECT_TRUE(is_there && found != 0) << y << " " << z;
        }
}

TEST(Operators, maxima_of_maxima_are_maxima) {
    Tensor once = image;
    once.values = compute(Operator::max_pool, &image).value().values.of[0];
    auto const twice = compute(Operator::max_pool, &once).value().values.of[0];

    auto const& corner = twice[0]; // of the 3 x 3 values that are at most two steps away
    EXPECT_EQ(corner, once.values[6]);
}

TEST(Operators, concat_and_split_are_inverse) {
    Tensor const other = random_tensor(4, {2, 4, 5, 5}, 8);
    auto const joined = compute(Operator::concat4_1, &image, &other).value();
    Tensor const whole{.layout = joined.layouts.of[0], .values = joined.values.of[0]};
    auto const parts = compute(Operator::split_1, &whole).value();

    EXPECT_EQ(whole.layout.dim(1), 8);
    EXPECT_EQ(parts.values.of[0], image.values);
    EXPECT_EQ(parts.values.of[1], other.values);
    EXPECT_EQ(parts.layouts.of[0], image.layout);
    EXPECT_FALSE(compute(Operator::split_0, &whole).has_value()) << "nothing was put together along axis 0";
}

TEST(Operators, split_cuts_where_concat_joined_last_and_keeps_the_other_marks) {
    auto const joined = [](Tensor const& a, Tensor const& b) {
        auto const found = compute(Operator::concat2_1, &a, &b).value();
        return Tensor{.layout = found.layouts.of[0], .values = found.values.of[0]};
    };
    Tensor const y = random_tensor(2, {2, 4}, 9), z = random_tensor(2, {2, 4}, 10);
    auto const left_first = joined(joined(x, y), z), right_first = joined(x, joined(y, z));

    auto const of_left = compute(Operator::split_1, &left_first).value().layouts;
    auto const of_right = compute(Operator::split_1, &right_first).value().layouts;

    EXPECT_EQ(of_left.of[0].dim(1), 8);
    EXPECT_EQ(of_left.of[0].marks[1].last(), 4);
    EXPECT_EQ(of_right.of[0].dim(1), 4);
    EXPECT_EQ(of_right.of[1].marks[1].last(), 4);
}

TEST(Operators, a_transposed_view_has_other_strides_than_its_copy) {
    auto const view = compute(Operator::transpose, &x).value(), copy = compute(Operator::transpose_copy, &x).value();

    EXPECT_EQ(view.values.of[0], copy.values.of[0]);
    EXPECT_EQ(view.values.of[0][1], plain::at(x, {1, 0}));
    EXPECT_FALSE(view.layouts.of[0] == copy.layouts.of[0]);
}

TEST(Operators, constants_are_neutral_for_the_operators_they_are_named_after) {
    auto const constant = [](Operator code) {
        auto const found = compute(code).value();
        return Tensor{.layout = found.layouts.of[0], .values = found.values.of[0]};
    };
    auto const matrix = constant(Operator::identity_matrix), same = constant(Operator::identity_kernel),
               pool = constant(Operator::pool_kernel);

    EXPECT_EQ(compute(Operator::matmul, &x, &matrix).value().values.of[0], x.values);
    EXPECT_EQ(compute(Operator::conv3x3, &image, &same).value().values.of[0], image.values);
    EXPECT_EQ(compute(Operator::conv3x3, &image, &pool).value().values.of[0],
              compute(Operator::average_pool, &image).value().values.of[0]);
}

TEST(Operators, operands_that_do_not_fit_are_refused) {
    auto const transposed = compute(Operator::transpose_copy, &x).value();
    Tensor const tall{.layout = transposed.layouts.of[0], .values = transposed.values.of[0]};
    auto own_kernel = kernel;
    own_kernel.input_class = 3;

    EXPECT_FALSE(takes(Operator::matmul, w, w)) << "the same tensor twice";
    EXPECT_FALSE(takes(Operator::matmul, tall, x)) << "a sum over 2";
    EXPECT_FALSE(takes(Operator::matmul, w, x));
    EXPECT_FALSE(takes(Operator::add, x, w));
    EXPECT_FALSE(takes(Operator::scale, scalar, scalar));
    EXPECT_TRUE(takes(Operator::scale, x, scalar));
    EXPECT_FALSE(takes(Operator::conv1x1, image, kernel));
    EXPECT_FALSE(takes(Operator::conv3x3, own_kernel, kernel)) << "a weight is not an image";
    EXPECT_TRUE(takes(Operator::conv3x3, kernel, kernel)) << "what operators make may be used twice";
    EXPECT_FALSE(takes(Operator::concat2_0, x, image));
}
