#include "espalier/codegen/gpu_package.hpp"

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

/// On a device; kernels of PoCL are compiled for a folder that is gone afterwards.
class OpenCl : public testing::Test {
protected:
    void SetUp() override {
        if (!packages::has_opencl())
            GTEST_SKIP() << "no OpenCL device: install pocl-opencl-icd, ocl-icd-opencl-dev, opencl-headers";
    }
    static Ending verdict_on(Package const& package, Change const& change = {},
                             std::string const& bench = "./bench --check --json") {
        return packages::verdict_on(opencl_package(package),
                                    "CFLAGS=-O1 CXXFLAGS='-std=c++17 -O1 -fopenmp -Wno-unused-function' sh build",
                                    change, "mkdir cache && POCL_CACHE_DIR=$PWD/cache " + bench);
    }
};

TEST_F(OpenCl, packages_of_every_builtin_are_right_in_f32) {
    for (auto const& builtin : program::builtins()) {
        auto const input = small(builtin);

        auto const found = verdict_on(package_of(input, input, DType::f32));

        EXPECT_EQ(found.code, 0) << builtin.name << ": " << found.text;
        EXPECT_THAT(found.text, HasSubstr("\"checked\": true"));
    }
}

TEST_F(OpenCl, packages_of_fused_programs_are_right_in_every_dtype) {
    for (auto const dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
        auto const rms = verdict_on(
            package_of(programs::fused_rms_linear({4, 96, 64}, {4, 3}), programs::rms_linear({4, 96, 64}), dtype));
        auto const mlp = verdict_on(
            package_of(programs::fused_gated_mlp({4, 96, 64}, {4, 3}), programs::gated_mlp({4, 96, 64}), dtype));

        EXPECT_EQ(rms.code, 0) << program::info(dtype).name << rms.text;
        EXPECT_EQ(mlp.code, 0) << program::info(dtype).name << mlp.text;
    }
}

/// Sums split over threads at the end of a loop, and steps with as few elements after it.
TEST_F(OpenCl, packages_with_conditions_on_few_threads_around_the_end_of_a_loop_are_right) {
    auto const found = verdict_on(
        package_of(programs::fused_gated_mlp({2, 32, 64}, {64, 2}), programs::gated_mlp({2, 32, 64}), DType::f32));

    EXPECT_EQ(found.code, 0) << found.text;
}

TEST_F(OpenCl, packages_with_one_index_changed_are_found_wrong_and_not_measured) {
    auto const package =
        package_of(programs::fused_rms_linear({4, 96, 64}, {4, 3}), programs::rms_linear({4, 96, 64}), DType::f32);
    auto const change = [](TextFile& file) {
        auto const at = file.name == "p.cl" ? file.text.find("s * 32L") : std::string::npos;
        if (at != std::string::npos) file.text.replace(at, 7, "s * 31L");
    };

    auto const found = verdict_on(package, change, "./bench --json --seconds 0.01");

    EXPECT_EQ(found.code, 4) << found.text;
    EXPECT_THAT(found.text, HasSubstr("\"checked\": false"));
    EXPECT_THAT(found.text, HasSubstr("outside the tolerance"));
    EXPECT_THAT(found.text, Not(HasSubstr("\"ms\"")));
}

TEST_F(OpenCl, packages_say_how_long_a_program_takes) {
    auto const input = programs::gated_mlp({4, 96, 64});

    auto package = package_of(input, input, DType::f32);
    package.name = "program"; // as where nobody gave it a name

    auto const found = verdict_on(package, {}, "./bench --json --seconds 0.01");

    EXPECT_EQ(found.code, 0) << found.text;
    for (auto const* key : {"\"target\": \"opencl\"", "\"ms\"", "\"ci_ms\"", "\"max_error\"", "\"tolerance\""})
        EXPECT_THAT(found.text, HasSubstr(key));
}

} // namespace
} // namespace espalier::codegen
