#pragma once

#include "espalier/program/op.hpp"
#include "espalier/verify/tiles.hpp"

#include "plain_tensor.hpp"

namespace espalier::verify {

/// The ops of the reference evaluator, value by value, by what each op means and nothing else.
class PlainOps {
public:
    using Operands = std::vector<PlainTensor const*>;

    explicit PlainOps(field::Model const& model) : model_(model) {}

    /// Any op but graphs. Those of an accumulator are the tiles of its first operand, one per step of the for-loop,
    /// then those of its second; elements that the last of them lacks are left out.
    [[nodiscard]] PlainTensor evaluate(program::OpInfo const& row, program::Attributes const& attributes,
                                       Operands const& operands, int output = 0);

    [[nodiscard]] OpStatus status() const { return status_; }

private:
    field::Model model_;
    OpStatus status_ = OpStatus::done;
};

} // namespace espalier::verify
