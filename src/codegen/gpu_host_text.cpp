#include "gpu_host_text.hpp"

#include "step_text.hpp"
#include "texts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::codegen {
namespace {

/// Sizes of all tensors, and how the kernels are launched.
std::string facts(GpuPlan const& plan) {
    std::string bytes, launches;
    for (auto const& input : plan.plan.inputs) bytes += fmt::format("{}, ", plan.plan.bytes_of(input.shape));
    for (auto const& shape : plan.plan.outputs) bytes += fmt::format("{}, ", plan.plan.bytes_of(shape));
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

/// For tensors that are on the host, by way of the functions for those on the device.
std::string host_facts(GpuPlan const& plan, std::string const& name) {
    return fmt::format("#define PROGRAM {0}\n#define PROGRAM_NAME \"{0}\"\n#define NAME(what) {0}_##what\n", name) +
           facts(plan);
}

} // namespace

std::string opencl_host(GpuPlan const& plan, std::string const& name) {
    return "#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\n#include <stdio.h>\n#include <stdlib.h>\n\n" +
           fmt::format("#include \"{}.h\"\n\n", name) + fmt::format("#define SOURCE \"{}.inc\"\n", name) +
           host_facts(plan, name) + std::string(opencl_host_text()) + std::string(gpu_whole_text());
}

std::string cuda_host(GpuPlan const& plan, std::string const& name) {
    std::string kernels;
    for (std::size_t i = 0; i < plan.kernels.size(); ++i) kernels += fmt::format("(void const*){}_{}, ", name, i);
    return "\n#include <stdio.h>\n#include <stdlib.h>\n" + host_facts(plan, name) +
           fmt::format("static void const* const kernels[KERNELS] = {{{}}};\n", kernels) +
           std::string(cuda_host_text()) + std::string(gpu_whole_text()) + "}\n";
}

std::string gpu_header(GpuPlan const& plan, std::string const& name) {
    auto text = fmt::format("#pragma once\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
                            "/* All tensors are {}, row-major and dense. */\n",
                            program::info(plan.plan.dtype).name);
    for (std::size_t i = 0; i < plan.plan.inputs.size(); ++i)
        text += fmt::format("/* inputs[{}]: {} {}, {} bytes */\n", i, comment_text(plan.plan.inputs[i].name),
                            to_text(plan.plan.inputs[i].shape), plan.plan.bytes_of(plan.plan.inputs[i].shape));
    for (std::size_t i = 0; i < plan.plan.outputs.size(); ++i)
        text += fmt::format("/* outputs[{}]: {}, {} bytes */\n", i, to_text(plan.plan.outputs[i]),
                            plan.plan.bytes_of(plan.plan.outputs[i]));
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
