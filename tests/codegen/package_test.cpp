#include "espalier/codegen/package.hpp"
#include "espalier/program/source.hpp"

#include "support/compiled.hpp"
#include "support/programs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace espalier::codegen {
namespace {

using program::DType;
using program::Graph;
using testing::HasSubstr;
using testing::Not;

constexpr auto quickly = "CXXFLAGS='-std=c++17 -O1 -fopenmp' sh build";

Graph stored_as(Graph graph, DType dtype) {
    graph.dtype = dtype;
    for (auto& body : graph.bodies) body = stored_as(body, dtype);
    return graph;
}
/// What bench says of a package, after `change` was made to the files.
struct Verdict {
    int code = -1;
    std::string text;
};
using Change = std::function<void(TextFile&)>;
Verdict verdict_on(Package const& package, Change const& change = {},
                   std::string const& bench = "./bench --check --json") {
    compiled::Folder const folder;
    for (auto file : cpu_package(package)) {
        if (change) change(file);
        folder.write(file.name, file.text);
    }
    if (folder.run(quickly) != 0) return {-1, folder.log()};
    auto const code = folder.run(bench);
    return {code, folder.log()};
}
Package package_of(Graph const& program, Graph const& input, DType dtype) {
    return {stored_as(program, dtype), stored_as(input, dtype), {1}, "p", "a test"};
}

/// Sizes that compile and run quickly: every key at most 12, heads as they must be.
Graph small(program::Builtin const& builtin) {
    std::vector<std::int64_t> sizes;
    for (auto const& key : builtin.keys) {
        if (key.name == "heads")
            sizes.push_back(4);
        else if (key.name == "kv_heads")
            sizes.push_back(builtin.name == "gqa" || builtin.name == "qknorm_gqa" ? 2 : 0);
        else
            sizes.push_back(std::min<std::int64_t>(key.default_size, 12));
    }
    return program::build(builtin.make(sizes));
}

TEST(Packages, of_every_builtin_are_right_in_f32) {
    for (auto const& builtin : program::builtins()) {
        auto const input = small(builtin);

        auto const found = verdict_on(package_of(input, input, DType::f32));

        EXPECT_EQ(found.code, 0) << builtin.name << ": " << found.text;
        EXPECT_THAT(found.text, HasSubstr("\"checked\": true"));
    }
}

TEST(Packages, of_fused_programs_are_right_in_every_dtype) {
    for (auto const dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
        auto const rms = verdict_on(
            package_of(programs::fused_rms_linear({4, 96, 64}, {4, 3}), programs::rms_linear({4, 96, 64}), dtype));
        auto const mlp = verdict_on(
            package_of(programs::fused_gated_mlp({4, 96, 64}, {4, 3}), programs::gated_mlp({4, 96, 64}), dtype));

        EXPECT_EQ(rms.code, 0) << program::info(dtype).name << rms.text;
        EXPECT_EQ(mlp.code, 0) << program::info(dtype).name << mlp.text;
    }
}

TEST(Packages, of_polynomial_programs_are_exact_on_integers) {
    auto const lora = program::build(program::find_builtin("lora")->make({8, 32, 24, 4}));

    auto const found = verdict_on(package_of(lora, lora, DType::bf16));

    EXPECT_EQ(found.code, 0) << found.text;
    EXPECT_THAT(found.text, HasSubstr("\"exact\": true"));
}

TEST(Packages, with_one_index_changed_are_found_wrong_and_not_measured) {
    auto const package =
        package_of(programs::fused_rms_linear({4, 96, 64}, {4, 3}), programs::rms_linear({4, 96, 64}), DType::f32);
    auto const change = [](TextFile& file) {
        auto const kernel = file.name == "p.cpp" ? file.text.find("void kernel_0") : std::string::npos;
        auto const stride = kernel == std::string::npos ? kernel : file.text.find("i0 * 96L", kernel);
        if (stride != std::string::npos) file.text.replace(stride, 8, "i0 * 95L");
    };

    auto const found = verdict_on(package, change, "./bench --json --seconds 0.01");

    EXPECT_EQ(found.code, 4) << found.text;
    EXPECT_THAT(found.text, HasSubstr("\"checked\": false"));
    EXPECT_THAT(found.text, HasSubstr("outside the tolerance"));
    EXPECT_THAT(found.text, Not(HasSubstr("\"ms\"")));
}

TEST(Packages, say_how_long_a_program_takes) {
    auto const input = programs::gated_mlp({4, 96, 64});

    auto const found =
        verdict_on(package_of(input, input, DType::f32), {}, "./bench --json --seconds 0.01 --threads 1");

    EXPECT_EQ(found.code, 0) << found.text;
    for (auto const* key :
         {"\"target\": \"cpu\"", "\"threads\": 1", "\"ms\"", "\"ci_ms\"", "\"max_error\"", "\"tolerance\""})
        EXPECT_THAT(found.text, HasSubstr(key));
}

TEST(Packages, have_names_that_c_takes) {
    EXPECT_EQ(identifier("rmsnorm_linear"), "rmsnorm_linear");
    EXPECT_EQ(identifier("2 heads"), "program_2_heads");
    EXPECT_EQ(identifier(""), "program_");
}

} // namespace
} // namespace espalier::codegen
