#include "fusion.hpp"

#include "instantiate.hpp"
#include "legality.hpp"
#include "replay.hpp"

#include "espalier/cost/roofline.hpp"

#include <algorithm>
#include <optional>

namespace espalier::problems::mugraph {
namespace {

using program::Access;
using program::AttributeName;
using program::LoopSide;
using program::Op;
using program::OpCode;
using program::OpId;
using program::TensorId;

/// The same with the axis counted from the back, and left out if it is the last.
program::Attributes from_back(program::Attributes const& attributes, int rank) {
    program::Attributes out;
    for (auto const& [name, values] : attributes.items()) {
        if (name != AttributeName::axis) {
            out = out.with(name, values);
            continue;
        }
        auto const axis = attributes.whole(AttributeName::axis, -1);
        auto const back = axis < 0 ? axis : axis - rank;
        if (back != -1) out = out.with(AttributeName::axis, back);
    }
    return out;
}

/// The op that also sums over the loop; nothing if there is none.
std::optional<OpCode> accumulating(OpCode code) {
    if (code == OpCode::sum) return OpCode::accumulate_sum;
    if (code == OpCode::rms) return OpCode::accumulate_rms;
    return std::nullopt;
}

/// Whether an axis, or the loop, cuts a dimension in every operand that has it or in none.
bool is_even(Begin const& begin, std::span<program::SymbolicShape const> shapes) {
    auto const splits_evenly = [&](auto const& dim_of) {
        std::optional<program::Word> word;
        for (std::size_t i = 0; i < shapes.size(); ++i)
            if (dim_of(begin.cuts[i]) >= 0) word = shapes[i][dim_of(begin.cuts[i])];
        for (std::size_t i = 0; i < shapes.size() && word; ++i) {
            auto const at = std::ranges::find(shapes[i], *word) - shapes[i].begin();
            if (dim_of(begin.cuts[i]) != (at == shapes[i].rank() ? -1 : static_cast<int>(at))) return false;
        }
        return true;
    };
    for (std::size_t a = 0; a < 3; ++a)
        if (!splits_evenly([&](Cut const& cut) { return static_cast<int>(cut.grid[a]); })) return false;
    return splits_evenly([](Cut const& cut) { return static_cast<int>(cut.loop); });
}

/// A program on the way.
struct Draft {
    Node node;
    std::vector<int> at; ///< among the tensors of the node: every tensor of the input; -1: not there
    int tensors = 0;
    double us = 0;
};

class Fuser {
public:
    Fuser(Setup const& setup, search::Notes& notes)
        : setup_(with_best_schedules(setup)), notes_(&notes), graph_(setup_.target.graph),
          infos_(program::infer(graph_)) {
        for (auto const i : graph_.ops.ids())
            library_us_.push_back(cost::estimate_kernel(graph_, i, infos_, *setup_.hardware).us);
    }

    std::vector<Node> run() {
        auto draft = start();
        for (int next = 0; next < op_count();) {
            auto const fused = best_kernel(draft, next);
            if (fused) {
                draft = fused->first;
                next = fused->second;
            } else if (!add_library(draft, next++))
                return {};
        }
        return draft.node.begins == 0 ? std::vector<Node>{} : std::vector{draft.node};
    }

private:
    /// A kernel in the making.
    struct Inside {
        Draft draft;
        std::vector<int> at; ///< in the block: every tensor of the input; -1: not there
        int tensors = 0;
    };

    static Setup with_best_schedules(Setup setup) {
        setup.space.keeps_best_schedule = true;
        return setup;
    }
    [[nodiscard]] int op_count() const { return static_cast<int>(graph_.ops.size()); }
    [[nodiscard]] Op const& op(int k) const { return graph_.ops[OpId{k}]; }
    [[nodiscard]] TensorId made_by(int k) const { return TensorId{static_cast<int>(graph_.inputs.size()) + k}; }
    [[nodiscard]] int rank_of_operand(Op const& one) const { return infos_[one.inputs[0]].shape.rank(); }
    [[nodiscard]] bool is_contraction(int k) const {
        return program::info(op(k).code).field.access == Access::contraction;
    }
    [[nodiscard]] int most_kernels() const {
        return std::min(max_graph_kernels, (program::Word::max_symbols - setup_.target.dims) / 4);
    }

    [[nodiscard]] Draft start() const {
        Draft out;
        out.at.assign(infos_.size(), -1);
        for (std::size_t i = 0; i < graph_.inputs.size(); ++i) out.at[i] = out.tensors++;
        return out;
    }

