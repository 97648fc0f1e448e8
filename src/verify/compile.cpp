#include "espalier/verify/evaluate.hpp"

#include "function_tag.hpp"
#include "region.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace espalier::verify {
namespace {

using program::Graph;
using program::Op;
using program::OpId;
using program::Schedule;
using program::Shape;
using program::TensorId;
using Strides = std::array<std::int64_t, program::max_rank>;

Strides strides_of(Shape const& shape) {
    Strides out{};
    std::int64_t stride = 1;
    for (int i = shape.rank() - 1; i >= 0; --i) {
        out[static_cast<std::size_t>(i)] = stride;
        stride *= shape[i];
    }
    return out;
}

std::int64_t position(Indices const& in, std::int64_t index) {
    if (in.back() + 1 == static_cast<std::int64_t>(in.size())) return index; // all of them up to the last
    return std::ranges::lower_bound(in, index) - in.begin();
}

/// A tensor while the tape is written: what is there of it, and in which slot. An input of the program that nothing has
/// read yet has none.
struct TapeTensor {
    Region const* region = nullptr;
    SlotId slot = no_slot;
    int input = -1;
    int readers = 0;
    Shape whole; ///< of an input
};
using TapeTensors = base::IndexedVector<TensorId, TapeTensor>;

/// Where a gathering step reads, and how far its lists are apart.
struct Origin {
    SlotId slot = no_slot;
    int input = -1;
    Region const* region = nullptr; ///< none: the whole tensor is there
    Strides strides{};
    std::int64_t every = 1; ///< of as many tiles, the first is read

    [[nodiscard]] std::int64_t offset(int dim, std::int64_t index) const {
        auto const d = static_cast<std::size_t>(dim);
        return strides[d] * (region ? position(region->dims[d], index) : index);
    }
};

class Compiler {
public:
    Compiler(Graph const& graph, bool has_q) : graph_(graph) { tape_.has_q = has_q; }

    Tape run(std::vector<Region> const& demanded, std::span<Demand const> demands) {
        auto const plan = make_plan(graph_, demanded);
        auto values = write_graph(plan, input_values(plan));
        for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
            auto wanted = demanded[i];
            if (!demands.empty() && !demands[i].of_dim.empty()) wanted.dims = demands[i].of_dim;
            tape_.outputs.push_back(take(values[graph_.outputs[i]], wanted));
        }
        mark_ends();
        return std::move(tape_);
    }

private:
    TapeTensors input_values(Plan const& plan) const {
        TapeTensors values;
        for (auto const& input : graph_.inputs) {
            auto const id = values.next();
            values.push_back(
                {.region = &plan.regions[id], .input = id.value, .readers = readers(plan, id), .whole = input.shape});
        }
        return values;
    }
    static int readers(Plan const& plan, TensorId tensor) {
        auto count = std::ranges::count(plan.graph->outputs, tensor);
        for (auto const i : plan.ops.ids())
            if (plan.ops[i].is_needed) count += std::ranges::count(plan.graph->ops[i].inputs, tensor);
        return static_cast<int>(count);
    }

    /// The values of all tensors of a graph, from those of its inputs.
    TapeTensors write_graph(Plan const& plan, TapeTensors values) {
        values.resize(plan.tensors.size());
        for (auto const i : plan.ops.ids())
            if (plan.ops[i].is_needed) write_op(plan, i, values);
        return values;
    }
    void write_op(Plan const& plan, OpId i, TapeTensors& values) {
        auto const& op = plan.graph->ops[i];
        auto const first = plan.first_outputs[i];
        if (op.code != program::OpCode::graph) {
            values[first] = {&plan.regions[first], write_plain_op(plan, i, values)};
            return;
        }
        auto const& body = *plan.ops[i].body;
        auto const is_block = body.graph->level == program::Level::block;
        auto const outer_hits = hits_;
        if (is_block) hits_ = &plan.ops[i].hits;
        auto const inside =
            write_graph(body, is_block ? cut_operands(op, plan.ops[i], values) : narrowed_operands(plan, i, values));
        hits_ = outer_hits;
        auto made = first;
        for (auto const id : body.graph->outputs) {
            auto const at = std::exchange(made, TensorId{made.value + 1});
            auto const& region = plan.regions[at];
            if (!region.is_needed) continue;
            values[at] =
                is_block ? join(inside, id, region, plan.ops[i]) : TapeTensor{&region, narrow(inside[id], region)};
        }
    }

