#include "programs.hpp"
#include "verifier.hpp"

#include "espalier/base/key_error.hpp"
#include "espalier/problems/mugraph/report.hpp"
#include "espalier/verify/reference.hpp"

#include <gmock/gmock.h>

#include <algorithm>

/// The shapes on which candidates are compared, and candidates that they say nothing about.
namespace espalier::problems::mugraph {
namespace {

using program::OpCode;

std::uint64_t counter(MugraphConfig const& config, toys::Walk const& walk, std::string_view name) {
    auto const info = Mugraph(config, {}, 1).info();
    auto const at = std::ranges::find(info.counters, name, &search::CounterInfo::name) - info.counters.begin();
    return walk.counts.counters.at(static_cast<std::size_t>(at));
}

/// All that the search makes of a target, without a problem around it.
struct Workbench {
    explicit Workbench(MugraphConfig const& config)
        : hardware(config.hardware), setup{Target(config.program), make_space(config), config.prune, 1, &hardware},
          notes(Mugraph(config, {}, 1).info()), explorer(setup, notes) {}

    config::HardwareConfig hardware;
    Setup setup;
    search::Notes notes;
    Explorer explorer;
};

TEST(SecondShape, there_is_one_for_every_built_in) {
    std::vector<MugraphConfig> experiments;
    for (auto const* name : {"rmsnorm_linear", "layernorm_linear", "softmax_linear", "gated_mlp"})
        experiments.push_back(mirage(name, {8, 512, 512}));
    experiments.push_back(mirage("lora", {16, 256, 512, 16}));
    experiments.back().space.max_block_ops = 7;
    experiments.push_back(mirage("gqa", {2, 16, 1, 16, 1024, 64}));
    experiments.push_back(two_kernels(SpaceConfig::Schedules::all));
    std::size_t found = 0;
    for (auto const& config : experiments) {
        auto const walk = search(config);
        found += walk.results.empty() ? 0 : 1;
        EXPECT_EQ(counter(config, walk, "no_second_shape"), 0u) << config.builtin;
        EXPECT_EQ(summary_json(Mugraph(config, {}, 1).info(), walk.counts, {})["no_second_shape"], 0);
    }
    EXPECT_GE(found, 5u);
}

/// A class that cuts a dimension of size 1, which no search makes: nothing can divide. It is neither passed nor
/// refuted.
TEST(SecondShape, without_one_nothing_is_said) {
    MugraphConfig config;
    config.program.dims = {{"B", 4}};
    config.program.inputs = {{"X", {"B", "1"}}};
    config.program.ops = {{{"Y"}, "relu", {"X"}, {}}};
    config.program.outputs = {"Y"};
    Workbench bench(config);
    Verifier const verifier(bench.setup.target, bench.setup.space, {}, 1);
    auto const relu = std::ranges::find(bench.setup.space.unlooped_block_ops, OpCode::relu, &SearchOp::code) -
                      bench.setup.space.unlooped_block_ops.begin();
    Node node;
    node.begins = 1;
    node.begin[0].count = 1;
    node.begin[0].axes[0] = {Axis::generic};
    node.begin[0].cuts[0].grid[0] = 0;
    Step step;
    step.kind = Step::Kind::begin;
    node.push(step);
    step = {Step::Kind::block_op, static_cast<std::uint8_t>(relu), 1, {0}};
    node.push(step);
    step = {Step::Kind::finish, 0, 0, {1, 0, 0, 0}};
    node.push(step);
    bench.explorer.replay(Node{});

    EXPECT_EQ(verifier.try_second_shape(node, {1}, bench.explorer), SecondShape::passed);
    node.begin[0].cuts[0].grid[0] = 1;
    node.steps[2].in[0] = 2;
    EXPECT_EQ(verifier.try_second_shape(node, {1}, bench.explorer), SecondShape::none);
    search::Counts counts = search::zero_counts(Mugraph(config, {}, 1).info());
    counts.counters[static_cast<std::size_t>(Count::no_second_shape)] = 3;
    EXPECT_THAT(search::to_text(funnel(Mugraph(config, {}, 1).info(), counts, {})),
                testing::HasSubstr("no second shrunk shape"));
}

// --- outputs ---

/// Y = X W, output twice under different names.
TEST(Outputs, that_are_equal_are_two_tensors) {
    MugraphConfig config;
    config.program.dims = {{"B", 4}, {"K", 6}, {"N", 2}};
    config.program.inputs = {{"X", {"B", "K"}}, {"W", {"K", "N"}}};
    config.program.ops = {{{"Y"}, "matmul", {"X", "W"}, {}}, {{"Z"}, "matmul", {"X", "W"}, {}}};
    config.program.outputs = {"Y", "Z"};
    config.space.max_graph_kernels = 2;
    config.space.max_kernel_ops = 2;
    config.space.max_block_ops = 1;
    config.space.block_ops = config.space.kernel_ops = {OpCode::matmul};
    verify::Draw const draw{3, field::Roots::power, verify::Exponents::if_needed};
    auto const wanted = verify::evaluate_reference(program::build(config.program), draw).outputs;

    auto const found = programs_of(search(config));

    EXPECT_FALSE(found.empty());
    for (auto const& graph : found) {
        ASSERT_EQ(graph.outputs.size(), 2u);
        EXPECT_NE(graph.outputs[0], graph.outputs[1]);
        EXPECT_EQ(verify::evaluate_reference(graph, draw).outputs, wanted);
    }
}

/// Two outputs of one shape and different values: they must not change places.
TEST(Outputs, keep_their_order) {
    MugraphConfig config;
    config.program.dims = {{"B", 4}, {"K", 6}};
    config.program.inputs = {{"X", {"B", "K"}}};
    config.program.ops = {{{"Y"}, "relu", {"X"}, {}}, {{"Z"}, "silu", {"X"}, {}}};
    config.program.outputs = {"Z", "Y"};
    config.space.max_kernel_ops = 2;
    config.space.max_block_ops = 2;
    verify::Draw const draw{3, field::Roots::power, verify::Exponents::if_needed};
    auto const wanted = verify::evaluate_reference(program::build(config.program), draw).outputs;

    auto const found = programs_of(search(config));

    EXPECT_TRUE(std::ranges::any_of(found, [](auto const& graph) { return program::kernel_count(graph) == 1; }));
    for (auto const& graph : found) EXPECT_EQ(verify::evaluate_reference(graph, draw).outputs, wanted);
}

// --- zero divisors ---

/// x - x is zero on every draw: what is divided by it says nothing on any shape and is refused as undecided, never as
/// different, and never found.
TEST(ZeroDivisors, are_neither_equal_nor_different) {
    MugraphConfig config;
    config.program.dims = {{"B", 4}, {"K", 6}};
    config.program.inputs = {{"X", {"B", "K"}}};
    config.program.ops = {{{"Y"}, "relu", {"X"}, {}}};
    config.program.outputs = {"Y"};
    config.prune = Prune::none;
    config.space.max_kernel_ops = 1;
    config.space.max_block_ops = 2;
    config.space.block_ops = {OpCode::relu, OpCode::sub, OpCode::div};
    auto const info = Mugraph(config, {}, 1).info();

    auto const walk = search(config);

    EXPECT_FALSE(walk.results.empty());
    for (auto const& graph : programs_of(walk))
        for (auto const& body : graph.bodies)
            EXPECT_FALSE(std::ranges::count(body.ops, OpCode::div, &program::Op::code));
    auto const undecided = std::ranges::find(info.reasons, "undecided") - info.reasons.begin();
    EXPECT_GT(walk.counts.funnel.at(static_cast<std::size_t>(undecided)), 0u);
}

TEST(ZeroDivisors, in_the_program_are_refused_by_the_op) {
    MugraphConfig config;
    config.program.dims = {{"B", 4}, {"K", 6}};
    config.program.inputs = {{"X", {"B", "K"}}};
    config.program.ops = {
        {{"S"}, "softmax", {"X"}, {}}, {{"Z"}, "sub", {"S", "S"}, {}}, {{"Y"}, "div", {"X", "Z"}, {}}};
    config.program.outputs = {"Y"};

    try {
        Mugraph const problem(config, {}, 1);
        FAIL() << "not refused";
    } catch (base::KeyError const& error) {
        EXPECT_EQ(error.key(), "problem.program.ops[2]"); // a softmax is three ops of the graph, and one of the text
        EXPECT_THAT(error.what(), testing::HasSubstr("divides by zero"));
    }
}

/// B / (max(A, B) - A) divides by zero on every other draw, wherever A comes later in the order at random.
TEST(ZeroDivisors, of_one_draw_are_a_reason_for_another) {
    MugraphConfig config;
    config.program.inputs = {{"A", {"1", "1"}}, {"B", {"1", "1"}}};
    config.program.ops = {
        {{"M"}, "max", {"A", "B"}, {}}, {{"D"}, "sub", {"M", "A"}, {}}, {{"Y"}, "div", {"B", "D"}, {}}};
    config.program.outputs = {"Y"};

    for (std::uint64_t seed = 1; seed <= 10; ++seed) EXPECT_NO_THROW((void)Mugraph(config, {}, seed)) << seed;
}

} // namespace
} // namespace espalier::problems::mugraph
