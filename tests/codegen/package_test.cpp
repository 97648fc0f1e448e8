#include "support/packages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::codegen {
namespace {

using packages::Change;
using packages::Ending;
using packages::package_of;
using packages::small;
using program::DType;
using testing::HasSubstr;
using testing::Not;

constexpr auto quickly = "CXXFLAGS='-std=c++17 -O1 -fopenmp' sh build";

Ending verdict_on(Package const& package, Change const& change = {},
                  std::string const& bench = "./bench --check --json") {
    return packages::verdict_on(cpu_package(package), quickly, change, bench);
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

TEST(Packages, of_sizes_that_nothing_divides_are_right_in_every_dtype) {
    for (auto const dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
        auto const input = programs::gated_mlp({13, 151, 331});

        auto const found = verdict_on(package_of(programs::fused_gated_mlp({13, 151, 331}, {1, 1}), input, dtype));

        EXPECT_EQ(found.code, 0) << program::info(dtype).name << found.text;
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

TEST(Packages, whose_last_bit_depends_on_the_number_of_threads_are_found_wrong) {
    auto const rms = programs::rms_linear({4, 96, 64});
    auto const change = [](TextFile& file) {
        auto const end = file.name == "p.cpp" ? file.text.rfind("return 0;") : std::string::npos;
        if (end != std::string::npos) file.text.insert(end, "*(unsigned*)outputs[0] ^= thread_count() == 7;\n    ");
    };

    auto const found =
        verdict_on(package_of(rms, rms, DType::f32), change, "./bench --json --seconds 0.01 --threads 1");

    EXPECT_EQ(found.code, 4) << found.text;
    EXPECT_THAT(found.text,
                HasSubstr("program: output 0, element 0: a different value with a different number of threads"));
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

TEST(Packages, have_names_that_are_legal_in_c) {
    EXPECT_EQ(identifier("rmsnorm_linear"), "rmsnorm_linear");
    EXPECT_EQ(identifier("2 heads"), "program_2_heads");
    EXPECT_EQ(identifier(""), "program_");
    EXPECT_EQ(identifier("größe"), "gr____e");
    EXPECT_LT(identifier(std::string(1000, 'x')).size(), 200u);
    for (auto const& builtin : program::builtins()) EXPECT_EQ(identifier(builtin.name), builtin.name);
    for (auto const* taken :
         {"main", "real", "int", "class", "SUM_ADD", "TILES", "product", "memcpy", "import", "_library"})
        EXPECT_EQ(identifier(taken), std::string("program_") + taken);
}

TEST(Packages, of_programs_and_tensors_with_names_that_mean_something_are_right) {
    auto input = programs::rms_linear({4, 12, 16});
    input.inputs[0].name = "*/ #error \"\n\\";
    input.inputs[1].name = "real";
    for (auto const* name : {"program", "main", "run", "x"}) {
        auto package = package_of(input, input, DType::f32);
        package.name = identifier(name);
        package.about = "one \\\n#error and two */ \\";

        auto const found =
            verdict_on(package, {}, "./bench --check --json && /usr/bin/python3 -B -c 'import " + package.name + "'");

        EXPECT_EQ(found.code, 0) << name << found.text;
    }
}

} // namespace
} // namespace espalier::codegen