    /// The op of a list that does what `like` does, perhaps with another code.
    [[nodiscard]] std::optional<std::uint8_t> find(std::vector<SearchOp> const& ops, OpCode code,
                                                   Op const& like) const {
        auto const wanted = from_back(like.attributes, rank_of_operand(like));
        for (std::size_t i = 0; i < ops.size(); ++i) {
            auto const has_them =
                ops[i].attributes == wanted || ops[i].attributes == like.attributes || ops[i].row().attributes.empty();
            if (ops[i].code() == code && has_them) return static_cast<std::uint8_t>(i);
        }
        return std::nullopt;
    }
    [[nodiscard]] static Step step_of(Step::Kind kind, std::uint8_t place, std::vector<int> const& operands) {
        Step out;
        out.kind = kind;
        out.op = place;
        for (auto const operand : operands) out.in[out.count++] = static_cast<std::uint8_t>(operand);
        return out;
    }
    [[nodiscard]] static std::vector<int> places(program::TensorIds const& ids, std::vector<int> const& at) {
        std::vector<int> out;
        for (auto const id : ids) out.push_back(at[static_cast<std::size_t>(id.value)]);
        return out;
    }

    /// An op that changes no value stands for its operand.
    [[nodiscard]] bool is_identity(int k) const { return program::info(op(k).code).offer == program::Offer::never; }
    bool add_library(Draft& draft, int k) {
        if (is_identity(k)) {
            draft.at[static_cast<std::size_t>(made_by(k).value)] = places(op(k).inputs, draft.at)[0];
            return true;
        }
        auto const place = find(setup_.space.kernel_ops, op(k).code, op(k));
        if (!place || draft.node.count == max_steps || draft.tensors == max_tensors) return false;
        auto const is_view = program::is_view(program::info(op(k).code));
        auto const step =
            step_of(is_view ? Step::Kind::view : Step::Kind::kernel_op, *place, places(op(k).inputs, draft.at));
        replay_.run(draft.node);
        if (!values_.of(step, replay_.kernel()).has_values()) return false;
        draft.node.push(step);
        draft.at[static_cast<std::size_t>(made_by(k).value)] = draft.tensors++;
        draft.us += library_us_[static_cast<std::size_t>(k)];
        return true;
    }
    /// The cost of the ops from `k` on as library kernels.
    [[nodiscard]] double rest_us(int k) const {
        double out = 0;
        for (auto i = static_cast<std::size_t>(k); i < library_us_.size(); ++i) out += library_us_[i];
        return out;
    }

    /// The first op from `first` on that no block has.
    [[nodiscard]] int block_end(int first) const {
        auto const is_in_blocks = [&](int k) {
            auto const has = [&](std::vector<SearchOp> const& ops) {
                return std::ranges::count(ops, op(k).code, &SearchOp::code) > 0;
            };
            return is_identity(k) || has(setup_.space.block_ops) || has(setup_.space.unlooped_block_ops);
        };
        int end = first;
        while (end < op_count() && is_in_blocks(end)) ++end;
        return end;
    }
    /// The kernel of the ops from `first` on that saves most, and where it ends: as far as it goes, or before a
    /// contraction.
    std::optional<std::pair<Draft, int>> best_kernel(Draft const& draft, int first) {
        std::optional<std::pair<Draft, int>> best;
        if (draft.node.begins >= most_kernels() || is_identity(first)) return best;
        auto least = draft.us + rest_us(first);
        for (int end = block_end(first); end >= first + 2; --end) {
            if (best && !is_contraction(end)) continue;
            notes_->stop().check();
            auto const found = kernel_of(draft, first, end);
            if (!found || found->us + rest_us(end) >= least) continue;
            least = found->us + rest_us(end);
            best = {*found, end};
        }
        return best;
    }

    /// The cheapest kernel of some ops.
    std::optional<Draft> kernel_of(Draft const& draft, int first, int end) {
        std::vector<std::uint8_t> operands;
        bool has_contraction = false;
        for (int k = first; k < end; ++k) {
            has_contraction = has_contraction || is_contraction(k);
            for (auto const in : places(op(k).inputs, draft.at))
                if (in >= 0 && !std::ranges::count(operands, in)) operands.push_back(static_cast<std::uint8_t>(in));
        }
        if (operands.empty() || operands.size() > static_cast<std::size_t>(max_operands)) return std::nullopt;
        std::ranges::sort(operands);
        replay_.run(draft.node);
        auto const& state = replay_.kernel();
        std::vector<program::SymbolicShape> shapes;
        for (auto const in : operands) shapes.push_back(state.context->values[state.tensors[in]].shape);
        auto const classes = schedules_.classes_for({draft.node, state}, operands).feasible;
        std::optional<Draft> best;
        for (auto begin : classes) {
            if (!is_even(begin, shapes) || (begin.has_loop() && !has_contraction)) continue;
            std::ranges::copy(operands, begin.operands.begin());
            auto const found = block_of(draft, begin, first, end);
            if (found && (!best || found->us < best->us)) best = found;
        }
        return best;
    }

