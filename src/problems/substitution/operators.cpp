#include "espalier/problems/substitution/operators.hpp"

#include "espalier/field/mersenne.hpp"
#include "operator_rules.hpp"

#include <algorithm>

namespace espalier::problems::substitution {
namespace {

constexpr OperatorInfo row(Operator code, std::string_view name, int operands, rules::Rule const& rule) {
    return {.code = code, .name = name, .operands = operands, .layout = rule.layout, .values = rule.values};
}
constexpr OperatorInfo ranks(int a, int b, OperatorInfo row) {
    row.rank_a = a;
    row.rank_b = b;
    return row;
}
constexpr OperatorInfo commutative(OperatorInfo row) {
    row.is_commutative = true;
    return row;
}
constexpr OperatorInfo concat(Operator code, std::string_view name, int rank, int axis) {
    auto out = ranks(rank, rank, row(code, name, 2, rules::concat));
    out.concat_axis = axis;
    return out;
}
constexpr OperatorInfo split(Operator code, std::string_view name) {
    auto out = row(code, name, 1, rules::split);
    out.outputs = 2;
    return out;
}

constexpr std::array<OperatorInfo, operator_count> all_operators{{
    ranks(2, 2, row(Operator::matmul, "matmul", 2, rules::matmul)),
    commutative(row(Operator::add, "add", 2, rules::pointwise)),
    commutative(row(Operator::mul, "mul", 2, rules::pointwise)),
    ranks(any_rank, 0, row(Operator::scale, "scale", 2, rules::scale)),
    row(Operator::relu, "relu", 1, rules::relu),
    ranks(4, 4, row(Operator::conv3x3, "conv3x3", 2, rules::conv)),
    ranks(4, 4, row(Operator::conv1x1, "conv1x1", 2, rules::conv)),
    ranks(4, 4, row(Operator::conv1x3, "conv1x3", 2, rules::conv)),
    ranks(4, 4, row(Operator::conv3x3_relu, "conv3x3_relu", 2, rules::conv)),
    ranks(4, 4, row(Operator::conv1x1_relu, "conv1x1_relu", 2, rules::conv)),
    ranks(4, 4, row(Operator::conv1x3_relu, "conv1x3_relu", 2, rules::conv)),
    ranks(4, any_rank, row(Operator::average_pool, "average_pool", 1, rules::pool)),
    ranks(4, any_rank, row(Operator::max_pool, "max_pool", 1, rules::pool)),
    ranks(4, any_rank, row(Operator::enlarge, "enlarge", 1, rules::enlarge)),
    concat(Operator::concat2_0, "concat2_0", 2, 0),
    concat(Operator::concat2_1, "concat2_1", 2, 1),
    concat(Operator::concat4_0, "concat4_0", 4, 0),
    concat(Operator::concat4_1, "concat4_1", 4, 1),
    split(Operator::split_0, "split_0"),
    split(Operator::split_1, "split_1"),
    ranks(2, any_rank, row(Operator::transpose, "transpose", 1, rules::transpose)),
    ranks(2, any_rank, row(Operator::transpose_copy, "transpose_copy", 1, rules::transpose)),
    row(Operator::pool_kernel, "pool_kernel", 0, rules::constant),
    row(Operator::identity_kernel, "identity_kernel", 0, rules::constant),
    row(Operator::identity_matrix, "identity_matrix", 0, rules::constant),
    row(Operator::ones, "ones", 0, rules::constant),
}};

constexpr bool is_in_order() {
    for (std::size_t i = 0; i < all_operators.size(); ++i)
        if (static_cast<std::size_t>(all_operators[i].code) != i) return false;
    return true;
}
static_assert(is_in_order(), "a row at the place of another");

using Dims = std::array<std::int32_t, max_rank>;

constexpr std::array<InputClass, class_count> classes{{
    {"X", 3, 2,
     [](Sizes const& s) -> Dims {
         return {s.batch, s.channels};
     }},
    {"W", 3, 2,
     [](Sizes const& s) -> Dims {
         return {s.channels, s.channels};
     },
     true},
    {"I", 3, 4,
     [](Sizes const& s) -> Dims {
         return {s.batch, s.channels, s.height, s.width};
     }},
    {"K", 3, 4,
     [](Sizes const& s) -> Dims {
         return {s.channels, s.channels, 3, 3};
     },
     true},
    {"L", 3, 4,
     [](Sizes const& s) -> Dims {
         return {s.channels, s.channels, 1, 3};
     },
     true, true},
    {"M", 3, 4,
     [](Sizes const& s) -> Dims {
         return {s.channels, s.channels, 3, 1};
     },
     true, true},
    {"D", 1, 4,
     [](Sizes const& s) -> Dims {
         return {s.channels, 1, 3, 3};
     },
     true},
    {"s", 1, 0, [](Sizes const&) -> Dims { return {}; }},
}};

} // namespace

std::span<OperatorInfo const, operator_count> operators() { return all_operators; }
OperatorInfo const& info(Operator code) { return all_operators[static_cast<std::size_t>(code)]; }
std::span<InputClass const, class_count> input_classes() { return classes; }

std::uint64_t Nonlinear::operator()(std::uint64_t x) const {
    using F = field::Mersenne61;
    return F::add(F::mul(F::add(F::mul(a, x), b), x), c);
}

Layout contiguous(int rank, std::array<std::int32_t, max_rank> const& dims) {
    Layout out{.rank = rank, .dims = dims};
    std::int32_t stride = 1;
    for (auto i = static_cast<std::size_t>(rank); i-- > 0;) {
        out.strides[i] = stride;
        stride *= dims[i];
    }
    return out;
}

} // namespace espalier::problems::substitution
