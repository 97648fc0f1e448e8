#pragma once

#include "espalier/codegen/gpu_plan.hpp"
#include "step_words.hpp"

namespace espalier::codegen {

/// Of which step of the loop tiles are used: of this one, of the first one before the loop begins, or of the next one.
enum class When : std::uint8_t { now, before_loop, ahead };

/// What steps of groups have in common: pointers, and items of threads.
class GroupWords : protected StepWords {
public:
    GroupWords(GpuKernel const& kernel, std::size_t step, std::vector<Buffer> const& buffers, Lines& out)
        : StepWords(kernel.step(step), buffers, out), kernel_(kernel), mapping_(kernel.mappings[step]) {}

protected:
    [[nodiscard]] bool is_blocked() const { return kernel_.kernel.is_blocked; }
    /// Opens a step and declares the pointers a0, .. to what is read, f0 to a factor and o to the target, and where its
    /// loops end.
    void open_step(When when = When::now);
    /// Opens the loop of a thread over its items `e`.
    void open_own_items();
    /// The loops of item `e`; where it has several elements, of the first of them. `side_by_side`: so many.
    void decode(std::string_view prefix, std::int64_t side_by_side = 1);
    /// Opens a condition where elements may be past the end of a last tile. Gives how many it opened.
    std::size_t open_inside();
    void close(std::size_t count);
    /// How far apart the elements of an item are along a dimension, which is how many items there are along it.
    [[nodiscard]] std::int64_t items_along(std::size_t i) const {
        return step_.kept[static_cast<int>(i)] / mapping_.along(i, rank_);
    }

    GpuKernel const& kernel_;
    Mapping const& mapping_;

private:
    [[nodiscard]] std::string type_of(View const& view) const;
    [[nodiscard]] std::string begin_of(View view, When when) const;
    void point_at(std::string_view name, std::vector<Source> const& sources, When when);
};

} // namespace espalier::codegen
