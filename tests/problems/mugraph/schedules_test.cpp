#include "programs.hpp"

#include "espalier/base/error.hpp"
#include "espalier/problems/mugraph/space.hpp"

#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

/// Which numbers a class of schedules gets: against brute force over all numbers, and at the limits.
namespace espalier::problems::mugraph {
namespace {

using program::Graph;
using Schedules = SpaceConfig::Schedules;
using Keys = std::set<std::uint64_t>;

/// A program without its numbers: ops, operands and what is cut along which dimension.
std::string structure_of(Graph graph) {
    graph = program::inline_thread_graphs(graph);
    std::string out;
    auto const add = [&](program::Op const& op) {
        out += fmt::format("{}:", static_cast<int>(op.code));
        for (auto const id : op.inputs) out += fmt::format("{},", id.value);
    };
    for (auto const& op : graph.ops) add(op);
    for (auto const& body : graph.bodies) {
        out += "| ";
        for (auto const& op : body.ops) add(op);
        for (auto const& in : body.schedule.inputs) out += fmt::format("{},{} ", fmt::join(in.grid, ","), in.loop);
        out += fmt::format("-> {}", fmt::join(body.schedule.output, ","));
    }
    return out;
}

struct Found {
    std::map<std::string, std::map<std::uint64_t, double>> costs; ///< by structure and key
    std::map<std::string, Graph> example;                         ///< of each structure

    explicit Found(toys::Walk const& walk) {
        for (auto const& result : walk.results) {
            auto const graph = program::parse_text(result.text, "result");
            auto const structure = structure_of(graph);
            costs[structure][result.key] = result.cost;
            example.try_emplace(structure, graph);
        }
    }
    [[nodiscard]] std::size_t count() const {
        std::size_t out = 0;
        for (auto const& [structure, keys] : costs) out += keys.size();
        return out;
    }
};

/// The numbers that may be tried; what does not divide or fit is found out by building the program.
struct Numbers {
    std::vector<std::array<std::int64_t, 3>> grids;
    std::vector<std::int64_t> loops;
};

/// Every choice of numbers for all graph-defined kernels of a program, built from its parts.
class BruteForce {
public:
    BruteForce(Space const& space, Numbers numbers) : space_(space), numbers_(std::move(numbers)) {}

    Keys legal(Graph const& example) {
        keys_.clear();
        choose(program::inline_thread_graphs(example), 0);
        return keys_;
    }

private:
    void choose(Graph graph, std::size_t kernel) {
        if (kernel == graph.bodies.size()) {
            keys_.insert(program::canonical_key(program::with_thread_graphs(graph)));
            return;
        }
        auto const old = graph.bodies[kernel].schedule;
        for (auto const& grid : grids_of(graph, kernel))
            for (auto const loop : numbers_.loops) {
                auto& schedule = graph.bodies[kernel].schedule = old;
                schedule.grid = grid;
                schedule.loop = loop;
                if (has_same_axes(old, schedule) && retile(graph, kernel)) choose(graph, kernel + 1);
            }
    }
    /// Those of the list, or Mirage's: x is the batch of 2, y a dimension of an operand divided by a tile; with z they
    /// are 16 by 4.
    [[nodiscard]] std::vector<std::array<std::int64_t, 3>> grids_of(Graph const& graph, std::size_t kernel) const {
        if (!numbers_.grids.empty()) return numbers_.grids;
        auto prefix = graph;
        auto const at = place_of(graph, kernel);
        prefix.ops.resize(static_cast<std::size_t>(at.value));
        prefix.outputs.clear();
        auto const tensors = program::infer(prefix);
        std::vector<std::array<std::int64_t, 3>> out{{2, 16, 4}};
        for (auto const id : graph.ops[at].inputs)
            for (auto const size : tensors[id].shape)
                for (std::int64_t const tile : {8, 64, 128, 256})
                    if (auto const y = size / tile; size % tile == 0 && 2 * y >= 32 && 2 * y <= 4096)
                        out.push_back({2, y, 1});
        return out;
    }
    static program::OpId place_of(Graph const& graph, std::size_t kernel) {
        auto const at = std::ranges::find(graph.ops, static_cast<int>(kernel), &program::Op::body);
        return program::OpId{static_cast<int>(at - graph.ops.begin())};
    }
    static bool has_same_axes(program::Schedule const& a, program::Schedule const& b) {
        for (std::size_t i = 0; i < 3; ++i)
            if ((a.grid[i] > 1) != (b.grid[i] > 1)) return false;
        return (a.loop > 1) == (b.loop > 1);
    }
    /// Tiles of one kernel from the shapes that the kernels before it leave; false if something does not fit.
    bool retile(Graph& graph, std::size_t kernel) const {
        auto prefix = graph;
        auto const at = place_of(graph, kernel);
        prefix.ops.resize(static_cast<std::size_t>(at.value));
        prefix.outputs.clear();
        auto& body = graph.bodies[kernel];
        try {
            auto const tensors = program::infer(prefix);
            for (std::size_t i = 0; i < body.inputs.size(); ++i) {
                auto const id = graph.ops[at].inputs[i];
                body.inputs[i].shape = program::tile_shape(tensors[id].shape, body.schedule.inputs[i], body.schedule);
            }
            prefix = graph;
            prefix.ops.resize(static_cast<std::size_t>(at.value) + 1);
            prefix.outputs.clear();
            (void)program::infer(prefix);
        } catch (base::InputError const&) {
            return false;
        }
        return fits(body);
    }
    [[nodiscard]] bool fits(Graph const& body) const {
        for (auto const& [grid, loop, last] :
             body.schedule.inputs) // a loop that the full space finds leaves tiles of 2
            if (space_.loops.empty() && loop >= 0 && smallest_looped(body) == 1) return false;
        auto const bytes =
            space_.has_liveness ? program::shared_memory_bytes(body) : program::shared_memory_sum_bytes(body);
        return bytes <= space_.shared_memory_bytes;
    }
    static std::int64_t smallest_looped(Graph const& body) {
        std::int64_t out = INT64_MAX;
        for (std::size_t i = 0; i < body.inputs.size(); ++i)
            if (auto const loop = body.schedule.inputs[i].loop; loop >= 0)
                out = std::min(out, body.inputs[i].shape[loop]);
        return out;
    }