    SlotId write_plain_op(Plan const& plan, OpId i, TapeTensors& values) {
        auto const& op = plan.graph->ops[i];
        TapeStep step{.code = op.code, .attributes = plan.ops[i].attributes};
        step.tag = function_tag(info(op.code), op.attributes);
        for (std::size_t j = 0; j < op.inputs.size(); ++j)
            step.operands.push_back(
                take(values[op.inputs[j]], plan.ops[i].operands[j], tiles_between(plan, i, op.inputs[j])));
        trim_operands(plan, op, step);
        auto batch = slot(step.operands[0]).batch;
        if (is_accumulator(info(op.code))) {
            step.loop = plan.graph->schedule.loop;
            batch /= step.loop;
        }
        auto const region = plan.regions[plan.first_outputs[i]];
        step.out = make_slot(region.shape(), batch, result_has_q(op, step));
        tape_.steps.push_back(std::move(step));
        return tape_.steps.back().out;
    }
    /// A sum leaves out elements past the end of a tile; the largest of some values may be looked at twice.
    void trim_operands(Plan const& plan, Op const& op, TapeStep& step) {
        auto const& rule = info(op.code).field;
        auto const is_sum = rule.access == program::Access::reduction || rule.access == program::Access::accumulate;
        if (is_sum && rule.reduction.over_axis && rule.reduction.fold == program::Fold::sum)
            trim_operand(plan, op, step, 0, *axis_of(op.attributes, plan.tensors[op.inputs[0]].shape));
        for (std::size_t t = 0; rule.access == program::Access::contraction && t < step.operands.size() / 2; ++t)
            trim_operand(plan, op, step, t, plan.tensors[op.inputs[t]].shape.rank() - 1);
    }
    void trim_operand(Plan const& plan, Op const& op, TapeStep& step, std::size_t i, int dim) {
        auto const& tensor = plan.tensors[op.inputs[i]];
        auto const& tail = tensor.tails[static_cast<std::size_t>(dim)];
        if (!tail.is_there()) return;
        ESP_EXPECT(hits_ != nullptr);
        auto const& schedule = plan.graph->schedule;
        auto const from = step.operands[i];
        TapeStep trim{.kind = TapeStep::Kind::trim,
                      .source = from,
                      .dimension = dim,
                      .row = static_cast<std::int64_t>(tape_.rows.size())};
        auto const blocks = (*hits_)[0].size() * (*hits_)[1].size() * (*hits_)[2].size();
        auto const steps = slot(from).batch / static_cast<std::int64_t>(blocks);
        for_each_hit(*hits_, [&](auto const& block) {
            for (std::int64_t s = 0; s < steps; ++s)
                tape_.rows.push_back(size_at(tensor.shape[dim], tail, schedule, {block, s}));
        });
        step.operands[i] = push(std::move(trim), slot(from).shape, slot(from).batch);
        if (info(op.code).field.reduction.root_mean) step.count = whole_size(tensor.shape[dim], tail, schedule);
        tape_.has_tails = true;
    }
    [[nodiscard]] bool all_have_q(std::span<SlotId const> ids) const {
        return std::ranges::all_of(ids, [&](SlotId id) { return slot(id).has_q; });
    }
    bool result_has_q(Op const& op, TapeStep const& step) {
        if (!program::has_exponential(info(op.code))) return all_have_q(step.operands);
        auto const exponents = std::span(step.operands).subspan(program::first_exponent(info(op.code)));
        if (!all_have_q(exponents)) tape_.has_no_exponent = true;
        return false;
    }

    /// An op after the loop that reads a tile of every step reads that of the first step.
    static std::int64_t tiles_between(Plan const& plan, OpId reader, TensorId tensor) {
        if (plan.graph->level != program::Level::block || plan.in_loop.ops[reader]) return 1;
        return steps_of(plan, tensor);
    }
    /// How many tiles a block has of a tensor.
    static std::int64_t steps_of(Plan const& block, TensorId tensor) {
        return block.in_loop.tiles[tensor] ? block.graph->schedule.loop : 1;
    }

