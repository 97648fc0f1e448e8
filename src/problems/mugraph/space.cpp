#include "espalier/problems/mugraph/space.hpp"

#include "traits.hpp"

#include "espalier/base/key_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace espalier::problems::mugraph {
namespace {

constexpr int most_views = 4;
constexpr int many_block_ops = 18, spare_ops = 2; ///< of long programs: an accumulator, and what it saves
constexpr int combining_block_ops = 12, combining_spare_ops = 3; ///< maxima, and what rescales sums and products
constexpr int few_block_ops = 5, most_block_ops = 8, most_pointwise_block_ops = 16;

using program::Access;
using program::AttributeName;
using program::Attributes;
using program::Offer;
using program::OpCode;
using program::Source;
using program::Word;

/// Mirage has its own settings for its benchmark programs; full needs to know which programs want two kernels.
SpaceConfig::Setting setting_of(SpaceConfig const& config, Source const& source, Traits const& traits) {
    if (config.setting != SpaceConfig::Setting::automatic) return config.setting;
    if (source.name == "lora") return SpaceConfig::Setting::lora;
    if (traits.has_exp && traits.rank >= 3) return SpaceConfig::Setting::attention;
    return SpaceConfig::Setting::plain;
}

SearchOp plain(OpCode code) { return {code, {}, {}}; }

void append(std::vector<SearchOp>& ops, std::vector<SearchOp> const& more) {
    ops.insert(ops.end(), more.begin(), more.end());
}

/// The rows of the table with this access and offer that need no bounds or sizes.
std::vector<SearchOp> rows(Access access, Offer offer) {
    std::vector<SearchOp> out;
    for (auto const& row : program::op_table()) {
        auto const needs_more = row.field.reduction.to_size || (is_pointwise(row) && !row.attributes.empty());
        if (row.field.access == access && row.offer == offer && !needs_more) out.push_back({row, {}, {}});
    }
    return out;
}
std::vector<SearchOp> used(std::vector<SearchOp> ops, Traits const& traits) {
    std::erase_if(ops, [&](SearchOp const& op) { return !traits.ops.contains(op.code()); });
    return ops;
}

std::vector<SearchOp> with_companions(Access access, Traits const& traits) {
    auto out = rows(access, Offer::with_companion);
    std::erase_if(out, [&](SearchOp const& op) {
        return !traits.ops.contains(op.row().companion) && !traits.ops.contains(op.code());
    });
    return out;
}

/// An op that adds below a square root adds the same as a norm of the program.
void set_eps(std::vector<SearchOp>& ops, Traits const& traits) {
    std::vector<SearchOp> out;
    for (auto const& op : ops) {
        if (!takes_eps(op.row()) || traits.eps.empty()) {
            add_once(out, op);
            continue;
        }
        for (auto const eps : traits.eps) {
            auto next = op;
            if (eps != 0) next.attributes = op.attributes.with(AttributeName::eps, std::vector{eps});
            add_once(out, next);
        }
    }
    ops = std::move(out);
}

/// Other bounds than the program's never help.
std::vector<SearchOp> pointwise_ops(Traits const& traits) {
    auto out = rows(Access::pointwise, Offer::always);
    append(out, traits.bounded);
    append(out, used(rows(Access::pointwise, Offer::if_used), traits));
    return out;
}

std::vector<SearchOp> kernel_ops(Traits const& traits) {
    auto out = rows(Access::contraction, Offer::always);
    append(out, used(rows(Access::contraction, Offer::if_used), traits));
    append(out, pointwise_ops(traits));
    append(out, traits.rearranged);
    append(out, traits.moved);
    return out;
}

/// The columns that partial results are summed to: the last dimension of every output of the program.
std::vector<Word> output_columns(Source const& source) {
    std::vector<Word> out;
    auto const graph = program::build(source);
    auto const shapes = program::symbolic_shapes(source);
    for (auto const id : graph.outputs) {
        auto const& last = shapes[id].back();
        if (!last.is_unit() && !std::ranges::count(out, last)) out.push_back(last);
    }
    return out;
}

/// The ops of an access that sum down to a size.
std::vector<OpCode> to_size(Access access) {
    std::vector<OpCode> out;
    for (auto const& row : program::op_table())
        if (row.field.access == access && row.field.reduction.to_size) out.push_back(row.code);
    return out;
}
void add_sums_to(std::vector<SearchOp>& ops, Access access, Source const& source) {
    for (auto const code : to_size(access))
        for (auto const& columns : output_columns(source)) ops.push_back({code, {}, columns});
}
/// With the sizes of the program itself.
void add_own_sums_to(std::vector<SearchOp>& ops, OpCode code, Traits const& traits) {
    for (auto const& sum : traits.sums_to) add_once(ops, {code, sum.attributes, sum.size});
}

std::vector<SearchOp> mirage_block_ops(SpaceConfig::Setting setting, Source const& source, Traits const& traits) {
    auto ops = kernel_ops(traits);
    std::erase_if(ops, [&](SearchOp const& op) { return std::ranges::count(traits.moved, op) > 0; });
    append(ops, rows(Access::normalise, Offer::always));
    append(ops, rows(Access::accumulate, Offer::always));
    if (setting == SpaceConfig::Setting::attention) add_sums_to(ops, Access::accumulate, source);
    if (setting == SpaceConfig::Setting::lora) append(ops, rows(Access::contraction, Offer::in_full_blocks));
    return ops;
}

/// The same along the other axes of the program too.
std::vector<SearchOp> along_axes(std::vector<SearchOp> ops, Traits const& traits) {
    for (auto const& op : std::vector(ops))
        for (auto const axis : traits.axes)
            if (op.row().field.access == Access::normalise || op.row().field.reduction.over_axis)
                ops.push_back({op.row(), Attributes::axis(axis), {}});
    return ops;
}

/// What every block of the full space may use, before the for-loop decides between sums and accumulators.
std::vector<SearchOp> full_common_ops(Traits const& traits) {
    auto ops = rows(Access::contraction, Offer::always);
    append(ops, rows(Access::contraction, Offer::in_full_blocks));
    append(ops, used(rows(Access::contraction, Offer::if_used), traits));
    append(ops, pointwise_ops(traits));
    append(ops, traits.rearranged);
    append(ops, with_companions(Access::pointwise, traits));
    append(ops, with_companions(Access::normalise, traits));
    append(ops, along_axes(used(rows(Access::reduction, Offer::if_used), traits), traits));
    append(ops, used(rows(Access::pointwise, Offer::if_used_in_full_blocks), traits));
    append(ops, along_axes(used(rows(Access::normalise, Offer::if_used_in_full_blocks), traits), traits));
    append(ops, along_axes(rows(Access::normalise, Offer::always), traits));
    return ops;
}

/// The sums of the program along dimensions that a for-loop does not split, as they are: a norm of what is read in it.
std::vector<SearchOp> own_sums(Traits const& traits) {
    auto out = along_axes(used(rows(Access::reduction, Offer::always), traits), traits);
    for (auto& op : out) op.is_own = true;
    return out;
}

Space mirage_space(SpaceConfig::Setting setting, Source const& source, Traits const& traits) {
    auto const is_attention = setting == SpaceConfig::Setting::attention;
    Space space;
    space.kernel_ops = kernel_ops(traits);
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

Space full_space(SpaceConfig::Setting setting, MugraphConfig const& config, Traits const& traits) {
    Space space;
    space.kernel_ops = kernel_ops(traits);
    append(space.kernel_ops, traits.library);
    space.block_ops = space.unlooped_block_ops = full_common_ops(traits);
    append(space.block_ops, along_axes(rows(Access::accumulate, Offer::always), traits));
    append(space.block_ops, with_companions(Access::accumulate, traits));
    append(space.unlooped_block_ops, along_axes(rows(Access::reduction, Offer::always), traits));
    std::erase(space.unlooped_block_ops, plain(OpCode::rms_norm)); // rms and div are the same program
    append(space.block_ops, own_sums(traits));
    space.graph_kernels = setting == SpaceConfig::Setting::attention ? 2 : 1;
    for (auto const& [ops, access] :
         {std::pair{&space.block_ops, Access::accumulate}, std::pair{&space.unlooped_block_ops, Access::reduction}}) {
        if (space.graph_kernels > 1) add_sums_to(*ops, access, config.program);
        for (auto const code : to_size(access)) add_own_sums_to(*ops, code, traits);
    }
    space.max_views = std::min(traits.view_count, most_views);
    auto const inputs = static_cast<int>(traits.inputs);
    space.max_operands = std::clamp(inputs, space.max_operands, max_operands);
    space.max_kernel_ops = space.graph_kernels > 1 ? 2 : 3;
    space.max_block_ops = space.graph_kernels > 1 ? 5 : 7;
    space.has_partial_maxima = traits.has_exp && traits.ops.contains(OpCode::max) &&
                               !config.space.unsafe_softmax.value_or(false) &&
                               traits.symbols + 4 * 2 <= Word::max_symbols;
    space.grid_dims = traits.rank >= 3 ? 2 : 1;
    space.has_single_blocks = true;
    if (space.grid_dims == 1) space.taken_twice = traits.taken_twice; // with more, operands are cut alike
    space.has_epilogues = true;
    space.has_read_outputs = traits.outputs > 1;
    space.max_outputs = std::max(space.max_outputs, static_cast<int>(traits.outputs));
    space.min_blocks = 1;
    space.max_blocks = 65'535;
    space.shared_memory_bytes = static_cast<std::int64_t>(config.hardware.block_shared_memory);
    return space;
}

template <class T, class U>
void change(T& value, U const& to) {
    if (to != U{}) value = static_cast<T>(to);
}

/// What a list of names adds gets the sizes that the program's own ops have.
void change_ops(std::vector<SearchOp>& ops, std::vector<OpCode> const& to, Traits const& traits) {
    if (to.empty()) return;
    std::erase_if(ops, [&](SearchOp const& op) { return !std::ranges::count(to, op.code()); });
    for (auto const code : to) {
        if (std::ranges::count(ops, code, &SearchOp::code)) continue;
        if (program::info(code).field.reduction.to_size) add_own_sums_to(ops, code, traits);
        if (!std::ranges::count(ops, code, &SearchOp::code)) ops.push_back(plain(code));
    }
}

void apply(Space& space, SpaceConfig const& config, Traits const& traits) {
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
    if (config.unsafe_softmax) space.has_unsafe_exponentials = *config.unsafe_softmax;
    change_ops(space.kernel_ops, config.kernel_ops, traits);
    change_ops(space.block_ops, config.block_ops, traits);
    change_ops(space.unlooped_block_ops, config.block_ops, traits);
    auto const is_automatic = config.schedules == SpaceConfig::Schedules::automatic;
    auto const is_full = space.grids == GridRule::divisors;
    space.keeps_best_schedule = is_automatic ? is_full : config.schedules == SpaceConfig::Schedules::best;
}

void check(Space const& space, SpaceConfig const& config) {
    if (space.graph_kernels > max_graph_kernels)
        throw base::KeyError(
            "problem.space.max_graph_kernels",
            fmt::format("{} is too large (a program has at most {} graph-defined kernels): use 1 to {}",
                        space.graph_kernels, max_graph_kernels, max_graph_kernels));
    auto const steps = space.max_kernel_ops + space.max_views + space.graph_kernels * (space.max_block_ops + 2);
    if (steps <= max_steps) return;
    auto const* key = config.max_block_ops > 0    ? "max_block_ops"
                      : config.max_kernel_ops > 0 ? "max_kernel_ops"
                                                  : "max_graph_kernels";
    throw base::KeyError(fmt::format("problem.space.{}", key),
                         fmt::format("{} ops at kernel level and {} graph-defined kernel{} of {} ops and 2 more steps "
                                     "are {} steps, more than {}: lower one of these limits",
                                     space.max_kernel_ops, space.graph_kernels, space.graph_kernels == 1 ? "" : "s",
                                     space.max_block_ops, steps, max_steps));
}

void check(Traits const& traits, Space const& space) {
    auto const symbols = static_cast<int>(traits.symbols) + 4 * space.graph_kernels;
    if (symbols > Word::max_symbols)
        throw base::KeyError("problem.space.max_graph_kernels",
                             fmt::format("{} dimensions and {} graph-defined kernels are {} symbols, more than {}: use "
                                         "fewer kernels",
                                         traits.symbols, space.graph_kernels, symbols, Word::max_symbols));
}

void check(Traits const& traits) {
    if (traits.inputs < max_tensors) return;
    throw base::KeyError("problem.program.inputs",
                         fmt::format("{} inputs, more than {}: leave some out", traits.inputs, max_tensors - 1));
}

/// Of programs that are one kernel: more where every op works on single values, for which few ops are tried.
int one_kernel_block_ops(Traits const& traits) {
    auto const is_pointwise = [](OpCode code) { return program::is_pointwise(program::info(code)); };
    if (!std::ranges::all_of(traits.ops, is_pointwise)) return most_block_ops;
    return std::clamp(traits.op_count, most_block_ops, most_pointwise_block_ops);
}

/// With automatic limits: one kernel of 1, 2, .. block ops, then one beside library kernels, then more. Each
/// stage is searched from the start; those before it cost little beside it.
std::vector<Limits> make_stages(Space const& space, SpaceConfig const& config, Traits const& traits) {
    auto const is_chosen = config.max_kernel_ops > 0 || config.max_block_ops > 0 || config.max_graph_kernels > 0;
    if (is_chosen || space.grids != GridRule::divisors) return {space.widest()};
    std::vector<Limits> out;
    auto const add = [&](Limits const& limits) {
        if (!std::ranges::count(out, limits)) out.push_back(limits);
    };
    for (int ops = 1; ops <= one_kernel_block_ops(traits); ++ops) add({1, 1, ops});
    add({.block_ops = many_block_ops, .spare_ops = spare_ops});
    if (space.has_partial_maxima)
        add({.graph_kernels = 2,
             .kernel_ops = 2,
             .block_ops = combining_block_ops,
             .combines = true,
             .spare_ops = combining_spare_ops});
    add({1, 2, few_block_ops});
    for (int kernels = 2; kernels <= space.max_kernel_ops; ++kernels) add({1, kernels, space.max_block_ops});
    if (space.graph_kernels > 1) add(space.widest());
    return out;
}

/// `one kernel`, `2 kernels`.
std::string counted(int n, std::string_view what) {
    return n == 1 ? fmt::format("one {}", what) : fmt::format("{} {}s", n, what);
}

} // namespace

std::string words_of(Limits const& limits) {
    auto const library = limits.kernel_ops - limits.graph_kernels;
    auto out = library > 0 ? fmt::format("{} beside {}", counted(limits.graph_kernels, "graph-defined kernel"),
                                         counted(library, "library kernel"))
                           : counted(limits.graph_kernels, "kernel");
    out += fmt::format(", {}{}", counted(limits.block_ops, "block op"), limits.graph_kernels > 1 ? " each" : "");
    if (limits.spare_ops >= 0 && !limits.combines) out += fmt::format(", {} more than needed", limits.spare_ops);
    if (limits.combines) out += ", the second of which combines parts of rows";
    return out;
}

Space make_space(MugraphConfig const& config) {
    auto const traits = traits_of(searched_program(config));
    check(traits);
    auto const setting = setting_of(config.space, config.program, traits);
    auto space = config.space.from == SpaceConfig::Preset::mirage ? mirage_space(setting, config.program, traits)
                                                                  : full_space(setting, config, traits);
    apply(space, config.space, traits);
    for (auto* const ops : {&space.kernel_ops, &space.block_ops, &space.unlooped_block_ops}) set_eps(*ops, traits);
    std::erase_if(space.unlooped_block_ops,
                  [&](SearchOp const& op) { return !space.needs_accumulators && program::is_accumulator(op.row()); });
    check(space, config.space);
    check(traits, space);
    space.stages = make_stages(space, config.space, traits);
    space.fuses_in_order = space.stages.size() > 1;
    return space;
}

} // namespace espalier::problems::mugraph
