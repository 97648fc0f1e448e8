#include "real_evaluate.hpp"

#include "real_boxes.hpp"
#include "real_evaluator.hpp"
#include "real_ops.hpp"

#include "espalier/base/contract.hpp"

#include <algorithm>
#include <utility>

namespace espalier::verify::real {

using program::Access;
using program::AttributeName;
using program::Graph;
using program::Op;
using program::Shape;
using program::TensorId;
using program::TensorInfo;

namespace {

/// How much of a dimension of an operand exists in this block at this step.
std::int64_t size_of_operand(Site const& site, Op const& op, std::size_t i, int dim) {
    auto const& tensor = site.known.tensors[op.inputs[i]];
    return size_at(tensor.shape[dim], tensor.tails[static_cast<std::size_t>(dim)], site.known.graph.schedule,
                   {site.block, site.step});
}

/// The dimensions of an operand that has the last ones of a result.
Box trailing(Box const& box, int rank) { return {box.end() - rank, box.end()}; }
std::size_t matrices(Box const& box) { return size_of({box.begin(), box.end() - 2}); }

Real folded(program::Fold fold, Real a, Real b) {
    if (fold == program::Fold::sum) return a + b;
    return fold == program::Fold::largest ? larger(a, b) : smaller(a, b);
}

struct Part {
    Box box;                         ///< in the tile
    std::vector<std::size_t> places; ///< where its elements are in the box that is asked for
};
Part part_of_block(Site const& inside, TensorId output, Box const& box) {
    auto const& schedule = inside.known.graph.schedule;
    auto const& tile = shape_of(inside, output);
    Part out{{}, {0}};
    for (int d = 0; d < tile.rank(); ++d) {
        std::int64_t part = 0;
        bool is_joined = false;
        for (std::size_t a = 0; a < 3; ++a)
            if (schedule.output[a] == d) {
                part = part * schedule.grid[a] + inside.block[a];
                is_joined = true;
            }
        auto const& wanted = box[static_cast<std::size_t>(d)];
        auto& mine = out.box.emplace_back();
        std::vector<std::size_t> places;
        for (auto const place : out.places)
            for (std::size_t i = 0; i < wanted.size(); ++i)
                if (!is_joined || wanted[i] / tile[d] == part) places.push_back(place * wanted.size() + i);
        for (auto const index : wanted)
            if (!is_joined || index / tile[d] == part) mine.push_back(index % tile[d]);
        out.places = std::move(places);
    }
    return out;
}

} // namespace

Values const& Evaluator::value(Site& site, TensorId tensor, Box const& box, Values& scratch) {
    auto const& info = site.known.tensors[tensor];
    // the blocks and steps of a graph-defined kernel ask for the same elements of the kernel graph again and again
    auto const is_read_again = info.maker != program::no_op && (site.known.readers[tensor] > 1 || !site.outer);
    if (!is_read_again) return scratch = made(site, tensor, box);
    std::tuple const key{tensor, info.side == program::LoopSide::in_loop ? site.step : 0, box};
    auto const found = site.values.find(key);
    if (found != site.values.end()) return found->second;
    auto fresh = made(site, tensor, box);
    return site.values.insert_or_assign(key, std::move(fresh)).first->second;
}

Values Evaluator::value(Site& site, TensorId tensor, Box const& box) {
    Values scratch;
    return value(site, tensor, box, scratch);
}

Values Evaluator::made(Site& site, TensorId tensor, Box const& box) {
    stop_.check();
    auto const& info = site.known.tensors[tensor];
    if (info.maker == program::no_op) return site.outer ? of_tile(site, tensor, box) : of_input(site, tensor, box);
    auto const& op = site.known.graph.ops[info.maker];
    switch (program::info(op.code).field.access) {
    case Access::pointwise:
        return pointwise(site, op, box);
    case Access::contraction:
        return contraction(site, op, box);
    case Access::reduction:
        return finish(op, sums(site, op, box));
    case Access::normalise:
        return normalise(site, op, box);
    case Access::rearrange:
        return moved(site, op, box);
    case Access::accumulate:
        return program::info(op.code).field.reduction.is_rescaled ? rescaled(site, op, box) : accumulate(site, op, box);
    case Access::graph:
        return of_body(site, info, box);
    }
    return {};
}

Values Evaluator::of_input(Site const& site, TensorId tensor, Box const& box) const {
    auto const& shape = shape_of(site, tensor);
    std::vector<std::uint64_t> flat{0};
    for (std::size_t d = 0; d < box.size(); ++d) {
        std::vector<std::uint64_t> next;
        next.reserve(flat.size() * box[d].size());
        for (auto const start : flat)
            for (auto const i : box[d])
                next.push_back(start * static_cast<std::uint64_t>(shape[static_cast<int>(d)]) +
                               static_cast<std::uint64_t>(i));
        flat = std::move(next);
    }
    Values out;
    out.reserve(flat.size());
    RandomInput const random(inputs_, tensor.value);
    for (auto const index : flat) out.push_back({random(index), 0});
    return out;
}

/// Cut by x, y, z from the outside in, then by the loop.
Values Evaluator::of_tile(Site& site, TensorId tensor, Box box) {
    auto const outside = site.op->inputs[static_cast<std::size_t>(tensor.value)];
    if (site.known.graph.level == program::Level::thread) return value(*site.outer, outside, box);
    auto const& schedule = site.known.graph.schedule;
    auto const& partition = schedule.inputs[static_cast<std::size_t>(tensor.value)];
    auto const& tile = shape_of(site, tensor);
    for (int d = 0; d < tile.rank(); ++d) {
        std::int64_t part = 0;
        for (std::size_t a = 0; a < 3; ++a)
            if (partition.grid[a] == d) part = part * schedule.grid[a] + site.block[a];
        if (partition.loop == d) part = part * schedule.loop + site.step;
        for (auto& index : box[static_cast<std::size_t>(d)]) index += part * tile[d];
    }
    return value(*site.outer, outside, box);
}

Values Evaluator::pointwise(Site& site, Op const& op, Box const& box) {
    std::array<Values, 2> scratch;
    std::array<Values const*, 2> in{};
    std::array<std::vector<std::size_t>, 2> places;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        if (i == 1 && op.inputs[0] == op.inputs[1]) {
            in[1] = in[0];
            places[1] = places[0];
            break;
        }
        auto const& shape = shape_of_operand(site, op, i);
        Box operand(box.end() - shape.rank(), box.end());
        for (int d = 0; d < shape.rank(); ++d)
            if (shape[d] == 1) operand[static_cast<std::size_t>(d)] = {0};
        in[i] = &value(site, op.inputs[i], operand, scratch[i]);
        places[i] = broadcast_places(box, operand);
    }
    Values out(size_of(box));
    auto const last = op.inputs.size() - 1;
    auto const scalar = program::info(op.code).real;
    for (std::size_t n = 0; n < out.size(); ++n)
        out[n] = scalar((*in[0])[places[0][n]], (*in[last])[places[last][n]], op.attributes);
    return out;
}

