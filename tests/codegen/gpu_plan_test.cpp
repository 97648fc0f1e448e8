#include "espalier/codegen/gpu_text.hpp"

#include "support/compiled.hpp"
#include "support/gpu_shim.hpp"
#include "support/packages.hpp"
#include "support/random_programs.hpp"

#include "espalier/program/text.hpp"

#include <gtest/gtest.h>

#include <set>

namespace espalier::codegen {
namespace {

using packages::count_of_programs;
using program::DType;
using program::Graph;
using program::OpCode;

std::vector<Graph> random_graphs(std::uint64_t seed, int count, DType dtype) {
    programs::RandomPrograms random(base::Seed{seed});
    std::vector<Graph> out;
    for (int i = 0; i < count; ++i) out.push_back(packages::stored_as(random.next(), dtype));
    return out;
}
/// With smaller last tiles.
std::vector<Graph> uneven_graphs(std::uint64_t seed, int count, DType dtype) {
    programs::RandomPrograms random(base::Seed{seed}, programs::RandomPrograms::Cuts::uneven);
    std::vector<Graph> out;
    while (std::ssize(out) < count)
        if (auto const graph = random.next(); program::has_tails(graph))
            out.push_back(packages::stored_as(graph, dtype));
    return out;
}
void note_ops(Graph const& graph, std::set<OpCode>& seen) {
    for (auto const& op : graph.ops) seen.insert(op.code);
    for (auto const& body : graph.bodies) note_ops(body, seen);
}

/// Few threads, so that elements and parts of sums are dealt out in several rounds.
GpuPlan plan_of(Graph const& graph, int threads) { return gpu_plan(make_plan(graph), {.threads = threads}); }

void expect_right(compiled::Library const& library, std::size_t i, Graph const& graph, base::Rng& rng) {
    for (auto const& inputs : doubles::telling_inputs(graph, rng)) {
        auto const found = library.run(i, inputs);
        auto const wanted = doubles::Interpreter(graph).run(inputs);
        for (std::size_t o = 0; o < wanted.size(); ++o)
            for (std::size_t n = 0; n < wanted[o].values.size(); ++n)
                ASSERT_TRUE(doubles::is_replaced_by(wanted[o].values[n], found[o][n]))
                    << "output " << o << " element " << n << ": " << found[o][n] << " instead of "
                    << wanted[o].values[n] << "\n"
                    << program::to_text(graph) << gpu_kernels(plan_of(graph, 8), "k");
    }
}

TEST(GpuKernels, of_random_programs_compute_what_the_interpreter_of_the_tests_does) {
    auto graphs = random_graphs(5, count_of_programs(40), DType::f64);
    auto const uneven = uneven_graphs(7, count_of_programs(40) / 2, DType::f64);
    base::Rng rng(base::Seed{6});
    std::set<OpCode> seen;
    for (auto const& graph : graphs) note_ops(graph, seen);
    graphs.insert(graphs.end(), uneven.begin(), uneven.end());
    int barriers = 0;

    compiled::Library const library(graphs, "-std=c++20 -O0 -pthread", gpu_shim::preamble,
                                    [&](Graph const& graph, std::string const& name) {
                                        return gpu_shim::source(plan_of(graph, 8), name, barriers);
                                    });

    for (std::size_t i = 0; i < graphs.size(); ++i) expect_right(library, i, graphs[i], rng);
    EXPECT_GT(barriers, 20);
    EXPECT_GT(seen.size(), graphs.size() < 240 ? 35u : program::op_count - 1u);
}

/// Races of a program under ThreadSanitizer: none with all barriers, and one without any of them.
void expect_least_barriers(Graph const& graph, int threads) {
    auto const plan = plan_of(graph, threads);
    compiled::Folder const folder;
    int barriers = 0;
    folder.write("racing.cpp", gpu_shim::racing(plan, barriers));
    ASSERT_EQ(folder.run("c++ -std=c++20 -O1 -fsanitize=thread -pthread -o racing racing.cpp"), 0) << folder.log();
    auto const run = [&](int left_out, bool is_late) {
        return folder.run(fmt::format("TSAN_OPTIONS=exitcode=66:halt_on_error=1 setarch -R ./racing {} {}", left_out,
                                      is_late ? 1 : 0));
    };
    for (auto const is_late : {false, true})
        ASSERT_EQ(run(-1, is_late), 0) << folder.log() << program::to_text(graph) << gpu_kernels(plan, "k");
    for (int i = 0; i < barriers; ++i)
        EXPECT_TRUE(run(i, false) == 66 || run(i, true) == 66)
            << "barrier " << i << " is superfluous\n"
            << folder.log() << program::to_text(graph) << gpu_kernels(plan, "k");
}

TEST(GpuBarriers, of_fused_programs_are_all_needed_and_enough) {
    expect_least_barriers(packages::stored_as(programs::fused_rms_linear({2, 24, 16}, {2, 3}), DType::f32), 8);
    expect_least_barriers(packages::stored_as(programs::fused_gated_mlp({2, 24, 16}, {2, 3}), DType::f32), 8);
}

/// Turned fragments, whole ones and parts of sums, fetched ahead: two warps share each.
TEST(GpuBarriers, of_products_by_warps_are_all_needed_and_enough) {
    expect_least_barriers(packages::stored_as(programs::fused_rms_linear({4, 64, 16}, {1, 2}), DType::f16), 64);
    expect_least_barriers(packages::stored_as(programs::fused_gated_mlp({16, 48, 32}, {2, 3}), DType::f16), 64);
}

/// The factor of the sum so far has a place, and is never read.
TEST(GpuBarriers, of_rescaled_sums_in_one_step_are_all_needed_and_enough) {
    program::Schedule schedule{.output = {1, -1, -1}};
    schedule.inputs = {{}, {}};
    programs::GraphBuilder block(schedule), kernel;
    program::Shape const x{2, 8}, m{2, 1};
    auto const a = block.input(x), b = block.input(m);
    auto const sum = block.op(OpCode::accumulate_rescaled, {a, b}), none = block.op(OpCode::sub, {b, b});
    auto const body = block.build({none, sum});

    expect_least_barriers(
        packages::stored_as(kernel.build({kernel.graph(body, {kernel.input(x), kernel.input(m)})}), DType::f32), 4);
}

TEST(GpuBarriers, of_random_programs_are_all_needed_and_enough) {
    for (auto const& graph : random_graphs(11, count_of_programs(4), DType::f32)) expect_least_barriers(graph, 4);
    for (auto const& graph : uneven_graphs(12, count_of_programs(4), DType::f32)) expect_least_barriers(graph, 4);
}

} // namespace
} // namespace espalier::codegen
