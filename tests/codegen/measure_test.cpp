#include "espalier/codegen/measure.hpp"

#include "support/compiled.hpp"
#include "support/programs.hpp"

#include <gtest/gtest.h>

namespace espalier::codegen {
namespace {

program::Graph in_f32(program::Graph graph) {
    graph.dtype = program::DType::f32;
    for (auto& body : graph.bodies) body = in_f32(body);
    return graph;
}

TEST(Measure, says_how_long_a_program_and_its_input_take) {
    compiled::Folder const cache;
    Package const package{in_f32(programs::fused_gated_mlp({4, 96, 64}, {4, 3})),
                          in_f32(programs::gated_mlp({4, 96, 64})),
                          {1, 2},
                          "p",
                          "a test"};

    auto const found = measure(package, {.seconds = 0.05, .threads = 1, .cache = cache.path()});

    EXPECT_TRUE(is_right(found.verdict)) << found.reason;
    EXPECT_GT(found.program.ms, 0);
    EXPECT_LE(found.program.low, found.program.ms);
    EXPECT_LE(found.program.ms, found.program.high);
    EXPECT_GT(found.speedup(), 0);
    EXPECT_LE(found.max_error, found.tolerance);
}

TEST(Measure, finds_a_program_wrong_that_computes_something_else) {
    compiled::Folder const cache;
    Package const package{in_f32(programs::fused_rms_linear({4, 96, 64}, {4, 3}, {.divides_norm = true})),
                          in_f32(programs::rms_linear({4, 96, 64})),
                          {1},
                          "p",
                          "a test"};

    auto const found = measure(package, {.seconds = 0.05, .threads = 1, .cache = cache.path()});

    EXPECT_EQ(found.verdict, Ending::wrong);
    EXPECT_NE(found.reason.find("outside the tolerance"), std::string::npos) << found.reason;
    EXPECT_EQ(found.program.ms, 0);
}

TEST(Measure, compiles_nothing_a_second_time) {
    compiled::Folder const cache;
    auto const input = in_f32(programs::gated_mlp({4, 96, 64}));
    auto const files = [&] {
        std::vector<std::filesystem::file_time_type> times;
        for (auto const& file : std::filesystem::directory_iterator(cache.path()))
            times.push_back(file.last_write_time());
        return times;
    };
    static_cast<void>(
        measure({input, input, {1}, "p", "a test"}, {.seconds = 0.01, .threads = 1, .cache = cache.path()}));
    auto const before = files();

    static_cast<void>(
        measure({input, input, {1}, "p", "a test"}, {.seconds = 0.01, .threads = 1, .cache = cache.path()}));

    EXPECT_EQ(files(), before);
    EXPECT_EQ(before.size(), 4u); // the program, the input, bench, and all of them linked
}

} // namespace
} // namespace espalier::codegen