Values Evaluator::contraction(Site& site, Op const& op, Box const& box) {
    auto const& rule = program::info(op.code).field;
    auto const terms = static_cast<std::size_t>(rule.terms);
    Values out(size_of(box));
    auto const rows = box[box.size() - 2].size(), columns = box.back().size();
    for (std::size_t t = 0; t < terms; ++t) {
        auto left = trailing(box, shape_of_operand(site, op, t).rank());
        auto right = trailing(box, shape_of_operand(site, op, t + terms).rank());
        auto const all = count_up(size_of_operand(site, op, t, shape_of_operand(site, op, t).rank() - 1));
        if (rule.is_transposed) right[right.size() - 2] = box.back();
        left.back() = right[right.size() - (rule.is_transposed ? 1 : 2)] = all;
        Values of_left, of_right;
        auto const& a = value(site, op.inputs[t], left, of_left);
        auto const& b = value(site, op.inputs[t + terms], right, of_right);
        auto const inner = all.size();
        for (std::size_t i = 0; i < out.size(); ++i) {
            auto const matrix = i / (rows * columns), row = i / columns % rows, column = i % columns;
            if (column == 0) stop_.check();
            auto const* const from = &a[(matrix % matrices(left) * rows + row) * inner];
            auto const first = matrix % matrices(right) * inner * columns;
            out[i] = out[i] + (rule.is_transposed ? dot(from, &b[first + column * inner], inner, 1)
                                                  : dot(from, &b[first + column], inner, columns));
        }
    }
    return out;
}

