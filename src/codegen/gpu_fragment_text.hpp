#pragma once

#include "gpu_fragments.hpp"
#include "gpu_step_words.hpp"

namespace espalier::codegen {

/// A product in fragments: the word MMA_TILE, and what is done with its results.
class FragmentPrinter : GroupWords {
public:
    FragmentPrinter(GpuKernel const& kernel, std::size_t step, std::vector<Buffer> const& buffers, Lines& out)
        : GroupWords(kernel, step, buffers, out), fragments_(mapping_.fragments),
          loops_(fragment_loops(step_, fragments_.is_turned)), results_(fragments_.count() * Fragments::of_lane),
          warps_(kernel.threads / Fragments::lanes) {}

    void run();
    /// Before the loop: of sums that are kept through it.
    void declare_sums();

private:
    void open_own();
    void open_first(std::int64_t warps);
    void declare_place();
    void multiply();
    void leave_parts();
    void put_together();
    void finish_all(std::string const& sums);
    [[nodiscard]] bool is_split() const { return mapping_.split > 1; }
    [[nodiscard]] bool is_kept() const { return step_.keeps_sums || step_.ends_sums; }
    /// Items that each warp has one after the other; 1: some may have none.
    [[nodiscard]] std::int64_t items_in_turn() const;
    /// The array of all sums of a lane, and where those of its item begin.
    [[nodiscard]] std::string all_sums() const;
    [[nodiscard]] std::string sums_of_item() const;
    void declare(std::string const& sums, std::int64_t count);
    /// Where the item begins in what is read.
    [[nodiscard]] std::string begin_of_factor(std::size_t read, std::size_t loop, std::string_view at) const;
    [[nodiscard]] std::int64_t stride(std::size_t read, std::size_t loop) const;
    [[nodiscard]] std::string part_at(std::string_view warp) const;

    Fragments fragments_;
    FragmentLoops loops_;
    std::int64_t results_; ///< of a lane, in an item
    std::int64_t warps_;
};

} // namespace espalier::codegen