    std::optional<Draft> block_of(Draft const& draft, Begin const& begin, int first, int end) {
        Inside in{draft, std::vector<int>(infos_.size(), -1), 0};
        if (draft.node.count + 2 > max_steps) return std::nullopt;
        in.draft.node.push(step_of(Step::Kind::begin, 0, {}));
        in.draft.node.begin[in.draft.node.begins++] = begin;
        for (std::size_t t = 0; t < draft.at.size(); ++t) {
            auto const list = std::span(begin.operands).first(begin.count);
            auto const place = std::ranges::find(list, static_cast<std::uint8_t>(draft.at[t]));
            if (draft.at[t] >= 0 && place != list.end()) in.at[t] = static_cast<int>(place - list.begin());
        }
        in.tensors = begin.count;
        for (int k = first; k < end; ++k)
            if (!add_op(in, k)) return std::nullopt;
        return finished(std::move(in), first, end);
    }

    [[nodiscard]] LoopSide side_of(Inside const& in, int tensor) {
        replay_.run(in.draft.node);
        auto const& state = replay_.block();
        return state.block->values[state.tensors[tensor]].side;
    }
    /// One step in the block, if it is legal; its tensor.
    std::optional<int> append(Inside& in, OpCode code, Op const& like, std::vector<int> const& operands) {
        auto& node = in.draft.node;
        auto const place = find(ops_of(setup_.space, node.begin[node.begins - 1u]), code, like);
        if (!place || node.count + 1 >= max_steps || in.tensors >= max_tensors) return std::nullopt;
        auto const step = step_of(Step::Kind::block_op, *place, operands);
        replay_.run(node);
        if (!values_.of(step, replay_.block()).has_values()) return std::nullopt;
        node.push(step);
        return in.tensors++;
    }
    /// The op of the input, and an accumulator after a product that the loop splits.
    bool add_op(Inside& in, int k) {
        auto const& one = op(k);
        auto const operands = places(one.inputs, in.at);
        if (is_identity(k)) {
            in.at[static_cast<std::size_t>(made_by(k).value)] = operands[0];
            return true;
        }
        auto const& rule = program::info(one.code).field;
        auto code = one.code;
        auto const summed = accumulating(code);
        if (summed && side_of(in, operands[0]) == LoopSide::in_loop) code = *summed;
        auto made = append(in, code, one, operands);
        if (!made && rule.norm == program::Norm::rms) {
            auto const rms = append(in, OpCode::rms, one, operands);
            if (rms) made = append(in, OpCode::div, one, {operands[0], *rms});
        }
        if (made && rule.access == Access::contraction && side_of(in, *made) == LoopSide::in_loop)
            made = append(in, OpCode::accumulate, one, {*made});
        if (!made) return false;
        in.at[static_cast<std::size_t>(made_by(k).value)] = *made;
        return true;
    }

