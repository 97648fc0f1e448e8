#pragma once

#include "espalier/codegen/gpu_plan.hpp"

namespace espalier::codegen {

/// A kernel whose operands are in local memory where they are read several times, as far as `limit` bytes go. Its own
/// tiles begin at `first`.
[[nodiscard]] Kernel stage_operands(Kernel kernel, Plan& plan, std::size_t first, std::int64_t limit);
/// The same with two buffers for tiles that change from step to step of the loop, if all of them may have two. Operands
/// in local memory begin at `first_staged`.
[[nodiscard]] Kernel double_buffers(Kernel kernel, Plan& plan, std::size_t first, std::size_t first_staged,
                                    std::int64_t limit);
/// Places the tiles of a kernel that begin at `first`.
void place_again(Kernel& kernel, Plan& plan, std::size_t first);

/// How many elements, side by side, a step that copies to local memory can move at once: as many as make 16, 8, 4 or 2
/// bytes and begin at multiples of that. 0: the step does something else.
[[nodiscard]] std::int64_t elements_at_once(Step const& step, std::vector<Buffer> const& buffers);
[[nodiscard]] Fetch fetch_of(Step const& step, std::vector<Buffer> const& buffers);

} // namespace espalier::codegen
