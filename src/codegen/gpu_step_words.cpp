#include "gpu_step_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace espalier::codegen {

std::string GroupWords::type_of(View const& view) const {
    auto const space = buffer(view).home == Home::tile ? "LOCAL" : "GLOBAL";
    return fmt::format("{} {}", space, type_name(buffer(view)));
}

std::string GroupWords::begin_of(View view, When when) const {
    auto const& of = buffer(view);
    auto const next = when == When::ahead ? view.origin[3] : 0;
    if (when == When::before_loop) view.origin[3] = 0;
    auto out = start_of(view);
    if (next != 0) out += fmt::format(" + {}L", next);
    if (of.copies > 1 && when != When::before_loop)
        out += fmt::format(" + {} % 2 * {}L", when == When::ahead ? "(s + 1)" : "s", program::element_count(of.shape));
    return out;
}

void GroupWords::point_at(std::string_view name, std::vector<Source> const& sources, When when) {
    for (std::size_t i = 0; i < sources.size(); ++i)
        out_.add(fmt::format("{} const* const {}{} = {};", type_of(sources[i].view), name, i,
                             begin_of(sources[i].view, when)));
}

void GroupWords::open_step(When when) {
    out_.add("// " + step_.what);
    out_.open(step_.is_not_in_first ? "if (s > 0)" : "");
    point_at("a", step_.reads, when);
    point_at("f", step_.factor, when);
    out_.add(fmt::format("{}* const o = {};", type_of(step_.target), begin_of(step_.target, when)));
    end_loops("int", when == When::ahead ? "s + 1" : when == When::before_loop ? "0" : "s");
}

void GroupWords::open_own_items() {
    if (is_blocked())
        return out_.open(fmt::format("for (int e = TID; e < {}; e += {})", mapping_.items, kernel_.threads));
    out_.add(fmt::format("int const e = BLOCK(0) * {} + TID;", kernel_.threads));
    out_.open(fmt::format("if (e < {})", mapping_.items));
}

std::size_t GroupWords::open_inside() {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < rank_; ++i)
        if (step_.is_cut(i)) all.push_back(fmt::format("i{0} < n{0}", i));
    if (!all.empty()) out_.open(fmt::format("if ({})", fmt::join(all, " && ")));
    return all.empty() ? 0 : 1;
}

void GroupWords::close(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out_.close();
}

void GroupWords::decode(std::string_view prefix, std::int64_t side_by_side) {
    std::int64_t below = 1;
    for (auto i = rank_; i-- > 0;) {
        auto const is_vector = side_by_side > 1 && i + 1 == rank_;
        auto const size = items_along(i) / (is_vector ? side_by_side : 1);
        auto at = below == 1 ? std::string("e") : fmt::format("e / {}", below);
        if (i > 0) at += fmt::format(" % {}", size);
        if (is_vector) at += fmt::format(" * {}", side_by_side);
        out_.add(fmt::format("int const {}{} = {};", prefix, i, size == 1 ? "0" : at));
        below *= size;
    }
}

} // namespace espalier::codegen
