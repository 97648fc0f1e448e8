#pragma once

#include <cstdint>
#include <optional>
#include <vector>

/// Numbers with an order, and what the operators of `space: affine` make of them.
namespace espalier::problems::substitution::affine {

/// A rational number: exactly, modulo 2^61 - 1, and nearly, for comparisons.
struct Value {
    std::uint64_t residue = 0;
    double approx = 0;
};
[[nodiscard]] Value whole(std::int64_t value);
[[nodiscard]] Value operator+(Value a, Value b);
[[nodiscard]] Value operator*(Value a, Value b);
/// Nothing: of 0.
[[nodiscard]] std::optional<Value> inverse(Value a);
/// Which is larger; nothing if they are too close to tell, which random numbers are only where they are equal.
[[nodiscard]] std::optional<int> compare(Value a, Value b);

enum class Type : std::uint8_t {
    data,        ///< what convolutions read
    result,      ///< what they make: other channels
    scalar,      ///< a number
    channel,     ///< one for each channel of `data`
    out_channel, ///< one for each channel of `result`
    weights,
};

struct Sizes {
    int channels = 4, out_channels = 4, groups = 4, merged = 2, kernel = 3, width = 9;
};

/// Of a type; its values by channel, then by column; of weights by output, input of the group, and tap.
struct Tensor {
    Type type = Type::data;
    int groups = 1; ///< of weights
    std::vector<Value> values;
};
[[nodiscard]] std::uint64_t print_of(Tensor const& tensor);

/// What is made of constants alone.
enum class TermOp : std::uint8_t { input, number, add, mul, div, scale_outputs, scale_inputs, merge_groups };
/// Nothing: division by 0, or no groups to merge.
[[nodiscard]] std::optional<Tensor> fold(TermOp op, Tensor const& a, Tensor const* b, Sizes const& sizes);

enum class Op : std::uint8_t { add, mul, div, clip, hard_sigmoid, hard_swish, relu, conv, conv_bias };
inline constexpr int op_count = 9;

/// Operands of an operator on data; null: there is none.
struct Reads {
    Tensor const* x = nullptr;
    Tensor const* y = nullptr; ///< data of the same type as x
    Tensor const* p = nullptr; ///< constants
    Tensor const* q = nullptr;
};
/// Nothing where it has no meaning: a division by 0, a lower bound above the upper one.
[[nodiscard]] std::optional<Tensor> apply(Op op, Reads const& reads, Sizes const& sizes);

} // namespace espalier::problems::substitution::affine
