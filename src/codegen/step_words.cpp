#include "step_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace espalier::codegen {
namespace {

using program::Outside;
using program::Position;
using program::Reducer;

constexpr std::array<ReducerText, 4> reducer_texts{{{"", "", ""},
                                                    {"SUM_ZERO", "SUM_ADD", "SIMD_SUM"},
                                                    {"(real)-INF", "LARGER", "SIMD_LARGEST"},
                                                    {"(real)INF", "SMALLER", "SIMD_SMALLEST"}}};

constexpr std::array<std::string_view, 4> origin_names{"x", "y", "z", "s"};

std::string with_operands(std::string const& c, std::string const& a, std::string const& b) {
    std::string out;
    for (std::size_t i = 0; i < c.size(); ++i) {
        auto const is_operand = c[i] == 'x' && i + 1 < c.size() && (c[i + 1] == '0' || c[i + 1] == '1');
        out += is_operand ? (c[++i] == '0' ? a : b) : std::string(1, c[i]);
    }
    return out;
}

} // namespace

std::string sum_of(std::vector<std::string> const& terms) {
    return terms.empty() ? "0" : fmt::format("{}", fmt::join(terms, " + "));
}
std::string times(std::int64_t factor, std::string const& of) {
    return factor == 1 ? of : fmt::format("{} * {}L", of, factor);
}

ReducerText const& text_of(Reducer reducer) { return reducer_texts[static_cast<std::size_t>(reducer)]; }

std::string StepWords::start_of(View const& view) const {
    std::vector<std::string> terms{buffer(view).name};
    for (std::size_t i = 0; i < view.origin.size(); ++i)
        if (view.origin[i] != 0) terms.push_back(times(view.origin[i], std::string(origin_names[i])));
    return sum_of(terms);
}
std::string StepWords::end_of(std::size_t loop) const {
    return step_.is_cut(loop) ? fmt::format("n{}", loop) : fmt::format("{}", step_.loop_size(loop));
}
void StepWords::end_loops(std::string_view integer, std::string_view s) {
    auto names = origin_names;
    names[3] = s;
    for (std::size_t loop = 0; loop < step_.last.size(); ++loop) {
        auto const& last = step_.last[loop];
        if (!last.is_there()) continue;
        std::vector<std::string> conditions;
        for (std::size_t i = 0; i < last.part.size(); ++i)
            if (last.part[i] >= 0) conditions.push_back(fmt::format("{} == {}", names[i], last.part[i]));
        out_.add(fmt::format("{} const n{} = {} ? {} : {};", integer, loop, fmt::join(conditions, " && "), last.size,
                             step_.loop_size(loop)));
    }
}
std::string StepWords::digit_text(program::LoopDigit const& digit) const {
    auto at = fmt::format("i{}", digit.loop);
    if (digit.below != 1) at = fmt::format("({} / {})", at, digit.below);
    if (digit.size * digit.below < step_.loop_size(digit.loop)) at = fmt::format("({} % {})", at, digit.size);
    return at;
}
std::string StepWords::position_text(Position const& position) const {
    std::vector<std::string> terms;
    for (auto const& digit : position.digits) terms.push_back(times(digit.stride, digit_text(digit)));
    if (position.offset != 0) terms.push_back(fmt::format("({})", position.offset));
    return sum_of(terms);
}
std::string StepWords::place_text(Source const& source) const {
    std::vector<std::string> terms;
    for (int d = 0; d < source.index.rank(); ++d) {
        auto const& position = source.index[d];
        for (auto const& digit : position.digits)
            terms.push_back(times(digit.stride * source.view.strides[d], digit_text(digit)));
        if (position.offset != 0) terms.push_back(fmt::format("({})", position.offset * source.view.strides[d]));
    }
    return sum_of(terms);
}
std::string StepWords::load(Source const& source, std::string const& name) const {
    auto const& from = buffer(source.view);
    auto const at = place_text(source);
    if (type_name(from) == "real") return fmt::format("{}[{}]", name, at);
    return fmt::format("LOAD_{}({}, {})", type_name(from), name, at);
}
std::string StepWords::target_place() const {
    std::vector<std::string> terms;
    for (std::size_t i = 0; i < rank_; ++i)
        if (step_.kept[static_cast<int>(i)] > 1)
            terms.push_back(times(step_.target.strides[static_cast<int>(i)], fmt::format("i{}", i)));
    return sum_of(terms);
}
/// Whether a read is inside its tensor.
std::vector<std::string> StepWords::guards(Source const& source) const {
    std::vector<std::string> out;
    if (source.outside == Outside::never) return out;
    for (int d = 0; d < source.index.rank(); ++d)
        if (source.index[d].offset != 0 || reaches(source.index[d]) > source.view.shape[d])
            out.push_back(
                fmt::format("(unsigned long)({}) < {}ul", position_text(source.index[d]), source.view.shape[d]));
    return out;
}
std::int64_t StepWords::reaches(Position const& position) const {
    std::int64_t out = position.offset + 1;
    for (auto const& digit : position.digits)
        out += digit.stride * (std::min(digit.size, step_.loop_size(digit.loop)) - 1);
    return out;
}

