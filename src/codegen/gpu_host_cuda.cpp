#include "gpu_host_text.hpp"

#include <fmt/format.h>

namespace espalier::codegen {
namespace {

constexpr std::string_view cuda_text = R"c(
struct Tensors {
    void* of[TENSORS_ALL];
};
static int state; /* 0: not opened, 1: opened, 2: the device cannot run this */

static int failed(char const* what, cudaError_t status) {
    if (status != cudaSuccess) fprintf(stderr, PROGRAM_NAME ": %s: %s\n", what, cudaGetErrorString(status));
    return status != cudaSuccess;
}
/* More than 48 KiB of shared memory must be asked for. */
static int open_device(void) {
    for (int k = 0; k < KERNELS; ++k)
        if (launches[k].local_bytes > 48 << 10 &&
            failed("shared memory of a group", cudaFuncSetAttribute(kernels[k], cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                                     (int)launches[k].local_bytes)))
            return 1;
    return 0;
}
static int is_ready(void) {
    if (state == 0) state = open_device() ? 2 : 1;
    return state == 1;
}

extern "C" {
void NAME(release)(void* tensors) {
    struct Tensors* const t = (struct Tensors*)tensors;
    if (t == NULL) return;
    for (int i = 0; i < TENSORS_ALL; ++i) cudaFree(t->of[i]);
    free(t);
}
/* Not a number, in every format, until something is written there. */
static int upload_one(struct Tensors* t, int i, void const* from) {
    if (failed("memory on the device", cudaMalloc(&t->of[i], bytes[i]))) return 1;
    return failed("a copy to the device", i < INPUTS ? cudaMemcpy(t->of[i], from, bytes[i], cudaMemcpyHostToDevice)
                                                     : cudaMemset(t->of[i], 0xff, bytes[i]));
}
void* NAME(upload)(void const* const* inputs) {
    if (!is_ready()) return NULL;
    struct Tensors* const t = (struct Tensors*)calloc(1, sizeof *t);
    for (int i = 0; t != NULL && i < TENSORS_ALL; ++i)
        if (upload_one(t, i, i < INPUTS ? inputs[i] : NULL)) {
            NAME(release)(t);
            return NULL;
        }
    return t;
}
int NAME(launch)(void* tensors) {
    struct Tensors* const t = (struct Tensors*)tensors;
    void* arguments[TENSORS_ALL];
    for (int i = 0; i < TENSORS_ALL; ++i) arguments[i] = &t->of[i];
    for (int k = 0; k < KERNELS; ++k) {
        dim3 const groups((unsigned)launches[k].groups[0], (unsigned)launches[k].groups[1], (unsigned)launches[k].groups[2]);
        if (failed("a kernel", cudaLaunchKernel(kernels[k], groups, dim3((unsigned)launches[k].threads), arguments,
                                                launches[k].local_bytes, NULL)))
            return 1;
    }
    return 0;
}
int NAME(wait)(void) { return failed("the kernels", cudaDeviceSynchronize()); }
int NAME(download)(void* tensors, void* const* outputs) {
    struct Tensors* const t = (struct Tensors*)tensors;
    for (int i = 0; i < OUTPUTS; ++i)
        if (failed("a copy from the device",
                   cudaMemcpy(outputs[i], t->of[INPUTS + i], bytes[INPUTS + i], cudaMemcpyDeviceToHost)))
            return 1;
    return 0;
}
)c";

} // namespace

std::string cuda_host(GpuPlan const& plan, std::string const& name) {
    std::string kernels;
    for (std::size_t i = 0; i < plan.kernels.size(); ++i) kernels += fmt::format("(void const*){}_{}, ", name, i);
    return "\n#include <stdio.h>\n#include <stdlib.h>\n" + host_facts(plan, name) +
           fmt::format("static void const* const kernels[KERNELS] = {{{}}};\n", kernels) + std::string(cuda_text) +
           std::string(whole_text()) + "}\n";
}

} // namespace espalier::codegen
