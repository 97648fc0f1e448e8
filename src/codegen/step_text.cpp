#include "step_words.hpp"

#include "plan_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace espalier::codegen {
namespace {

using program::Reducer;

constexpr std::int64_t strip = 256; ///< columns that are reduced together

class StepPrinter : StepWords {
public:
    StepPrinter(Step const& step, std::vector<Buffer> const& buffers, bool is_shared, Lines& out)
        : StepWords(step, buffers, out), is_shared_(is_shared) {}

    void run() {
        out_.add("// " + step_.what);
        out_.open(step_.is_not_in_first ? "if (s > 0)" : "");
        point_at("a", step_.reads, "const");
        point_at("f", step_.factor, "const");
        out_.add(fmt::format("{}* const o = {};", type_of(step_.target), start_of(step_.target)));
        if (step_.product.rows > 0)
            by_product();
        else
            is_by_column() ? by_column() : by_element();
        out_.close();
    }

private:
    [[nodiscard]] std::string type_of(View const& view) const { return type_name(buffer(view)); }
    void point_at(std::string_view name, std::vector<Source> const& sources, std::string_view how) {
        for (std::size_t i = 0; i < sources.size(); ++i)
            out_.add(fmt::format("{} {}* const {}{} = {};", type_of(sources[i].view), how, name, i,
                                 start_of(sources[i].view)));
    }
    /// Sums run over rows of their operands: then neighbouring results are summed together.
    [[nodiscard]] bool is_by_column() const {
        if (step_.reducer == Reducer::none || step_.reduced.empty() || rank_ == 0 || step_.kept.back() == 1)
            return false;
        auto const last = rank_ + step_.reduced.size() - 1;
        return std::ranges::any_of(step_.reads, [&](Source const& read) {
            return stride_of(step_, read, rank_ - 1) == 1 && stride_of(step_, read, last) != 1;
        });
    }
    void open_loop(std::size_t loop) {
        out_.open(fmt::format("for (long i{0} = 0; i{0} < {1}; ++i{0})", loop, step_.loop_size(loop)));
    }
    void open_kept(std::size_t count, bool has_strips) {
        auto const loops = count + (has_strips ? 1 : 0);
        if (is_shared_ && loops > 0) out_.directive(fmt::format("#pragma omp parallel for collapse({})", loops));
        for (std::size_t i = 0; i < count; ++i) open_loop(i);
        if (has_strips) out_.open(fmt::format("for (long j = 0; j < {}; j += {})", step_.kept.back(), strip));
    }
    void close(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) out_.close();
    }
    /// The place of a matrix in a batch: what the loops before the last two add.
    [[nodiscard]] std::string batch_text(Source const& source) const {
        std::vector<std::string> terms;
        for (std::size_t loop = 0; loop + 2 < rank_; ++loop)
            if (auto const stride = stride_of(step_, source, loop).value(); stride != 0)
                terms.push_back(times(stride, fmt::format("i{}", loop)));
        return sum_of(terms);
    }
    /// Rows that are fetched before they are needed. Of a short sum that is the whole of the next panel.
    static std::int64_t ahead(std::int64_t depth, bool packs_right) {
        constexpr std::int64_t usual = 64;
        if (packs_right) return 0;
        return depth <= 2 * usual ? depth : usual;
    }
    void by_product() {
        auto const& [rows, columns, packs_left, packs_right] = step_.product;
        auto const &left = step_.reads[0], &right = step_.reads[1];
        auto const depth = step_.reduced[0];
        auto const stride = [&](Source const& of, std::size_t loop) { return stride_of(step_, of, loop).value(); };
        auto const is_panel = buffer(right.view).panel > 0;
        for (std::size_t loop = 0; loop + 2 < rank_; ++loop) open_loop(loop);
        auto const target = [&] {
            std::vector<std::string> terms{"o"};
            for (std::size_t i = 0; i + 2 < rank_; ++i)
                terms.push_back(times(step_.target.strides[static_cast<int>(i)], fmt::format("i{}", i)));
            return sum_of(terms);
        }();
        std::size_t next = 0;
        auto const scratch = [&](bool is_packed) { return is_packed ? start_of(step_.scratch[next++]) : "(real*)0"; };
        auto const to_left = scratch(packs_left), to_right = scratch(packs_right);
        out_.add(fmt::format(
            "product<{}, {}, {}, {}, {}, {}, {}, {}, {}L, {}L>(a0 + {}, a1 + {}, {}L, {}L, {}L, {}, {}L, {}, {}, {});",
            step_.kept[static_cast<int>(rank_) - 2], step_.kept.back(), depth, rows, columns, packs_left, packs_right,
            ahead(depth, packs_right), stride(left, rank_ - 2), stride(left, rank_), batch_text(left),
            batch_text(right), stride(right, rank_), is_panel ? 1 : stride(right, rank_ - 1),
            stride(right, rank_ - 1) * columns, target, step_.target.strides[static_cast<int>(rank_) - 2],
            step_.update == Update::set ? "true" : "s == 0", to_left, to_right));
        for (std::size_t loop = 0; loop + 2 < rank_; ++loop) out_.close();
    }
    void by_column() {
        auto const last = rank_ - 1;
        auto const columns = step_.kept.back();
        open_kept(last, true);
        auto const each =
            fmt::format("for (long i{0} = j; i{0} < {1}; ++i{0})", last,
                        columns % strip == 0 ? fmt::format("j + {}", strip)
                                             : fmt::format("(j + {0} < {1} ? j + {0} : {1})", strip, columns));
        out_.add(fmt::format("{} r_[{}];", step_.reducer == Reducer::sum ? "sum_t" : "real", std::min(strip, columns)));
        out_.open(each);
        out_.add(fmt::format("r_[i{} - j] = {};", last, text_of(step_.reducer).start));
        out_.close();
        for (auto loop = rank_; loop < rank_ + step_.reduced.size(); ++loop) open_loop(loop);
        out_.add("SIMD");
        out_.open(each);
        fold(fmt::format("r_[i{} - j]", last));
        out_.close();
        close(step_.reduced.size());
        out_.add("SIMD");
        out_.open(each);
        finish(fmt::format("r_[i{} - j]", last));
        out_.close();
        close(last + 1);
    }
    void by_element() {
        auto const is_plain = step_.reduced.empty();
        auto const inner = is_plain && rank_ > 0 ? rank_ - 1 : rank_;
        if (is_plain) {
            open_kept(inner, false);
            if (inner < rank_) {
                if (inner > 0 || !is_shared_)
                    out_.add("SIMD");
                else
                    out_.directive("#pragma omp parallel for");
                open_loop(inner);
            }
            auto const value = print_formula(step_.body, "v", "");
            store(step_.epilogue.empty() ? value : print_formula(step_.epilogue, "e", value));
            return close(rank_);
        }
        open_kept(rank_, false);
        out_.add(
            fmt::format("{} r_ = {};", step_.reducer == Reducer::sum ? "sum_t" : "real", text_of(step_.reducer).start));
        auto const last = rank_ + step_.reduced.size() - 1;
        for (auto loop = rank_; loop <= last; ++loop) {
            if (loop == last) out_.add(std::string(text_of(step_.reducer).simd));
            open_loop(loop);
        }
        fold("r_");
        close(step_.reduced.size());
        finish("r_");
        close(rank_);
    }

    bool is_shared_;
};

} // namespace

std::string type_name(Buffer const& buffer) {
    if (buffer.place == Place::tile) return "real";
    return fmt::format("{}_{}", buffer.place == Place::input ? "input" : "made", program::info(buffer.dtype).name);
}

std::string number_text(double value) {
    if (std::isinf(value)) return value > 0 ? "INF" : "(-INF)";
    return fmt::format("NUMBER({:#})", value);
}

void print_step(Step const& step, std::vector<Buffer> const& buffers, bool is_shared, Lines& out) {
    StepPrinter(step, buffers, is_shared, out).run();
}

} // namespace espalier::codegen
