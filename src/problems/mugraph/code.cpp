#include "code.hpp"

#include "stored_record.hpp"

#include "espalier/codegen/package.hpp"
#include "espalier/program/source.hpp"

#include <fmt/format.h>

namespace espalier::problems::mugraph {
namespace {

codegen::Package package_of(MugraphConfig const& config, search::ResultRecord const& record, std::size_t id) {
    auto const name = codegen::identifier(config.builtin.empty() ? "program" : config.builtin);
    return {.program = graph_of(record),
            .input = program::build(config.program),
            .name = name,
            .about =
                fmt::format("{}: result {}, key {:016x}, {}", name, id, record.key, search::name(record.verification))};
}

} // namespace

std::vector<Format> code_targets() { return {{"cpu", "C++ with OpenMP"}}; }

std::vector<File> program_files(MugraphConfig const& config, search::ResultRecord const& record, std::size_t id,
                                std::string const&) {
    std::vector<File> files;
    for (auto const& file : codegen::cpu_package(package_of(config, record, id)))
        files.push_back({file.name, file.text});
    return files;
}

} // namespace espalier::problems::mugraph
