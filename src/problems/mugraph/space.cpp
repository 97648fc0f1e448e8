#include "espalier/problems/mugraph/space.hpp"

#include "espalier/base/error.hpp"

#include <algorithm>
#include <set>

namespace espalier::problems::mugraph {
namespace {

using config::SpaceConfig;
using program::AttributeName;
using program::Attributes;
using program::OpCode;
using program::Source;
using program::Word;

/// What of the program decides defaults.
struct Traits {
    bool has_exp = false;
    std::set<OpCode> ops;
    std::vector<std::int64_t> norm_axes; ///< from the back, other than -1
    std::vector<Attributes> clamps;      ///< their bounds
    int rank = 0;
    std::size_t inputs = 0;
};

Traits traits_of(Source const& source) {
    Traits out;
    auto const graph = program::build(source);
    auto const tensors = program::infer(graph);
    for (auto const& tensor : tensors) out.rank = std::max(out.rank, tensor.shape.rank());
    out.inputs = graph.inputs.size();
    for (auto const& op : graph.ops) {
        out.ops.insert(op.code);
        if (op.code == OpCode::exp) out.has_exp = true;
        if (op.code == OpCode::clamp && !std::ranges::count(out.clamps, op.attributes))
            out.clamps.push_back(op.attributes);
        auto const rank = tensors[static_cast<std::size_t>(op.inputs[0])].shape.rank();
        auto const axis = op.attributes.whole(AttributeName::axis, -1);
        auto const back = axis < 0 ? axis : axis - rank;
        if (op.code == OpCode::rms_norm && back != -1 && !std::ranges::count(out.norm_axes, back))
            out.norm_axes.push_back(back);
    }
    return out;
}

/// Mirage has its own settings for its benchmark programs; full needs to know which programs want two kernels.
SpaceConfig::Setting setting_of(SpaceConfig const& config, Source const& source, Traits const& traits) {
    if (config.setting != SpaceConfig::Setting::automatic) return config.setting;
    if (source.name == "lora") return SpaceConfig::Setting::lora;
    if (traits.has_exp && traits.rank >= 3) return SpaceConfig::Setting::attention;
    return SpaceConfig::Setting::plain;
}

SearchOp plain(OpCode code) { return {code, {}, {}}; }

/// A clamp with other bounds than the program's never helps.
std::vector<SearchOp> pointwise_ops(Traits const& traits) {
    using enum OpCode;
    std::vector<SearchOp> out;
    for (auto const code : {exp, square, OpCode::sqrt, silu, gelu, relu, add, mul, OpCode::div, OpCode::pow})
        out.push_back(plain(code));
    for (auto const& bounds : traits.clamps) out.push_back({clamp, bounds, {}});
    return out;
}

/// The columns that partial results are summed to: the last dimension of every output of the program.
std::vector<Word> output_columns(Source const& source) {
    std::vector<Word> out;
    auto const graph = program::build(source);
    auto const shapes = program::symbolic_shapes(source);
    for (auto const id : graph.outputs) {
        auto const& last = shapes[static_cast<std::size_t>(id)].back();
        if (!last.is_unit() && !std::ranges::count(out, last)) out.push_back(last);
    }
    return out;
}

void add_sums_to(std::vector<SearchOp>& ops, OpCode code, Source const& source) {
    for (auto const& columns : output_columns(source)) ops.push_back({code, {}, columns});
}

void append(std::vector<SearchOp>& ops, std::vector<SearchOp> const& more) {
    ops.insert(ops.end(), more.begin(), more.end());
}

std::vector<SearchOp> mirage_block_ops(SpaceConfig::Setting setting, Source const& source, Traits const& traits) {
    std::vector<SearchOp> ops{plain(OpCode::matmul)};
    append(ops, pointwise_ops(traits));
    for (auto const code : {OpCode::rms_norm, OpCode::accumulate, OpCode::accumulate_sum, OpCode::accumulate_rms})
        ops.push_back(plain(code));
    if (setting == SpaceConfig::Setting::attention) add_sums_to(ops, OpCode::accumulate_sum_to, source);
    if (setting == SpaceConfig::Setting::lora) ops.push_back(plain(OpCode::concat_matmul));
    return ops;
}

/// What every block of the full space may use, before the for-loop decides between sums and accumulators.
std::vector<SearchOp> full_common_ops(Traits const& traits) {
    std::vector<SearchOp> ops{plain(OpCode::matmul), plain(OpCode::concat_matmul)};
    append(ops, pointwise_ops(traits));
    if (traits.ops.count(OpCode::sub)) ops.push_back(plain(OpCode::sub));
    if (traits.ops.count(OpCode::layer_norm)) ops.push_back(plain(OpCode::layer_norm));
    ops.push_back(plain(OpCode::rms_norm));
    for (auto const axis : traits.norm_axes) ops.push_back({OpCode::rms_norm, Attributes::axis(axis), {}});
    return ops;
}

Space mirage_space(SpaceConfig::Setting setting, Source const& source, Traits const& traits) {
    auto const is_attention = setting == SpaceConfig::Setting::attention;
    Space space;
    space.kernel_ops.push_back(plain(OpCode::matmul));
    append(space.kernel_ops, pointwise_ops(traits));
    space.block_ops = space.unlooped_block_ops = mirage_block_ops(setting, source, traits);
    space.max_kernel_ops = 5;
    space.max_block_ops = 9;
    space.counts_inputs = true;
    space.graph_kernels = is_attention ? 2 : 1;
    space.operands = setting == SpaceConfig::Setting::lora ? OperandRule::mirage_lora : OperandRule::mirage;
    space.grids = is_attention ? GridRule::mirage_attention : GridRule::mirage;
    space.grid_dims = is_attention ? 3 : 1;
    space.tiles = {8, 16, 32, 64, 128, 256};
    space.batch_tiles = {8, 64, 128, 256};
    space.loops = {4, 16, 64};
    space.has_liveness = false;
    space.needs_accumulators = true;
    space.has_self_products = true;
    return space;
}

Space full_space(SpaceConfig::Setting setting, config::MugraphConfig const& config, Traits const& traits) {
    Space space;
    space.kernel_ops.push_back(plain(OpCode::matmul));
    append(space.kernel_ops, pointwise_ops(traits));
    space.block_ops = space.unlooped_block_ops = full_common_ops(traits);
    append(space.block_ops, {plain(OpCode::accumulate), plain(OpCode::accumulate_sum), plain(OpCode::accumulate_rms)});
    append(space.unlooped_block_ops, {plain(OpCode::sum), plain(OpCode::rms)});
    std::erase(space.unlooped_block_ops, plain(OpCode::rms_norm)); // rms and div are the same program
    space.graph_kernels = setting == SpaceConfig::Setting::attention ? 2 : 1;
    if (space.graph_kernels > 1) {
        add_sums_to(space.block_ops, OpCode::accumulate_sum_to, config.program);
        add_sums_to(space.unlooped_block_ops, OpCode::sum_to, config.program);
    }
    space.max_kernel_ops = space.graph_kernels > 1 ? 2 : 3;
    space.max_block_ops = space.graph_kernels > 1 ? 5 : 7;
    space.grid_dims = traits.rank >= 3 ? 2 : 1;
    space.min_blocks = 1;
    space.max_blocks = 65'535;
    space.shared_memory_bytes = static_cast<std::int64_t>(config.hardware.block_shared_memory);
    return space;
}

template <class T, class U>
void change(T& value, U const& to) {
    if (to != U{}) value = static_cast<T>(to);
}

void change_ops(std::vector<SearchOp>& ops, std::vector<OpCode> const& to) {
    if (to.empty()) return;
    std::erase_if(ops, [&](SearchOp const& op) { return !std::ranges::count(to, op.code); });
    for (auto const code : to)
        if (!std::ranges::count(ops, code, &SearchOp::code)) ops.push_back(plain(code));
}

void apply(Space& space, SpaceConfig const& config) {
    change(space.max_kernel_ops, config.max_kernel_ops);
    change(space.max_block_ops, config.max_block_ops);
    change(space.graph_kernels, config.max_graph_kernels);
    change(space.max_outputs, config.max_outputs);
    if (config.count_inputs) space.counts_inputs = *config.count_inputs;
    if (!config.loops.empty()) space.loops = config.loops;
    change(space.max_loop, config.max_loop);
    if (!config.tiles.empty()) space.tiles = config.tiles;
    change(space.min_blocks, config.min_blocks);
    change(space.max_blocks, config.max_blocks);
    change(space.grid_dims, config.grid_dims);
    change(space.shared_memory_bytes, config.shared_memory_bytes);
    change(space.threads, config.threads);
    if (config.liveness) space.has_liveness = *config.liveness;
    change_ops(space.kernel_ops, config.kernel_ops);
    change_ops(space.block_ops, config.block_ops);
    change_ops(space.unlooped_block_ops, config.block_ops);
    auto const is_automatic = config.schedules == SpaceConfig::Schedules::automatic;
    auto const has_many = space.grids == GridRule::divisors && space.graph_kernels > 1;
    space.keeps_best_schedule = is_automatic ? has_many : config.schedules == SpaceConfig::Schedules::best;
}

void check(Space const& space) {
    if (space.graph_kernels > max_graph_kernels)
        throw base::InputError("'problem.space.max_graph_kernels' = {} is too large: say at most {}",
                               space.graph_kernels, max_graph_kernels);
    auto const steps = space.max_kernel_ops + space.graph_kernels * (space.max_block_ops + 2);
    if (steps > max_steps)
        throw base::InputError("the limits of ops in 'problem.space' allow programs of {} steps: say at most {}", steps,
                               max_steps);
}

} // namespace

Space make_space(config::MugraphConfig const& config) {
    auto const traits = traits_of(config.program);
    auto const setting = setting_of(config.space, config.program, traits);
    auto space = config.space.from == SpaceConfig::Preset::mirage ? mirage_space(setting, config.program, traits)
                                                                  : full_space(setting, config, traits);
    apply(space, config.space);
    std::erase_if(space.unlooped_block_ops,
                  [&](SearchOp const& op) { return !space.needs_accumulators && program::is_accumulator(op.row()); });
    check(space);
    return space;
}

} // namespace espalier::problems::mugraph
