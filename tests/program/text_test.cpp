#include "espalier/program/text.hpp"

#include "espalier/base/error.hpp"
#include "program/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace espalier::program {
namespace {

using namespace samples;
using testing::HasSubstr;

std::string error_of(std::string_view text) {
    try {
        (void)parse_text(text, "file");
    } catch (base::InputError const& error) {
        return error.what();
    }
    return "no error";
}

TEST(Text, of_the_fused_rmsnorm_reads_well) {
    EXPECT_EQ(to_text(fused_rmsnorm()), R"(program f16
  X = input [2, 4096]
  W = input [4096, 6144]
  t2 = kernel grid [96] loop 64 threads 128 {  # [2, 6144]
    x = tile X (loop: 1)                       # [2, 64]
    w = tile W (grid x: 1, loop: 0)            # [64, 64]
    t2 = matmul x w                            # [2, 64]
    t3 = accumulate t2                         # [2, 64]
    t4 = accumulate_rms x (axis: -1)           # [2, 1]
    t5 = div t3 t4                             # [2, 64]
    store t5 (grid x: 1)
  }
  output t2
)");
}

TEST(Text, shows_thread_graphs_inside) {
    EXPECT_THAT(to_text(with_thread_graphs(fused_gated_mlp())), HasSubstr(R"(
    t7 = thread {                              # [8, 64]
      t0 = load t5                             # [8, 64]
      t1 = load t6                             # [8, 64]
      t2 = silu t0                             # [8, 64]
      t3 = mul t2 t1                           # [8, 64]
      store t3
    })"));
}

TEST(Text, can_be_read_back) {
    for (auto const& graph : all_programs()) {
        auto const text = to_text(graph);
        auto const back = parse_text(text, "file");

        EXPECT_EQ(back, graph) << text;
        EXPECT_EQ(to_text(back), text);
    }
}

TEST(Text, keeps_types_and_names_of_every_kind) {
    auto graph = fused_rmsnorm();
    graph.dtype = DType::bf16;
    graph.bodies[0].dtype = DType::f32;
    for (auto const* name : {"", "t7", "a \"b\\\n#c", "W", "input"}) {
        graph.inputs[0].name = name;

        EXPECT_EQ(parse_text(to_text(graph), "file"), graph) << to_text(graph);
    }
}

TEST(Text, keeps_attributes_to_the_last_bit) {
    Graph graph;
    graph.inputs = {{"X", {3}}};
    auto const bounds = Attributes()
                            .with(AttributeName::low, std::vector<double>{-0.1})
                            .with(AttributeName::high, std::vector<double>{1e300 / 3});
    graph.ops = {op(OpCode::clamp, {0}, bounds), op(OpCode::sum, {1})};
    graph.outputs = {2, 1};

    EXPECT_EQ(parse_text(to_text(graph), "file"), graph) << to_text(graph);
}

TEST(Text, may_be_written_freely) {
    auto const graph =
        parse_text("program f32 # a comment\n\n\tX=input[4,6]\r\nY = exp X\n  Out = mul Y X\noutput Out Y", "file");

    EXPECT_EQ(graph.dtype, DType::f32);
    EXPECT_EQ(graph.ops, (std::vector{op(OpCode::exp, {0}), op(OpCode::mul, {1, 0})}));
    EXPECT_EQ(graph.outputs, (TensorIds{2, 1}));
}

TEST(TextErrors, show_line_column_and_place) {
    EXPECT_EQ(error_of("program f16\n  X = input [4, 6]\n  Y = exq X\n  output Y\n"),
              "file:3:7: there is no op 'exq': did you mean 'exp'?\n"
              "    Y = exq X\n"
              "        ^");
}

TEST(TextErrors, are_all_told_and_do_not_breed_others) {
    auto const error = error_of(R"(program f16
  X = input [2, 64]
  W = input [64 64]
  Z = kernel grid [3] loop 64 foo 3 {
    a = tile X (grd x: 1)
    b = tile Q (loop: 1)
    c = matmull a b
    d = add a a
    e = exp d (axis: 1)
    store e
  }
  Y = add X Z
  V = exp X X
  $ = exp W
  output Y V
)");

    for (auto const* part :
         {"file:3:17: expected ']'", "file:4:31: this is not part of a schedule",
          "file:5:17: there is no setting `grd x`", "file:6:14: there is no tensor 'Q'",
          "file:7:9: there is no op 'matmull'", "file:9:16: exp has no attribute",
          "file:13:7: kernel op 0 (exp): 2 operands, but it takes 1", "file:14:3: '$' is not part of the language"})
        EXPECT_THAT(error, HasSubstr(part));
    EXPECT_EQ(std::ranges::count(error, '^'), 8);
}

TEST(TextErrors, name_tiles_that_do_not_divide) {
    EXPECT_THAT(error_of("program f16\nX = input [2, 64]\nZ = kernel grid [3] {\nx = tile X (grid x: 1)\ny = exp x\n"
                         "store y (grid x: 1)\n}\noutput Z\n"),
                HasSubstr("file:4:5: grid axis x splits dimension 1 of [2, 64] in 3 parts, which do not divide it"));
}

TEST(TextErrors, name_shapes_that_do_not_fit) {
    EXPECT_THAT(error_of("program f16\nX = input [2, 64]\nY = matmul X X\noutput Y\n"),
                HasSubstr("file:3:5: kernel op 0 (matmul): operands [2, 64] and [2, 64] do not fit"));
}

TEST(TextErrors, name_outputs_inside_the_loop) {
    EXPECT_THAT(
        error_of("program f16\nX = input [2, 64]\nZ = kernel grid [1] loop 4 {\nx = tile X (loop: 1)\ny = exp x\n"
                 "store y\n}\noutput Z\n"),
        HasSubstr("it needs an accumulator"));
}

TEST(TextErrors, name_a_missing_title_and_missing_outputs) {
    EXPECT_THAT(error_of(""), HasSubstr("file:1:1: a program begins with its type"));
    EXPECT_THAT(error_of("program f8\n"), HasSubstr("f16"));
    EXPECT_THAT(error_of("program f16\nX = input [2]\nY = exp X\n"), HasSubstr("there is no output"));
}

TEST(TextErrors, name_braces_that_do_not_match) {
    EXPECT_THAT(error_of("program f16\nX = input [2]\n}\nY = exp X\noutput Y\n"),
                HasSubstr("file:3:1: this brace closes nothing"));
    EXPECT_THAT(error_of("program f16\nX = input [2]\nY = kernel grid [1] {\nx = tile X\ny = exp x\nstore y\n"),
                HasSubstr("file:3:1: this block is not closed"));
}

TEST(TextErrors, name_what_is_defined_twice_or_too_late) {
    EXPECT_THAT(error_of("program f16\nX = input [2]\nX = exp X\noutput X\n"),
                HasSubstr("file:3:1: tensor X is defined twice"));
    EXPECT_THAT(error_of("program f16\nX = input [2]\nY = exp X\nZ = input [2]\noutput Y\n"),
                HasSubstr("file:4:1: input after an op"));
}

TEST(TextErrors, name_kernels_that_read_nothing) {
    EXPECT_THAT(error_of("program f16\nX = input [2]\nY = kernel grid [1] {\nstore x\n}\noutput Y\n"),
                HasSubstr("there is no tensor 'x'"));
    EXPECT_THAT(
        error_of("program f16\nX = input [2]\nY, Z = kernel grid [1] {\nx = tile X\ny = exp x\nstore y\n}\noutput Y\n"),
        HasSubstr("outputs 1 tensors, but 2 are named"));
}

TEST(TextErrors, name_sizes_that_overflow) {
    EXPECT_THAT(error_of("program f16\nX = input [99999999999999999999]\noutput X\n"),
                HasSubstr("this is not a shape"));
    EXPECT_THAT(
        error_of("program f16\nX = input [2]\nY = kernel grid [2147483648, 2147483648] {\nx = tile X\ny = exp x\n"
                 "store y (grid x: 0, grid y: 0)\n}\noutput Y\n"),
        HasSubstr("blocks"));
}

/// Whatever is changed, the parser says what is wrong or reads a program.
TEST(TextErrors, damaged_text_never_breaks_the_parser) {
    auto const whole = to_text(with_thread_graphs(fused_gated_mlp())) + to_text(split_attention());
    EXPECT_TRUE(rc::check([&] {
        auto text = whole.substr(0, *rc::gen::inRange<std::size_t>(0, whole.size()));
        for (int i = 0; i < 3 && !text.empty(); ++i)
            text[*rc::gen::inRange<std::size_t>(0, text.size())] =
                *rc::gen::element('x', '0', '-', '(', '{', '}', '\n', '"', ',', ' ');
        try {
            (void)infer(parse_text(text, "file"));
        } catch (base::InputError const& error) {
            RC_ASSERT(std::string_view(error.what()).starts_with("file:"));
        }
    }));
}

} // namespace
} // namespace espalier::program
