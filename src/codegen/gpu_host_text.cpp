#include "gpu_host_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::codegen {
namespace {

std::int64_t bytes_of(program::Shape const& shape, Plan const& plan) {
    return program::element_count(shape) * program::info(plan.dtype).size_bytes;
}

/// Sizes of all tensors, and how the kernels are launched.
std::string facts(GpuPlan const& plan) {
    std::string bytes, launches;
    for (auto const& input : plan.plan.inputs) bytes += fmt::format("{}, ", bytes_of(input.shape, plan.plan));
    for (auto const& shape : plan.plan.outputs) bytes += fmt::format("{}, ", bytes_of(shape, plan.plan));
    for (auto const& kernel : plan.kernels)
        launches +=
            fmt::format("    {{{}, {{{}, {}, {}}}, {}}},\n", kernel.threads, kernel.groups[0], kernel.groups[1],
                        kernel.groups[2], kernel.local_elements * program::info(plan.plan.arithmetic).size_bytes);
    return fmt::format(
        "enum {{ INPUTS = {}, OUTPUTS = {}, TENSORS_ALL = {}, KERNELS = {} }};\n"
        "/* of inputs, outputs and the workspace */\nstatic size_t const bytes[TENSORS_ALL] = {{{}{}}};\n"
        "struct Launch {{\n    size_t threads, groups[3], local_bytes;\n}};\n"
        "static struct Launch const launches[KERNELS] = {{\n{}}};\n",
        plan.plan.inputs.size(), plan.plan.outputs.size(), plan.plan.inputs.size() + plan.plan.outputs.size() + 1,
        plan.kernels.size(), bytes, std::max<std::int64_t>(plan.plan.between_bytes, 64), launches);
}

/// Of tensors that are on the host, by the functions for those on the device.
constexpr std::string_view opencl_text = R"c(
static char const source[] =
#include SOURCE
;

struct Device {
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernels[KERNELS];
};
struct Tensors {
    cl_mem of[TENSORS_ALL];
};
static struct Device device;
static int state; /* 0: not opened, 1: opened, 2: there is none that can run this */

static int failed(char const* what, cl_int status) {
    if (status != CL_SUCCESS) fprintf(stderr, PROGRAM_NAME ": %s: OpenCL error %d\n", what, (int)status);
    return status != CL_SUCCESS;
}
/* A GPU where there is one, else whatever there is. */
static int find_device(void) {
    cl_platform_id platforms[16];
    cl_uint count = 0;
    if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) count = 0;
    cl_device_type const kinds[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ALL};
    for (int k = 0; k < 2; ++k)
        for (cl_uint p = 0; p < count && p < 16; ++p)
            if (clGetDeviceIDs(platforms[p], kinds[k], 1, &device.id, NULL) == CL_SUCCESS) return 0;
    fprintf(stderr, PROGRAM_NAME ": no OpenCL device (clinfo lists them): install the driver of one; "
                                 "pocl-opencl-icd makes a device of the CPU\n");
    return 1;
}
static int fits(void) {
    cl_ulong local = 0;
    size_t threads = 0;
    clGetDeviceInfo(device.id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local, NULL);
    clGetDeviceInfo(device.id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof threads, &threads, NULL);
    for (int k = 0; k < KERNELS; ++k)
        if (launches[k].local_bytes > local || launches[k].threads > threads) {
            fprintf(stderr,
                    PROGRAM_NAME ": kernel %d takes %lu bytes of local memory and %lu threads (the device has %lu and "
                                 "%lu): use a program with smaller tiles\n",
                    k, (unsigned long)launches[k].local_bytes, (unsigned long)launches[k].threads, (unsigned long)local,
                    (unsigned long)threads);
            return 0;
        }
    return 1;
}
static int build(void) {
    char const* text = source;
    cl_int status = CL_SUCCESS;
    cl_device_fp_config single = 0;
    clGetDeviceInfo(device.id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof single, &single, NULL);
    char const* const options =
        single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt" : "-cl-std=CL1.2";
    device.program = clCreateProgramWithSource(device.context, 1, &text, NULL, &status);
    if (failed("the kernels", status)) return 1;
    status = clBuildProgram(device.program, 1, &device.id, options, NULL, NULL);
    if (status != CL_SUCCESS) {
        static char log[16384];
        clGetProgramBuildInfo(device.program, device.id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        fprintf(stderr, "%s\n", log);
        return failed("the kernels do not compile", status);
    }
    for (int k = 0; k < KERNELS; ++k) {
        char name[256];
        snprintf(name, sizeof name, PROGRAM_NAME "_%d", k);
        device.kernels[k] = clCreateKernel(device.program, name, &status);
        if (failed(name, status)) return 1;
    }
    return 0;
}
static int open_device(void) {
    cl_int status = CL_SUCCESS;
    if (find_device() || !fits()) return 1;
    device.context = clCreateContext(NULL, 1, &device.id, NULL, NULL, &status);
    if (failed("a context", status)) return 1;
    device.queue = clCreateCommandQueue(device.context, device.id, 0, &status);
    return failed("a queue", status) || build();
}
static int is_ready(void) {
    if (state == 0) state = open_device() ? 2 : 1;
    return state == 1;
}

void NAME(release)(void* tensors) {
    struct Tensors* const t = (struct Tensors*)tensors;
    if (t == NULL) return;
    for (int i = 0; i < TENSORS_ALL; ++i)
        if (t->of[i] != NULL) clReleaseMemObject(t->of[i]);
    free(t);
}
/* Not a number, in every format, until something is written there. */
static int upload_one(struct Tensors* t, int i, void const* from) {
    unsigned char const nothing = 0xff;
    cl_int status = CL_SUCCESS;
    t->of[i] = clCreateBuffer(device.context, i < INPUTS ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE, bytes[i], NULL, &status);
    if (failed("memory on the device", status)) return 1;
    status = i < INPUTS ? clEnqueueWriteBuffer(device.queue, t->of[i], CL_TRUE, 0, bytes[i], from, 0, NULL, NULL)
                        : clEnqueueFillBuffer(device.queue, t->of[i], &nothing, 1, 0, bytes[i], 0, NULL, NULL);
    return failed("a copy to the device", status);
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
    for (int k = 0; k < KERNELS; ++k) {
        for (int i = 0; i < TENSORS_ALL; ++i)
            if (failed("an argument", clSetKernelArg(device.kernels[k], (cl_uint)i, sizeof t->of[i], &t->of[i]))) return 1;
        size_t const* const groups = launches[k].groups;
        size_t const local[3] = {launches[k].threads, 1, 1};
        size_t const global[3] = {groups[0] * local[0], groups[1], groups[2]};
        if (failed("a kernel", clEnqueueNDRangeKernel(device.queue, device.kernels[k], 3, NULL, global, local, 0, NULL, NULL)))
            return 1;
    }
    return 0;
}
int NAME(wait)(void) { return failed("the kernels", clFinish(device.queue)); }
int NAME(download)(void* tensors, void* const* outputs) {
    struct Tensors* const t = (struct Tensors*)tensors;
    for (int i = 0; i < OUTPUTS; ++i)
        if (failed("a copy from the device", clEnqueueReadBuffer(device.queue, t->of[INPUTS + i], CL_TRUE, 0,
                                                                 bytes[INPUTS + i], outputs[i], 0, NULL, NULL)))
            return 1;
    return 0;
}
)c";

} // namespace

