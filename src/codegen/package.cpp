#include "espalier/codegen/package.hpp"

#include "bench_text.hpp"
#include "espalier/codegen/calibrate.hpp"
#include "espalier/codegen/program_text.hpp"
#include "step_text.hpp"
#include "texts.hpp"
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

bool is_letter(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool has_word(std::string_view text, std::string_view word) {
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
        auto const end = at + word.size();
        if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end]))) return true;
    }
    return false;
}
/// Used by C++, by Python or by the text that is emitted around a program.
bool is_taken(std::string_view name) {
    constexpr std::string_view keywords = "alignas and asm auto bool break case catch char class co_await co_return "
                                          "co_yield const continue decltype default delete do "
                                          "double else enum explicit export extern false float for friend goto if "
                                          "inline int long mutable namespace new noexcept not "
                                          "nullptr operator or private protected public register requires return short "
                                          "signed sizeof static struct switch template "
                                          "this throw true try typedef typeid typename union unsigned using virtual "
                                          "void volatile while xor global local kernel half "
                                          "as assert async await def del elif except finally from import in is lambda "
                                          "nonlocal pass raise with yield None True False";
    if (name == "program") return false; // what it is called where nobody gave it a name
    for (auto const text :
         {keywords, cpu_prelude(), functions_text(), product_text(), reference_prelude(), opencl_prelude(),
          cuda_prelude(), gpu_words_text(), conversions_text(), opencl_host_text(), cuda_host_text(), gpu_whole_text(),
          threads_text(), memory_text(), harness_text(), wrapper_text()})
        if (has_word(text, name)) return true;
    return false;
}

} // namespace

std::string identifier(std::string_view text) {
    constexpr std::size_t longest = 100; // names of files are longer, and have an end
    std::string out;
    for (auto const c : text.substr(0, longest)) out += is_letter(c) ? c : '_';
    if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) || is_taken(out)) out.insert(0, "program_");
    return out;
}

std::vector<TextFile> torch_files(Package const& package) {
    return {{package.name + "_torch.py", torch_source(make_plan(package.program), package.name)}};
}

std::vector<TextFile> cpu_package(Package const& package) {
    auto const numbers = this_machines_numbers();
    auto const plan = plan_for_cpu(package.program, package.weights, numbers);
    auto const input = plan_for_cpu(package.input, package.weights, numbers);
    auto const& name = package.name;
    return {{name + ".cpp", titled(package.about, cpu_source(plan, name))},
            {name + ".h", titled(package.about, c_header(plan, name))},
            {name + "_input.cpp", titled("the input program of the search", cpu_source(input, name + "_input"))},
            {"bench.cpp", bench_source(make_plan(package.input), name)},
            {name + ".py", wrapper_source(plan, name)},
            {"CMakeLists.txt", cmake_text(name)},
            {"build", build_text(name), true}};
}

} // namespace espalier::codegen
