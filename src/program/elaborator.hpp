#pragma once

#include "elaborate.hpp"
#include "source_tables.hpp"

namespace espalier::program {

/// Goes through a source once. An error makes a tensor unknown, and unknown tensors give no further messages.
class Elaborator : private SourceTables {
public:
    using SourceTables::SourceTables;

    Elaboration run();

private:
    // --- ops

    void add_op(std::size_t i);
    std::optional<TensorId> result_of(std::size_t i, std::optional<TensorIds> const& operands);
    /// The ids of those operands that are tensors, or nothing if one is unknown.
    std::optional<TensorIds> read(std::size_t i);
    /// A transpose of the last two dimensions, which the right operand of a matmul can do without.
    std::optional<TensorId> transposed_by(std::size_t i, std::optional<TensorIds> const& operands) const;
    /// The tensor that operand `position` of op i is.
    std::optional<TensorId> read(Tensor& tensor, std::size_t i, std::size_t position);
    /// The transpose itself.
    std::optional<TensorId> made(Tensor& tensor);
    std::optional<TensorId> apply_with_constant(std::size_t i, OpCode code, TensorIds const& operands);
    std::optional<TensorId> compose(std::size_t i, Composition const& composition,
                                    std::optional<TensorIds> const& operands);
    std::optional<TensorId> run(std::size_t i, std::vector<CompositionStep> const& steps, TensorIds tensors,
                                Attributes const& attributes);
    /// One axis after the other, where several are given: only reductions and compositions of one can have that.
    template <class Each>
    std::optional<TensorId> over_axes(std::size_t i, Attributes const& attributes, TensorId first, Each const& each);
    static bool takes_dtype(OpInfo const& row);
    std::optional<TensorId> cast(std::size_t i, OpCode code, TensorIds const& in);
    enum class VectorSide : std::uint8_t { left, right };
    std::optional<TensorId> matrix_of(std::size_t i, TensorId vector, VectorSide side);
    std::optional<TensorId> view(std::size_t i, TensorId of, Sized const& as);
    /// A vector on the left is one row, on the right one column, and the product has no such dimension (two vectors
    /// have the product [1]); products without a vector are left to the others.
    std::optional<std::optional<TensorId>> product_with_vector(std::size_t i, OpCode code, TensorIds const& in);
    /// A batch of size 1 is used for all: an operand with such dimensions before those that both have loses them in a
    /// view; where a right operand has them just before its matrix, the other one's become rows. Products without them
    /// are left to the others.
    std::optional<std::optional<TensorId>> product_with_ones(std::size_t i, OpCode code, TensorIds const& in);
    /// Of the operand on this side: the first dimensions, and some just before its matrix, are of size 1.
    struct Ones {
        TensorIds in;
        std::size_t side = 0;
        int first = 0, merged = 0;
    };
    std::optional<TensorId> product_by_views(std::size_t i, OpCode code, Ones const& ones);
    [[nodiscard]] Sized dims_of(TensorId id, int from, int to) const;
    [[nodiscard]] std::vector<std::string> tensor_names() const;
    /// Sums, means and extrema may be over several axes.
    [[nodiscard]] std::optional<std::string> problem_of(std::size_t i, OpInfo const& row,
                                                        Attribute const& attribute) const;
    void check_words(std::size_t i, OpInfo const& row);
    bool is_called_well(std::size_t i, OpInfo const& row);

    // --- ops that move values

    /// Ops whose attributes are sizes in words.
    std::optional<TensorId> moved(std::size_t i, OpCode code, TensorIds const& in);
    /// The axis from the front; where there is none, the op's own rule says so.
    [[nodiscard]] int axis_or_last(std::size_t i, TensorId of) const;
    /// The kept part has the name of the difference of the borders, if that is a name, or a size of its own.
    std::optional<TensorId> slice(std::size_t i, TensorIds const& in);
    /// A sum of sizes; its terms are known only if it has no number among them.
    struct Border {
        std::int64_t value = 0;
        std::vector<std::pair<Word, int>> terms;
    };
    /// A negative one counts from the end.
    std::optional<Border> border(std::size_t i, AttributeName name, Border const& otherwise, std::int64_t size);
    /// A number in a border is not a size of anything.
    [[nodiscard]] Word literal_word(std::int64_t size) const;
    Word word_between(Border const& from, Border const& to);
    [[nodiscard]] std::int64_t word_value(Word const& word) const;
    /// As many operands at a time as an op takes.
    std::optional<TensorId> concat(std::size_t i, TensorIds in);
    [[nodiscard]] std::vector<std::string> const* words_of(std::size_t i, AttributeName name) const;
    std::optional<TensorId> reshape(std::size_t i, TensorIds const& in);
    [[nodiscard]] std::string elements_text(std::size_t i, TensorIds const& in) const;
    /// With a size that follows from the others.
    std::optional<Sized> wanted_shape(std::size_t i, TensorId of);
    bool fill_in(std::size_t i, int open, TensorId of, Sized& out);
    /// Of a size that nobody named.
    Word size_word(std::int64_t size);

    // --- one op of the graph

    /// `words`: see RuleInput::sizes.
    std::optional<TensorId> apply(std::size_t i, OpCode code, TensorIds const& in, Attributes const& attributes,
                                  SymbolicShape const* words = nullptr);
    /// Whether the op fits once a size that nobody named is replaced by another one: the rest of a concatenation, or of
    /// a slice with borders in numbers.
    bool finds_name(OpCode code, TensorIds const& in, Attributes const& attributes, SymbolicShape const* sizes);
    struct Renaming;
    [[nodiscard]] bool fits_with(OpCode code, TensorIds const& in, Attributes const& a, SymbolicShape const* sizes,
                                 Renaming const& renamed) const;
    [[nodiscard]] std::optional<Shape> numbers(OpCode code, TensorIds const& in, Attributes const& a) const;
    /// A graph with too many symbols is refused anyway: its shapes say nothing.
    [[nodiscard]] std::optional<SymbolicShape> symbols(OpCode code, TensorIds const& in, Attributes const& a,
                                                       SymbolicShape const* sizes) const;

    /// `X [B, K] = [2, 4096] and W [K, N] = [4096, 6144]`.
    [[nodiscard]] std::string shapes_text(std::size_t i, TensorIds const& in) const;
    [[nodiscard]] std::string shape_text(TensorId id) const;

    // --- outputs and the whole

    void add_output(std::size_t i);
    void check_whole();
    [[nodiscard]] std::vector<std::string> input_names() const;
    void check_unread();

    bool is_transposed_ = false; ///< the right operand of the matmul at hand
};

} // namespace espalier::program
