#include "gpu_step_text.hpp"

#include "step_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace espalier::codegen {
namespace {

class GroupPrinter : StepWords {
public:
    GroupPrinter(GpuKernel const& kernel, std::size_t step, std::vector<Buffer> const& buffers, Lines& out)
        : StepWords(kernel.step(step), buffers, out), kernel_(kernel), mapping_(kernel.mappings[step]) {}

    void run() {
        out_.add("// " + step_.what);
        out_.open(step_.is_not_in_first ? "if (s > 0)" : "");
        point_at("a", step_.reads);
        point_at("f", step_.factor);
        out_.add(fmt::format("{}* const o = {};", type_of(step_.target), start_of(step_.target)));
        end_loops("int");
        if (mapping_.split > 1)
            by_parts();
        else
            by_items();
        out_.close();
    }

private:
    [[nodiscard]] bool is_blocked() const { return kernel_.kernel.is_blocked; }
    [[nodiscard]] std::string type_of(View const& view) const {
        auto const space = buffer(view).place == Place::tile ? "LOCAL" : "GLOBAL";
        return fmt::format("{} {}", space, type_name(buffer(view)));
    }
    void point_at(std::string_view name, std::vector<Source> const& sources) {
        for (std::size_t i = 0; i < sources.size(); ++i)
            out_.add(fmt::format("{} const* const {}{} = {};", type_of(sources[i].view), name, i,
                                 start_of(sources[i].view)));
    }
    /// How far apart the elements of an item are along a dimension, which is how many items there are along it.
    [[nodiscard]] std::int64_t items_along(std::size_t i) const {
        return step_.kept[static_cast<int>(i)] / mapping_.along(i, rank_);
    }
    /// The loops of item `e`; where it has several elements, of the first of them.
    void decode(std::string_view prefix) {
        std::int64_t below = 1;
        for (auto i = rank_; i-- > 0;) {
            auto const size = items_along(i);
            auto at = below == 1 ? std::string("e") : fmt::format("e / {}", below);
            if (i > 0) at += fmt::format(" % {}", size);
            out_.add(fmt::format("int const {}{} = {};", prefix, i, size == 1 ? "0" : at));
            below *= size;
        }
    }
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
    /// Opens a condition where elements may be past the end of a last tile.
    std::size_t open_inside() {
        std::vector<std::string> all;
        for (std::size_t i = 0; i < rank_; ++i)
            if (step_.is_cut(i)) all.push_back(fmt::format("i{0} < n{0}", i));
        if (!all.empty()) out_.open(fmt::format("if ({})", fmt::join(all, " && ")));
        return all.empty() ? 0 : 1;
    }
    void close(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) out_.close();
    }

    void by_items() {
        if (is_blocked()) {
            out_.open(fmt::format("for (int e = TID; e < {}; e += {})", mapping_.items, kernel_.threads));
        } else {
            out_.add(fmt::format("int const e = BLOCK(0) * {} + TID;", kernel_.threads));
            out_.open(fmt::format("if (e < {})", mapping_.items));
        }
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

    // --- sums in parts: every thread leaves one in local memory, and the first ones put them together

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

    GpuKernel const& kernel_;
    Mapping const& mapping_;
};

} // namespace

void print_group_step(GpuKernel const& kernel, std::size_t step, std::vector<Buffer> const& buffers, Lines& out) {
    if (kernel.mappings[step].has_barrier_before) out.add("BARRIER");
    GroupPrinter(kernel, step, buffers, out).run();
}

} // namespace espalier::codegen
