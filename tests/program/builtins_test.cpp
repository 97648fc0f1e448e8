#include "program/samples.hpp"

#include "espalier/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::program {
namespace {

using namespace samples;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<Shape> input_shapes(Source const& source) {
    std::vector<Shape> out;
    for (auto const& input : build(source).inputs) out.push_back(input.shape);
    return out;
}

TEST(Builtins, are_right_with_their_default_sizes) {
    for (auto const& builtin : builtins()) {
        EXPECT_TRUE(check(source_of(builtin.name)).empty()) << builtin.name;
        EXPECT_EQ(source_of(builtin.name).name, builtin.name);
    }
}

TEST(Builtins, are_right_with_odd_sizes) {
    for (auto const& builtin : builtins()) {
        std::vector<std::int64_t> sizes;
        for (std::size_t i = 0; i < builtin.keys.size(); ++i)
            sizes.push_back(builtin.keys[i].name == "kv_heads" ? 0 : static_cast<std::int64_t>(2 * i + 3));
        if (builtin.name.find("gqa") != std::string_view::npos) sizes[2] = 5; // heads is 5

        EXPECT_TRUE(check(builtin.make(sizes)).empty()) << builtin.name;
    }
}

TEST(Builtins, are_those_that_people_try_first) {
    for (auto const* name : {"rmsnorm_linear", "rmsnorm_linear_primitive", "layernorm_linear", "gated_mlp", "lora",
                             "mha", "mqa", "gqa", "qknorm_gqa", "ntrans", "softmax_linear"})
        EXPECT_NE(find_builtin(name), nullptr) << name;
    EXPECT_EQ(find_builtin("resnet"), nullptr);
}

TEST(Builtins, gqa_has_the_shapes_of_the_benchmark) {
    EXPECT_EQ(input_shapes(source_of("gqa")), (std::vector<Shape>{{2, 256, 64}, {2, 64, 4096}, {2, 4096, 64}}));
}

TEST(Builtins, heads_that_share_keys_are_rows) {
    // batch 3, 8 heads on 2 key heads, 4 queries, 100 keys of 16
    auto const source = find_builtin("gqa")->make({3, 8, 2, 4, 100, 16});

    EXPECT_EQ(input_shapes(source), (std::vector<Shape>{{6, 16, 16}, {6, 16, 100}, {6, 100, 16}}));
}

/// Ops of a program as it is searched, by name.
std::vector<std::string> op_names(Source const& source) {
    std::vector<std::string> out;
    for (auto const& op : build(source).ops) out.emplace_back(info(op.code).name);
    return out;
}

TEST(Builtins, attention_has_a_safe_variant) {
    auto const unsafe = find_builtin("gqa")->make({1, 8, 2, 4, 100, 16});
    auto const safe = find_builtin("gqa")->make({1, 8, 2, 4, 100, 16, 1});

    EXPECT_EQ(find_builtin("gqa")->make({1, 8, 2, 4, 100, 16, 0}), unsafe);
    EXPECT_EQ(std::ranges::count(op_names(unsafe), "max"), 0);
    EXPECT_EQ(std::ranges::count(op_names(safe), "max"), 1);
    EXPECT_THROW((void)find_builtin("gqa")->make({1, 8, 2, 4, 100, 16, 2}), base::InputError);
}

TEST(Builtins, variants_of_mirage_are_what_its_benchmarks_compute) {
    auto const norms = [](Source const& source) {
        std::vector<std::string> of;
        for (auto const& op : source.ops)
            if (op.op == "rms_norm") of.push_back(op.in[0]);
        return of;
    };

    EXPECT_EQ(norms(find_builtin("qknorm_gqa")->make({1, 8, 2, 4, 100, 16})), (std::vector<std::string>{"Q", "K"}));
    EXPECT_EQ(norms(find_builtin("qknorm_gqa")->make({1, 8, 2, 4, 100, 16, 2})), (std::vector<std::string>{"Q", "V"}));
    auto const ntrans = find_builtin("ntrans")->make({8, 64, 1});
    EXPECT_EQ(input_shapes(ntrans)[2], (Shape{8, 64}));
    EXPECT_EQ(op_names(ntrans), (std::vector<std::string>{"rms_norm", "add", "mul", "add", "rms_norm"}));
}

TEST(Builtins, mha_and_mqa_know_their_key_heads) {
    EXPECT_EQ(input_shapes(find_builtin("mha")->make({3, 8, 0, 4, 100, 16}))[0], (Shape{24, 4, 16}));
    EXPECT_EQ(input_shapes(find_builtin("mqa")->make({3, 8, 0, 4, 100, 16}))[0], (Shape{3, 32, 16}));
    EXPECT_THAT(
        [] {
            (void)find_builtin("mqa")->make({3, 8, 2, 4, 100, 16});
        },
        ThrowsMessage<base::InputError>(HasSubstr("mqa.kv_heads: 2 key heads, but mqa has 1")));
}

TEST(Builtins, key_heads_divide_heads) {
    EXPECT_THAT(
        [] {
            (void)find_builtin("gqa")->make({1, 8, 3, 1, 64, 64});
        },
        ThrowsMessage<base::InputError>(HasSubstr("3 key heads do not divide 8 query heads")));
}

TEST(Builtins, every_bad_size_is_told_by_its_key) {
    EXPECT_THAT(
        [] {
            (void)find_builtin("lora")->make({0, 256, -4, 16});
        },
        ThrowsMessage<base::InputError>(
            testing::AllOf(HasSubstr("lora.tokens: 0 is not a size"), HasSubstr("lora.out: -4 is not a size"))));
    EXPECT_THAT([] { (void)find_builtin("ntrans")->make({1}); },
                ThrowsMessage<base::InputError>(HasSubstr("1 sizes, but it has 2 keys")));
}

TEST(Builtins, lora_is_two_products_more) {
    auto const graph = build(source_of("lora"));

    EXPECT_EQ(graph.ops, (std::vector{op(OpCode::matmul, {0, 1}), op(OpCode::matmul, {0, 2}),
                                      op(OpCode::matmul, {5, 3}), op(OpCode::add, {4, 6})}));
}

} // namespace
} // namespace espalier::program
