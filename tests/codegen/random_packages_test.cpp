#include "espalier/codegen/gpu_package.hpp"

#include "support/packages.hpp"
#include "support/random_programs.hpp"

#include "espalier/program/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::codegen {
namespace {

using program::DType;
using program::Graph;
using testing::HasSubstr;

constexpr auto cpu_build = "CXXFLAGS='-std=c++17 -O1 -march=native -fopenmp' sh build";
constexpr auto opencl_build = "CFLAGS=-O1 CXXFLAGS='-std=c++17 -O1 -fopenmp -Wno-unused-function' sh build";
constexpr auto opencl_bench = "mkdir cache && POCL_CACHE_DIR=$PWD/cache ./bench --check --json";

/// In turns: of all ops, with smaller last tiles, of sums and products only (which are exact on integers).
class RandomPackages : public testing::Test {
protected:
    static std::vector<Graph> graphs(int otherwise) {
        auto const count = packages::count_of_programs(otherwise);
        programs::RandomPrograms all(base::Seed{31}), uneven(base::Seed{32}, programs::RandomPrograms::Cuts::uneven),
            exact(base::Seed{33});
        using enum program::OpCode;
        exact.only = {matmul, matmul_nt, concat_matmul, add, sub, mul, square, sum, accumulate, accumulate_sum};
        std::vector<Graph> out;
        while (std::ssize(out) < count) {
            out.push_back(all.next());
            while (!program::has_tails(out.emplace_back(uneven.next()))) out.pop_back();
            out.push_back(exact.next());
        }
        return out;
    }
    /// Where no value is finite, or known well enough to be compared, there is no verdict.
    void note(packages::Ending const& found, std::string const& what) {
        EXPECT_TRUE(found.code == 0 || found.code == 4) << what << found.text;
        if (found.text.find("no element could be compared") != std::string::npos) return;
        EXPECT_EQ(found.code, 0) << what << found.text;
        ++compared_;
        exact_ += found.text.find("\"exact\": true") != std::string::npos ? 1 : 0;
    }
    int compared_ = 0, exact_ = 0;
};

TEST_F(RandomPackages, of_the_cpu_agree_with_float64_in_every_dtype) {
    auto const all = graphs(6);
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const package =
            packages::package_of(all[i], all[i], static_cast<DType>((i + i / 3) % program::dtypes.size()));

        note(packages::verdict_on(cpu_package(package), cpu_build, {}, "./bench --check --json"),
             program::to_text(package.program));
    }
    EXPECT_GT(2 * compared_, std::ssize(all));
    EXPECT_GT(exact_, 0);
}

/// Sanitizers of addresses and of undefined behaviour; the harness runs under them, too.
TEST_F(RandomPackages, of_the_cpu_run_under_sanitizers_without_reports) {
    auto const all = graphs(3);
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const package =
            packages::package_of(all[i], all[i], static_cast<DType>((i + i / 3) % program::dtypes.size()));

        auto const found = packages::verdict_on(cpu_package(package),
                                                "CXXFLAGS='-std=c++17 -O1 -g -march=native -fopenmp "
                                                "-fsanitize=address,undefined -fno-sanitize-recover' sh build",
                                                {}, "ASAN_OPTIONS=detect_leaks=0 ./bench --check --json");

        EXPECT_TRUE(found.code == 0 || found.code == 4) << found.text << program::to_text(package.program);
        EXPECT_THAT(found.text, testing::Not(testing::AnyOf(HasSubstr("ERROR: "), HasSubstr("runtime error"))));
        EXPECT_THAT(found.text, HasSubstr("\"checked\""));
    }
}

TEST_F(RandomPackages, of_opencl_agree_with_float64_in_every_dtype) {
    if (!packages::has_opencl()) GTEST_SKIP() << "no OpenCL device";
    auto const all = graphs(6);
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const package =
            packages::package_of(all[i], all[i], static_cast<DType>((i + i / 3) % program::dtypes.size()));

        note(packages::verdict_on(opencl_package(package), opencl_build, {}, opencl_bench),
             program::to_text(package.program));
    }
    EXPECT_GT(2 * compared_, std::ssize(all));
    EXPECT_GT(exact_, 0);
}

} // namespace
} // namespace espalier::codegen
