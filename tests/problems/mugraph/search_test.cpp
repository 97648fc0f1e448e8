#include "programs.hpp"

#include "espalier/config/load.hpp"
#include "espalier/program/json.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace espalier::problems::mugraph {
namespace {

using program::Graph;
using program::OpCode;

bool has_op(Graph const& graph, OpCode code) {
    return std::ranges::any_of(graph.ops, [&](auto const& op) { return op.code == code; }) ||
           std::ranges::any_of(graph.bodies, [&](auto const& body) { return has_op(body, code); });
}

bool is_one_looped_kernel(Graph const& graph) {
    return program::kernel_count(graph) == 1 && program::graph_kernel_count(graph) == 1 &&
           program::largest_loop(graph) > 1;
}

/// Proved, or tested with an error below 2^-60.
void expect_trusted(search::ResultRecord const& result) {
    EXPECT_TRUE(result.verification == search::Verification::proved || result.error_bound < std::ldexp(1, -60))
        << result.text;
}

template <class Wanted>
void expect_found(toys::Walk const& walk, Wanted&& wanted) {
    bool is_found = false;
    for (auto const& result : walk.results) {
        if (!wanted(program::parse_text(result.text, "result"))) continue;
        expect_trusted(result);
        is_found = true;
    }
    EXPECT_TRUE(is_found) << walk.results.size() << " programs, not one of them wanted";
}

// Mirage's own results in its default space, compared schedule by schedule: 26, and 44 of which half are operand twins.
TEST(MirageSpace, rmsnorm_and_linear_has_26_programs_in_2_forms) {
    auto const walk = search(mirage("rmsnorm_linear", {2, 4096, 6144}));

    EXPECT_EQ(distinct(walk), 26u);
    EXPECT_EQ(form_count(walk), 2u);
}

TEST(MirageSpace, gated_mlp_has_22_programs_in_2_forms) {
    auto const walk = search(mirage("gated_mlp", {8, 4096, 4096}));

    EXPECT_EQ(distinct(walk), 22u);
    EXPECT_EQ(form_count(walk), 2u);
}

TEST(MirageSpace, the_looped_fused_kernel_is_found_for_every_size) {
    for (std::int64_t const hidden : {4096, 3072, 5120, 2880}) {
        SCOPED_TRACE(hidden);
        expect_found(search(mirage("rmsnorm_linear", {2, hidden, 6144})), is_one_looped_kernel);
    }
}

void expect_looped_in_the_full_space(std::initializer_list<std::int64_t> sizes) {
    for (auto const hidden : sizes) {
        SCOPED_TRACE(hidden);
        expect_found(search(full("rmsnorm_linear", {2, hidden, 6144})), is_one_looped_kernel);
    }
}

TEST(FullSpace, the_looped_fused_kernel_is_found_for_every_size) { expect_looped_in_the_full_space({4096, 2880}); }

TEST(FullSpaceLarge, the_looped_fused_kernel_is_found_for_every_size) { expect_looped_in_the_full_space({3072, 5120}); }

/// In which every program with a smaller last tile is proved, since no other shape speaks for it.
void expect_uneven_and_proved(toys::Walk const& walk) {
    expect_found(walk, [](Graph const& graph) { return is_one_looped_kernel(graph) && program::has_tails(graph); });
    for (auto const& result : walk.results)
        EXPECT_TRUE(!program::has_tails(program::parse_text(result.text, "result")) ||
                    result.verification == search::Verification::proved)
            << result.text;
}

TEST(PrimeSizes, rmsnorm_and_linear_is_one_looped_kernel) {
    expect_uneven_and_proved(search(full("rmsnorm_linear", {2, 4099, 6144})));
}

TEST(PrimeSizes, the_gated_mlp_is_one_looped_kernel) {
    expect_uneven_and_proved(search(full("gated_mlp", {8, 4099, 4099})));
}

TEST(PrimeSizes, a_product_with_an_addition_is_one_looped_kernel) {
    MugraphConfig config;
    config.program.dims = {{"B", 16}, {"K", 4099}, {"N", 4096}};
    config.program.inputs = {{"X", {"B", "K"}}, {"W", {"K", "N"}}, {"R", {"B", "N"}}};
    config.program.ops = {{{"U"}, "matmul", {"X", "W"}, {}}, {{"Y"}, "add", {"U", "R"}, {}}};
    config.program.outputs = {"Y"};

    expect_uneven_and_proved(search(config));
}

TEST(PrimeSizes, attention_goes_through_its_keys_with_online_softmax) {
    MugraphConfig config;
    config.program.dims = {{"Q", 256}, {"K", 4093}, {"D", 64}};
    config.program.inputs = {{"A", {"Q", "D"}}, {"B", {"D", "K"}}, {"C", {"K", "D"}}};
    config.program.ops = {
        {{"S"}, "matmul", {"A", "B"}, {}}, {{"P"}, "softmax", {"S"}, {}}, {{"Y"}, "matmul", {"P", "C"}, {}}};
    config.program.outputs = {"Y"};
    config.space.max_graph_kernels = config.space.max_kernel_ops = 1;
    config.space.max_block_ops = 7;

    expect_uneven_and_proved(search(config));
}

TEST(FullSpace, a_small_prime_size_has_no_loop_and_the_counters_say_so) {
    auto const config = full("rmsnorm_linear", {2, 43, 64});

    auto const walk = search(config);

    for (auto const& graph : programs_of(walk)) EXPECT_EQ(program::largest_loop(graph), 1);
    auto const info = Mugraph(config, {}, 1).info();
    auto const at = std::ranges::find(info.counters, "no loop", &search::CounterInfo::name) - info.counters.begin();
    EXPECT_GT(walk.counts.counters[static_cast<std::size_t>(at)], 0u);
}

TEST(Famous, the_division_of_rmsnorm_moves_behind_the_matmul_in_one_kernel) {
    expect_found(search(mirage("rmsnorm_linear", {2, 4096, 6144})), [](Graph const& graph) {
        if (!is_one_looped_kernel(graph) || !has_op(graph, OpCode::accumulate_rms)) return false;
        auto const& ops = program::inline_thread_graphs(graph.bodies[0]).ops;
        return ops.back().code == OpCode::div; // and so after the accumulators
    });
}

TEST(Famous, the_same_from_square_sum_sqrt_and_div) {
    auto config = mirage("rmsnorm_linear_primitive", {2, 512, 512});
    config.space.max_kernel_ops = 3; // the one kernel, and no time for others

    expect_found(search(config), [](Graph const& graph) {
        auto const inlined = program::inline_thread_graphs(graph);
        return is_one_looped_kernel(graph) && inlined.bodies[0].ops.back().code == OpCode::div &&
               has_op(graph, OpCode::sqrt);
    });
}

TEST(Famous, the_gated_mlp_is_one_kernel) {
    expect_found(search(mirage("gated_mlp", {8, 4096, 4096})), [](Graph const& graph) {
        return is_one_looped_kernel(graph) && has_op(graph, OpCode::silu) && has_op(graph, OpCode::mul);
    });
}

TEST(Famous, lora_is_one_matmul_over_concatenated_operands) {
    auto config = mirage("lora", {16, 256, 4096, 16});
    config.space.max_block_ops = 7; // two matmuls and an accumulator beside the four operands

    expect_found(search(config), [](Graph const& graph) {
        return program::kernel_count(graph) == 1 && has_op(graph, OpCode::concat_matmul);
    });
}

TEST(Famous, attention_is_split_over_the_keys_and_combined) {
    auto const config = mirage("gqa", {2, 16, 1, 16, 4096, 64});

    expect_found(search(config), [](Graph const& graph) {
        if (program::graph_kernel_count(graph) != 2 || program::kernel_count(graph) != 2) return false;
        return has_op(graph.bodies[0], OpCode::exp) && has_op(graph.bodies[1], OpCode::accumulate_sum_to) &&
               has_op(graph.bodies[1], OpCode::div);
    });
}

/// Limits so small that the search without pruning ends.
MugraphConfig tiny(Prune prune) {
    auto config = mirage("rmsnorm_linear", {2, 512, 512});
    config.space.max_kernel_ops = 3;
    config.space.max_block_ops = 6;
    config.space.block_ops = {OpCode::matmul,         OpCode::div,           OpCode::mul, OpCode::accumulate,
                              OpCode::accumulate_sum, OpCode::accumulate_rms};
    config.prune = prune;
    return config;
}

TEST(Pruning, loses_nothing) {
    auto const pruned = search(tiny(Prune::native));
    auto const all = search(tiny(Prune::none));

    EXPECT_FALSE(pruned.results.empty());
    EXPECT_EQ(toys::keys(pruned.results), toys::keys(all.results));
    EXPECT_LT(pruned.counts.nodes, all.counts.nodes);
}

TEST(Pruning, agrees_with_z3_as_referee) {
    auto config = tiny(Prune::both);
    config.space.loops = {4};
    config.space.tiles = {16};
    config.space.max_block_ops = 5;
    auto native = config;
    native.prune = Prune::native;

    auto const both = search(config);

    EXPECT_EQ(toys::keys(both.results), toys::keys(search(native).results));
    EXPECT_GT(both.counts.counters[2], 0u); // solver_queries
}

/// A memo of a thread's own would ask again what another thread has asked.
TEST(Pruning, asks_z3_every_question_once_whatever_the_number_of_threads) {
    auto config = tiny(Prune::z3);
    config.space.loops = {4};
    config.space.tiles = {16};
    config.space.kernel_ops = {OpCode::matmul};
    config.space.block_ops = {OpCode::matmul, OpCode::accumulate, OpCode::accumulate_rms, OpCode::div};
    config.space.max_block_ops = 5;
    std::set<std::uint64_t> queries;

    for (int const threads : {1, 2, 4}) {
        Mugraph const problem(config, {}, 1);
        queries.insert(toys::search_all(problem, {.threads = threads}).counts.counters[2]);
    }

    EXPECT_EQ(queries.size(), 1u) << testing::PrintToString(queries);
    EXPECT_GT(*queries.begin(), 20u);
}

TEST(Results, the_cheapest_only) {
    auto const config = mirage("rmsnorm_linear", {2, 512, 512});
    auto const all = search(config);
    CheapestMugraph const problem(config, {}, 1);

    auto const best = toys::search_all(problem, {.threads = 2});

    ASSERT_FALSE(best.results.empty());
    for (auto const& result : best.results) EXPECT_EQ(result.cost, all.results.front().cost);
}

TEST(Results, texts_and_keys_belong_together) {
    auto const walk = search(full("rmsnorm_linear", {4, 48, 40}));

    ASSERT_FALSE(walk.results.empty());
    for (auto const& result : walk.results)
        EXPECT_EQ(program::canonical_key(program::parse_text(result.text, "result")), result.key);
}

TEST(Results, programs_read_back_from_text_and_yaml_are_the_same) {
    for (auto const& graph : programs_of(search(mirage("gqa", {2, 16, 1, 16, 1024, 64})))) {
        auto const yaml = program::from_json(config::parse_yaml_to_json(program::to_yaml(graph), "program.yaml"));

        EXPECT_EQ(yaml, graph) << program::to_yaml(graph);
        EXPECT_EQ(program::parse_text(program::to_text(graph), "program.txt"), graph);
    }
}

} // namespace
} // namespace espalier::problems::mugraph
