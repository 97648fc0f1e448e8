#include "meaning_rules.hpp"

#include <algorithm>
#include <optional>

namespace espalier::program::rules {
namespace {

using Kind = ScalarNode::Kind;

ScalarNode read(std::size_t i) { return {.kind = Kind::read, .read = i}; }
ScalarNode apply(OpCode op, std::size_t a, std::size_t b) { return {.kind = Kind::apply, .op = op, .a = a, .b = b}; }
ScalarNode apply(OpCode op, std::size_t a) { return apply(op, a, a); }

/// reduced / count, and its root.
ScalarExpression mean() { return {{.kind = Kind::reduced}, {.kind = Kind::count}, apply(OpCode::div, 0, 1)}; }
ScalarExpression root_mean(Attributes const& attributes) {
    auto out = mean();
    if (auto const* const eps = attributes.find(AttributeName::eps)) {
        out.push({.kind = Kind::number, .number = eps->values.front()});
        out.push(apply(OpCode::add, 2, 3));
    }
    out.push(apply(OpCode::sqrt, out.size() - 1));
    return out;
}
Reducer reducer_of(Fold fold) {
    if (fold == Fold::sum) return Reducer::sum;
    return fold == Fold::largest ? Reducer::maximum : Reducer::minimum;
}

/// The variable of a loop as it is.
Position whole(std::size_t loop, std::int64_t size, std::int64_t stride = 1) {
    Position out;
    out.digits.push({.loop = loop, .size = size, .stride = stride});
    return out;
}

/// At the loops that are kept, right-aligned; sizes of 1 are read at 0.
Read read_kept(std::size_t source, Shape const& shape, Shape const& kept) {
    Read out{.source = source, .shape = shape};
    auto const skip = kept.rank() - shape.rank();
    for (int i = 0; i < shape.rank(); ++i)
        out.index.push(shape[i] == 1 ? Position{} : whole(static_cast<std::size_t>(skip + i), shape[i]));
    return out;
}

/// A nest without reduced loops.
Nest pointwise_nest(OpCode op, Small<Read, 4> const& reads, Shape const& out) {
    Nest nest{.kept = out, .reads = reads};
    for (std::size_t i = 0; i < reads.size(); ++i) nest.body.push(read(i));
    nest.body.push(apply(op, 0, reads.size() - 1));
    return nest;
}

/// Over one axis of a tensor.
Nest sum_nest(Read const& of, int axis, std::int64_t kept) {
    Nest nest{.kept = of.shape, .reducer = Reducer::sum};
    auto const size = of.shape[axis];
    nest.kept[axis] = kept;
    nest.reduced.push(size / kept);
    auto at = of;
    auto& along = at.index[axis] = whole(static_cast<std::size_t>(nest.kept.rank()), size / kept, kept);
    if (kept > 1) along.digits.push({.loop = static_cast<std::size_t>(axis), .size = kept});
    nest.reads.push(at);
    return nest;
}

ScalarExpression summand(bool is_square) {
    ScalarExpression out{read(0)};
    if (is_square) out.push(apply(OpCode::square, 0));
    return out;
}

} // namespace

Meaning pointwise_meaning(OpInfo const& row, Numbers const& in, Shape const& out) {
    ESP_EXPECT(in.shapes.size() <= 2); // an op of more is a composition, which its row says
    Small<Read, 4> reads;
    for (std::size_t i = 0; i < in.shapes.size(); ++i) reads.push(read_kept(i, in.shapes[i], out));
    return {{pointwise_nest(row.code, reads, out)}};
}

Meaning contraction_meaning(OpInfo const& row, Numbers const& in, Shape const& out) {
    auto const terms = static_cast<std::size_t>(row.field.terms);
    auto const rank = out.rank();
    auto const k = static_cast<std::size_t>(rank);
    std::int64_t inner = 0;
    for (std::size_t t = 0; t < terms; ++t) inner += in.shapes[t].back();
    Nest nest{.kept = out, .reducer = Reducer::sum};
    nest.reduced.push(inner);
    std::int64_t from = 0;
    for (std::size_t t = 0; t < terms; ++t) {
        auto left = read_kept(t, in.shapes[t], out), right = read_kept(t + terms, in.shapes[t + terms], out);
        auto along = whole(k, inner);
        along.offset = -from;
        auto const columns = right.shape.rank() - (row.field.is_transposed ? 2 : 1);
        auto const rows = right.shape.rank() - (row.field.is_transposed ? 1 : 2);
        right.index[columns] = read_kept(t, out, out).index[rank - 1];
        left.index[left.shape.rank() - 1] = right.index[rows] = along;
        if (terms > 1) left.outside = right.outside = Outside::zero;
        from += in.shapes[t].back();
        nest.reads.push(left);
        nest.reads.push(right);
        auto const first = nest.body.size();
        nest.body.push(read(2 * t));
        nest.body.push(read(2 * t + 1));
        nest.body.push(apply(OpCode::mul, first, first + 1));
        if (t > 0) nest.body.push(apply(OpCode::add, first - 1, first + 2));
    }
    return {{nest}};
}

Meaning reduction_meaning(OpInfo const& row, Numbers const& in, Shape const& out) {
    auto const& rule = row.field.reduction;
    auto const& shape = in.shapes[0];
    Nest nest{.kept = out, .reducer = Reducer::sum};
    auto at = read_kept(0, shape, shape);
    if (rule.over_axis) {
        auto const axis = *axis_of(in.attributes, shape);
        nest = sum_nest(at, axis, out[axis]);
        at = nest.reads[0];
    }
    if (is_accumulator(row)) {
        at.step = whole(nest.loops(), in.loop_range);
        nest.reduced.push(in.loop_range);
    }
    nest.reads = {at};
    nest.reducer = reducer_of(rule.fold);
    nest.body = summand(rule.of_squares);
    if (rule.root_mean) nest.epilogue = root_mean(in.attributes);
    return {{nest}};
}

Meaning rescaled_meaning(OpInfo const& row, Numbers const& in, Shape const& out) {
    auto const &shape = in.shapes[0], &weights = in.shapes[1];
    Nest largest{.kept = weights, .reducer = Reducer::maximum};
    auto every = read_kept(1, weights, weights);
    every.step = whole(largest.loops(), in.loop_range);
    largest.reduced.push(in.loop_range);
    largest.reads = {every};
    largest.body = {read(0)};

    Nest nest{.kept = out, .reducer = Reducer::sum};
    auto x = read_kept(0, shape, shape);
    auto m = read_kept(1, weights, shape), most = read_kept(in.shapes.size(), weights, shape);
    if (row.field.reduction.over_axis) {
        auto const axis = *axis_of(in.attributes, shape);
        nest = sum_nest(x, axis, 1);
        x = nest.reads[0];
        auto const own = axis - (shape.rank() - weights.rank());
        if (own >= 0 && weights[own] > 1) m.index[own] = most.index[own] = x.index[axis];
    }
    x.step = m.step = whole(nest.loops(), in.loop_range);
    nest.reduced.push(in.loop_range);
    nest.reads = {x, m, most};
    nest.body = {read(0), read(1), read(2), apply(OpCode::sub, 1, 2), apply(OpCode::exp, 3), apply(OpCode::mul, 0, 4)};
    return {{largest, nest}};
}

Meaning rearrange_meaning(OpInfo const&, Numbers const& in, Shape const& out) {
    auto const order = permutation_of(in.attributes, out.rank()).value();
    Nest nest{.kept = out};
    Read at{.source = 0, .shape = in.shapes[0], .index = Dims<Position>{}};
    for (int i = 0; i < out.rank(); ++i) at.index.push({});
    for (int i = 0; i < out.rank(); ++i)
        at.index[order[static_cast<std::size_t>(i)]] = whole(static_cast<std::size_t>(i), out[i]);
    nest.reads = {at};
    nest.body = {read(0)};
    return {{nest}};
}

namespace {

/// How far apart neighbours along each dimension are in row-major order.
std::array<std::int64_t, max_rank> strides_of(Shape const& shape) {
    std::array<std::int64_t, max_rank> out{};
    std::int64_t stride = 1;
    for (int i = shape.rank() - 1; i >= 0; stride *= shape[i--]) out[static_cast<std::size_t>(i)] = stride;
    return out;
}

/// floor(n / stride) mod size, where n is the row-major place in `kept` of the current element. Nothing if a loop
/// lies across a border of that digit and cannot be cut there.
std::optional<Position> digit_of_place(Shape const& kept, std::int64_t stride, std::int64_t size) {
    Position out;
    auto const strides = strides_of(kept);
    for (int i = 0; i < kept.rank(); ++i) {
        auto const own = strides[static_cast<std::size_t>(i)];
        auto const low = std::max(own, stride), high = std::min(own * kept[i], stride * size);
        if (low >= high) continue;
        if (low % own != 0 || low % stride != 0 || high % low != 0) return std::nullopt;
        if ((own * kept[i]) % high != 0 || (stride * size) % high != 0) return std::nullopt;
        out.digits.push(
            {.loop = static_cast<std::size_t>(i), .size = high / low, .stride = low / stride, .below = low / own});
    }
    return out;
}

/// Nothing if a dimension of the operand is not made of digits of those that are kept.
std::optional<Nest> reshape_nest(std::size_t source, Shape const& from, Shape const& kept) {
    Nest nest{.kept = kept};
    Read at{.source = source, .shape = from, .index = Dims<Position>{}};
    auto const strides = strides_of(from);
    for (int i = 0; i < from.rank(); ++i) {
        auto const position = digit_of_place(kept, strides[static_cast<std::size_t>(i)], from[i]);
        if (!position) return std::nullopt;
        at.index.push(*position);
    }
    nest.reads = {at};
    nest.body = {read(0)};
    return nest;
}

} // namespace

/// Where dimensions overlap only in part, by way of one dimension.
Meaning reshape_meaning(OpInfo const&, Numbers const& in, Shape const& out) {
    if (auto const nest = reshape_nest(0, in.shapes[0], out)) return {{*nest}};
    Shape const flat{element_count(out)};
    return {{reshape_nest(0, in.shapes[0], flat).value(), reshape_nest(1, flat, out).value()}};
}

Meaning slice_meaning(OpInfo const&, Numbers const& in, Shape const& out) {
    auto const axis = *axis_of(in.attributes, out);
    Nest nest{.kept = out};
    auto at = read_kept(0, in.shapes[0], out);
    at.index[axis] = whole(static_cast<std::size_t>(axis), out[axis]);
    at.index[axis].offset = slice_of(in.attributes, in.shapes[0][axis]).value().from;
    nest.reads = {at};
    nest.body = {read(0)};
    return {{nest}};
}

Meaning concat_meaning(OpInfo const&, Numbers const& in, Shape const& out) {
    auto const axis = *axis_of(in.attributes, out);
    Nest nest{.kept = out};
    std::int64_t from = 0;
    for (std::size_t i = 0; i < in.shapes.size(); ++i) {
        auto at = read_kept(i, in.shapes[i], out);
        at.index[axis] = whole(static_cast<std::size_t>(axis), out[axis]);
        at.index[axis].offset = -from;
        at.outside = Outside::zero;
        from += in.shapes[i][axis];
        nest.reads.push(at);
    }
    for (std::size_t i = 0; i < in.shapes.size(); ++i) {
        nest.body.push(read(i));
        if (i > 0) nest.body.push(apply(OpCode::add, nest.body.size() - 2, nest.body.size() - 1));
    }
    return {{nest}};
}

Meaning normalise_meaning(OpInfo const& row, Numbers const& in, Shape const& out) {
    auto const axis = *axis_of(in.attributes, out);
    auto one = out;
    one[axis] = 1;
    Meaning meaning;
    auto const result = [&] { return in.shapes.size() + meaning.nests.size() - 1; }; // of the newest nest
    auto x = read_kept(0, out, out);
    if (row.field.norm != Norm::rms) {
        auto means = sum_nest(x, axis, 1);
        means.body = summand(false);
        means.epilogue = mean();
        meaning.nests.push_back(means);
        meaning.nests.push_back(pointwise_nest(OpCode::sub, {x, read_kept(result(), one, out)}, out));
        x = read_kept(result(), out, out);
    }
    if (row.field.norm == Norm::center) return meaning;
    auto roots = sum_nest(x, axis, 1);
    roots.body = summand(true);
    roots.epilogue = root_mean(in.attributes);
    meaning.nests.push_back(roots);
    meaning.nests.push_back(pointwise_nest(OpCode::div, {x, read_kept(result(), one, out)}, out));
    return meaning;
}

} // namespace espalier::program::rules