Evaluator::Sums Evaluator::sums(Site& site, Op const& op, Box box) {
    auto const& rule = program::info(op.code).field.reduction;
    Sums out;
    Values scratch;
    auto const term = [&](Real x) { return rule.of_squares ? x * x : x; };
    if (!rule.over_axis) {
        out.values = value(site, op.inputs[0], box, scratch);
        std::ranges::transform(out.values, out.values.begin(), term);
        return out;
    }
    auto const& shape = shape_of_operand(site, op);
    auto const axis = static_cast<std::size_t>(program::axis_of(op.attributes, shape).value());
    auto const kept = rule.to_size ? op.attributes.whole(AttributeName::size, 1) : 1;
    out.count = size_of_operand(site, op, 0, static_cast<int>(axis)) / kept;
    auto const columns = std::exchange(box[axis], {});
    for (auto const column : columns)
        for (std::int64_t i = 0; i < out.count; ++i) box[axis].push_back(i * kept + column);
    auto const& in = value(site, op.inputs[0], box, scratch);
    Strided const of_in(box, axis);
    out.values.resize(in.size() / static_cast<std::size_t>(out.count));
    for (std::size_t n = 0; n < out.values.size(); ++n) {
        auto const inner = n % of_in.inner, column = n / of_in.inner % columns.size();
        auto const outer = n / of_in.inner / columns.size();
        for (std::size_t i = 0; i < static_cast<std::size_t>(out.count); ++i) {
            auto const next = term(in[of_in.at(outer, column * static_cast<std::size_t>(out.count) + i, inner)]);
            out.values[n] = i == 0 ? next : folded(rule.fold, out.values[n], next);
        }
    }
    return out;
}

Values Evaluator::finish(Op const& op, Sums sums) {
    if (program::info(op.code).field.reduction.root_mean)
        for (auto& value : sums.values)
            value = root_mean(value / Real{static_cast<double>(sums.count), 0}, op.attributes);
    return std::move(sums.values);
}

/// The sum over steps of x exp(m - M), where M is the largest m of all steps.
Values Evaluator::rescaled(Site& site, Op const& op, Box const& box) {
    auto const& shape = shape_of_operand(site, op);
    auto all = box;
    auto const is_summed = program::info(op.code).field.reduction.over_axis;
    auto const axis = is_summed ? static_cast<std::size_t>(*program::axis_of(op.attributes, shape)) : 0;
    if (is_summed) // of which the box has only 0
        all[axis] = count_up(size_of_operand(site, op, 0, static_cast<int>(axis)));
    auto weights = trailing(all, shape_of_operand(site, op, 1).rank());
    for (std::size_t d = 0; d < weights.size(); ++d)
        if (shape_of_operand(site, op, 1)[static_cast<int>(d)] == 1) weights[d] = {0};
    auto const most = largest(site, op, weights);
    Values out(size_of(box));
    for (site.step = 0; site.step < site.known.graph.schedule.loop; ++site.step) {
        if (is_summed) all[axis] = count_up(size_of_operand(site, op, 0, static_cast<int>(axis)));
        auto const of_weight = broadcast_places(all, weights), of_result = broadcast_places(all, box);
        auto const x = value(site, op.inputs[0], all), m = value(site, op.inputs[1], weights);
        for (std::size_t n = 0; n < x.size(); ++n) {
            auto const factor = exponential(m[of_weight[n]] - most[of_weight[n]]);
            out[of_result[n]] = out[of_result[n]] + x[n] * factor;
        }
    }
    site.step = 0;
    return out;
}

