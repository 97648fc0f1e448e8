#include "espalier/codegen/package.hpp"

#include "bench_text.hpp"
#include "espalier/base/system.hpp"
#include "espalier/codegen/cpu_numbers.hpp"
#include "espalier/codegen/program_text.hpp"
#include "wrapper_text.hpp"

#include <fmt/format.h>

#include <cctype>

namespace espalier::codegen {
namespace {

std::string build_text(std::string const& name) {
    return fmt::format(R"sh(#!/bin/sh
# Compiles the shared library lib{0}.so, and bench, which checks and measures it. CXX and CXXFLAGS may name others.
set -eu
cd "$(dirname "$0")"
CXX=${{CXX:-c++}}
CXXFLAGS=${{CXXFLAGS:-{1}}}
$CXX $CXXFLAGS -shared -fPIC -o lib{0}.so {0}.cpp -lm
$CXX $CXXFLAGS -o bench bench.cpp {0}.cpp {0}_input.cpp -lm
)sh",
                       name, compiler_flags);
}

std::string cmake_text(std::string const& name) {
    return fmt::format(R"cmake(cmake_minimum_required(VERSION 3.18)
project({0} LANGUAGES CXX)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_package(OpenMP REQUIRED)
add_library({0} SHARED {0}.cpp)
add_executable(bench bench.cpp {0}.cpp {0}_input.cpp)
foreach(target {0} bench)
  target_compile_features(${{target}} PRIVATE cxx_std_17)
  target_compile_options(${{target}} PRIVATE -O3 -march=native -fno-math-errno -fno-trapping-math)
  target_link_libraries(${{target}} PRIVATE OpenMP::OpenMP_CXX m)
endforeach()
target_include_directories({0} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
)cmake",
                       name);
}

std::string titled(std::string const& about, std::string const& text) { return "// " + about + "\n" + text; }

} // namespace

std::string identifier(std::string_view text) {
    std::string out;
    for (auto const c : text) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out.insert(0, "program_");
    return out;
}

std::vector<TextFile> torch_files(Package const& package) {
    return {{package.name + "_torch.py", torch_source(make_plan(package.program), package.name)}};
}

std::vector<TextFile> cpu_package(Package const& package) {
    CpuNumbers const numbers{.shape = this_cpu(), .threads = base::affinity_cores()};
    auto const plan = plan_for_cpu(package.program, package.weights, numbers);
    auto const input = plan_for_cpu(package.input, package.weights, numbers);
    auto const& name = package.name;
    return {{name + ".cpp", titled(package.about, cpu_source(plan, name))},
            {name + ".h", titled(package.about, c_header(plan, name))},
            {name + "_input.cpp", titled("the program that was searched", cpu_source(input, name + "_input"))},
            {"bench.cpp", bench_source(make_plan(package.input), name)},
            {name + ".py", wrapper_source(plan, name)},
            {"CMakeLists.txt", cmake_text(name)},
            {"build", build_text(name), true}};
}

} // namespace espalier::codegen
