#include "espalier/codegen/gpu_text.hpp"

#include "gpu_step_text.hpp"
#include "texts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace espalier::codegen {
namespace {

std::set<std::size_t> buffers_of(GpuKernel const& kernel) {
    std::set<std::size_t> out;
    for (std::size_t i = 0; i < kernel.mappings.size(); ++i) {
        auto const& step = kernel.step(i);
        for (auto const* sources : {&step.reads, &step.factor})
            for (auto const& source : *sources) out.insert(source.view.buffer);
        out.insert(step.target.buffer);
    }
    return out;
}

void declare(Buffer const& buffer, Lines& out) {
    auto const type = type_name(buffer);
    if (buffer.home == Home::tile)
        out.add(fmt::format("LOCAL {0}* const {1} = {2}tiles + {3}{4}; // {5}{6}", type, buffer.name,
                            type == "real" ? "" : fmt::format("(LOCAL {}*)(", type), buffer.offset,
                            type == "real" ? "" : ")", buffer.copies > 1 ? "two of " : "", to_text(buffer.shape)));
    if (buffer.home == Home::between)
        out.add(fmt::format("GLOBAL made_{0}* const {1} = (GLOBAL made_{0}*)(work + {2}L);",
                            program::info(buffer.dtype).name, buffer.name, buffer.offset));
}

bool has_fetches(GpuKernel const& kernel) {
    return std::ranges::any_of(kernel.mappings, [](Mapping const& one) { return one.fetch != Fetch::in_turn; });
}

constexpr std::array<char, 3> axes{'x', 'y', 'z'};

void print_kernel(std::size_t number, GpuPlan const& plan, std::string const& name, Lines& out) {
    auto const& kernel = plan.kernels[number];
    out.add("// " + kernel.kernel.what);
    out.open(fmt::format("KERNEL({}_{}, {})", name, number, kernel.threads));
    if (kernel.local_elements > 0) out.add(fmt::format("TILES({});", kernel.local_elements));
    for (auto const i : buffers_of(kernel)) declare(plan.plan.buffers[i], out);
    for (std::size_t a = 0; kernel.kernel.is_blocked && a < axes.size(); ++a)
        out.add(fmt::format("long const {0} = BLOCK({1});", axes[a], a));
    auto const inside = kernel.kernel.in_loop.size();
    auto const is_loop = kernel.kernel.loop > 1;
    if (kernel.kernel.is_blocked && !is_loop) out.add("int const s = 0;");
    for (std::size_t i = 0; i < inside; ++i) print_before_loop(kernel, i, plan.plan.buffers, out);
    if (has_fetches(kernel) && !kernel.fetches_ahead()) out.add("FETCHED");
    if (is_loop) out.open(fmt::format("for (int s = 0; s < {}; ++s)", kernel.kernel.loop));
    if (kernel.fetches_ahead()) out.add("FETCHED");
    for (std::size_t i = 0; i < inside; ++i) print_group_step(kernel, i, plan.plan.buffers, out);
    if (is_loop) out.close();
    for (auto i = inside; i < kernel.mappings.size(); ++i) print_group_step(kernel, i, plan.plan.buffers, out);
    out.close();
}

/// The macros that preludes look at.
std::string kinds_of_numbers(Plan const& plan) {
    return fmt::format("#define STORES_{}\n{}", program::info(plan.dtype).name,
                       plan.arithmetic == program::DType::f64 ? "#define DOUBLE\n" : "");
}

std::string text_with(std::string const& prelude, GpuPlan const& plan, std::string const& name) {
    return kinds_of_numbers(plan.plan) + prelude + gpu_words() + gpu_parameters(plan.plan) + "\n" +
           gpu_kernels(plan, name);
}

bool uses_fragments(GpuPlan const& plan) {
    return std::ranges::any_of(plan.kernels, [](GpuKernel const& kernel) {
        return std::ranges::any_of(kernel.mappings, [](Mapping const& one) { return one.fragments.rows > 0; });
    });
}

} // namespace

std::string gpu_kernels(GpuPlan const& plan, std::string const& name) {
    Lines out;
    for (std::size_t i = 0; i < plan.kernels.size(); ++i) print_kernel(i, plan, name, out);
    return out.text();
}

std::string gpu_words() { return std::string(gpu_words_text()); }

std::string gpu_parameters(Plan const& plan) {
    std::vector<std::string> all;
    auto const dtype = program::info(plan.dtype).name;
    for (std::size_t i = 0; i < plan.inputs.size(); ++i)
        all.push_back(fmt::format("GLOBAL input_{} const* RESTRICT in{}", dtype, i));
    for (std::size_t i = 0; i < plan.outputs.size(); ++i)
        all.push_back(fmt::format("GLOBAL made_{}* RESTRICT out{}", dtype, i));
    all.push_back("GLOBAL char* work");
    return fmt::format("#define TENSORS {}\n", fmt::join(all, ", "));
}

std::string tensor_core_words() { return std::string(tensor_cores_text()); }

std::string opencl_kernels(GpuPlan const& plan, std::string const& name) {
    return text_with(std::string(opencl_prelude()), plan, name);
}
std::string cuda_kernels(GpuPlan const& plan, std::string const& name) {
    auto const prelude = std::string(cuda_prelude()) + (uses_fragments(plan) ? tensor_core_words() : "");
    return text_with(prelude, plan, name);
}

} // namespace espalier::codegen
