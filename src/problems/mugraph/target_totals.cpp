#include "target.hpp"

#include <algorithm>

namespace espalier::problems::mugraph {

using program::Word;

namespace {

using Total = Target::Total;

/// Of an axis: all that is taken from it, or that it is put together of.
void add_borders(std::vector<Total>& totals, Word const& whole, std::vector<std::int64_t> const& borders) {
    auto at = std::ranges::find(totals, whole, &Total::whole);
    if (at == totals.end()) at = totals.insert(at, {whole, borders.back(), {}, {}});
    at->borders.insert(at->borders.end(), borders.begin(), borders.end());
    std::ranges::sort(at->borders);
    at->borders.erase(std::unique(at->borders.begin(), at->borders.end()), at->borders.end());
}

/// A part between two borders, or one that goes over several.
struct NamedPart {
    Word whole, word;
    std::int64_t from = 0, to = 0;
};

/// Where a part begins and ends among the borders of a whole.
struct Span {
    std::ptrdiff_t first = 0, last = 0;
};
Span span_of(Total const& total, NamedPart const& part) {
    return {std::ranges::find(total.borders, part.from) - total.borders.begin(),
            std::ranges::find(total.borders, part.to) - total.borders.begin()};
}
bool is_part_of(Total const& total, NamedPart const& part) {
    return total.whole == part.whole && !(part.word == part.whole);
}

/// Of those parts that lie between two neighbouring borders.
void name_parts(std::vector<Total>& totals, std::vector<NamedPart> const& named) {
    for (auto& total : totals) total.parts.resize(total.borders.size() - 1);
    for (auto const& part : named)
        for (auto& total : totals) {
            if (!is_part_of(total, part)) continue;
            auto const [first, last] = span_of(total, part);
            if (last == first + 1) total.parts[static_cast<std::size_t>(first)] = part.word;
        }
}

/// A slice over several parts is a total of its own.
std::vector<Total> totals_of_parts(std::vector<Total> const& totals, std::vector<NamedPart> const& named) {
    std::vector<Total> out;
    for (auto const& part : named)
        for (auto const& total : totals) {
            if (!is_part_of(total, part)) continue;
            auto const [first, last] = span_of(total, part);
            if (last <= first + 1) continue;
            auto& own = out.emplace_back(Total{part.word, part.to - part.from, {}, {0}});
            for (auto i = first; i < last; ++i) {
                own.parts.push_back(total.parts[static_cast<std::size_t>(i)]);
                own.borders.push_back(total.borders[static_cast<std::size_t>(i) + 1] - part.from);
            }
        }
    return out;
}

/// An op that takes a part of its operand, or puts its operands together, and along which axis.
struct Moved {
    program::Op const& op;
    program::TensorId result;
    int axis = 0;
};

/// Records the parts and returns the borders of the whole.
std::vector<std::int64_t> borders_of(Target const& target, program::TensorInfos const& tensors, Moved const& moved,
                                     std::vector<NamedPart>& named) {
    auto const& [op, id, axis] = moved;
    auto const& shapes = target.shapes;
    if (program::info(op.code).field.move == program::Move::slice) {
        auto const size = tensors[op.inputs[0]].shape[axis];
        auto const slice = program::slice_of(op.attributes, size).value();
        auto const end = slice.from + slice.size;
        named.push_back({shapes[op.inputs[0]][axis], shapes[id][axis], slice.from, end});
        return {0, slice.from, end, size};
    }
    std::vector<std::int64_t> borders{0};
    for (auto const in : op.inputs) {
        auto const from = borders.back();
        borders.push_back(from + tensors[in].shape[axis]);
        named.push_back({shapes[id][axis], shapes[in][axis], from, borders.back()});
    }
    return borders;
}

} // namespace

void Target::add_totals() {
    std::vector<NamedPart> named;
    auto const tensors = program::infer(graph);
    for (auto const id : tensors.ids()) {
        if (tensors[id].maker == program::no_op) continue;
        auto const& op = graph.ops[tensors[id].maker];
        auto const& rule = program::info(op.code).field;
        if (rule.access != program::Access::rearrange || op_moves[tensors[id].maker].rank() == 0) continue;
        if (rule.move == program::Move::reshape) continue;
        auto const axis = program::axis_of(op.attributes, tensors[id].shape).value();
        auto const whole = rule.move == program::Move::slice ? op.inputs[0] : id;
        add_borders(totals, shapes[whole][axis], borders_of(*this, tensors, {op, id, axis}, named));
    }
    name_parts(totals, named);
    auto const of_parts = totals_of_parts(totals, named);
    totals.insert(totals.end(), of_parts.begin(), of_parts.end());
    std::ranges::stable_sort(totals, {}, &Total::number);
}

/// Parts without a name get equal small sizes if their sizes are equal.
std::int64_t Target::part_of(Total const& total, std::size_t part, Sizes const& sizes) const {
    auto const& word = total.parts[part];
    if (!word.is_unit()) return word.value(sizes);
    constexpr std::int64_t few = 8;
    return std::min(total.borders[part + 1] - total.borders[part], few);
}

std::int64_t Target::border_of(Word const& whole, std::int64_t border, Sizes const& sizes) const {
    auto const& total = *std::ranges::find(totals, whole, &Total::whole);
    std::int64_t out = 0;
    for (std::size_t i = 0; i + 1 < total.borders.size() && total.borders[i] < border; ++i)
        out += part_of(total, i, sizes);
    return out;
}

bool Target::settle_totals(Sizes& sizes, std::int64_t multiple) const {
    auto const real = real_sizes();
    auto const sum_of = [&](Total const& total) {
        std::int64_t out = 0;
        for (std::size_t i = 0; i < total.parts.size(); ++i) out += part_of(total, i, sizes);
        return out;
    };
    /// Odd parts make even wholes, as in a cache of 4,095 keys and one more.
    auto const even_out = [&](Total const& total) {
        auto const rest = sum_of(total) % multiple;
        if (rest == 0 || total.number % 2 != 0) return;
        for (auto const& part : total.parts)
            for (int s = 0; s < dims; ++s)
                if (part == Word::symbol(s) && real[static_cast<std::size_t>(s)] % 2 != 0) {
                    sizes[static_cast<std::size_t>(s)] += multiple - rest;
                    return;
                }
    };
    auto const set = [&](Total const& total) {
        auto const sum = sum_of(total);
        for (int s = dims - 1; s >= 0 && total.whole.value(sizes) != sum; --s) {
            if (total.whole.exponent(s) != 1) continue;
            auto const others = (total.whole / Word::symbol(s)).value(sizes);
            if (others > 0 && sum % others == 0) sizes[static_cast<std::size_t>(s)] = sum / others;
        }
    };
    auto const holds = [&](Total const& total) { return total.whole.value(sizes) == sum_of(total); };
    constexpr int rounds = 4;
    for (int round = 0; round < rounds && !std::ranges::all_of(totals, holds); ++round)
        for (auto const& total : totals) {
            even_out(total);
            set(total);
        }
    return std::ranges::all_of(totals, holds);
}

} // namespace espalier::problems::mugraph