    /// A slot with just these elements of a value; the first of every group of tiles.
    SlotId take(TapeTensor& value, Region const& wanted, std::int64_t every = 1) {
        if (value.slot == no_slot && value.readers == 1) return gather(origin(value), wanted);
        if (value.slot == no_slot) value.slot = gather(origin(value), *value.region);
        return narrow(value, wanted, every);
    }
    SlotId narrow(TapeTensor const& value, Region const& wanted, std::int64_t every = 1) {
        if (wanted.dims == value.region->dims && every == 1) return value.slot;
        auto from = origin(value);
        from.every = every;
        return gather(from, wanted);
    }
    [[nodiscard]] static Origin origin(TapeTensor const& value) {
        if (value.slot != no_slot)
            return {.slot = value.slot, .region = value.region, .strides = strides_of(value.region->shape())};
        return {.input = value.input, .strides = strides_of(value.whole)};
    }

    /// Every tile of the origin, or an input, narrowed to the wanted elements.
    SlotId gather(Origin const& from, Region const& wanted) {
        auto step = gathering_step(from);
        auto const batch = from.slot == no_slot ? 1 : slot(from.slot).batch / from.every;
        std::vector<std::int64_t> starts;
        for (std::size_t d = 0; d < wanted.dims.size(); ++d)
            starts.push_back(add_list(from, static_cast<int>(d), wanted.dims[d], 0));
        for (std::int64_t b = 0; b < batch; ++b) {
            tape_.rows.push_back(from.slot == no_slot ? 0 : b * from.every * element_count(slot(from.slot).shape));
            tape_.rows.insert(tape_.rows.end(), starts.begin(), starts.end());
        }
        return push(std::move(step), wanted.shape(), batch);
    }
    [[nodiscard]] TapeStep gathering_step(Origin const& from) const {
        auto const is_input = from.slot == no_slot;
        return {.kind = is_input ? TapeStep::Kind::generate : TapeStep::Kind::gather,
                .input = from.input,
                .source = from.slot,
                .row = static_cast<std::int64_t>(tape_.rows.size())};
    }
    /// Offsets of base + local in the origin; returns where the list starts.
    std::int64_t add_list(Origin const& from, int dim, Indices const& local, std::int64_t base,
                          std::int64_t last = std::numeric_limits<std::int64_t>::max()) {
        auto const start = static_cast<std::int64_t>(tape_.indices.size());
        for (auto const index : local) tape_.indices.push_back(from.offset(dim, std::min(base + index, last)));
        return start;
    }
    SlotId push(TapeStep step, Shape const& shape, std::int64_t batch) {
        step.out =
            make_slot(shape, batch, step.kind == TapeStep::Kind::generate ? tape_.has_q : slot(step.source).has_q);
        tape_.steps.push_back(std::move(step));
        return tape_.steps.back().out;
    }

    TapeTensors narrowed_operands(Plan const& plan, OpId i, TapeTensors& values) {
        TapeTensors out;
        for (auto const id : plan.graph->ops[i].inputs) {
            auto const& region = plan.ops[i].body->regions[out.next()];
            out.push_back({&region});
            if (region.is_needed) out.back().slot = take(values[id], region, tiles_between(plan, i, id));
        }
        return out;
    }
    TapeTensors cut_operands(Op const& op, OpPlan const& plan, TapeTensors& values) {
        TapeTensors out;
        for (std::size_t i = 0; i < op.inputs.size(); ++i) {
            auto const& region = plan.body->regions[out.next()];
            out.push_back({&region});
            if (region.is_needed) out.back().slot = cut(values[op.inputs[i]], plan, i);
        }
        return out;
    }
    /// The tiles of operand `i` for all blocks that are hit and all steps that read it. An input that only this reads,
    /// and only once, is made in place.
    SlotId cut(TapeTensor& value, OpPlan const& plan, std::size_t i) {
        TensorId const tile{static_cast<int>(i)};
        auto const& region = plan.body->regions[tile];
        auto const steps = steps_of(*plan.body, tile);
        auto const blocks = plan.hits[0].size() * plan.hits[1].size() * plan.hits[2].size();
        auto const batch = static_cast<std::int64_t>(blocks) * steps;
        auto const shape = region.shape();
        auto const is_read_once =
            value.readers == 1 && batch * element_count(shape) <= element_count(value.region->shape());
        if (value.slot == no_slot && !is_read_once) value.slot = gather(origin(value), *value.region);
        auto const from = origin(value);
        auto step = gathering_step(from);
        std::map<std::pair<int, std::int64_t>, std::int64_t> lists; // (dimension, part)
        for_each_hit(plan.hits, [&](auto const& block) {
            for (std::int64_t s = 0; s < steps; ++s) add_tile(from, plan, i, {block, s}, lists);
        });
        return push(std::move(step), shape, batch);
    }
    template <class Lists>
    void add_tile(Origin const& from, OpPlan const& plan, std::size_t i,
                  std::pair<std::array<std::int64_t, 3>, std::int64_t> const& place, Lists& lists) {
        auto const& body = *plan.body->graph;
        auto const& region = plan.body->regions[TensorId{static_cast<int>(i)}];
        tape_.rows.push_back(0);
        for (int dim = 0; dim < body.inputs[i].shape.rank(); ++dim) {
            auto const part = part_of(body.schedule, body.schedule.inputs[i], dim, place.first, place.second);
            auto const [at, is_new] = lists.try_emplace({dim, part}, 0);
            if (is_new)
                at->second = add_list(from, dim, region.dims[static_cast<std::size_t>(dim)],
                                      part * body.inputs[i].shape[dim], last_index(body, i, dim));
            tape_.rows.push_back(at->second);
        }
    }

