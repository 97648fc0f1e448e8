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
        end_loops("long");
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
        out_.open(fmt::format("for (long i{0} = 0; i{0} < {1}; ++i{0})", loop, end_of(loop)));
    }
    void open_kept(std::size_t count, bool has_strips) {
        auto const loops = count + (has_strips ? 1 : 0);
        if (is_shared_ && loops > 0) out_.directive(fmt::format("#pragma omp parallel for collapse({})", loops));
        for (std::size_t i = 0; i < count; ++i) open_loop(i);
        if (has_strips) out_.open(fmt::format("for (long j = 0; j < {}; j += {})", end_of(rank_ - 1), strip));
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
        for (std::size_t loop = 0; loop + 2 < rank_; ++loop) open_loop(loop);
        std::size_t next = 0;
        auto const scratch = [&](bool is_packed) { return is_packed ? start_of(step_.scratch[next++]) : "(real*)0"; };
        auto const to_left = scratch(step_.product.packs_left), to_right = scratch(step_.product.packs_right);
        auto const rest = product_arguments() + fmt::format(", {}, {}", to_left, to_right);
        products({step_.kept[static_cast<int>(rank_) - 2], step_.kept.back(), step_.reduced[0]}, 0, rest);
        for (std::size_t loop = 0; loop + 2 < rank_; ++loop) out_.close();
    }
    /// Sizes are constants of the text: there is one product for whole tiles, and one for the last.
    void products(std::array<std::int64_t, 3> sizes, std::size_t from, std::string const& arguments) {
        for (auto i = from; i < sizes.size(); ++i) {
            auto const loop = rank_ - 2 + i;
            if (!step_.is_cut(loop)) continue;
            out_.open(fmt::format("if (n{} == {})", loop, sizes[i]));
            products(sizes, i + 1, arguments);
            out_.close();
            out_.open("else");
            sizes[i] = step_.last[loop].size;
            products(sizes, i + 1, arguments);
            return out_.close();
        }
        auto const& [rows, columns, packs_left, packs_right] = step_.product;
        auto const stride = [&](std::size_t loop) { return stride_of(step_, step_.reads[0], loop).value(); };
        out_.add(fmt::format("product<{}, {}, {}, {}, {}, {}, {}, {}, {}L, {}L>({});", sizes[0], sizes[1], sizes[2],
                             rows, columns, packs_left, packs_right, ahead(sizes[2], packs_right), stride(rank_ - 2),
                             stride(rank_), arguments));
    }
    [[nodiscard]] std::string product_arguments() const {
        auto const &left = step_.reads[0], &right = step_.reads[1];
        auto const column = stride_of(step_, right, rank_ - 1).value();
        std::vector<std::string> target{"o"};
        for (std::size_t i = 0; i + 2 < rank_; ++i)
            target.push_back(times(step_.target.strides[static_cast<int>(i)], fmt::format("i{}", i)));
        return fmt::format("a0 + {}, a1 + {}, {}L, {}L, {}L, {}, {}L, {}", batch_text(left), batch_text(right),
                           stride_of(step_, right, rank_).value(), buffer(right.view).panel > 0 ? 1 : column,
                           column * step_.product.columns, sum_of(target),
                           step_.target.strides[static_cast<int>(rank_) - 2],
                           step_.update == Update::set ? "true" : "s == 0");
    }
    void by_column() {
        auto const last = rank_ - 1;
        auto const columns = step_.kept.back();
        open_kept(last, true);
        auto const each = fmt::format("for (long i{0} = j; i{0} < {1}; ++i{0})", last,
                                      columns % strip == 0 && !step_.is_cut(last)
                                          ? fmt::format("j + {}", strip)
                                          : fmt::format("(j + {0} < {1} ? j + {0} : {1})", strip, end_of(last)));
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

std::string comment_text(std::string_view text) {
    std::string out;
    for (auto const c : text) {
        auto const is_plain = static_cast<unsigned char>(c) >= ' ' && c != '\\' && c != '\x7f';
        auto const last = out.empty() ? ' ' : out.back();
        auto const ends = (c == '/' && last == '*') || (c == '*' && last == '/');
        out += is_plain && !ends ? c : ' ';
    }
    return out;
}
std::string titled(std::string_view about, std::string const& text) {
    return "// " + comment_text(about) + "\n" + text;
}

std::string type_name(Buffer const& buffer) {
    auto const is_small = program::info(buffer.dtype).size_bytes < 4;
    if (buffer.home == Home::tile && !is_small) return "real";
    auto const where = buffer.home == Home::tile ? "tile" : buffer.home == Home::input ? "input" : "made";
    return fmt::format("{}_{}", where, program::info(buffer.dtype).name);
}

std::string number_text(double value) {
    if (std::isinf(value)) return value > 0 ? "INF" : "(-INF)";
    return fmt::format("NUMBER({:#})", value);
}

void print_step(Step const& step, std::vector<Buffer> const& buffers, bool is_shared, Lines& out) {
    StepPrinter(step, buffers, is_shared, out).run();
}

} // namespace espalier::codegen
