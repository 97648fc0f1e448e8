#include "gpu_step_text.hpp"

#include "gpu_fragment_text.hpp"
#include "gpu_step_words.hpp"

#include <fmt/format.h>

namespace espalier::codegen {
namespace {

class GroupPrinter : GroupWords {
public:
    using GroupWords::GroupWords;

    void run() {
        open_step();
        if (mapping_.split > 1)
            by_parts();
        else
            by_items();
        out_.close();
    }

private:
    void begin_sum(std::string const& name) {
        auto const is_sum = step_.reducer == program::Reducer::sum;
        out_.add(fmt::format("{} {} = {};", is_sum ? "sum_t" : "real", name, text_of(step_.reducer).start));
    }
    void open_reduced() {
        for (auto loop = rank_; loop < rank_ + step_.reduced.size(); ++loop)
            if (mapping_.split > 1 && loop == mapping_.split_loop)
                out_.open(fmt::format("for (int i{0} = {1}; i{0} < {2}; i{0} += {3})", loop, part_text(), end_of(loop),
                                      mapping_.split));
            else
                out_.open(fmt::format("for (int i{0} = 0; i{0} < {1}; ++i{0})", loop, end_of(loop)));
    }
    void by_items() {
        open_own_items();
        auto const has_several = mapping_.rows * mapping_.columns > 1;
        decode(has_several ? "j" : "i");
        if (has_several)
            by_several();
        else
            by_one();
        out_.close();
    }
    void by_one() {
        auto const conditions = open_inside();
        if (step_.reduced.empty()) {
            auto const value = print_formula(step_.body, "v", "");
            store(step_.epilogue.empty() ? value : print_formula(step_.epilogue, "e", value));
            return close(conditions);
        }
        begin_sum("r_");
        open_reduced();
        fold("r_");
        close(step_.reduced.size());
        finish("r_");
        close(conditions);
    }
    /// Elements of a thread lie apart, so that neighbouring threads have neighbouring elements.
    std::size_t open_each() {
        out_.add("UNROLL");
        out_.open(fmt::format("for (int q = 0; q < {}; ++q)", mapping_.rows * mapping_.columns));
        for (std::size_t i = 0; i < rank_; ++i)
            out_.add(fmt::format("int const i{0} = j{0}{1};", i,
                                 i + 1 == rank_   ? apart("%", i)
                                 : i + 2 == rank_ ? apart("/", i)
                                                  : ""));
        return 1 + open_inside();
    }
    [[nodiscard]] std::string apart(std::string_view how, std::size_t i) const {
        return fmt::format(" + q {} {} * {}", how, mapping_.columns, items_along(i));
    }
    void by_several() {
        auto const count = mapping_.rows * mapping_.columns;
        out_.add(fmt::format("sum_t r_[{}];", count));
        out_.add("UNROLL");
        out_.add(fmt::format("for (int q = 0; q < {}; ++q) r_[q] = {};", count, text_of(step_.reducer).start));
        open_reduced();
        auto const opened = open_each();
        fold("r_[q]");
        close(step_.reduced.size() + opened);
        open_each();
        finish("r_[q]");
        close(opened);
    }

    // --- sums in parts: every thread leaves one in local memory, and the first ones combine them

    [[nodiscard]] std::string part_text() const {
        return mapping_.is_part_fastest ? fmt::format("TID % {}", mapping_.split)
                                        : fmt::format("TID / {}", mapping_.at_once);
    }
    [[nodiscard]] std::string item_text() const {
        return mapping_.is_part_fastest ? fmt::format("TID / {}", mapping_.split)
                                        : fmt::format("TID % {}", mapping_.at_once);
    }
    /// Opens what `threads` threads do, for items that there are.
    std::size_t open_items(std::int64_t threads, std::string const& item) {
        auto const e = is_blocked() ? item : fmt::format("BLOCK(0) * {} + {}", mapping_.at_once, item);
        auto const is_even = is_blocked() || mapping_.items % mapping_.at_once == 0;
        out_.open(
            fmt::format("if (TID < {}{})", threads, is_even ? "" : fmt::format(" && {} < {}", e, mapping_.items)));
        out_.add(fmt::format("int const e = {};", e));
        decode("i");
        auto const conditions = open_inside();
        begin_sum("r_");
        return 1 + conditions;
    }
    void by_parts() {
        auto const opened = open_items(mapping_.at_once * mapping_.split, item_text());
        open_reduced();
        fold("r_");
        close(step_.reduced.size());
        out_.add(fmt::format("tiles[{} + TID] = r_;", kernel_.scratch));
        close(opened);
        if (mapping_.has_barrier_inside) out_.add("BARRIER");
        open_items(mapping_.at_once, "TID");
        auto const at = mapping_.is_part_fastest ? fmt::format("TID * {} + part", mapping_.split)
                                                 : fmt::format("part * {} + TID", mapping_.at_once);
        out_.add(fmt::format("for (int part = 0; part < {}; ++part) r_ = {}(r_, tiles[{} + {}]);", mapping_.split,
                             text_of(step_.reducer).fold, kernel_.scratch, at));
        finish("r_");
        close(opened);
    }
};

/// Of an operand to local memory, as it is.
class CopyPrinter : GroupWords {
public:
    using GroupWords::GroupWords;

    void run(When when) {
        auto const is_ahead = when == When::ahead;
        if (is_ahead) out_.open(fmt::format("if (s + 1 < {})", kernel_.kernel.loop));
        open_step(when);
        open_own_items();
        decode("i", mapping_.vector);
        auto const conditions = open_inside();
        auto const bytes = mapping_.vector * program::info(buffer(step_.target).dtype).size_bytes;
        out_.add(fmt::format("{}_{}(o + {}, a0 + {});", when == When::now ? "COPY" : "FETCH", bytes, target_place(),
                             place_text(step_.reads[0])));
        close(conditions);
        out_.close();
        out_.close();
        if (is_ahead) out_.close();
    }
};

} // namespace

void print_group_step(GpuKernel const& kernel, std::size_t step, std::vector<Buffer> const& buffers, Lines& out) {
    if (kernel.mappings[step].has_barrier_before) out.add("BARRIER");
    auto const& mapping = kernel.mappings[step];
    if (mapping.fetch == Fetch::once) return;
    if (mapping.vector > 0)
        CopyPrinter(kernel, step, buffers, out).run(mapping.fetch == Fetch::ahead ? When::ahead : When::now);
    else if (mapping.fragments.rows > 0)
        FragmentPrinter(kernel, step, buffers, out).run();
    else
        GroupPrinter(kernel, step, buffers, out).run();
}

void print_before_loop(GpuKernel const& kernel, std::size_t step, std::vector<Buffer> const& buffers, Lines& out) {
    if (kernel.step(step).keeps_sums) FragmentPrinter(kernel, step, buffers, out).declare_sums();
    if (kernel.mappings[step].fetch != Fetch::in_turn) CopyPrinter(kernel, step, buffers, out).run(When::before_loop);
}

} // namespace espalier::codegen