Values Evaluator::largest(Site& site, Op const& op, Box const& box) {
    Values out;
    for (site.step = 0; site.step < site.known.graph.schedule.loop; ++site.step) {
        auto const now = value(site, op.inputs[1], box);
        if (site.step == 0) out = now;
        for (std::size_t n = 0; n < now.size(); ++n) out[n] = larger(out[n], now[n]);
    }
    site.step = 0;
    return out;
}

Values Evaluator::accumulate(Site& site, Op const& op, Box const& box) {
    Sums out;
    for (site.step = 0; site.step < site.known.graph.schedule.loop; ++site.step) {
        auto const now = sums(site, op, box);
        if (site.step == 0) out.values = now.values;
        for (std::size_t n = 0; n < now.values.size() && site.step > 0; ++n)
            out.values[n] = folded(program::info(op.code).field.reduction.fold, out.values[n], now.values[n]);
        out.count = now.count + (site.step == 0 ? 0 : out.count);
    }
    site.step = 0;
    return finish(op, std::move(out));
}

Values Evaluator::normalise(Site& site, Op const& op, Box const& box) {
    auto const& shape = shape_of_operand(site, op);
    auto const axis = static_cast<std::size_t>(program::axis_of(op.attributes, shape).value());
    auto all = box;
    all[axis] = count_up(shape[static_cast<int>(axis)]);
    auto in = value(site, op.inputs[0], all);
    Strided const of_in(all, axis), of_out(box, axis);
    Values out(size_of(box));
    for (std::size_t o = 0; o < of_in.outer; ++o)
        for (std::size_t i = 0; i < of_in.inner; ++i) {
            std::vector<Real> row;
            for (std::size_t a = 0; a < of_in.along; ++a) row.push_back(in[of_in.at(o, a, i)]);
            normalise_row(op, row);
            for (std::size_t a = 0; a < of_out.along; ++a)
                out[of_out.at(o, a, i)] = row[static_cast<std::size_t>(box[axis][a])];
        }
    return out;
}

/// Block by block of those that make a demanded element.
Values Evaluator::of_body(Site& site, TensorInfo const& info, Box const& box) {
    auto const& op = site.known.graph.ops[info.maker];
    auto const& body = site.known.bodies[static_cast<std::size_t>(op.body)];
    auto const output = body.graph.outputs[static_cast<std::size_t>(info.output)];
    Site inside{.known = body, .outer = &site, .op = &op};
    if (body.graph.level == program::Level::thread) return value(inside, output, box);
    Values out(size_of(box));
    auto const& [x, y, z] = body.graph.schedule.grid;
    for (std::int64_t n = 0; n < x * y * z; ++n) {
        inside.block = {n / (y * z), n / z % y, n % z};
        auto const part = part_of_block(inside, output, box);
        if (part.places.empty()) continue;
        inside.values.clear();
        Values scratch;
        auto const& values = value(inside, output, part.box, scratch);
        for (std::size_t i = 0; i < values.size(); ++i) out[part.places[i]] = values[i];
    }
    return out;
}

std::size_t size_of(Box const& box) {
    std::size_t out = 1;
    for (auto const& list : box) out *= list.size();
    return out;
}

Box whole(Shape const& shape) {
    Box out;
    for (auto const size : shape) out.push_back(count_up(size));
    return out;
}

std::vector<Values> evaluate(Graph const& graph, Inputs const& inputs, std::vector<Box> const& of_outputs,
                             base::StopToken stop) {
    ESP_EXPECT(of_outputs.size() == graph.outputs.size());
    Known const known(graph);
    Site site{.known = known};
    Evaluator evaluator(inputs, stop);
    std::vector<Values> out;
    for (std::size_t i = 0; i < of_outputs.size(); ++i)
        out.push_back(evaluator.value(site, graph.outputs[i], of_outputs[i]));
    return out;
}

} // namespace espalier::verify::real