std::string StepWords::print_formula(Formula const& formula, std::string_view prefix, std::string const& reduced) {
    for (std::size_t i = 0; i < formula.size(); ++i)
        out_.add(fmt::format("real const {}{} = {};", prefix, i, term_text(formula[i], prefix, reduced)));
    return fmt::format("{}{}", prefix, formula.size() - 1);
}
std::string StepWords::term_text(Term const& term, std::string_view prefix, std::string const& reduced) const {
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
std::string StepWords::read_text(std::size_t i) const {
    auto const& source = step_.reads[i];
    auto const value = load(source, fmt::format("a{}", i));
    auto const inside = guards(source);
    if (inside.empty() || source.outside == Outside::skip) return value;
    return fmt::format("{} ? {} : (real)0.0f", fmt::join(inside, " && "), value);
}
/// Opens a condition where reads may be outside and then count for nothing.
bool StepWords::open_skip() {
    std::vector<std::string> all;
    for (auto const& source : step_.reads)
        if (source.outside == Outside::skip)
            for (auto const& guard : guards(source)) all.push_back(guard);
    if (!all.empty()) out_.open(fmt::format("if ({})", fmt::join(all, " && ")));
    return !all.empty();
}
void StepWords::fold(std::string const& into) {
    auto const is_open = open_skip();
    auto const value = print_formula(step_.body, "v", "");
    out_.add(fmt::format("{} = {}({}, {});", into, text_of(step_.reducer).fold, into, value));
    if (is_open) out_.close();
}
void StepWords::finish(std::string const& reduced) {
    auto const is_sum = step_.reducer == Reducer::sum;
    out_.add(
        fmt::format("real const r = {};", is_sum ? fmt::format("SUM_TOTAL({}, {})", reduced, step_.count()) : reduced));
    auto const value = step_.epilogue.empty() ? "r" : print_formula(step_.epilogue, "e", "r");
    store(value);
}
void StepWords::store(std::string const& value) {
    auto const at = target_place();
    auto const there = fmt::format("o[{}]", at);
    if (step_.update == Update::set) return out_.add(store_text(at, value));
    auto const old =
        step_.update == Update::rescale ? fmt::format("{} * {}", there, load(step_.factor[0], "f0")) : there;
    auto const fold = step_.reducer == Reducer::none ? std::string_view("STEP_ADD") : step_fold();
    out_.add(fmt::format("{} = s == 0 ? {} : {}({}, {});", there, value, fold, old, value));
}
std::string_view StepWords::step_fold() const {
    return step_.reducer == Reducer::sum ? "STEP_ADD" : text_of(step_.reducer).fold;
}
std::string StepWords::store_text(std::string const& at, std::string const& value) const {
    auto const& to = buffer(step_.target);
    if (to.home == Home::tile) return fmt::format("o[{}] = {};", at, value);
    return fmt::format("STORE_{}(o, {}, {});", type_name(to), at, value);
}

} // namespace espalier::codegen
