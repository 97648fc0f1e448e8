#include "espalier/program/op.hpp"

#include <gtest/gtest.h>

#include <set>

namespace espalier::program {
namespace {

TEST(OpTable, every_row_is_found_by_its_name) {
    std::set<std::string_view> names;
    for (auto const& row : op_table()) {
        EXPECT_FALSE(row.name.empty());
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_EQ(info(row.code).name, row.name);
        EXPECT_EQ(find_op(row.name), row.code == OpCode::graph ? std::nullopt : std::optional(row.code));
    }
    EXPECT_EQ(names.size(), static_cast<std::size_t>(op_count));
    EXPECT_EQ(find_op("convolution"), std::nullopt);
}

TEST(OpTable, every_row_but_graph_has_all_rules) {
    for (auto const& row : op_table()) {
        if (row.code == OpCode::graph) continue;
        EXPECT_NE(row.shape, nullptr) << row.name;
        EXPECT_NE(row.symbolic_shape, nullptr) << row.name;
        EXPECT_NE(row.expression, nullptr) << row.name;
        EXPECT_NE(row.meaning, nullptr) << row.name;
        EXPECT_TRUE(row.at[1]) << row.name << " in a block";
        EXPECT_EQ(row.at[2], is_pointwise(row)) << row.name << " in a thread";
        EXPECT_EQ(row.at[0], !is_accumulator(row)) << row.name << " as a kernel";
    }
}

TEST(OpTable, functions_have_tags_of_their_own) {
    std::set<std::uint32_t> tags;
    for (auto const& row : op_table())
        if (is_function(row)) {
            EXPECT_TRUE(tags.insert(row.field.tag).second) << row.name;
        }
    EXPECT_EQ(tags.size(), 12u);
}

/// Sizes of symbols 0.. in the examples below.
constexpr std::array<std::int64_t, Word::max_symbols> sizes{2, 12, 5, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
Word const b = Word::symbol(0), k = Word::symbol(1), n = Word::symbol(2), s = Word::symbol(3);

Shape numbers_of(SymbolicShape const& words) {
    Shape out;
    for (auto const& word : words) out.push(word.value(sizes));
    return out;
}

struct Example {
    OpCode code;
    std::vector<SymbolicShape> in;
    Attributes attributes;
    std::optional<SymbolicShape> out;
};
std::vector<Example> examples() {
    auto const axis = [](std::int64_t a) { return Attributes::axis(a); };
    return {
        {OpCode::matmul, {{b, k}, {k, n}}, {}, SymbolicShape{b, n}},
        {OpCode::matmul, {{n, b, k}, {n, k, b}}, {}, SymbolicShape{n, b, b}},
        {OpCode::matmul, {{b, k}, {n, k}}, {}, std::nullopt},
        {OpCode::matmul, {{n, b, k}, {k, n}}, {}, SymbolicShape{n, b, n}}, // one matrix for all
        {OpCode::matmul, {{b, k}, {n, k, b}}, {}, SymbolicShape{n, b, b}},
        {OpCode::matmul, {{k, b, k}, {b, n, k, b}}, {}, std::nullopt},
        {OpCode::matmul_nt, {{b, k}, {n, k}}, {}, SymbolicShape{b, n}},
        {OpCode::matmul_nt, {{b, k}, {k, n}}, {}, std::nullopt},
        {OpCode::transpose, {{b, k, n}}, {}, SymbolicShape{b, n, k}},
        {OpCode::accumulate_rescaled, {{b, k}, {b, Word{}}}, {}, SymbolicShape{b, k}},
        {OpCode::accumulate_rescaled, {{b, Word{}}, {b, k}}, {}, std::nullopt},
        {OpCode::matmul, {{b, n, k}, {n, k, b}}, {}, std::nullopt},
        {OpCode::concat_matmul, {{b, k}, {b, n}, {k, n}, {n, n}}, {}, SymbolicShape{b, n}},
        {OpCode::concat_matmul, {{b, k}, {b, n}, {k, n}, {k, n}}, {}, std::nullopt},
        {OpCode::exp, {{b, k}}, {}, SymbolicShape{b, k}},
        {OpCode::add, {{b, k}, {b, Word{}}}, {}, SymbolicShape{b, k}},
        {OpCode::mul, {{k}, {b, k}}, {}, SymbolicShape{b, k}},
        {OpCode::div, {{Word{}, k}, {b, Word{}}}, {}, SymbolicShape{b, k}},
        {OpCode::sub, {{b, k}, {b, n}}, {}, std::nullopt},
        {OpCode::sum, {{b, k}}, axis(-1), SymbolicShape{b, Word{}}},
        {OpCode::sum, {{b, k}}, axis(0), SymbolicShape{Word{}, k}},
        {OpCode::rms, {{b, k}}, {}, SymbolicShape{b, Word{}}},
        {OpCode::rms, {{b, k}}, axis(2), std::nullopt},
        {OpCode::sum_to, {{b, k}}, axis(1), SymbolicShape{b, s}},
        {OpCode::rms_norm, {{b, k}}, axis(0), SymbolicShape{b, k}},
        {OpCode::layer_norm, {{b, k}}, axis(-3), std::nullopt},
        {OpCode::accumulate, {{b, k}}, {}, SymbolicShape{b, k}},
        {OpCode::accumulate_sum, {{b, k}}, axis(-1), SymbolicShape{b, Word{}}},
        {OpCode::accumulate_rms, {{b, k}}, axis(0), SymbolicShape{Word{}, k}},
        {OpCode::accumulate_sum_to, {{b, k}}, axis(-1), SymbolicShape{b, s}},
    };
}

TEST(ShapeRules, agree_for_numbers_and_symbols) {
    for (auto const& example : examples()) {
        auto const& row = info(example.code);
        std::vector<Shape> numbers;
        for (auto const& shape : example.in) numbers.push_back(numbers_of(shape));

        auto const symbolic = row.symbolic_shape({example.in, example.attributes, s, Word{}});
        auto const numeric = row.shape({numbers, example.attributes, s.value(sizes), 1});

        EXPECT_EQ(symbolic, example.out) << row.name;
        EXPECT_EQ(numeric, example.out ? std::optional(numbers_of(*example.out)) : std::nullopt) << row.name;
    }
}

TEST(ShapeRules, only_numbers_know_what_divides) {
    std::vector<Shape> const shapes{{2, 12}};

    EXPECT_EQ(info(OpCode::sum_to).shape({shapes, {}, 5, 1}), std::nullopt);
    EXPECT_EQ(info(OpCode::sum_to).shape({shapes, {}, 0, 1}), std::nullopt);
    EXPECT_EQ(info(OpCode::sum_to).shape({shapes, {}, 6, 1}), (Shape{2, 6}));
}

TEST(AttributeSet, is_sorted_and_replaces) {
    auto const one = Attributes::axis(1).with(AttributeName::size, 64);
    auto const other =
        Attributes().with(AttributeName::size, 64).with(AttributeName::axis, 2).with(AttributeName::axis, 1);

    EXPECT_EQ(one, other);
    EXPECT_EQ(one.whole(AttributeName::axis, -1), 1);
    EXPECT_EQ(one.whole(AttributeName::low, -5), -5);
    EXPECT_EQ(find_attribute("size"), AttributeName::size);
    EXPECT_EQ(find_attribute("sizes"), std::nullopt);
}

TEST(WordValue, is_a_quotient_of_products) {
    EXPECT_EQ((k * n / s).value(sizes), 15);
    EXPECT_EQ((n / s).value(sizes), 0) << "5/4 is not whole";
    EXPECT_TRUE((k / k).is_unit());
    EXPECT_EQ((k * b).hash(), (b * k).hash());
}

} // namespace
} // namespace espalier::program
