#include "region.hpp"

#include "region_moves.hpp"

#include "espalier/base/error.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace espalier::verify {

using program::Access;
using program::Graph;
using program::Op;
using program::OpId;
using program::OpInfo;
using program::Partition;
using program::Schedule;
using program::Shape;
using program::TensorId;

namespace {

Indices united(Indices const& a, Indices const& b) {
    if (a == b) return a;
    Indices out;
    std::ranges::set_union(a, b, std::back_inserter(out));
    return out;
}

/// What a right-aligned operand of a pointwise op is read at.
Region broadcast(Region const& out, Shape const& operand) {
    Region region{true, {}};
    auto const skip = out.dims.size() - static_cast<std::size_t>(operand.rank());
    for (int i = 0; i < operand.rank(); ++i)
        region.dims.push_back(operand[i] == 1 ? Indices{0} : out.dims[skip + static_cast<std::size_t>(i)]);
    return region;
}

/// The same with everything along one dimension.
Region with_all(Region region, int dim, Shape const& operand) {
    region.dims[static_cast<std::size_t>(dim)] = all_indices(operand[dim]);
    return region;
}

/// out[j] = sum over i of in[i * size + j]: every i, for the columns j that are needed.
Indices spread(Indices const& columns, std::int64_t size, std::int64_t whole) {
    Indices out;
    for (std::int64_t start = 0; start < whole; start += size)
        for (auto const column : columns) out.push_back(start + column);
    return out;
}

/// The backward pass through one graph.
class Planner {
public:
    Planner(Graph const& graph, std::vector<Region> const& outputs) {
        plan_.graph = &graph;
        plan_.tensors = infer(graph);
        if (graph.level == program::Level::block) plan_.in_loop = work_in_loop(graph, plan_.tensors);
        plan_.regions.resize(plan_.tensors.size());
        plan_.ops.resize(graph.ops.size());
        plan_.first_outputs.resize(graph.ops.size());
        for (auto const id : plan_.tensors.ids())
            if (tensor(id).maker != program::no_op && tensor(id).output == 0)
                plan_.first_outputs[tensor(id).maker] = id;
        for (std::size_t i = 0; i < outputs.size(); ++i) region(graph.outputs[i]).add(outputs[i]);
    }
    Plan run() {
        for (auto const i : plan_.ops.reversed_ids()) plan_op(i);
        return std::move(plan_);
    }

private:
    [[nodiscard]] program::TensorInfo const& tensor(TensorId id) const { return plan_.tensors[id]; }
    [[nodiscard]] Region& region(TensorId id) { return plan_.regions[id]; }

    void plan_op(OpId i) {
        auto const& op = plan_.graph->ops[i];
        auto& plan = plan_.ops[i];
        widen(op, region(plan_.first_outputs[i]));
        auto const outputs = output_regions(i);
        plan.is_needed = std::ranges::any_of(outputs, &Region::is_needed);
        if (!plan.is_needed) return;
        plan.attributes = op.attributes;
        if (op.code == program::OpCode::graph)
            plan_body(op, outputs, plan);
        else
            plan.operands = operand_regions(op, outputs[0], plan);
        for (std::size_t j = 0; j < op.inputs.size(); ++j)
            if (plan.operands[j].is_needed) region(op.inputs[j]).add(plan.operands[j]);
    }
    /// A norm gives whole rows.
    void widen(Op const& op, Region& out) const {
        auto const& rule = info(op.code).field;
        if (!out.is_needed) return;
        if (rule.access == Access::normalise) out = with_all(std::move(out), axis(op), shape(op, 0));
        if (rule.access == Access::rearrange) widen_moved(op, plan_.tensors, out);
    }
    [[nodiscard]] std::vector<Region> output_regions(OpId i) const {
        auto const first = plan_.regions.begin() + plan_.first_outputs[i].value;
        return {first, first + output_count(*plan_.graph, plan_.graph->ops[i])};
    }
    [[nodiscard]] Graph const& body_of(Op const& op) const {
        return plan_.graph->bodies[static_cast<std::size_t>(op.body)];
    }

