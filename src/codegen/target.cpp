#include "espalier/codegen/target.hpp"

#include "espalier/codegen/gpu_package.hpp"
#include "espalier/codegen/gpu_resources.hpp"

#include <algorithm>
#include <array>

namespace espalier::codegen {
namespace {

constexpr std::array<Target, 3> table{{
    {"cpu", "C++ with OpenMP", cpu_package, ""},
    {"opencl", "OpenCL C, and a host program in C", opencl_package, ""},
    {"cuda", "CUDA C++ for sm_80 and sm_90", cuda_package_with_resources,
     "CUDA text is compiled in tests, not run: its bench checks every value before it measures"},
}};

std::vector<TextFile> nothing_more(Package const&) { return {}; }

constexpr std::array<Form, 2> form_table{{
    {"library", "a C library, and a wrapper for arrays of Python", "", nothing_more},
    {"torch", "an op of torch.library as well, for tensors on the CPU", "cpu", torch_files},
}};

} // namespace

std::span<Target const> targets() { return table; }

Target const* find_target(std::string_view name) {
    auto const* const found = std::ranges::find(table, name, &Target::name);
    return found == table.end() ? nullptr : &*found;
}

std::span<Form const> forms() { return form_table; }

} // namespace espalier::codegen
