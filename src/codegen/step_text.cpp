#include "step_text.hpp"

#include "plan_steps.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace espalier::codegen {
namespace {

using program::Outside;
using program::Position;
using program::Reducer;

constexpr std::int64_t strip = 256; ///< columns that are reduced together

struct ReducerText {
    std::string_view start, fold, simd;
};
constexpr std::array<ReducerText, 4> reducer_texts{{{"", "", ""},
                                                    {"SUM_ZERO", "SUM_ADD", "SIMD_SUM"},
                                                    {"(real)-INF", "LARGER", "SIMD_LARGEST"},
                                                    {"(real)INF", "SMALLER", "SIMD_SMALLEST"}}};
ReducerText const& text_of(Reducer reducer) { return reducer_texts[static_cast<std::size_t>(reducer)]; }

constexpr std::array<std::string_view, 4> origin_names{"x", "y", "z", "s"};

std::string sum_of(std::vector<std::string> const& terms) {
    return terms.empty() ? "0" : fmt::format("{}", fmt::join(terms, " + "));
}
std::string times(std::int64_t factor, std::string const& of) {
    return factor == 1 ? of : fmt::format("{} * {}L", of, factor);
}

class StepPrinter {
public:
    StepPrinter(Step const& step, std::vector<Buffer> const& buffers, bool is_shared, Lines& out)
        : step_(step), buffers_(buffers), is_shared_(is_shared), out_(out),
          rank_(static_cast<std::size_t>(step.kept.rank())) {}

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
    // --- addresses

    [[nodiscard]] Buffer const& buffer(View const& view) const { return buffers_[view.buffer]; }
    [[nodiscard]] std::string type_of(View const& view) const { return type_name(buffer(view)); }
    [[nodiscard]] std::string start_of(View const& view) const {
        std::vector<std::string> terms{buffer(view).name};
        for (std::size_t i = 0; i < view.origin.size(); ++i)
            if (view.origin[i] != 0) terms.push_back(times(view.origin[i], std::string(origin_names[i])));
        return sum_of(terms);
    }
    void point_at(std::string_view name, std::vector<Source> const& sources, std::string_view how) {
        for (std::size_t i = 0; i < sources.size(); ++i)
            out_.add(fmt::format("{} {}* const {}{} = {};", type_of(sources[i].view), how, name, i,
                                 start_of(sources[i].view)));
    }
    [[nodiscard]] std::string digit_text(program::LoopDigit const& digit) const {
        auto at = fmt::format("i{}", digit.loop);
        if (digit.below != 1) at = fmt::format("({} / {})", at, digit.below);
        if (digit.size * digit.below < step_.loop_size(digit.loop)) at = fmt::format("({} % {})", at, digit.size);
        return at;
    }
    [[nodiscard]] std::string position_text(Position const& position) const {
        std::vector<std::string> terms;
        for (auto const& digit : position.digits) terms.push_back(times(digit.stride, digit_text(digit)));
        if (position.offset != 0) terms.push_back(fmt::format("({})", position.offset));
        return sum_of(terms);
    }
    [[nodiscard]] std::string place_text(Source const& source) const {
        std::vector<std::string> terms;
        for (int d = 0; d < source.index.rank(); ++d) {
            auto const& position = source.index[d];
            for (auto const& digit : position.digits)
                terms.push_back(times(digit.stride * source.view.strides[d], digit_text(digit)));
            if (position.offset != 0) terms.push_back(fmt::format("({})", position.offset * source.view.strides[d]));
        }
        return sum_of(terms);
    }
    [[nodiscard]] std::string load(Source const& source, std::string const& name) const {
        auto const& from = buffer(source.view);
        auto const at = place_text(source);
        if (from.place == Place::tile) return fmt::format("{}[{}]", name, at);
        return fmt::format("LOAD_{}({}, {})", type_name(from), name, at);
    }
    [[nodiscard]] std::string target_place() const {
        std::vector<std::string> terms;
        for (std::size_t i = 0; i < rank_; ++i)
            if (step_.kept[static_cast<int>(i)] > 1)
                terms.push_back(times(step_.target.strides[static_cast<int>(i)], fmt::format("i{}", i)));
        return sum_of(terms);
    }
    /// Whether a read is inside its tensor.
    [[nodiscard]] std::vector<std::string> guards(Source const& source) const {
        std::vector<std::string> out;
        if (source.outside == Outside::never) return out;
        for (int d = 0; d < source.index.rank(); ++d)
            if (source.index[d].offset != 0 || reaches(source.index[d]) > source.view.shape[d])
                out.push_back(
                    fmt::format("(unsigned long)({}) < {}ul", position_text(source.index[d]), source.view.shape[d]));
        return out;
    }
    [[nodiscard]] std::int64_t reaches(Position const& position) const {
        std::int64_t out = position.offset + 1;
        for (auto const& digit : position.digits)
            out += digit.stride * (std::min(digit.size, step_.loop_size(digit.loop)) - 1);
        return out;
    }

