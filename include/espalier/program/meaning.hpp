#pragma once

#include "espalier/program/op.hpp"

#include <vector>

/// What an op computes, written once: evaluators that must be right, flops and bytes are derived from it, and whatever
/// is fast is tested against it.
namespace espalier::program {

/// Up to N values without heap.
template <class T, std::size_t N>
class Small {
public:
    Small() = default;
    Small(std::initializer_list<T> values) {
        for (auto const& value : values) push(value);
    }
    void push(T const& value) {
        ESP_EXPECT(count_ < N);
        values_[count_++] = value;
    }
    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] T const& operator[](std::size_t i) const { return values_[i]; }
    [[nodiscard]] T const& back() const { return values_[count_ - 1]; }
    [[nodiscard]] T const* begin() const { return values_.data(); }
    [[nodiscard]] T const* end() const { return values_.data() + count_; }

private:
    std::array<T, N> values_{};
    std::size_t count_ = 0;
};

/// stride * (i / below % size), where i is the variable of a loop.
struct LoopDigit {
    std::size_t loop = 0;
    std::int64_t size = 1;
    std::int64_t stride = 1;
    std::int64_t below = 1;
};
/// Where along one dimension a tensor is read: an affine sum of digits.
struct Position {
    Small<LoopDigit, max_rank> digits;
    std::int64_t offset = 0;

    [[nodiscard]] std::int64_t at(std::span<std::int64_t const> loops) const {
        auto out = offset;
        for (auto const& digit : digits) out += digit.stride * (loops[digit.loop] / digit.below % digit.size);
        return out;
    }
};

/// What a read gives past the edge of its tensor.
enum class Outside : std::uint8_t {
    never, ///< it does not come there
    zero,
    skip, ///< nothing, and the reducer leaves these loops out
};
/// One value that the body of a nest asks for.
struct Read {
    std::size_t source = 0; ///< an operand of the op; after those, what earlier nests made
    Shape shape;            ///< of the source
    Dims<Position> index;   ///< in each dimension of it
    Position step;          ///< an accumulator: which tile of its operand, one per step of the for-loop
    Outside outside = Outside::never;
};

/// A scalar expression in postfix order, each node after its arguments: pointwise ops of the table, applied to reads,
/// to what was reduced, to how many values that were and to constants.
struct ScalarNode {
    enum class Kind : std::uint8_t { read, reduced, count, number, apply };
    Kind kind = Kind::read;
    std::size_t read = 0;
    double number = 0;         ///< a constant, as the decimal that it is written as
    OpCode op = OpCode::graph; ///< apply: with the attributes of the op whose meaning this is
    std::size_t a = 0, b = 0;  ///< apply: nodes; one argument is both
};
using ScalarExpression = Small<ScalarNode, 8>;

enum class Reducer : std::uint8_t { none, sum, maximum, minimum };

/// A loop nest that makes one tensor: out[kept..] = epilogue(reducer over reduced.. of body(reads at kept..,
/// reduced..)).
struct Nest {
    Shape kept;                      ///< loops 0, 1, ..: the dimensions of what it makes
    Small<std::int64_t, 2> reduced;  ///< the loops after those
    Reducer reducer = Reducer::none; ///< of the values of the body
    Small<Read, 4> reads;
    ScalarExpression body;
    ScalarExpression epilogue; ///< empty: what was reduced, as it is

    [[nodiscard]] std::size_t loops() const { return static_cast<std::size_t>(kept.rank()) + reduced.size(); }
    [[nodiscard]] std::int64_t loop_size(std::size_t loop) const {
        auto const rank = static_cast<std::size_t>(kept.rank());
        return loop < rank ? kept[static_cast<int>(loop)] : reduced[loop - rank];
    }
    /// How many values a result is made of.
    [[nodiscard]] std::int64_t count() const;
};

/// One nest after the other; the last makes the output. A norm is a composition of several.
struct Meaning {
    std::vector<Nest> nests;
};

/// Of an op of the table (not a graph) on operands that fit. An accumulator reduces over `loop_range` tiles.
[[nodiscard]] Meaning meaning_of(OpInfo const& row, RuleInput<std::int64_t> const& in);

/// What an op computes, counted by its meaning. Epilogues, once per result, are left out.
struct OpCount {
    double flops = 0;     ///< of arithmetic; a zero from outside costs nothing
    double fused = 0;     ///< of those, products that are one instruction with the sum they go into
    double functions = 0; ///< applications of exp, sqrt and the like; they are in no other number

    /// With functions as what they cost on a GPU, roughly.
    [[nodiscard]] double total() const { return flops + 8 * functions; }
};
[[nodiscard]] OpCount count_of(Meaning const& meaning);
/// How many elements of operand `source` are read at all, of all its tiles.
[[nodiscard]] double elements_read(Meaning const& meaning, std::size_t source);

} // namespace espalier::program
