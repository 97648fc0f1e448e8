#pragma once

#include "espalier/codegen/plan.hpp"

#include <optional>

namespace espalier::codegen {

/// All of a buffer of this shape.
[[nodiscard]] View whole_view(std::size_t buffer, program::Shape const& shape);

/// An op that is given its operands.
struct Applied {
    program::OpInfo const& row;
    program::Attributes const& attributes;
    program::Meaning meaning;
    std::string what;
};
[[nodiscard]] Applied applied(program::Graph const& graph, program::TensorInfos const& tensors, program::OpId op,
                              std::string what);
/// One nest on the views that it reads: the operands of its op, then the results of the nests before it.
[[nodiscard]] Step step_of(Applied const& op, program::Nest const& nest, std::vector<View> const& sources,
                           View const& target);
/// target = from, element by element.
[[nodiscard]] Step copy_step(std::string what, View const& from, View const& target);
/// Whether the nest counts the steps of a for-loop; then that is its last loop.
[[nodiscard]] bool is_in_steps(program::Nest const& nest);

/// The address of a read moves by this when a loop goes on by one; nothing if that varies.
[[nodiscard]] std::optional<std::int64_t> stride_of(Step const& step, Source const& source, std::size_t loop);

} // namespace espalier::codegen