    /// The needed elements of a kernel's output, from the tiles of its blocks.
    TapeTensor join(TapeTensors const& inside, TensorId output, Region const& wanted, OpPlan const& plan) {
        auto const from = origin(inside[output]);
        auto const& tile = plan.body->tensors[output].shape;
        auto step = gathering_step(from);
        auto const size = element_count(slot(from.slot).shape) * steps_of(*plan.body, output);
        tape_.rows.push_back(0);
        for (int dim = 0; dim < tile.rank(); ++dim) {
            tape_.rows.push_back(static_cast<std::int64_t>(tape_.indices.size()));
            for (auto const index : wanted.dims[static_cast<std::size_t>(dim)]) {
                auto const block = block_of(plan.body->graph->schedule, dim, index / tile[dim]);
                tape_.indices.push_back(hit_number(plan.hits, block) * size + from.offset(dim, index % tile[dim]));
            }
        }
        return {&wanted, push(std::move(step), wanted.shape(), 1)};
    }
    /// What the known coordinates of a block contribute to its number in the batch.
    static std::int64_t hit_number(Hits const& hits, std::array<std::int64_t, 3> const& block) {
        std::int64_t number = 0;
        for (std::size_t a = 0; a < 3; ++a) {
            number *= static_cast<std::int64_t>(hits[a].size());
            if (block[a] >= 0) number += position(hits[a], block[a]);
        }
        return number;
    }

    [[nodiscard]] Slot const& slot(SlotId id) const { return tape_.slots[id]; }
    SlotId make_slot(Shape const& shape, std::int64_t batch, bool has_q) {
        auto const id = tape_.slots.push_back({shape, batch, has_q, tape_.size});
        tape_.size += slot(id).size();
        return id;
    }
    void mark_ends() {
        base::IndexedVector<SlotId, bool> is_read(tape_.slots.size());
        for (auto const id : tape_.outputs) is_read[id] = true;
        for (auto i = tape_.steps.size(); i-- > 0;) {
            auto& step = tape_.steps[i];
            auto const see = [&](SlotId id) {
                if (!is_read[id]) step.ends_life_of.push_back(id);
                is_read[id] = true;
            };
            if (step.kind == TapeStep::Kind::gather || step.kind == TapeStep::Kind::trim) see(step.source);
            for (auto const id : step.operands) see(id);
        }
    }

    Graph const& graph_;
    Hits const* hits_ = nullptr; ///< of the kernel that is being written
    Tape tape_;
};

} // namespace

Tape compile(Graph const& graph, std::span<Demand const> of_outputs, Exponents exponents) {
    ESP_EXPECT(graph.level == program::Level::kernel);
    ESP_EXPECT(of_outputs.empty() || of_outputs.size() == graph.outputs.size());
    auto const tensors = infer(graph);
    std::vector<Region> demanded;
    for (std::size_t i = 0; i < graph.outputs.size(); ++i)
        demanded.push_back(region_of(of_outputs.empty() ? Demand{} : of_outputs[i], tensors[graph.outputs[i]].shape));
    auto const has_q = exponents == Exponents::always || has_exponential(graph);
    return Compiler(graph, has_q).run(demanded, of_outputs);
}

Evaluation evaluate(Graph const& graph, Draw const& draw, std::span<Demand const> of_outputs, base::StopToken stop) {
    return run(compile(graph, of_outputs, draw.exponents), draw, stop);
}

} // namespace espalier::verify
