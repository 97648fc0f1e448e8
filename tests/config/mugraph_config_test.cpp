#include "experiments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::config::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string with_program(std::string const& program) { return with_problem("program: " + program); }
program::Source source(std::string const& text) { return mugraph(parse(with_program(text))).program; }

/// Lines 4 to 9; what a test changes is one argument.
struct Ops {
    std::string dims = "{B: 2, K: 64, N: 32}";
    std::string inputs = "{X: [B, K], W: [K, N]}";
    std::string first = "{out: Y, op: rmsnorm, in: [X]}";
    std::string second = "{out: Z, op: matmul, in: [Y, W]}";
    std::string outputs = "[Z]";
    std::string dtype = "f16";
};
std::string with_ops(Ops const& ops) {
    return "problem:\n  kind: mugraph\n  program:\n    dims: " + ops.dims + "\n    inputs: " + ops.inputs +
           "\n    ops:\n    - " + ops.first + "\n    - " + ops.second + "\n    outputs: " + ops.outputs +
           "\n    dtype: " + ops.dtype + "\nresults: {path: x}\n";
}

TEST(MugraphConfig, a_program_of_ops_may_say_what_its_weights_are) {
    Ops ops;
    auto const plain = to_yaml(parse(with_ops(ops)));
    ops.dtype += "\n    weights: [W]";

    auto const config = parse(with_ops(ops));

    EXPECT_EQ(mugraph(config).program.weights, std::vector<std::string>{"W"});
    EXPECT_EQ(mugraph(parse(to_yaml(config))).program.weights, std::vector<std::string>{"W"});
    EXPECT_EQ(plain.find("weights"),
              std::string::npos); // programs that were stored without weights are read and written as before
}

TEST(MugraphConfig, what_is_not_said_has_its_default) {
    auto const config = mugraph(parse(minimal_mugraph));

    EXPECT_EQ(config.builtin, "rmsnorm_linear");
    EXPECT_EQ(config.sizes, (std::vector<std::int64_t>{2, 4096, 6144}));
    EXPECT_EQ(config.program, program::find_builtin("rmsnorm_linear")->make({2, 4096, 6144}));
    EXPECT_EQ(config.program.dtype, program::DType::f16);
    EXPECT_EQ(config.space, SpaceConfig{});
    EXPECT_EQ(config.prune, Prune::native);
    EXPECT_EQ(config.hardware, default_hardware());
    EXPECT_EQ(parse(minimal_mugraph).verify, VerifyConfig{});
}

TEST(MugraphConfig, a_builtin_takes_its_sizes_and_a_dtype) {
    auto const config = mugraph(parse(with_program("{builtin: gqa, queries: 1, dtype: bf16}")));

    EXPECT_EQ(config.sizes, (std::vector<std::int64_t>{1, 8, 2, 1, 4096, 64}));
    EXPECT_EQ(config.program.dims[1], (program::NamedDim{"Q", 4})) << "8 heads in 2 groups, 1 query each";
    EXPECT_EQ(config.program.dtype, program::DType::bf16);
}

TEST(MugraphConfig, a_size_can_be_overridden) {
    EXPECT_EQ(mugraph(parse(minimal_mugraph, {"problem.program.tokens=8"})).sizes.front(), 8);
    EXPECT_EQ(mugraph(parse(minimal_mugraph, {"problem.program={builtin: lora}"})).builtin, "lora");
}

TEST(MugraphConfig, errors_of_a_builtin_are_shown_at_once) {
    EXPECT_EQ(errors_of(with_program("{builtin: rmsnorm_linear, tokns: 2, hidden: 0, dtype: f166}")),
              "exp.yaml:1:61: error: unknown key 'tokns' in 'problem.program'; did you mean 'tokens'?\n"
              "problem: {kind: mugraph, program: {builtin: rmsnorm_linear, tokns: 2, hidden: 0, dtype: f166}}\n"
              "                                                            ^\n"
              "exp.yaml:1:79: error: 'problem.program.hidden' = 0 is out of range: use a whole number from 1 to "
              "2147483648\n"
              "problem: {kind: mugraph, program: {builtin: rmsnorm_linear, tokns: 2, hidden: 0, dtype: f166}}\n"
              "                                                                              ^\n"
              "exp.yaml:1:89: error: 'problem.program.dtype' must be one of f16, bf16, f32, f64, not 'f166'; did you "
              "mean 'f16'?\n"
              "problem: {kind: mugraph, program: {builtin: rmsnorm_linear, tokns: 2, hidden: 0, dtype: f166}}\n"
              "                                                                                        ^");
}

TEST(MugraphConfig, an_unknown_builtin_gets_a_suggestion) {
    EXPECT_THAT(errors_of(with_program("{builtin: rms_norm_linear}")),
                HasSubstr("not 'rms_norm_linear'; did you mean 'rmsnorm_linear'?"));
}

