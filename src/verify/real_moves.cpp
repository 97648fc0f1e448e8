#include "real_boxes.hpp"
#include "real_evaluator.hpp"

#include <algorithm>
#include <utility>

/// Ops that move values.
namespace espalier::verify::real {

using program::Op;
using program::Shape;

namespace {

void make_set(std::vector<std::int64_t>& indices) {
    std::ranges::sort(indices);
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
}

std::vector<std::int64_t> flat_places(Shape const& shape, Box const& box) {
    std::vector<std::int64_t> out{0};
    for (std::size_t d = 0; d < box.size(); ++d) {
        std::vector<std::int64_t> next;
        for (auto const start : out)
            for (auto const i : box[d]) next.push_back(start * shape[static_cast<int>(d)] + i);
        out = std::move(next);
    }
    return out;
}

} // namespace

Values Evaluator::moved(Site& site, Op const& op, Box const& box) {
    switch (program::info(op.code).field.move) {
    case program::Move::permute:
        return rearranged(site, op, box);
    case program::Move::reshape:
        return reshaped(site, op, box);
    case program::Move::slice:
        return sliced(site, op, box);
    case program::Move::concat:
        return concatenated(site, op, box);
    }
    return {};
}

/// By way of the row-major place, which is one in both shapes.
Values Evaluator::reshaped(Site& site, Op const& op, Box const& box) {
    auto const& shape = shape_of_operand(site, op);
    auto const out = program::reshaped(op.attributes, element_count(shape)).value();
    auto const flat = flat_places(out, box);
    Box from(static_cast<std::size_t>(shape.rank()));
    for (auto place : flat)
        for (int d = shape.rank() - 1; d >= 0; place /= shape[d--])
            from[static_cast<std::size_t>(d)].push_back(place % shape[d]);
    auto const where = from; // of every element, dimension by dimension
    for (auto& indices : from) make_set(indices);
    Values scratch, out_values;
    auto const& in = value(site, op.inputs[0], from, scratch);
    for (std::size_t n = 0; n < flat.size(); ++n) {
        std::size_t place = 0;
        for (std::size_t d = 0; d < from.size(); ++d)
            place = place * from[d].size() +
                    static_cast<std::size_t>(std::ranges::lower_bound(from[d], where[d][n]) - from[d].begin());
        out_values.push_back(in[place]);
    }
    return out_values;
}

Values Evaluator::sliced(Site& site, Op const& op, Box box) {
    auto const& shape = shape_of_operand(site, op);
    auto const axis = program::axis_of(op.attributes, shape).value();
    auto const from = program::slice_of(op.attributes, shape[axis]).value().from;
    for (auto& index : box[static_cast<std::size_t>(axis)]) index += from;
    return value(site, op.inputs[0], box);
}

Values Evaluator::concatenated(Site& site, Op const& op, Box const& box) {
    auto const axis = static_cast<std::size_t>(*program::axis_of(op.attributes, shape_of_operand(site, op)));
    Strided const of_out(box, axis);
    Values out(size_of(box));
    std::int64_t from = 0;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        auto const size = shape_of_operand(site, op, i)[static_cast<int>(axis)];
        std::vector<std::size_t> mine;
        auto part = box;
        part[axis].clear();
        for (std::size_t a = 0; a < box[axis].size(); ++a)
            if (auto const at = box[axis][a] - from; at >= 0 && at < size) {
                mine.push_back(a);
                part[axis].push_back(at);
            }
        from += size;
        if (mine.empty()) continue;
        Strided const of_part(part, axis);
        Values scratch;
        auto const& in = value(site, op.inputs[i], part, scratch);
        for (std::size_t o = 0; o < of_out.outer; ++o)
            for (std::size_t a = 0; a < mine.size(); ++a)
                for (std::size_t n = 0; n < of_out.inner; ++n) out[of_out.at(o, mine[a], n)] = in[of_part.at(o, a, n)];
    }
    return out;
}

Values Evaluator::rearranged(Site& site, Op const& op, Box const& box) {
    auto const order = program::permutation_of(op.attributes, static_cast<int>(box.size())).value();
    Box from(box.size());
    for (std::size_t i = 0; i < box.size(); ++i) from[static_cast<std::size_t>(order[i])] = box[i];
    auto const in = value(site, op.inputs[0], from);
    auto const places = rearranged_places(box, from, order);
    Values out;
    for (auto const place : places) out.push_back(in[place]);
    return out;
}

} // namespace espalier::verify::real