std::string host_facts(GpuPlan const& plan, std::string const& name) {
    return fmt::format("#define PROGRAM {0}\n#define PROGRAM_NAME \"{0}\"\n#define NAME(what) {0}_##what\n", name) +
           facts(plan);
}
/// Of tensors that are on the host, by the functions for those on the device.
std::string_view whole_text() {
    return R"c(
unsigned long NAME(workspace_bytes)(void) { return 64; }
unsigned long NAME(packed_bytes)(int input) { return (void)input, 0; }
void NAME(pack)(int input, void const* from, void* to) { (void)input, (void)from, (void)to; }
int PROGRAM(void const* const* inputs, void* const* outputs, void* workspace) {
    void* const tensors = NAME(upload)(inputs);
    int const status = tensors == NULL || NAME(launch)(tensors) != 0 || NAME(download)(tensors, outputs) != 0;
    (void)workspace;
    NAME(release)(tensors);
    return status;
}
)c";
}

std::string opencl_host(GpuPlan const& plan, std::string const& name) {
    return "#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\n#include <stdio.h>\n#include <stdlib.h>\n\n" +
           fmt::format("#include \"{}.h\"\n\n", name) + fmt::format("#define SOURCE \"{}.inc\"\n", name) +
           host_facts(plan, name) + std::string(opencl_text) + std::string(whole_text());
}

std::string gpu_header(GpuPlan const& plan, std::string const& name) {
    auto text = fmt::format("#pragma once\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
                            "/* All tensors are {}, row-major and dense. */\n",
                            program::info(plan.plan.dtype).name);
    for (std::size_t i = 0; i < plan.plan.inputs.size(); ++i)
        text += fmt::format("/* inputs[{}]: {} {}, {} bytes */\n", i, plan.plan.inputs[i].name,
                            to_text(plan.plan.inputs[i].shape), bytes_of(plan.plan.inputs[i].shape, plan.plan));
    for (std::size_t i = 0; i < plan.plan.outputs.size(); ++i)
        text += fmt::format("/* outputs[{}]: {}, {} bytes */\n", i, to_text(plan.plan.outputs[i]),
                            bytes_of(plan.plan.outputs[i], plan.plan));
    return text + fmt::format(R"c(/* A group takes up to {1} bytes of local memory. */

/* 0 if it ran; else a message is on stderr. All tensors are on the host; `workspace` is not looked at. */
int {0}(void const* const* inputs, void* const* outputs, void* workspace);
unsigned long {0}_workspace_bytes(void);
/* Weights are taken as they are: 0, and nothing to do. */
unsigned long {0}_packed_bytes(int input);
void {0}_pack(int input, void const* from, void* to);

/* The same for tensors that stay on the device. Not from two threads at a time. */
void* {0}_upload(void const* const* inputs); /* with room for outputs; NULL: a message is on stderr */
int {0}_launch(void* tensors);               /* begins to run */
int {0}_wait(void);                          /* until all that was launched has run */
int {0}_download(void* tensors, void* const* outputs);
void {0}_release(void* tensors);

#ifdef __cplusplus
}}
#endif
)c",
                              name, plan.local_bytes());
}

} // namespace espalier::codegen