TEST(MugraphConfig, sizes_that_do_not_go_together_are_refused_at_their_key) {
    EXPECT_THAT(
        errors_of(with_program("{builtin: gqa, heads: 8, kv_heads: 3}")),
        StartsWith("exp.yaml:1:70: error: 'problem.program.kv_heads': 3 key heads do not divide 8 query heads"));
    EXPECT_THAT(errors_of(with_program("{builtin: mqa, kv_heads: 3}")),
                StartsWith("exp.yaml:1:60: error: 'problem.program.kv_heads': 3 key heads, but mqa has 1"));
}

TEST(MugraphConfig, a_program_is_needed) {
    EXPECT_THAT(errors_of("problem: {kind: mugraph}\nresults: {path: x}\n"),
                StartsWith("exp.yaml:1:10: error: missing key 'program' in 'problem' (what is optimised"));
    EXPECT_THAT(errors_of(with_program("{}")),
                StartsWith("exp.yaml:1:35: error: missing key 'builtin' in 'problem.program' (a program by name, with "
                           "its sizes beside it, or inputs, ops and outputs of your own)"));
    EXPECT_THAT(errors_of(with_program("gqa")), HasSubstr("'problem.program' must be a map of keys, not 'gqa'"));
}

TEST(MugraphConfig, a_program_in_ops_is_read_as_it_is_written) {
    auto const program = mugraph(parse(with_ops({}))).program;

    EXPECT_EQ(program.name, "");
    EXPECT_EQ(program.dims, (std::vector<program::NamedDim>{{"B", 2}, {"K", 64}, {"N", 32}}));
    EXPECT_EQ(program.inputs, (std::vector<program::SourceInput>{{"X", {"B", "K"}}, {"W", {"K", "N"}}}));
    EXPECT_EQ(program.ops,
              (std::vector<program::SourceOp>{{{"Y"}, "rmsnorm", {"X"}, {}}, {{"Z"}, "matmul", {"Y", "W"}, {}}}));
    EXPECT_EQ(program.outputs, std::vector<std::string>{"Z"});
}

TEST(MugraphConfig, dims_may_be_numbers_and_attributes_are_keys) {
    auto const program =
        source("{inputs: {X: [2, 64]}, ops: [{out: [Y], op: sum_to, in: [X], axis: -1, size: 8}], outputs: [Y]}");

    EXPECT_EQ(program.inputs.front().dims, (std::vector<std::string>{"2", "64"}));
    EXPECT_EQ(program.ops.front().attributes, program::Attributes::axis(-1).with(program::AttributeName::size, 8));
}

TEST(MugraphConfig, ops_shapes_and_dtypes_that_are_not_supported_are_refused_at_once) {
    auto const report = errors_of(with_ops({.dims = "{B: 0, K: 64, N: 32}",
                                            .inputs = "{X: [B, K], W: [K, M]}",
                                            .first = "{out: Y, op: rmsnrom, in: [X]}",
                                            .second = "{out: Z, op: matmul, in: [Y, V]}",
                                            .outputs = "[Z, Q]",
                                            .dtype = "int8"}));

    EXPECT_THAT(report, HasSubstr("exp.yaml:4:12: error: 'problem.program.dims.B': B has size 0"));
    EXPECT_THAT(report, HasSubstr("exp.yaml:5:32: error: 'problem.program.inputs.W': there is no dimension 'M'"));
    EXPECT_THAT(report, HasSubstr("exp.yaml:7:20: error: 'problem.program.ops[0]': there is no op 'rmsnrom': did you "
                                  "mean 'rmsnorm'?\n"
                                  "    - {out: Y, op: rmsnrom, in: [X]}\n"
                                  "                   ^\n"));
    EXPECT_THAT(report, HasSubstr("exp.yaml:8:36: error: 'problem.program.ops[1]': there is no tensor 'V'"));
    EXPECT_THAT(report, HasSubstr("exp.yaml:9:18: error: 'problem.program.outputs[1]': there is no tensor 'Q'"));
    EXPECT_THAT(report, HasSubstr("exp.yaml:10:12: error: 'problem.program.dtype' must be one of f16, bf16, f32, f64, "
                                  "not 'int8'"));
}

TEST(MugraphConfig, operands_that_do_not_fit_are_refused_at_their_op) {
    EXPECT_THAT(errors_of(with_ops({.second = "{out: Z, op: matmul, in: [W, Y]}"})),
                StartsWith("exp.yaml:8:7: error: 'problem.program.ops[1]': matmul needs [.., m, k] and [.., k, n] with "
                           "equal dimensions before them, or none, got W [K, N] = [64, 32] and Y [B, K] = [2, 64]\n"));
    EXPECT_THAT(errors_of(with_ops({.first = "{out: Y, op: rmsnorm, in: [X], size: 4}"})),
                StartsWith("exp.yaml:7:38: error: 'problem.program.ops[0]': rms_norm has no attribute `size`"));
}

