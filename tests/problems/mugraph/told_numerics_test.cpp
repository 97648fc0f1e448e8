#include "told_numerics.hpp"

#include "espalier/problems/mugraph/listing.hpp"
#include "espalier/program/source.hpp"
#include "espalier/program/text.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>

/// What users are told about a program's numerics.
namespace espalier::problems::mugraph {
namespace {

using testing::HasSubstr;
using verify::Numerics;

/// exp(X W), of which X W is about `sqrt(inner)`.
MugraphConfig exponential(program::DType dtype, std::int64_t inner) {
    MugraphConfig config;
    config.program.dtype = dtype;
    config.program.dims = {{"B", 16}, {"K", inner}, {"N", 16}};
    config.program.inputs = {{"X", {"B", "K"}}, {"W", {"K", "N"}}};
    config.program.ops = {{{"P"}, "matmul", {"X", "W"}, {}}, {{"O"}, "exp", {"P"}, {}}};
    config.program.outputs = {"O"};
    return config;
}
search::ResultRecord record_of(MugraphConfig const& config) {
    search::ResultRecord out;
    out.text = program::to_text(program::build(config.program));
    out.cost = 1;
    std::string const details = R"({"scope": "full", "sampled_elements": 4, "form": 1})";
    auto const bytes = std::as_bytes(std::span(details));
    out.payload.assign(bytes.begin(), bytes.end());
    return out;
}

TEST(ToldNumerics, errors_have_two_digits) {
    auto const text = [](double error) { return error_text(Numerics{.rel_error = error}); };

    EXPECT_EQ(text(3.14e-4), "3.1e-4");
    EXPECT_EQ(text(9.96e-4), "1.0e-3");
    EXPECT_EQ(text(1e-3), "1.0e-3");
    EXPECT_EQ(text(2.5e-12), "2.5e-12");
    EXPECT_EQ(text(1.5), "1.5e0");
    EXPECT_EQ(text(0), "0");
    EXPECT_EQ(error_text(Numerics{.overflows = true}), "overflow");
    EXPECT_EQ(error_text(std::nullopt), "not estimated");
}

TEST(ToldNumerics, as_json) {
    Numerics const found{
        .dtype = program::DType::bf16, .rel_error = 0.5, .largest_magnitude = 3, .overflows = false, .samples = 7};
    auto infinite = found;
    infinite.rel_error = std::numeric_limits<double>::infinity();

    base::Json const wanted{{"dtype", "bf16"},    {"rel_error", 0.5}, {"largest_magnitude", 3.0},
                            {"overflows", false}, {"samples", 7},     {"inputs", "N(0, 1)"}};
    auto nothing = wanted;
    for (auto const* key : {"rel_error", "largest_magnitude", "overflows"}) nothing[key] = nullptr;
    nothing["samples"] = 0;
    EXPECT_EQ(to_json(found, found.dtype), wanted);
    EXPECT_TRUE(to_json(infinite, found.dtype)["rel_error"].is_null());
    EXPECT_EQ(to_json(std::nullopt, found.dtype), nothing);
}

/// e^11.1 is more than f16 has; the largest of 16 sums of 1024 products is some 50.
TEST(ToldNumerics, tables_and_objects_flag_an_overflow) {
    auto const config = exponential(program::DType::f16, 1024);

    EXPECT_EQ(input_json(config)["numerics"]["overflows"], true);
    EXPECT_EQ(results_json(config, {record_of(config)}, 0)[0]["numerics"]["overflows"], true);
    EXPECT_THAT(results_text(config, {record_of(config)}, 0), HasSubstr(" overflow "));
    EXPECT_EQ(input_json(exponential(program::DType::bf16, 1024))["numerics"]["overflows"], false);
    EXPECT_EQ(input_json(exponential(program::DType::f16, 2))["numerics"]["overflows"], false);
}

TEST(ToldNumerics, what_is_too_large_is_not_estimated) {
    auto const config = exponential(program::DType::f16, std::int64_t{1} << 28);

    EXPECT_THAT(results_text(config, {record_of(config)}, 0), HasSubstr("not estimated"));
    EXPECT_TRUE(input_json(config)["numerics"]["rel_error"].is_null());
}

TEST(ToldNumerics, a_list_ends_its_estimates_after_a_while) {
    NumericsOfList numerics;
    auto const graph = program::build(exponential(program::DType::bf16, 4096).program);

    int count = 0;
    while (count < 10'000 && numerics.next(graph)) ++count;

    EXPECT_GT(count, 100);
    EXPECT_LT(count, 5000);
}

} // namespace
} // namespace espalier::problems::mugraph
