#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace espalier::program {

/// Where an op may stand.
enum class Level : std::uint8_t { kernel, block, thread };
inline constexpr std::array<std::string_view, 3> level_names{"kernel", "block", "thread"};

/// The operators. One more is an enumerator and its name here, and its row in src/program/op_table.cpp, which says all
/// that is known about it; without either nothing compiles.
enum class OpCode : std::uint8_t {
    matmul,
    concat_matmul, ///< (a, b, c, d): [a b] [c; d] = a c + b d
    matmul_nt,     ///< a b^T: both are summed along their last dimension
    exp,
    exp_sub, ///< exp(a - b)
    square,
    sqrt,
    silu,
    gelu,
    relu,
    clamp,
    tanh,
    sigmoid,
    log,
    abs,
    reciprocal,
    scale, ///< x by / over
    shift, ///< x + by
    add,
    sub,
    mul,
    div,
    pow,
    maximum, ///< of two tensors
    minimum,
    sum,    ///< over `axis`, which stays with size 1
    sum_to, ///< over `axis` down to `size`: out[j] = sum over i of in[i * size + j]
    max,    ///< over `axis`
    min,
    rms,        ///< root of the mean square (plus `eps`) over `axis`
    rms_norm,   ///< x / rms(x) along `axis`
    layer_norm, ///< (x - mean) / deviation along `axis`
    center,     ///< x - mean along `axis`
    transpose,  ///< dimensions in the order of `permutation`
    reshape,    ///< the same elements in row-major order as a tensor of `shape`: a view
    slice,      ///< the elements `from` to `to` along `axis`
    concat,     ///< of two tensors, one after the other along `axis`
    concat3,    ///< of three
    concat4,    ///< of four
    cast,       ///< the same values in another `dtype`
    accumulate, ///< the sum over the for-loop; the others also reduce along `axis`
    accumulate_sum,
    accumulate_sum_to,
    accumulate_rms,
    accumulate_max,
    accumulate_min,
    accumulate_rescaled,     ///< (x, m): the sum over steps of x exp(m - the largest m of all steps)
    accumulate_rescaled_sum, ///< the same, also along `axis`
    graph,                   ///< defined by a graph of the next level; the last one
};
inline constexpr int op_count = static_cast<int>(OpCode::graph) + 1;

struct OpName {
    OpCode code = OpCode::graph;
    std::string_view name;
};
/// What files, messages and keys of programs call them.
inline constexpr std::array<OpName, op_count> op_words{{
    {OpCode::matmul, "matmul"},
    {OpCode::concat_matmul, "concat_matmul"},
    {OpCode::matmul_nt, "matmul_nt"},
    {OpCode::exp, "exp"},
    {OpCode::exp_sub, "exp_sub"},
    {OpCode::square, "square"},
    {OpCode::sqrt, "sqrt"},
    {OpCode::silu, "silu"},
    {OpCode::gelu, "gelu"},
    {OpCode::relu, "relu"},
    {OpCode::clamp, "clamp"},
    {OpCode::tanh, "tanh"},
    {OpCode::sigmoid, "sigmoid"},
    {OpCode::log, "log"},
    {OpCode::abs, "abs"},
    {OpCode::reciprocal, "reciprocal"},
    {OpCode::scale, "scale"},
    {OpCode::shift, "shift"},
    {OpCode::add, "add"},
    {OpCode::sub, "sub"},
    {OpCode::mul, "mul"},
    {OpCode::div, "div"},
    {OpCode::pow, "pow"},
    {OpCode::maximum, "maximum"},
    {OpCode::minimum, "minimum"},
    {OpCode::sum, "sum"},
    {OpCode::sum_to, "sum_to"},
    {OpCode::max, "max"},
    {OpCode::min, "min"},
    {OpCode::rms, "rms"},
    {OpCode::rms_norm, "rms_norm"},
    {OpCode::layer_norm, "layer_norm"},
    {OpCode::center, "center"},
    {OpCode::transpose, "transpose"},
    {OpCode::reshape, "reshape"},
    {OpCode::slice, "slice"},
    {OpCode::concat, "concat"},
    {OpCode::concat3, "concat3"},
    {OpCode::concat4, "concat4"},
    {OpCode::cast, "cast"},
    {OpCode::accumulate, "accumulate"},
    {OpCode::accumulate_sum, "accumulate_sum"},
    {OpCode::accumulate_sum_to, "accumulate_sum_to"},
    {OpCode::accumulate_rms, "accumulate_rms"},
    {OpCode::accumulate_max, "accumulate_max"},
    {OpCode::accumulate_min, "accumulate_min"},
    {OpCode::accumulate_rescaled, "accumulate_rescaled"},
    {OpCode::accumulate_rescaled_sum, "accumulate_rescaled_sum"},
    {OpCode::graph, "graph"},
}};
[[nodiscard]] constexpr std::string_view name(OpCode code) { return op_words[static_cast<std::size_t>(code)].name; }

/// Whether the rows of a table are those of all ops, each at its place.
template <class Row>
[[nodiscard]] constexpr bool is_closed(std::array<Row, op_count> const& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i].code != static_cast<OpCode>(i) || rows[i].name.empty()) return false;
    return true;
}
static_assert(is_closed(op_words), "an op without a name, or a name at the place of another");

} // namespace espalier::program
