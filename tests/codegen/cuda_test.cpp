#include "espalier/codegen/gpu_package.hpp"
#include "espalier/codegen/gpu_text.hpp"

#include "espalier/base/error.hpp"

#include "support/packages.hpp"
#include "support/random_programs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace espalier::codegen {
namespace {

using packages::package_of;
using program::DType;
using program::Graph;
using testing::HasSubstr;

bool has_nvcc() {
    static bool const has = std::system("command -v nvcc >/dev/null 2>&1") == 0;
    return has;
}

/// Compiled, not run: there is no device that we could ask. What ptxas says of every kernel is looked at.
class Cuda : public testing::Test {
protected:
    void SetUp() override {
        if (!has_nvcc()) GTEST_SKIP() << "no nvcc: install the CUDA toolkit to have CUDA text compiled";
    }
    /// Numbers that a pattern finds in what ptxas says, one for each kernel and architecture.
    static std::vector<long> found(std::string const& text, std::string const& pattern) {
        std::vector<long> out;
        std::regex const expression(pattern);
        for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it)
            out.push_back(std::stol((*it)[1]));
        return out;
    }
    static void expect_no_spills(std::string const& said, std::size_t kernels, std::string const& what) {
        auto const stores = found(said, "([0-9]+) bytes spill stores"),
                   loads = found(said, "([0-9]+) bytes spill loads");
        auto const registers = found(said, "Used ([0-9]+) registers");
        EXPECT_EQ(stores.size(), kernels) << what << said;
        EXPECT_EQ(registers.size(), kernels) << what;
        EXPECT_THAT(stores, testing::Each(0)) << what << said;
        EXPECT_THAT(loads, testing::Each(0)) << what;
        EXPECT_THAT(registers, testing::Each(testing::Le(128))) << what;
    }
};

constexpr auto nvcc = "nvcc -std=c++17 -O3 -diag-suppress 177 -Xptxas -v -c -o x.o -gencode "
                      "arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 ";

TEST_F(Cuda, kernels_in_every_dtype_compile_for_both_architectures_without_spills) {
    compiled::Folder const folder;
    std::string said;
    std::size_t kernels = 0;
    for (auto const dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
        auto const graph = packages::stored_as(programs::fused_gated_mlp({8, 4096, 4096}, {64, 64}), dtype);
        auto const plan = gpu_plan(make_plan(graph));
        folder.write("k.cu", cuda_kernels(plan, "k"));
        kernels += 2 * plan.kernels.size();

        ASSERT_EQ(folder.run(nvcc + std::string("k.cu")), 0) << folder.log();

        said += folder.log();
    }
    expect_no_spills(said, kernels, "gated mlp");
}

/// Of several programs in one file: a compilation takes a second before it begins.
TEST_F(Cuda, kernels_of_random_programs_compile_without_spills) {
    programs::RandomPrograms random(base::Seed{21});
    std::string text;
    std::size_t kernels = 0;
    for (int i = 0; i < packages::count_of_programs(6); ++i) {
        auto const plan = gpu_plan(make_plan(packages::stored_as(random.next(), DType::f32)));
        auto const name = "k" + std::to_string(i);
        text += i == 0 ? cuda_kernels(plan, name)
                       : "#undef TENSORS\n" + gpu_parameters(plan.plan) + gpu_kernels(plan, name);
        for (std::size_t k = 0; k < plan.kernels.size(); ++k)
            text += "void const* const use_" + name + std::to_string(k) + " = (void const*)" + name + "_" +
                    std::to_string(k) + ";\n";
        kernels += 2 * plan.kernels.size();
    }
    compiled::Folder const folder;
    folder.write("k.cu", text);

    ASSERT_EQ(folder.run(nvcc + std::string("k.cu")), 0) << folder.log();

    expect_no_spills(folder.log(), kernels, "random programs");
}

TEST_F(Cuda, packages_build_with_their_host_programs) {
    auto const package =
        package_of(programs::fused_rms_linear({4, 96, 64}, {4, 3}), programs::rms_linear({4, 96, 64}), DType::f32);

    auto const found = packages::verdict_on(cuda_package(package), "sh build", {}, "test -x bench && test -f p.so");

    EXPECT_EQ(found.code, 0) << found.text;
}

TEST(CudaPackages, say_that_they_were_not_run_and_for_what_they_are_compiled) {
    auto const rms = programs::rms_linear({4, 96, 64});

    auto const files = cuda_package(package_of(rms, rms, DType::f32));

    EXPECT_THAT(files.front().text, HasSubstr("compiled, not run"));
    EXPECT_THAT(files.back().text, HasSubstr("code=sm_80"));
    EXPECT_THAT(files.back().text, HasSubstr("code=sm_90"));
}

/// Sums are in f32: one block of 128 x 512 takes 256 KiB, which no architecture has.
TEST(CudaPackages, that_take_too_much_shared_memory_are_refused_with_the_number) {
    auto const program = programs::fused_rms_linear({128, 96, 512}, {1, 3}),
               input = programs::rms_linear({128, 96, 512});

    try {
        static_cast<void>(cuda_package(package_of(program, input, DType::f16)));
        FAIL() << "it was not refused";
    } catch (base::InputError const& error) {
        EXPECT_THAT(error.what(), HasSubstr("bytes of shared memory"));
        EXPECT_THAT(error.what(), HasSubstr("232448"));
    }
}

} // namespace
} // namespace espalier::codegen