    [[nodiscard]] bool is_needed_from(TensorId tensor, int end) const {
        bool out = std::ranges::count(graph_.outputs, tensor) > 0;
        for (int k = end; k < op_count(); ++k) out = out || std::ranges::count(op(k).inputs, tensor) > 0;
        return out;
    }
    /// Ends the block, which outputs what is needed later and nothing else.
    std::optional<Draft> finished(Inside in, int first, int end) {
        replay_.run(in.draft.node);
        auto const& state = replay_.block();
        std::uint32_t stored = 0;
        std::vector<TensorId> made(static_cast<std::size_t>(in.tensors), TensorId{-1});
        for (int k = first; k < end; ++k) {
            if (!is_needed_from(made_by(k), end)) continue;
            auto const tile = in.at[static_cast<std::size_t>(made_by(k).value)];
            if (tile < state.tensors.inputs) return std::nullopt; // its operand, in another dtype
            made[static_cast<std::size_t>(tile)] = made_by(k);
            if (state.tensors.is_consumed(tile)) stored |= 1u << tile;
        }
        for (int i = 0; i < in.tensors; ++i) {
            auto const is_put_out = made[static_cast<std::size_t>(i)].value >= 0;
            if (state.tensors.is_put_out(i, stored) != is_put_out) return std::nullopt;
            if (is_put_out && state.block->values[state.tensors[i]].side == LoopSide::in_loop) return std::nullopt;
        }
        auto const put_out = std::ranges::count_if(made, [](TensorId id) { return id.value >= 0; });
        if (put_out > setup_.space.max_outputs) return std::nullopt;
        auto const joins = joins_for(state, made);
        if (!joins || std::popcount(stored) > max_stored) return std::nullopt;
        in.draft.node.push(finish_step(*joins, stored));
        std::vector<int> number(made.size(), -1);
        for (std::size_t i = 0; i < made.size(); ++i)
            if (made[i].value >= 0) number[i] = in.draft.tensors++;
        if (in.draft.tensors > max_tensors || !has_values_of(in.draft, made)) return std::nullopt;
        for (int k = first; k < end; ++k) {
            auto const id = static_cast<std::size_t>(made_by(k).value);
            if (is_needed_from(made_by(k), end)) in.draft.at[id] = number[static_cast<std::size_t>(in.at[id])];
        }
        return priced(std::move(in.draft));
    }
    /// Whether the last kernel outputs the tensors that it should: a sum over a part of what a grid splits has their
    /// shapes too.
    bool has_values_of(Draft const& draft, std::vector<TensorId> const& made) {
        replay_.run(draft.node);
        auto const& state = replay_.kernel();
        auto place =
            draft.tensors - static_cast<int>(std::ranges::count_if(made, [](TensorId id) { return id.value >= 0; }));
        return std::ranges::all_of(made, [&](TensorId id) {
            if (id.value < 0) return true;
            auto const& value = state.context->values[state.tensors[place++]];
            return value.is_uncertain || value.print == state.context->program[static_cast<std::size_t>(id.value)];
        });
    }
    /// How tiles are joined to tensors of the input.
    [[nodiscard]] std::optional<Joins> joins_for(BlockState const& state, std::vector<TensorId> const& made) const {
        auto const fits = [&](Joins const& joins) {
            if (!legality_.can_join(state, joins)) return false;
            for (std::size_t i = 0; i < made.size(); ++i) {
                if (made[i].value < 0) continue;
                auto const& block = *state.block;
                auto const& value = block.values[state.tensors[static_cast<int>(i)]];
                if (std::ranges::any_of(joins, [&](int dim) { return dim >= value.shape.rank(); })) return false;
                auto const whole = setup_.target.joined(value.shape, block.begin, block.kernel, joins);
                if (!(whole == setup_.target.shapes[made[i]])) return false;
            }
            return true;
        };
        constexpr int dims = program::max_rank + 1;
        for (int n = 0; n < dims * dims * dims; ++n) {
            Joins const joins{n % dims - 1, n / dims % dims - 1, n / dims / dims - 1};
            if (fits(joins)) return joins;
        }
        return std::nullopt;
    }
    /// With the cost of its cheapest schedule, if it has one.
    std::optional<Draft> priced(Draft draft) {
        replay_.run(draft.node);
        std::optional<double> best;
        for (auto const& one : schedules_.of_complete({draft.node, replay_.kernel()})) {
            auto const graph = program_of(setup_.target, setup_.space, draft.node, one.sizes, {});
            auto const us = cost::estimate(program::with_thread_graphs(graph), *setup_.hardware).us;
            best = best ? std::min(*best, us) : us;
        }
        if (!best) return std::nullopt;
        draft.us = *best;
        return draft;
    }

    Setup setup_;
    search::Notes* notes_;
    program::Graph const& graph_;
    program::TensorInfos infos_;
    std::vector<double> library_us_;
    ExpressionFilter filter_{setup_, *notes_};
    Contexts contexts_{setup_, filter_.expressions()};
    ValueMaker values_{setup_, filter_};
    Schedules schedules_{setup_, *notes_};
    Replay replay_{setup_, {contexts_, filter_, values_, schedules_}};
    Legality legality_{setup_};
};

} // namespace

std::vector<Node> fused_in_order(Setup const& setup, search::Notes& notes) {
    auto const& graph = setup.target.graph;
    auto const has_one_output = [](Op const& op) { return program::info(op.code).outputs == 1; };
    if (!std::ranges::all_of(graph.ops, has_one_output)) return {};
    return Fuser(setup, notes).run();
}

} // namespace espalier::problems::mugraph
