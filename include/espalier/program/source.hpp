#pragma once

#include "espalier/program/graph.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace espalier::program {

struct NamedDim {
    std::string name;
    std::int64_t size = 0;

    bool operator==(NamedDim const&) const = default;
};
struct SourceInput {
    std::string name;
    std::vector<std::string> dims; ///< names, whole numbers, or products of them: `H*D`

    bool operator==(SourceInput const&) const = default;
};
/// An attribute that is written in words: sizes such as `D`, `H*D`, `2*D + 1` or `-1`, or a dtype.
struct AttributeWords {
    AttributeName name{};
    std::vector<std::string> words;

    bool operator==(AttributeWords const&) const = default;
};
struct SourceOp {
    std::vector<std::string> out; ///< one name per output
    std::string op;
    std::vector<std::string> in;
    Attributes attributes;
    std::vector<AttributeWords> words{}; ///< those of is_in_words()

    bool operator==(SourceOp const&) const = default;
};

/// A program as a person writes it: named dimensions, tensors and ops. Dimensions with one name are one symbol of the
/// search; the same number written twice is one symbol too. Ops are those of the table at kernel level, `rmsnorm`,
/// `layernorm`, and compositions such as `softmax` along `axis`, which subtracts the maximum; an operand may be a
/// number.
struct Source {
    std::string name; ///< of a built-in, else empty
    DType dtype = DType::f16;
    std::vector<NamedDim> dims;
    std::vector<SourceInput> inputs;
    std::vector<SourceOp> ops;
    std::vector<std::string> outputs;
    std::vector<std::string> weights = {}; ///< inputs that stay the same: code may have them packed beforehand

    bool operator==(Source const&) const = default;
};

/// Something wrong, and with which part.
struct SourceProblem {
    enum class Part : std::uint8_t { dim, input, op, output, whole };
    Part part = Part::whole;
    std::size_t index = 0; ///< of the dim, input, op or output
    std::string message;
};
/// All that is wrong, not only the first. Messages are `<problem>: <remedy>`; the place is the part.
[[nodiscard]] std::vector<SourceProblem> check(Source const& source);
/// A kernel graph of library kernels. Throws InputError with all problems.
[[nodiscard]] Graph build(Source const& source);

/// The dimensions as symbols: names[i] is symbol i, sizes[i] its number; literal sizes come after the names. A size of
/// 1 is not a symbol, whether it has a name or not; neither is a dimension that a reshape shows to be a product of
/// others.
struct Symbols {
    std::vector<std::string> names;
    std::vector<std::int64_t> sizes;
};
[[nodiscard]] Symbols symbols_of(Source const& source);
using SymbolicShapes = base::IndexedVector<TensorId, SymbolicShape>;
/// Shapes of all tensors of build(source), in symbols. Throws InputError with all problems; one of them is that the
/// program holds only by an accident of sizes (two names of equal size used as one dimension).
[[nodiscard]] SymbolicShapes symbolic_shapes(Source const& source);

/// One key of a built-in program, in the order of its sizes.
struct BuiltinKey {
    std::string_view name;
    std::string_view description;
    std::int64_t default_size;
};
/// Another spelling of a built-in program, or the one that others measure under that name.
struct BuiltinVariant {
    std::string_view name;
    std::string_view description;
};
struct Builtin {
    std::string_view name;
    std::string_view description;
    std::vector<BuiltinKey> keys;
    /// Sizes in the order of `keys`, and behind them, if it is not the first, the number of the variant. Throws
    /// InputError.
    Source (*make)(std::vector<std::int64_t> const& sizes);
    std::vector<BuiltinVariant> variants = {}; ///< the first is the default; none: there is one spelling
};
[[nodiscard]] std::vector<Builtin> const& builtins();
[[nodiscard]] Builtin const* find_builtin(std::string_view name);

} // namespace espalier::program
