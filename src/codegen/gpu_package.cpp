#include "espalier/codegen/gpu_package.hpp"

#include "bench_text.hpp"
#include "espalier/codegen/gpu_text.hpp"
#include "gpu_host_text.hpp"
#include "step_text.hpp"
#include "wrapper_text.hpp"

#include "espalier/base/error.hpp"

#include <fmt/format.h>

#include <array>

namespace espalier::codegen {
namespace {

constexpr std::array<CudaArchitecture, 2> architectures{{{"80", 166'912}, {"90", 232'448}}};

std::string opencl_build(std::string const& name) {
    return fmt::format(R"sh(#!/bin/sh
# Compiles the shared library {0}.so, and bench, which checks and measures it. CC, CFLAGS, CXX, CXXFLAGS and LIBS may name others.
set -eu
cd "$(dirname "$0")"
CC=${{CC:-cc}}
CFLAGS=${{CFLAGS:--O2}}
CXX=${{CXX:-c++}}
CXXFLAGS=${{CXXFLAGS:--std=c++17 -O2 -fopenmp}}
LIBS=${{LIBS:--lOpenCL}}
if ! echo '#include <CL/cl.h>' | $CC $CFLAGS -x c -fsyntax-only - 2>/dev/null; then
    echo "build: CL/cl.h is missing (the host program calls OpenCL): install opencl-headers, or add its folder to CFLAGS" >&2
    exit 1
fi
if ! echo 'int main(void) {{ return 0; }}' | $CC $CFLAGS -x c -o .linked - $LIBS 2>/dev/null; then
    echo "build: the library OpenCL is missing: install ocl-icd-opencl-dev, or name another one in LIBS" >&2
    exit 1
fi
rm -f .linked
for name in {0} {0}_input; do
    sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$/\\n"/' $name.cl >$name.inc
    $CC $CFLAGS -std=c99 -fPIC -c -o $name.o $name.c
done
$CC -shared -o {0}.so {0}.o $LIBS
$CXX $CXXFLAGS -o bench bench.cpp {0}.o {0}_input.o $LIBS
)sh",
                       name);
}

std::string cuda_build(std::string const& name, std::string const& architectures_text) {
    return fmt::format(R"sh(#!/bin/sh
# Compiles the shared library {0}.so, and bench, which checks and measures it. NVCC, NVCCFLAGS and CXXFLAGS may name others.
# Compiled where this was written, but not run: bench checks first.
set -eu
cd "$(dirname "$0")"
NVCC=${{NVCC:-nvcc}}
NVCCFLAGS=${{NVCCFLAGS:--std=c++17 -O3 -diag-suppress 177{1}}}
CXXFLAGS=${{CXXFLAGS:--O2,-fopenmp}}
if ! command -v "$NVCC" >/dev/null; then
    echo "build: $NVCC is missing: install the CUDA toolkit, or name the compiler in NVCC" >&2
    exit 1
fi
$NVCC $NVCCFLAGS -Xcompiler -fPIC -c -o {0}.o {0}.cu
$NVCC $NVCCFLAGS -c -o {0}_input.o {0}_input.cu
$NVCC $NVCCFLAGS -shared -o {0}.so {0}.o
$NVCC $NVCCFLAGS -Xcompiler "$CXXFLAGS" -o bench bench.cpp {0}.o {0}_input.o
)sh",
                       name, architectures_text);
}

struct Both {
    GpuPlan program, input;
    Plan input_plan;
};
Both plans_of(Package const& package, GpuOptions const& options) {
    auto const input = make_plan(package.input);
    return {gpu_plan(make_plan(package.program), options), gpu_plan(input, options), input};
}
constexpr std::string_view searched = "the input program of the search";

std::string architecture_flags(GpuPlan const& plan) {
    std::string out;
    for (auto const& one : cuda_architectures(plan))
        out += fmt::format(" -gencode arch=compute_{0},code=sm_{0}", one.name);
    return out;
}

} // namespace

GpuOptions cuda_options() { return {.staging_bytes = architectures.front().shared_bytes}; }

std::vector<CudaArchitecture> cuda_architectures(GpuPlan const& plan) {
    std::vector<CudaArchitecture> out;
    for (auto const& one : architectures)
        if (plan.local_bytes() <= one.shared_bytes) out.push_back(one);
    return out;
}

std::vector<TextFile> opencl_package(Package const& package) {
    auto const plans = plans_of(package, {});
    auto const& name = package.name;
    auto const other = name + "_input";
    return {{name + ".cl", titled(package.about, opencl_kernels(plans.program, name))},
            {name + ".c", titled(package.about, opencl_host(plans.program, name))},
            {name + ".h", titled(package.about, gpu_header(plans.program, name))},
            {other + ".cl", titled(searched, opencl_kernels(plans.input, other))},
            {other + ".c", titled(searched, opencl_host(plans.input, other))},
            {other + ".h", titled(searched, gpu_header(plans.input, other))},
            {"bench.cpp", bench_source(plans.input_plan, name, "opencl", BenchOf::device)},
            {name + ".py", wrapper_source(plans.program.plan, name)},
            {"build", opencl_build(name), true}};
}

std::vector<TextFile> cuda_package(Package const& package) {
    auto const plans = plans_of(package, cuda_options());
    auto const flags = architecture_flags(plans.program);
    if (flags.empty())
        throw base::InputError("--target cuda: a group of {} takes {} bytes of shared memory with sums in f32 (no "
                               "architecture has more than {}): use another program",
                               package.name, plans.program.local_bytes(), architectures.back().shared_bytes);
    auto const& name = package.name;
    auto const other = name + "_input";
    auto const source = [](GpuPlan const& plan, std::string const& of) {
        return cuda_kernels(plan, of) + cuda_host(plan, of);
    };
    return {{name + ".cu", titled(package.about + "; compiled, not run", source(plans.program, name))},
            {name + ".h", titled(package.about, gpu_header(plans.program, name))},
            {other + ".cu", titled(searched, source(plans.input, other))},
            {"bench.cpp", bench_source(plans.input_plan, name, "cuda", BenchOf::device)},
            {name + ".py", wrapper_source(plans.program.plan, name)},
            {"build", cuda_build(name, flags), true}};
}

} // namespace espalier::codegen