    Space const& space_;
    Numbers numbers_;
    Keys keys_;
};

void expect_all_schedules(MugraphConfig const& config, Found const& found, Numbers const& numbers) {
    auto const space = make_space(config);
    BruteForce brute_force(space, numbers);
    for (auto const& [structure, costs] : found.costs) {
        Keys keys;
        for (auto const& [key, us] : costs) keys.insert(key);
        EXPECT_EQ(keys, brute_force.legal(found.example.at(structure))) << structure;
    }
}

/// Attention, split over the keys and combined.
MugraphConfig attention(Schedules schedules) {
    auto config = mirage("gqa", {2, 16, 1, 16, 1024, 64});
    config.space.schedules = schedules;
    return config;
}

Numbers all_up_to(std::int64_t largest, Space const& space) {
    Numbers out;
    for (std::int64_t x = 1; x <= largest; ++x) {
        out.loops.push_back(x);
        if (x >= space.min_blocks && x <= space.max_blocks) out.grids.push_back({x, 1, 1});
    }
    return out;
}

TEST(Schedules, of_two_kernels_are_all_that_divide) {
    auto const config = two_kernels(Schedules::all);
    Found const found(search(config));

    EXPECT_TRUE(std::ranges::any_of(found.example,
                                    [](auto const& one) { return program::graph_kernel_count(one.second) == 2; }));
    expect_all_schedules(config, found, all_up_to(12, make_space(config)));
}

/// Loops are 4, 16 or 64; 32 to 4096 blocks.
TEST(Schedules, of_attention_are_those_of_the_lists) {
    auto const config = attention(Schedules::all);
    Found const found(search(config));

    EXPECT_GT(found.count(), 0u);
    expect_all_schedules(config, found, {{}, {1, 4, 16, 64}});
}

/// Of every form and class the cheapest, which `all` must have too.
void expect_best_of_all(MugraphConfig const& all_config, MugraphConfig const& best_config) {
    Found const all(search(all_config)), best(search(best_config));

    EXPECT_GT(all.count(), best.count());
    EXPECT_EQ(all.costs.size(), best.costs.size());
    for (auto const& [structure, costs] : best.costs) {
        ASSERT_TRUE(all.costs.contains(structure)) << structure;
        auto const& same = all.costs.at(structure);
        auto const cheapest = std::ranges::min_element(same, {}, [](auto const& one) { return one.second; })->second;
        auto const dearest = std::ranges::max_element(same, {}, [](auto const& one) { return one.second; })->second;
        EXPECT_LE(cheapest, dearest);
        double least = dearest;
        for (auto const& [key, us] : costs) {
            EXPECT_TRUE(same.contains(key)) << structure;
            least = std::min(least, us);
        }
        EXPECT_DOUBLE_EQ(least, cheapest) << structure;
    }
}

TEST(Schedules, the_best_of_two_kernels_are_the_cheapest_of_all) {
    expect_best_of_all(two_kernels(Schedules::all), two_kernels(Schedules::best));
}

TEST(Schedules, the_best_of_attention_are_the_cheapest_of_all) {
    expect_best_of_all(attention(Schedules::all), attention(Schedules::best));
}

// --- limits ---

struct Measured {
    std::uint64_t key;
    std::int64_t bytes, blocks, loop;
};
std::vector<Measured> measured(MugraphConfig const& config) {
    auto const has_liveness = make_space(config).has_liveness;
    std::vector<Measured> out;
    for (auto const& result : search(config).results) {
        auto const graph = program::inline_thread_graphs(program::parse_text(result.text, "result"));
        Measured one{result.key, 0, 1, 1};
        for (auto const& body : graph.bodies) {
            one.bytes = has_liveness ? program::shared_memory_bytes(body) : program::shared_memory_sum_bytes(body);
            auto const& grid = body.schedule.grid;
            one.blocks = grid[0] * grid[1] * grid[2];
            one.loop = body.schedule.loop;
        }
        out.push_back(one);
    }
    return out;
}

/// With the limit there are exactly those that keep it; one less, and what met it exactly is gone.
template <class Keeps>
void expect_limit(MugraphConfig const& config, std::vector<Measured> const& all, Keeps&& keeps) {
    Keys wanted, found;
    for (auto const& one : all)
        if (keeps(one)) wanted.insert(one.key);
    for (auto const& one : measured(config)) found.insert(one.key);
    EXPECT_EQ(found, wanted);
}

/// The middle of the values that occur, so that some programs keep the limit and some do not.
std::int64_t middle(std::vector<Measured> const& all, std::int64_t Measured::*value) {
    std::set<std::int64_t> values;
    for (auto const& one : all) values.insert(one.*value);
    EXPECT_GE(values.size(), 3u);
    return *std::next(values.begin(), static_cast<std::ptrdiff_t>(values.size() / 2));
}

MugraphConfig one_kernel() {
    auto config = full("rmsnorm_linear", {4, 96, 80});
    config.space.max_kernel_ops = 1;
    return config;
}

TEST(Limits, shared_memory_may_be_full_to_the_last_byte) {
    for (bool const has_liveness : {true, false}) {
        SCOPED_TRACE(has_liveness);
        auto config = one_kernel();
        config.space.liveness = has_liveness;
        auto const all = measured(config);
        auto const bytes = middle(all, &Measured::bytes);
        for (auto const limit : {bytes, bytes - 1}) {
            config.space.shared_memory_bytes = static_cast<std::uint64_t>(limit);
            expect_limit(config, all, [&](auto const& one) { return one.bytes <= limit; });
        }
    }
}

/// Without liveness the result of a relu takes no memory of its own, so that its operand may have all of it.
TEST(Limits, operands_alone_may_fill_shared_memory_to_the_last_byte) {
    MugraphConfig config;
    config.program.dims = {{"B", 16}, {"K", 12}};
    config.program.inputs = {{"X", {"B", "K"}}};
    config.program.ops = {{{"Y"}, "relu", {"X"}, {}}};
    config.program.outputs = {"Y"};
    config.space.schedules = SpaceConfig::Schedules::all;
    config.space.max_kernel_ops = 1;
    config.space.max_block_ops = 2;
    config.space.liveness = false;
    auto const all = measured(config);
    auto const bytes = middle(all, &Measured::bytes);
    for (auto const limit : {bytes, bytes - 1}) {
        config.space.shared_memory_bytes = static_cast<std::uint64_t>(limit);
        expect_limit(config, all, [&](auto const& one) { return one.bytes <= limit; });
    }
}

TEST(Limits, blocks_may_be_as_many_as_allowed_and_as_few) {
    auto const all = measured(one_kernel());
    auto const blocks = middle(all, &Measured::blocks);
    for (auto const limit : {blocks, blocks - 1}) {
        auto config = one_kernel();
        config.space.max_blocks = limit;
        expect_limit(config, all, [&](auto const& one) { return one.blocks <= limit; });
        config.space.max_blocks = 0;
        config.space.min_blocks = limit + 1;
        expect_limit(config, all, [&](auto const& one) { return one.blocks >= limit + 1; });
    }
}

TEST(Limits, a_loop_may_be_as_long_as_allowed) {
    auto const all = measured(one_kernel());
    auto const loop = middle(all, &Measured::loop);
    for (auto const limit : {loop, loop - 1}) {
        auto config = one_kernel();
        config.space.max_loop = limit;
        expect_limit(config, all, [&](auto const& one) { return one.loop <= limit; });
    }
}

/// The fused kernel has five ops: sums of squares, product, their accumulators and a quotient; with one op less there
/// is none.
TEST(Limits, ops_are_counted_exactly) {
    auto config = mirage("rmsnorm_linear", {2, 512, 512});
    config.space.count_inputs = false;
    config.space.max_kernel_ops = 1;
    std::size_t fewest = 100;
    for (auto const& graph : programs_of(search(config)))
        fewest = std::min(fewest, program::inline_thread_graphs(graph).bodies[0].ops.size());

    config.space.max_block_ops = static_cast<std::int32_t>(fewest);
    EXPECT_FALSE(search(config).results.empty());
    --config.space.max_block_ops;
    EXPECT_TRUE(search(config).results.empty());
    config.space.max_block_ops = static_cast<std::int32_t>(fewest) + 2; // the two inputs count too
    config.space.max_kernel_ops = 3;
    config.space.count_inputs = true;
    EXPECT_FALSE(search(config).results.empty());
    --config.space.max_block_ops;
    EXPECT_TRUE(search(config).results.empty());
}

} // namespace
} // namespace espalier::problems::mugraph
