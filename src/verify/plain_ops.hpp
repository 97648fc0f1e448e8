#pragma once

#include "espalier/program/op.hpp"
#include "espalier/verify/tiles.hpp"

#include "plain_tensor.hpp"

namespace espalier::verify {

/// The ops of the reference evaluator, scalar by scalar.
class PlainOps {
public:
    explicit PlainOps(field::Model const& model) : model_(model) {}

    /// Any op but accumulators and graphs.
    [[nodiscard]] PlainTensor evaluate(program::OpInfo const& row, program::Attributes const& attributes,
                                       std::vector<PlainTensor const*> const& operands);
    /// Adds one step's tile to the sum of an accumulator (made by the first).
    void accumulate(program::OpInfo const& row, PlainTensor const& tile, PlainTensor& sum);
    /// What an accumulator gives when `loop` steps are summed.
    [[nodiscard]] PlainTensor finish(program::OpInfo const& row, program::Attributes const& attributes,
                                     PlainTensor const& sum, std::int64_t loop);

    [[nodiscard]] OpStatus status() const { return status_; }

private:
    using Operands = std::vector<PlainTensor const*>;

    field::Element scalar(field::Scalar op, field::Element a, field::Element b, bool with_q, std::uint32_t tag = 0);
    /// a / n for a whole number n.
    field::Element quotient(field::Element a, std::int64_t n, bool with_q);
    PlainTensor pointwise(program::OpInfo const& row, program::Attributes const& attributes, Operands const& operands,
                          program::Shape const& shape);
    PlainTensor contraction(program::OpInfo const& row, Operands const& operands, program::Shape const& shape);
    PlainTensor normalise(program::OpInfo const& row, program::Attributes const& attributes, PlainTensor const& in);

    field::Model model_;
    OpStatus status_ = OpStatus::done;
};

} // namespace espalier::verify