    std::vector<Region> operand_regions(Op const& op, Region const& out, OpPlan& plan) const {
        auto const& row = info(op.code);
        switch (row.field.access) {
        case Access::pointwise:
            return pointwise_operands(op, out);
        case Access::contraction:
            return contraction_operands(op, out, row.field);
        case Access::reduction:
        case Access::accumulate:
            return reduction_operands(op, out, row, plan);
        case Access::rearrange:
            return moved_operands(op, plan_.tensors, out, plan.attributes);
        case Access::normalise:
            return {out};
        case Access::graph:
            break;
        }
        return {};
    }
    [[nodiscard]] Shape const& shape(Op const& op, std::size_t operand) const {
        return tensor(op.inputs[operand]).shape;
    }
    [[nodiscard]] int axis(Op const& op) const { return *axis_of(op.attributes, shape(op, 0)); }

    [[nodiscard]] std::vector<Region> pointwise_operands(Op const& op, Region const& out) const {
        std::vector<Region> regions;
        for (std::size_t i = 0; i < op.inputs.size(); ++i) regions.push_back(broadcast(out, shape(op, i)));
        return regions;
    }
    [[nodiscard]] std::vector<Region> contraction_operands(Op const& op, Region const& out,
                                                           program::FieldRule const& rule) const {
        std::vector<Region> regions;
        for (std::size_t i = 0; i < op.inputs.size(); ++i) {
            auto const& operand = shape(op, i);
            auto const rank = operand.rank();
            Region region{true, {out.dims.end() - rank, out.dims.end()}};
            auto const is_left = static_cast<int>(i) < rule.terms;
            if (!is_left && rule.is_transposed) region.dims[static_cast<std::size_t>(rank - 2)] = out.dims.back();
            regions.push_back(with_all(region, is_left || rule.is_transposed ? rank - 1 : rank - 2, operand));
        }
        return regions;
    }
    /// The second operand of a rescaled one broadcasts to the first.
    std::vector<Region> reduction_operands(Op const& op, Region const& out, OpInfo const& row, OpPlan& plan) const {
        std::vector<Region> regions{reduction_operand(op, out, row, plan)};
        if (row.field.reduction.is_rescaled) regions.push_back(broadcast(regions[0], shape(op, 1)));
        return regions;
    }
    Region reduction_operand(Op const& op, Region const& out, OpInfo const& row, OpPlan& plan) const {
        auto const& rule = row.field.reduction;
        if (!rule.over_axis) return out;
        if (!rule.to_size) return with_all(out, axis(op), shape(op, 0));
        auto region = out;
        auto& columns = region.dims[static_cast<std::size_t>(axis(op))];
        auto const size = op.attributes.whole(program::AttributeName::size, 0);
        plan.attributes = op.attributes.with(program::AttributeName::size, static_cast<std::int64_t>(columns.size()));
        columns = spread(columns, size, shape(op, 0)[axis(op)]);
        return region;
    }

