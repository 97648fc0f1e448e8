#pragma once

#include "espalier/model/evaluate.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

/// What the ops of models compute, written once: evaluation, flops and bytes are derived from it, and what is fast is
/// tested against it.
///
/// Like program::Meaning, but for tensors of any rank, any number of operands, whole numbers and booleans, and with
/// numbers inside of expressions. Rows of the program op table also say what a search over programs needs of an op; the
/// functions here need to say no more than what they compute.
namespace espalier::model {

/// Functions of single values, of reals, whole numbers or both.
enum class Function : std::uint8_t {
    add,
    sub,
    mul,
    div, ///< of whole numbers: truncated
    maximum,
    minimum,
    pow,
    neg,
    abs,
    reciprocal,
    exp,
    log,
    sqrt,
    tanh,
    erf,
    floor,
    ceil,
    round, ///< halves to even
    less,
    equal,
    both, ///< of booleans, as the next two
    either,
    negation,
    choose,   ///< (c, a, b): a where c is not 0, else b
    to_real,  ///< of a whole number
    to_whole, ///< of a real number, truncated
    is_true,  ///< whether it is not 0
};
struct FunctionInfo {
    Function code{};
    std::string_view name;
    int arguments = 1;
    double flops = 1;     ///< of one value; functions such as exp count as several
    bool is_test = false; ///< gives a boolean
    double (*real)(double, double) = nullptr;
    std::int64_t (*whole)(std::int64_t, std::int64_t) = nullptr;
};
[[nodiscard]] FunctionInfo const& info(Function function);

/// stride * i, where i is the variable of a loop.
struct Step {
    std::size_t loop = 0;
    std::int64_t stride = 1;
};
/// Where along one dimension a tensor is read: an affine sum.
struct Position {
    std::vector<Step> steps;
    std::int64_t offset = 0;
    /// Plus what this earlier read of the same nest gives, a whole number; a negative one counts from the end.
    std::optional<std::size_t> looked_up;
};
/// What a read gives past the edge of its tensor.
enum class Outside : std::uint8_t {
    never, ///< it does not come there
    zero,
    skip,  ///< nothing: the reducer leaves these loops out
    other, ///< what another read gives
};
/// One value that a nest asks for.
struct Read {
    std::size_t source = 0; ///< an operand of the node; after those, what earlier nests made
    Dims shape;             ///< the source's elements in their order, seen as a tensor of this shape
    std::vector<Position> index;
    Outside outside = Outside::never;
    std::size_t other = 0; ///< an earlier read
};

/// A scalar expression in postfix order, each node after its arguments.
struct ScalarNode {
    enum class Kind : std::uint8_t { read, reduced, count, loop, number, apply };
    Kind kind = Kind::read;
    std::size_t index = 0; ///< of the read, or the loop
    double number = 0;
    Function function{};
    std::array<std::size_t, 3> arguments{}; ///< apply: nodes
};
using Expression = std::vector<ScalarNode>;

enum class Reducer : std::uint8_t {
    none,
    sum,
    product,
    maximum,
    minimum,
    first_largest, ///< at which value of the reduced loop the largest is
    last_largest,
    first_smallest,
    last_smallest,
};

/// A loop nest that makes one tensor: out[kept..] = epilogue(reducer over reduced.. of body(kept.., reduced..)). Values
/// of the epilogue are read at the loops that are kept.
struct Nest {
    Known out;
    Dims kept;    ///< loops 0, 1, ..: the elements of what it makes, in their order, seen as a tensor of this shape
    Dims reduced; ///< the loops after those
    Reducer reducer = Reducer::none;
    std::vector<Read> reads;
    Expression body;
    Expression epilogue; ///< empty: what was reduced, as it is

    [[nodiscard]] std::size_t loops() const { return kept.size() + reduced.size(); }
    [[nodiscard]] std::int64_t loop_size(std::size_t loop) const {
        return loop < kept.size() ? kept[loop] : reduced[loop - kept.size()];
    }
};

/// What a node computes for operands of given types. One nest after the other; some make outputs.
struct Definition {
    /// An output: what a nest makes, by its number, or data.
    using Made = std::variant<std::size_t, TensorPtr>;

    std::size_t operands = 0;
    std::vector<Nest> nests;
    std::vector<Made> outputs;

    /// What the source of a read is called after `operands`.
    [[nodiscard]] std::size_t source_of(std::size_t nest) const { return operands + nest; }
    [[nodiscard]] Known type_of(std::size_t output) const;
};
/// Or why the node is not understood, in words.
using DefinitionOr = std::variant<Definition, std::string>;
[[nodiscard]] DefinitionOr define(Node const& node, Model const& model, Facts const& facts);

} // namespace espalier::model