TEST(MugraphConfig, a_size_is_a_whole_number) {
    EXPECT_THAT(errors_of(with_ops({.dims = "{B: two, K: 6.5, N: 32}"})),
                AllOf(HasSubstr("'problem.program.dims.B' must be a whole number of at least 1, not 'two'"),
                      HasSubstr("'problem.program.dims.K' must be a whole number of at least 1, not '6.5'")));
}

TEST(MugraphConfig, keys_of_an_op_are_known) {
    EXPECT_THAT(errors_of(with_ops({.first = "{out: Y, op: rmsnorm, in: [X], axes: 1}"})),
                StartsWith("exp.yaml:7:38: error: unknown key 'axes' in 'problem.program.ops[0]'; did you mean "
                           "'axis'?\n"));
    EXPECT_THAT(errors_of(with_ops({.first = "{op: rmsnorm, in: X}"})),
                HasSubstr("missing key 'out' in 'problem.program.ops[0]' (the tensor it makes); add e.g. 'out: Y'"));
    EXPECT_THAT(errors_of(with_ops({.first = "{op: rmsnorm, in: X}"})),
                HasSubstr("'problem.program.ops[0].in' must be a list, not 'X'"));
}

TEST(MugraphConfig, equal_programs_have_equal_text) {
    auto const text = [](std::string const& program) { return problem_text(parse(with_program(program)).problem); };
    auto const in_ops = text("{dims: {B: 2, K: 4096, N: 6144}, inputs: {X: [B, K], W: [K, N]}, outputs: [out], "
                             "ops: [{out: n, op: rmsnorm, in: [X], axis: 1}, {out: out, op: matmul, in: [n, W]}]}");

    EXPECT_EQ(text("{builtin: rmsnorm_linear}"), in_ops);
    EXPECT_NE(text("{builtin: rmsnorm_linear, tokens: 4}"), in_ops);
    EXPECT_NE(text("{builtin: rmsnorm_linear, dtype: f32}"), in_ops);
}

TEST(MugraphConfig, the_canonical_text_has_ops_and_numbers) {
    EXPECT_THAT(problem_text(parse(minimal_mugraph).problem),
                StartsWith("{kind: mugraph, program: {dims: {B: 2, K: 4096, N: 6144}, inputs: {X: [B, K], W: [K, N]}, "
                           "ops: [{out: t0, op: rms_norm, in: [X]}, {out: t1, op: matmul, in: [t0, W]}], "
                           "outputs: [t1], dtype: f16}, space: full, prune: native, hardware: {name: custom, "
                           "launch: 4us, step: 50ns, memory_bandwidth: 1555GB/s, "));
}

TEST(MugraphConfig, every_builtin_is_written_and_read_back) {
    for (auto const& builtin : program::builtins()) {
        auto const config = parse(with_program("{builtin: " + std::string(builtin.name) + "}"));
        auto const in_full = parse("problem: " + problem_text(config.problem) + "\nresults: {path: x}\n");

        EXPECT_EQ(parse(to_yaml(config)), config) << builtin.name;
        EXPECT_EQ(problem_text(in_full.problem), problem_text(config.problem)) << builtin.name;
        EXPECT_EQ(program::canonical_key(program::build(mugraph(in_full).program)),
                  program::canonical_key(program::build(mugraph(config).program)))
            << builtin.name;
    }
}

TEST(MugraphConfig, verify_and_prune_have_their_ranges) {
    auto const errors_of_verify = [](std::string const& keys) {
        return errors_of(minimal_mugraph + "verify: {" + keys + "}\n");
    };

    EXPECT_THAT(errors_of_verify("tests: 65"), HasSubstr("use a whole number from 1 to 64"));
    EXPECT_THAT(errors_of_verify("elements: -1"), HasSubstr("use a whole number from 1 to 1000000"));
    EXPECT_THAT(errors_of_verify("device: gpu"), HasSubstr("must be one of auto, cpu, cuda, not 'gpu'"));
    EXPECT_THAT(errors_of(minimal_mugraph, {"problem.prune=z33"}),
                HasSubstr("must be one of native, z3, both, none, not 'z33'; did you mean 'z3'?"));
    EXPECT_TRUE(parse(minimal_mugraph, {"search.best_only=true"}).search.best_only);
}

TEST(MugraphConfig, keys_of_the_other_kind_are_refused) {
    EXPECT_THAT(errors_of(with_problem("program: {builtin: lora}, tree: T1")),
                HasSubstr("unknown key 'tree' in 'problem'; known keys: kind, program, space, prune, hardware"));
}

} // namespace
} // namespace espalier::config::testing