    void plan_body(Op const& op, std::vector<Region> const& outputs, OpPlan& plan) const {
        auto const& body = body_of(op);
        if (body.level == program::Level::block) return plan_kernel(body, outputs, plan);
        plan.body = std::make_unique<Plan>(make_plan(body, outputs));
        for (int i = 0; i < static_cast<int>(op.inputs.size()); ++i)
            plan.operands.push_back(plan.body->regions[TensorId{i}]);
    }
    static void plan_kernel(Graph const& body, std::vector<Region> const& outputs, OpPlan& plan) {
        auto const tiles = infer(body);
        std::vector<Region> local(outputs.size());
        for (std::size_t i = 0; i < outputs.size(); ++i)
            if (outputs[i].is_needed)
                local[i] = local_region(outputs[i], tiles[body.outputs[i]].shape, body.schedule, plan.hits);
        for (auto& hits : plan.hits) make_set(hits);
        for (auto& hits : plan.hits)
            if (hits.empty()) hits = {0}; // an axis of size 1
        plan.body = std::make_unique<Plan>(make_plan(body, local));
        for (std::size_t i = 0; i < body.inputs.size(); ++i) plan.operands.push_back(operand_of_kernel(body, i, plan));
    }
    /// Where in their tiles the elements of an output are; adds the blocks that hold them to `hits`.
    static Region local_region(Region const& out, Shape const& tile, Schedule const& schedule, Hits& hits) {
        Region local{true, {}};
        for (int dim = 0; dim < tile.rank(); ++dim) {
            Indices inside;
            for (auto const index : out.dims[static_cast<std::size_t>(dim)]) {
                inside.push_back(index % tile[dim]);
                auto const block = block_of(schedule, dim, index / tile[dim]);
                for (std::size_t a = 0; a < 3; ++a)
                    if (block[a] >= 0) hits[a].push_back(block[a]);
            }
            make_set(inside);
            local.dims.push_back(std::move(inside));
        }
        return local;
    }
    static Region operand_of_kernel(Graph const& body, std::size_t input, OpPlan const& plan) {
        auto region = plan.body->regions[TensorId{static_cast<int>(input)}];
        if (!region.is_needed) return region;
        auto const& tile = body.inputs[input].shape;
        for (int dim = 0; dim < tile.rank(); ++dim) {
            auto const last = last_index(body, input, dim);
            auto& indices = region.dims[static_cast<std::size_t>(dim)];
            auto const local = std::move(indices);
            indices.clear();
            for (auto const part : parts_hit(body.schedule, body.schedule.inputs[input], dim, plan.hits))
                for (auto const index : local) indices.push_back(std::min(part * tile[dim] + index, last));
            make_set(indices);
        }
        return region;
    }
    static Indices parts_hit(Schedule const& schedule, Partition const& cut, int dim, Hits const& hits) {
        Indices parts;
        for_each_hit(hits_along(cut, dim, hits), [&](auto const& block) {
            for (std::int64_t step = 0; step < (cut.loop == dim ? schedule.loop : 1); ++step)
                parts.push_back(part_of(schedule, cut, dim, block, step));
        });
        make_set(parts);
        return parts;
    }
    /// Only the axes that cut dimension `dim`.
    static Hits hits_along(Partition const& cut, int dim, Hits const& hits) {
        Hits out{Indices{0}, Indices{0}, Indices{0}};
        for (std::size_t a = 0; a < 3; ++a)
            if (cut.grid[a] == dim) out[a] = hits[a];
        return out;
    }

    Plan plan_;
};

} // namespace

void Region::add(Region const& other) {
    if (!other.is_needed) return;
    if (!is_needed) {
        *this = other;
        return;
    }
    for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = united(dims[i], other.dims[i]);
}

void make_set(Indices& indices) {
    std::ranges::sort(indices);
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
}

Shape Region::shape() const {
    Shape out;
    for (auto const& indices : dims) out.push(static_cast<std::int64_t>(indices.size()));
    return out;
}

Indices all_indices(std::int64_t size) {
    Indices out(static_cast<std::size_t>(size));
    std::iota(out.begin(), out.end(), 0);
    return out;
}

Region whole(Shape const& shape) {
    Region out{true, {}};
    for (auto const size : shape) out.dims.push_back(all_indices(size));
    return out;
}

Region region_of(Demand const& demand, Shape const& shape) {
    if (demand.of_dim.empty()) return whole(shape);
    ESP_EXPECT(static_cast<int>(demand.of_dim.size()) == shape.rank());
    Region out{true, demand.of_dim};
    for (auto& indices : out.dims) make_set(indices);
    return out;
}

Plan make_plan(Graph const& graph, std::vector<Region> const& outputs) { return Planner(graph, outputs).run(); }

std::int64_t part_of(Schedule const& schedule, Partition const& cut, int dim, std::array<std::int64_t, 3> const& block,
                     std::int64_t step) {
    std::int64_t part = 0;
    for (std::size_t a = 0; a < 3; ++a)
        if (cut.grid[a] == dim) part = part * schedule.grid[a] + block[a];
    return cut.loop == dim ? part * schedule.loop + step : part;
}

std::int64_t last_index(Graph const& body, std::size_t input, int dim) {
    auto const tail = tails_of(body.schedule.inputs[input])[static_cast<std::size_t>(dim)];
    if (!tail.is_there()) return std::numeric_limits<std::int64_t>::max();
    return whole_size(body.inputs[input].shape[dim], tail, body.schedule) - 1;
}

std::array<std::int64_t, 3> block_of(Schedule const& schedule, int dim, std::int64_t part) {
    std::array<std::int64_t, 3> block{-1, -1, -1};
    for (std::size_t a = 3; a-- > 0;) {
        if (schedule.output[a] != dim) continue;
        block[a] = part % schedule.grid[a];
        part /= schedule.grid[a];
    }
    return block;
}

} // namespace espalier::verify
