#pragma once

#include "gpu_fragments.hpp"
#include "gpu_step_words.hpp"

namespace espalier::codegen {

/// A product in fragments: the word MMA_TILE, and what becomes of its results.
class FragmentPrinter : GroupWords {
public:
    FragmentPrinter(GpuKernel const& kernel, std::size_t step, std::vector<Buffer> const& buffers, Lines& out)
        : GroupWords(kernel, step, buffers, out), loops_(fragment_loops(kernel.step(step), buffers).value()),
          fragments_(mapping_.fragments), results_(fragments_.count() * Fragments::of_lane) {}

    void run();

private:
    void open_own();
    void open_first(std::int64_t warps);
    void declare_place();
    void multiply();
    void leave_parts();
    void put_together();
    void finish_all();
    [[nodiscard]] bool is_split() const { return mapping_.split > 1; }
    /// Where the item begins in what is read.
    [[nodiscard]] std::string begin_of_factor(std::size_t read, std::size_t loop, std::string_view at) const;
    [[nodiscard]] std::int64_t stride(std::size_t read, std::size_t loop) const;
    [[nodiscard]] std::string part_at(std::string_view warp) const;

    FragmentLoops loops_;
    Fragments fragments_;
    std::int64_t results_; ///< of a lane
};

} // namespace espalier::codegen
