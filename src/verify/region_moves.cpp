#include "region_moves.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace espalier::verify {

using program::Attributes;
using program::Move;
using program::Op;
using program::Shape;
using program::TensorInfos;

namespace {

/// Dimensions of one shape that have the elements of dimensions of another, in the same order; ones may be among them.
struct Group {
    int from = 0, count = 0;             ///< in the first shape
    int other_from = 0, other_count = 0; ///< in the second
};
std::vector<Group> groups_of(Shape const& a, Shape const& b) {
    std::vector<Group> out;
    for (int i = 0, j = 0; i < a.rank() || j < b.rank();) {
        Group group{i, 0, j, 0};
        std::int64_t size = 1, other = 1;
        do {
            if (j == b.rank() || (size <= other && i < a.rank()))
                size *= a[i++];
            else
                other *= b[j++];
        } while (size != other);
        while (i < a.rank() && a[i] == 1) ++i; // the rest are ones
        while (j < b.rank() && b[j] == 1) ++j;
        group.count = i - group.from;
        group.other_count = j - group.other_from;
        out.push_back(group);
    }
    return out;
}

/// Row-major places of a product of indices, or the indices of places: one list per dimension.
Indices places_of(std::span<Indices const> dims, Shape const& shape, int from) {
    Indices out{0};
    for (std::size_t d = 0; d < dims.size(); ++d) {
        Indices next;
        for (auto const start : out)
            for (auto const i : dims[d]) next.push_back(start * shape[from + static_cast<int>(d)] + i);
        out = std::move(next);
    }
    return out;
}
std::vector<Indices> indices_of(Indices const& places, Shape const& shape, int from, int count) {
    std::vector<Indices> out(static_cast<std::size_t>(count));
    for (auto place : places)
        for (int d = count - 1; d >= 0; place /= shape[from + d--])
            out[static_cast<std::size_t>(d)].push_back(place % shape[from + d]);
    for (auto& indices : out) make_set(indices);
    return out;
}

bool is_whole(std::span<Indices const> dims, Shape const& shape, int from) {
    for (std::size_t d = 0; d < dims.size(); ++d)
        if (std::ssize(dims[d]) != shape[from + static_cast<int>(d)]) return false;
    return true;
}

/// In another shape, where the same elements are a product too.
std::vector<Indices> moved_indices(std::vector<Indices> const& dims, Shape const& shape, Shape const& other) {
    std::vector<Indices> out;
    for (auto const& group : groups_of(shape, other)) {
        auto const mine =
            std::span(dims).subspan(static_cast<std::size_t>(group.from), static_cast<std::size_t>(group.count));
        if (group.count == 1 && group.other_count == 1) {
            out.push_back(mine[0]);
            continue;
        }
        if (is_whole(mine, shape, group.from)) {
            for (int d = 0; d < group.other_count; ++d) out.push_back(all_indices(other[group.other_from + d]));
            continue;
        }
        auto const places = places_of(mine, shape, group.from);
        for (auto& indices : indices_of(places, other, group.other_from, group.other_count))
            out.push_back(std::move(indices));
    }
    return out;
}

/// The least that holds `dims` and is a product in both shapes.
std::vector<Indices> widened(std::vector<Indices> dims, Shape const& shape, Shape const& other) {
    for (auto before = std::vector<Indices>{}; before != dims;) {
        before = dims;
        dims = moved_indices(moved_indices(dims, shape, other), other, shape);
    }
    return dims;
}

Shape const& shape_of(Op const& op, TensorInfos const& tensors, std::size_t operand) {
    return tensors[op.inputs[operand]].shape;
}
int axis_of_move(Op const& op, TensorInfos const& tensors) { return *axis_of(op.attributes, shape_of(op, tensors, 0)); }
Shape out_shape(Op const& op, TensorInfos const& tensors) {
    return program::reshaped(op.attributes, element_count(shape_of(op, tensors, 0))).value();
}

void add_every_part(Op const& op, TensorInfos const& tensors, Indices& indices) {
    std::int64_t from = 0;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        auto const size = shape_of(op, tensors, i)[axis_of_move(op, tensors)];
        auto const is_mine = [&](std::int64_t index) { return index >= from && index < from + size; };
        if (std::ranges::none_of(indices, is_mine)) indices.push_back(from);
        from += size;
    }
    std::ranges::sort(indices);
}

Region reshaped_operand(Op const& op, TensorInfos const& tensors, Region const& out, Attributes& attributes) {
    std::vector<double> sizes;
    for (auto const& indices : out.dims) sizes.push_back(static_cast<double>(indices.size()));
    attributes = op.attributes.with(program::AttributeName::shape, std::move(sizes));
    return {true, moved_indices(out.dims, out_shape(op, tensors), shape_of(op, tensors, 0))};
}

Region sliced_operand(Op const& op, TensorInfos const& tensors, Region const& out, Attributes& attributes) {
    auto const along = axis_of_move(op, tensors);
    auto region = out;
    auto& indices = region.dims[static_cast<std::size_t>(along)];
    for (auto& index : indices) index += program::slice_of(op.attributes, shape_of(op, tensors, 0)[along]).value().from;
    attributes = Attributes::axis(along);
    return region;
}

std::vector<Region> parts(Op const& op, TensorInfos const& tensors, Region const& out) {
    std::vector<Region> regions;
    std::int64_t from = 0;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        auto const size = shape_of(op, tensors, i)[axis_of_move(op, tensors)];
        auto region = out;
        auto& indices = region.dims[static_cast<std::size_t>(axis_of_move(op, tensors))];
        std::erase_if(indices, [&](std::int64_t index) { return index < from || index >= from + size; });
        for (auto& index : indices) index -= from;
        regions.push_back(std::move(region));
        from += size;
    }
    return regions;
}

Region rearranged_operand(Op const& op, TensorInfos const& tensors, Region const& out) {
    auto const order = program::permutation_of(op.attributes, shape_of(op, tensors, 0).rank()).value();
    auto region = out;
    for (std::size_t i = 0; i < out.dims.size(); ++i) region.dims[static_cast<std::size_t>(order[i])] = out.dims[i];
    return region;
}

} // namespace

void widen_moved(Op const& op, TensorInfos const& tensors, Region& out) {
    auto const move = info(op.code).field.move;
    if (move == Move::reshape) out.dims = widened(out.dims, out_shape(op, tensors), shape_of(op, tensors, 0));
    if (move == Move::concat)
        add_every_part(op, tensors, out.dims[static_cast<std::size_t>(axis_of_move(op, tensors))]);
}

std::vector<Region> moved_operands(Op const& op, TensorInfos const& tensors, Region const& out,
                                   Attributes& attributes) {
    switch (info(op.code).field.move) {
    case Move::permute:
        break;
    case Move::reshape:
        return {reshaped_operand(op, tensors, out, attributes)};
    case Move::slice:
        return {sliced_operand(op, tensors, out, attributes)};
    case Move::concat:
        return parts(op, tensors, out);
    }
    return {rearranged_operand(op, tensors, out)};
}

} // namespace espalier::verify
