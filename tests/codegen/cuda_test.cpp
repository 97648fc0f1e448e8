#include "espalier/codegen/gpu_package.hpp"
#include "espalier/codegen/gpu_resources.hpp"
#include "espalier/codegen/gpu_text.hpp"

#include "espalier/base/error.hpp"

#include "support/packages.hpp"
#include "support/random_programs.hpp"

#include <fmt/format.h>
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

/// Compiled, not run: there is no device here. The test looks at what ptxas says about every kernel.
class Cuda : public testing::Test {
protected:
    void SetUp() override {
        if (!has_nvcc()) GTEST_SKIP() << "no nvcc: install the CUDA toolkit to have CUDA text compiled";
    }
    /// Tiles are fetched while others are used, and tensor cores multiply in half precision.
    static void expect_instructions(std::string const& ptx, DType dtype) {
        EXPECT_THAT(ptx, HasSubstr("cp.async.cg.shared.global"));
        EXPECT_THAT(ptx, HasSubstr("cp.async.wait_all"));
        auto const is_half = dtype == DType::f16 || dtype == DType::bf16;
        auto const instruction =
            fmt::format("mma.sync.aligned.m16n8k16.row.col.f32.{0}.{0}.f32", program::info(dtype).name);
        EXPECT_EQ(ptx.find(instruction) != std::string::npos, is_half) << program::info(dtype).name;
    }
    static void expect_no_spills(std::string const& said, std::size_t kernels, std::string const& what,
                                 std::int64_t fewest_registers = 9) {
        auto const resources = resources_in(said);
        EXPECT_EQ(resources.size(), kernels) << what << said;
        for (auto const& one : resources) {
            EXPECT_EQ(one.spilled_bytes, 0) << what << said;
            EXPECT_GE(one.registers, fewest_registers) << what << said;
            EXPECT_LE(one.registers, 128) << what << said;
        }
    }
};

constexpr auto nvcc = "nvcc -std=c++17 -O3 -diag-suppress 177 -Xptxas -v -c --keep -o x.o -gencode "
                      "arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 ";

TEST_F(Cuda, kernels_in_every_dtype_compile_for_both_architectures_without_spills) {
    compiled::Folder const folder;
    std::string said;
    std::size_t kernels = 0;
    for (auto const dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
        auto const graph = packages::stored_as(programs::fused_gated_mlp({8, 4096, 4096}, {64, 64}), dtype);
        auto const plan = gpu_plan(make_plan(graph), cuda_options());
        folder.write("k.cu", cuda_kernels(plan, "k"));
        kernels += 2 * plan.kernels.size();

        ASSERT_EQ(folder.run(nvcc + std::string("k.cu")), 0) << folder.log();

        said += folder.log();
        for (auto const* ptx : {"k.compute_80.ptx", "k.compute_90.ptx"}) expect_instructions(folder.read(ptx), dtype);
    }
    expect_no_spills(said, kernels, "gated mlp");
}

/// A warp makes up to eight fragments of 128 x 128 results at a time; a kernel without a loop copies as it goes.
TEST_F(Cuda, kernels_of_many_rows_compile_without_spills) {
    auto const looped =
        gpu_plan(make_plan(packages::stored_as(programs::fused_rms_linear({128, 1024, 1024}, {8, 32}), DType::f16)),
                 cuda_options());
    auto const whole =
        gpu_plan(make_plan(packages::stored_as(programs::fused_rms_linear({64, 64, 1024}, {16, 1}), DType::f16)),
                 cuda_options());
    compiled::Folder const folder;
    folder.write("k.cu",
                 cuda_kernels(looped, "k") + gpu_kernels(whole, "w") +
                     "void const* const use_k = (void const*)k_0;\nvoid const* const use_w = (void const*)w_0;\n");

    ASSERT_EQ(folder.run(nvcc + std::string("k.cu")), 0) << folder.log();

    expect_no_spills(folder.log(), 4, "many rows");
    for (auto const* ptx : {"k.compute_80.ptx", "k.compute_90.ptx"}) {
        expect_instructions(folder.read(ptx), DType::f16);
        EXPECT_THAT(folder.read(ptx), HasSubstr("st.shared.v4"));
        EXPECT_THAT(folder.read(ptx), HasSubstr("ld.global.nc.v4"));
    }
}

/// Of several programs in one file: a compilation takes a second before it begins.
TEST_F(Cuda, kernels_of_random_programs_compile_without_spills) {
    programs::RandomPrograms random(base::Seed{21});
    std::string text;
    std::size_t kernels = 0;
    for (int i = 0; i < packages::count_of_programs(6); ++i) {
        auto const plan = gpu_plan(make_plan(packages::stored_as(random.next(), DType::f32)), cuda_options());
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

    expect_no_spills(folder.log(), kernels, "random programs", 1); // those of one short op take few
}

TEST_F(Cuda, packages_build_with_their_host_programs) {
    auto const package =
        package_of(programs::fused_rms_linear({4, 96, 64}, {4, 3}), programs::rms_linear({4, 96, 64}), DType::f32);

    auto const found = packages::verdict_on(cuda_package(package), "sh build", {}, "test -x bench && test -f p.so");

    EXPECT_EQ(found.code, 0) << found.text;
}

TEST_F(Cuda, packages_have_the_resources_of_their_kernels_where_they_can_be_compiled) {
    auto const mlp = packages::stored_as(programs::fused_gated_mlp({4, 64, 64}, {2, 2}), DType::f16);

    auto const files = cuda_package_with_resources(package_of(mlp, programs::gated_mlp({4, 64, 64}), DType::f16));

    ASSERT_EQ(files.back().name, "resources.txt");
    EXPECT_THAT(files.back().text, HasSubstr("Compiled, not run"));
    for (auto const* architecture : {"sm_80", "sm_90"})
        EXPECT_TRUE(std::regex_search(files.back().text,
                                      std::regex(fmt::format("p_0 +{} +[1-9][0-9]+ +0 +0 +[0-9]+\n", architecture))))
            << files.back().text;
}

TEST(CudaResources, are_read_from_what_ptxas_says) {
    auto const found = resources_in(
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function '_Z5abc_0PK6__halfS1_PS_Pc' for 'sm_80'\n"
        "ptxas info    : Function properties for _Z5abc_0PK6__halfS1_PS_Pc\n"
        "    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 62 registers, used 1 barriers, 16 bytes cumulative stack size, 392 bytes cmem[0]\n"
        "ptxas info    : Compiling entry function '_Z5abc_1PKfS0_PfPc' for 'sm_90'\n"
        "    208 bytes stack frame, 204 bytes spill stores, 200 bytes spill loads\n"
        "ptxas info    : Used 255 registers\n");

    EXPECT_EQ(found, (std::vector<KernelResources>{{"abc_0", "sm_80", 62, 0, 16}, {"abc_1", "sm_90", 255, 204, 208}}));
}

TEST(CudaPackages, say_that_they_were_not_run_and_which_architectures_they_are_compiled_for) {
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
