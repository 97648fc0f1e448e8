#include "first_found.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

/// Programs that people try first, each in another spelling than that of the built-ins: in primitives, with operands
/// swapped, under other names, with sizes that are not powers of two. Each is one kernel with the default settings.
namespace espalier::problems::mugraph {
namespace {

using program::Attributes;
using program::Graph;
using program::OpCode;
using program::Source;
using program::SourceOp;

enum class Loop : std::uint8_t { any, needed };
struct Spelling {
    std::string name;
    Source source;
    Loop loop = Loop::needed;
};
std::ostream& operator<<(std::ostream& out, Spelling const& spelling) { return out << spelling.name; }

SourceOp op(std::string out, std::string name, std::vector<std::string> in) {
    return {{std::move(out)}, std::move(name), std::move(in), {}};
}
SourceOp along_rows(std::string out, std::string name, std::string in) {
    return {{std::move(out)}, std::move(name), {std::move(in)}, Attributes::axis(-1)};
}

std::vector<Spelling> spellings() {
    std::vector<program::SourceInput> const two_factors{{"A", {"m", "k"}}, {"C", {"k", "n"}}};
    return {
        {"norm_and_product_in_primitives",
         {.dims = {{"m", 3}, {"k", 3000}, {"n", 5000}},
          .inputs = two_factors,
          .ops = {op("q", "square", {"A"}), along_rows("v", "mean", "q"), op("r", "sqrt", {"v"}),
                  op("y", "matmul", {"A", "C"}), op("z", "div", {"y", "r"})},
          .outputs = {"z"}}},
        {"norm_that_subtracts_the_mean_in_primitives",
         {.dims = {{"m", 7}, {"k", 300}, {"n", 500}},
          .inputs = two_factors,
          .ops = {along_rows("a", "mean", "A"), op("c", "sub", {"A", "a"}), op("q", "mul", {"c", "c"}),
                  along_rows("v", "mean", "q"), op("e", "add", {"v", "0.001"}), op("r", "rsqrt", {"e"}),
                  op("y", "mul", {"r", "c"}), op("z", "matmul", {"y", "C"})},
          .outputs = {"z"}},
         Loop::any},
        {"attention_with_queries_and_values_normed_in_primitives",
         {.dims = {{"B", 2}, {"q", 250}, {"d", 60}, {"k", 3000}, {"e", 60}},
          .inputs = {{"Q", {"B", "q", "d"}}, {"K", {"B", "d", "k"}}, {"V", {"B", "k", "e"}}},
          .ops = {op("a", "square", {"Q"}), along_rows("b", "mean", "a"), op("c", "rsqrt", {"b"}),
                  op("n", "mul", {"Q", "c"}), op("f", "mul", {"V", "V"}), along_rows("g", "mean", "f"),
                  op("h", "sqrt", {"g"}), op("w", "div", {"V", "h"}), op("s", "matmul", {"n", "K"}),
                  op("p", "softmax", {"s"}), op("o", "matmul", {"p", "w"})},
          .outputs = {"o"}}},
        {"gated_mlp_with_factors_swapped",
         {.dims = {{"m", 6}, {"k", 3000}, {"n", 5000}},
          .inputs = {{"A", {"m", "k"}}, {"C", {"k", "n"}}, {"D", {"k", "n"}}},
          .ops = {op("u", "matmul", {"A", "D"}), op("g", "matmul", {"A", "C"}), op("s", "silu", {"g"}),
                  op("z", "mul", {"u", "s"})},
          .outputs = {"z"}}},
        {"lora_with_terms_swapped",
         {.dims = {{"m", 12}, {"k", 250}, {"n", 3000}, {"r", 10}},
          .inputs = {{"X", {"m", "k"}}, {"W", {"k", "n"}}, {"A", {"k", "r"}}, {"B", {"r", "n"}}},
          .ops = {op("t", "matmul", {"X", "A"}), op("l", "matmul", {"t", "B"}), op("p", "matmul", {"X", "W"}),
                  op("o", "add", {"l", "p"})},
          .outputs = {"o"}}},
        {"residual_of_a_normalised_transformer",
         {.dims = {{"m", 6}, {"k", 3000}},
          .inputs = {{"x", {"m", "k"}}, {"h", {"m", "k"}}, {"a", {"1", "k"}}},
          .ops = {op("n", "rmsnorm", {"h"}), op("d", "sub", {"n", "x"}), op("s", "mul", {"a", "d"}),
                  op("t", "add", {"s", "x"}), op("y", "rmsnorm", {"t"})},
          .outputs = {"y"}},
         Loop::any},
        {"residual_and_norm_with_both_outputs",
         {.dims = {{"m", 100}, {"k", 3000}},
          .inputs = {{"x", {"m", "k"}}, {"h", {"m", "k"}}},
          .ops = {op("s", "add", {"h", "x"}), op("q", "square", {"s"}), along_rows("v", "mean", "q"),
                  op("r", "sqrt", {"v"}), op("y", "div", {"s", "r"})},
          .outputs = {"s", "y"}},
         Loop::any},
        {"bias_and_gelu_after_a_long_loop",
         {.dims = {{"m", 8}, {"k", 28'672}, {"n", 1000}},
          .inputs = {{"A", {"m", "k"}}, {"C", {"k", "n"}}, {"b", {"1", "n"}}},
          .ops = {op("p", "matmul", {"A", "C"}), op("q", "add", {"b", "p"}), op("y", "gelu", {"q"})},
          .outputs = {"y"}}},
        {"residual_after_a_long_loop",
         {.dims = {{"m", 8}, {"k", 28'672}, {"n", 1000}},
          .inputs = {{"A", {"m", "k"}}, {"C", {"k", "n"}}, {"R", {"m", "n"}}},
          .ops = {op("p", "matmul", {"A", "C"}), op("y", "add", {"R", "p"})},
          .outputs = {"y"}}},
        {"attention_with_normed_queries_and_values",
         {.dims = {{"B", 2}, {"q", 250}, {"d", 60}, {"k", 3000}, {"e", 60}},
          .inputs = {{"Q", {"B", "q", "d"}}, {"K", {"B", "d", "k"}}, {"V", {"B", "k", "e"}}},
          .ops = {op("n", "rmsnorm", {"Q"}), op("w", "rmsnorm", {"V"}), op("s", "matmul", {"n", "K"}),
                  op("p", "softmax", {"s"}), op("o", "matmul", {"p", "w"})},
          .outputs = {"o"}}},
        {"attention_with_normed_queries_and_keys",
         {.dims = {{"B", 2}, {"q", 250}, {"d", 60}, {"k", 3000}, {"e", 60}},
          .inputs = {{"Q", {"B", "q", "d"}}, {"K", {"B", "d", "k"}}, {"V", {"B", "k", "e"}}},
          .ops = {op("n", "rmsnorm", {"Q"}),
                  {{"h"}, "rmsnorm", {"K"}, Attributes::axis(1)},
                  op("s", "matmul", {"n", "h"}),
                  op("p", "softmax", {"s"}),
                  op("o", "matmul", {"p", "V"})},
          .outputs = {"o"}}},
    };
}

class Spelled : public ::testing::TestWithParam<Spelling> {};

TEST_P(Spelled, is_one_kernel) {
    MugraphConfig config;
    config.program = GetParam().source;
    auto const is_wanted = [&](Graph const& graph) {
        return is_looped_kernel(graph) || (GetParam().loop == Loop::any && program::kernel_count(graph) == 1 &&
                                           program::graph_kernel_count(graph) == 1);
    };

    EXPECT_TRUE(FirstFound(config).run(is_wanted));
}

INSTANTIATE_TEST_SUITE_P(Otherwise, Spelled, ::testing::ValuesIn(spellings()),
                         [](auto const& one) { return one.param.name; });

} // namespace
} // namespace espalier::problems::mugraph