    // --- values

    /// Gives the name of the last term.
    std::string print_formula(Formula const& formula, std::string_view prefix, std::string const& reduced) {
        for (std::size_t i = 0; i < formula.size(); ++i)
            out_.add(fmt::format("real const {}{} = {};", prefix, i, term_text(formula[i], prefix, reduced)));
        return fmt::format("{}{}", prefix, formula.size() - 1);
    }
    [[nodiscard]] std::string term_text(Term const& term, std::string_view prefix, std::string const& reduced) const {
        using Kind = Term::Kind;
        if (term.kind == Kind::apply) {
            auto const call =
                with_operands(term.c, fmt::format("{}{}", prefix, term.a), fmt::format("{}{}", prefix, term.b));
            auto const has_kink = term.c.find('?') != std::string::npos;
            return has_kink ? fmt::format("KINK({}, {}{}, {}{})", call, prefix, term.a, prefix, term.b) : call;
        }
        if (term.kind == Kind::number) return number_text(term.number);
        if (term.kind == Kind::count) return number_text(static_cast<double>(step_.count()));
        return term.kind == Kind::reduced ? reduced : read_text(term.read);
    }
    [[nodiscard]] std::string read_text(std::size_t i) const {
        auto const& source = step_.reads[i];
        auto const value = load(source, fmt::format("a{}", i));
        auto const inside = guards(source);
        if (inside.empty() || source.outside == Outside::skip) return value;
        return fmt::format("{} ? {} : (real)0.0f", fmt::join(inside, " && "), value);
    }
    static std::string with_operands(std::string const& c, std::string const& a, std::string const& b) {
        std::string out;
        for (std::size_t i = 0; i < c.size(); ++i) {
            auto const is_operand = c[i] == 'x' && i + 1 < c.size() && (c[i + 1] == '0' || c[i + 1] == '1');
            out += is_operand ? (c[++i] == '0' ? a : b) : std::string(1, c[i]);
        }
        return out;
    }
    /// Opens a condition where reads may be outside and then count for nothing.
    bool open_skip() {
        std::vector<std::string> all;
        for (auto const& source : step_.reads)
            if (source.outside == Outside::skip)
                for (auto const& guard : guards(source)) all.push_back(guard);
        if (!all.empty()) out_.open(fmt::format("if ({})", fmt::join(all, " && ")));
        return !all.empty();
    }
    void fold(std::string const& into) {
        auto const is_open = open_skip();
        auto const value = print_formula(step_.body, "v", "");
        out_.add(fmt::format("{} = {}({}, {});", into, text_of(step_.reducer).fold, into, value));
        if (is_open) out_.close();
    }
    /// From what was reduced to what is stored.
    void finish(std::string const& reduced) {
        auto const is_sum = step_.reducer == Reducer::sum;
        out_.add(fmt::format("real const r = {};",
                             is_sum ? fmt::format("SUM_TOTAL({}, {})", reduced, step_.count()) : reduced));
        auto const value = step_.epilogue.empty() ? "r" : print_formula(step_.epilogue, "e", "r");
        store(value);
    }
    void store(std::string const& value) {
        auto const at = target_place();
        auto const there = fmt::format("o[{}]", at);
        if (step_.update == Update::set) return out_.add(store_text(at, value));
        auto const old =
            step_.update == Update::rescale ? fmt::format("{} * {}", there, load(step_.factor[0], "f0")) : there;
        auto const fold = step_.reducer == Reducer::none ? std::string_view("STEP_ADD") : step_fold();
        out_.add(fmt::format("{} = s == 0 ? {} : {}({}, {});", there, value, fold, old, value));
    }
    [[nodiscard]] std::string_view step_fold() const {
        return step_.reducer == Reducer::sum ? "STEP_ADD" : text_of(step_.reducer).fold;
    }
    [[nodiscard]] std::string store_text(std::string const& at, std::string const& value) const {
        auto const& to = buffer(step_.target);
        if (to.place == Place::tile) return fmt::format("o[{}] = {};", at, value);
        return fmt::format("STORE_{}(o, {}, {});", type_name(to), at, value);
    }

    // --- loops

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
    /// Packed rows are short and follow one another; those of a matrix are far apart, where no processor expects them.
    static int ahead(bool is_panel, bool packs_right) {
        if (packs_right) return 0;
        return is_panel ? 64 : 16;
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
            "product<{}, {}, {}, {}, {}, {}, {}, {}>(a0 + {}, {}L, {}L, a1 + {}, {}L, {}L, {}L, {}, {}L, {}, {}, {});",
            step_.kept[static_cast<int>(rank_) - 2], step_.kept.back(), depth, rows, columns, packs_left, packs_right,
            ahead(is_panel, packs_right), batch_text(left), stride(left, rank_ - 2), stride(left, rank_),
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

    Step const& step_;
    std::vector<Buffer> const& buffers_;
    bool is_shared_;
    Lines& out_;
    std::size_t rank_;
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
