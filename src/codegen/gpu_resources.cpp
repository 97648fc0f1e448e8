#include "espalier/codegen/gpu_resources.hpp"

#include "espalier/codegen/child.hpp"
#include "espalier/codegen/gpu_package.hpp"
#include "espalier/codegen/gpu_text.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/scratch_folder.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace espalier::codegen {
namespace {

namespace fs = std::filesystem;

constexpr double most_seconds = 300;

/// The number that stands before or behind some words.
std::optional<std::int64_t> number_before(std::string_view line, std::string_view words) {
    auto const at = line.find(words);
    if (at == line.npos) return std::nullopt;
    auto const first = line.find_last_not_of("0123456789", at - 1) + 1;
    std::int64_t out = 0;
    std::from_chars(line.data() + first, line.data() + at, out);
    return out;
}
std::string between_quotes(std::string_view line, std::size_t from) {
    auto const first = line.find('\'', from) + 1;
    return std::string(line.substr(first, line.find('\'', first) - first));
}
/// `_Z3k_0PK..` is k_0: its length comes before it.
std::string plain_name(std::string const& mangled) {
    auto const digit = mangled.find_first_of("0123456789");
    if (!mangled.starts_with("_Z") || digit == mangled.npos) return mangled;
    std::size_t length = 0;
    auto const end = std::from_chars(mangled.data() + digit, mangled.data() + mangled.size(), length).ptr;
    return mangled.substr(static_cast<std::size_t>(end - mangled.data()), length);
}

/// A row for each kernel and architecture; shared memory is the plan's, which asks for it when a kernel is launched.
std::string resources_text(std::vector<KernelResources> const& resources, GpuPlan const& plan) {
    auto const row = [](auto const&... columns) {
        return fmt::format("{:<20} {:>12} {:>9} {:>13} {:>11} {:>12}\n", columns...);
    };
    auto out = "What ptxas says. Compiled, not run.\n" +
               row("kernel", "architecture", "registers", "spilled bytes", "stack bytes", "shared bytes");
    auto const size = program::info(plan.plan.arithmetic).size_bytes;
    for (auto const& one : resources) {
        auto const number = static_cast<std::size_t>(std::stol(one.kernel.substr(one.kernel.rfind('_') + 1)));
        out += row(one.kernel, one.architecture, one.registers, one.spilled_bytes, one.stack_bytes,
                   plan.kernels.at(number).local_elements * size);
    }
    return out;
}

} // namespace

std::vector<KernelResources> resources_in(std::string_view messages) {
    std::vector<KernelResources> out;
    std::istringstream lines{std::string(messages)};
    for (std::string line; std::getline(lines, line);) {
        if (auto const at = line.find("Compiling entry function"); at != line.npos)
            out.push_back({plain_name(between_quotes(line, at)), between_quotes(line, line.find("' for ") + 1)});
        if (out.empty()) continue;
        if (auto const bytes = number_before(line, " bytes spill stores")) out.back().spilled_bytes = *bytes;
        if (auto const bytes = number_before(line, " bytes stack frame")) out.back().stack_bytes = *bytes;
        if (auto const count = number_before(line, " registers")) out.back().registers = *count;
    }
    return out;
}

std::vector<KernelResources> cuda_resources(GpuPlan const& plan, std::string const& name) {
    auto const architectures = cuda_architectures(plan);
    if (architectures.empty()) return {};
    base::ScratchFolder const folder;
    std::ofstream(folder / "k.cu") << cuda_kernels(plan, name);
    std::vector<std::string> command{"nvcc",
                                     "-std=c++17",
                                     "-O3",
                                     "-diag-suppress",
                                     "177",
                                     "-Xptxas",
                                     "-v",
                                     "-c",
                                     "-o",
                                     (folder / "k.o").string(),
                                     (folder / "k.cu").string()};
    for (auto const& one : architectures)
        command.push_back(fmt::format("-gencode=arch=compute_{0},code=sm_{0}", one.name));
    auto const end = run_child(command, {.seconds = most_seconds});
    return end.is_good() ? resources_in(end.out + end.errors) : std::vector<KernelResources>{};
}

std::vector<TextFile> cuda_package_with_resources(Package const& package) {
    auto files = cuda_package(package);
    auto const plan = gpu_plan(make_plan(package.program), cuda_options());
    auto const resources = cuda_resources(plan, package.name);
    if (!resources.empty()) files.push_back({"resources.txt", resources_text(resources, plan)});
    return files;
}

} // namespace espalier::codegen
