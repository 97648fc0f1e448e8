#pragma once

#include "proof_sum.hpp"

#include "espalier/program/graph.hpp"

#include <array>
#include <limits>
#include <optional>
#include <vector>

namespace espalier::verify::proof {

/// A graph of any level with what inference says about it and of its bodies.
struct TypedGraph {
    explicit TypedGraph(program::Graph const& of);

    program::Graph const& graph;
    program::TensorInfos tensors;
    std::vector<TypedGraph> bodies;
    int first_cut = std::numeric_limits<int>::max(); ///< inputs from here on are made by ops that are not looked at
};

/// Where an element is: in the kernel graph, or in one block of a graph-defined kernel at one step of its loop, or in a
/// thread graph of it. Grid coordinates and steps are indices with variables, so that one frame stands for all.
struct Frame {
    TypedGraph const& typed;
    Frame const* outer = nullptr;      ///< of the graph op whose body this is
    program::Op const* op = nullptr;   ///< that op
    std::array<Form, 3> coordinates{}; ///< x, y, z
    Form step{};                       ///< of the loop; unused after it
};

/// Thrown where a tensor is put together of parts: it has one formula for `variable` below `at` and another one from
/// there.
struct Split {
    int variable = 0;
    std::int64_t at = 0;
};

/// What must hold so that a value is defined, for all values of the index variables in it. Variables in `value` that
/// are not bound there stand for all their values, but for those of the element that is asked for.
struct Condition {
    enum class Kind : std::uint8_t { nonzero, nonnegative, defined };
    Kind kind = Kind::nonzero;
    Sum value; ///< normal; defined: of the function itself
};

/// Writes elements of tensors as sums over input elements of the kernel graph, by the definitions of the ops. Every
/// call makes its own bound variables, so that what it returns can be multiplied with what any other call returns.
/// Keeps the conditions under which everything written so far is defined, except those that hold by the signs of
/// tensors.
class Elements {
public:
    explicit Elements(Workspace& work) : work_(work) {}
    [[nodiscard]] Sum element(Frame const& frame, program::TensorId tensor, Index const& index);
    [[nodiscard]] std::vector<Condition> const& conditions() const { return conditions_; }

private:
    [[nodiscard]] Sum made(Frame const& frame, program::TensorId tensor, Index const& index);
    [[nodiscard]] Sum pointwise(Frame const& frame, program::Op const& op, Index const& index);
    [[nodiscard]] Sum further_pointwise(Frame const& frame, program::Op const& op, Index const& index, Sum first);
    [[nodiscard]] Sum contraction(Frame const& frame, program::Op const& op, Index const& index);
    [[nodiscard]] Sum reduction(Frame const& frame, program::Op const& op, Index const& index);
    [[nodiscard]] Sum accumulation(Frame const& frame, program::Op const& op, Index const& index);
    [[nodiscard]] Sum extremum_of_reduction(Frame const& frame, program::Op const& op, Index index);
    [[nodiscard]] Sum rescaled(Frame const& frame, program::Op const& op, Index index);
    [[nodiscard]] Sum moved(Frame const& frame, program::Op const& op, Index const& index);
    [[nodiscard]] Sum rearranged(Frame const& frame, program::Op const& op, Index const& index);
    [[nodiscard]] Sum part_of_concatenation(Frame const& frame, program::Op const& op, Index index);
    /// The sum of value(index) for all indices from `from` to `from` + `size`, in as many parts as it has formulas.
    template <class Value>
    [[nodiscard]] Sum sum_over(std::int64_t from, std::int64_t size, Value const& value);
    [[nodiscard]] Sum option(Sum value, std::vector<int> bound, std::optional<Atom> const& inside = std::nullopt);
    [[nodiscard]] Sum quotient_of_norm(Frame const& frame, program::Op const& op, Index const& index);
    [[nodiscard]] Sum centred(Frame const& frame, program::Op const& op, Index const& index, int axis);

    struct Reduced {
        Sum sum;
        std::int64_t count = 1; ///< of values
    };
    [[nodiscard]] Reduced reduce(Frame const& frame, program::Op const& op, Index index);
    [[nodiscard]] static std::int64_t count_of_all(Frame const& frame, program::Op const& op, std::int64_t full);
    /// Where `at`, an index variable, runs along a dimension of an operand: which of its values exist, unless all
    /// do.
    [[nodiscard]] std::optional<Atom> guard(Frame const& frame, program::Op const& op, std::size_t i, int dim,
                                            Form const& at);
    [[nodiscard]] Sum root_of(Sum sum);
    void need(Condition::Kind kind, Sum const& value);
    /// `value`: the element itself. Of a product, whose sum forgets the factors, each factor must not be 0.
    void need_nonzero(Frame const& frame, program::TensorId tensor, Index const& index, Sum const& value);
    [[nodiscard]] Sum operand(Frame const& frame, program::Op const& op, std::size_t i, Index const& index);

    Workspace& work_;
    std::vector<Condition> conditions_;
    bool is_quiet_ = false; ///< what is written was written before
};

template <class Value>
Sum Elements::sum_over(std::int64_t from, std::int64_t size, Value const& value) {
    auto const variable = work_.new_variable(size);
    auto const known = conditions_.size();
    try {
        auto out = value(from == 0 ? work_.form(variable) : shifted(work_.form(variable), from));
        bind(out, variable);
        return out;
    } catch (Split const& split) {
        if (split.variable != variable) throw;
        conditions_.resize(known);
        auto out = sum_over(from, split.at, value);
        add(out, sum_over(from + split.at, size - split.at, value));
        return out;
    }
}

} // namespace espalier::verify::proof
