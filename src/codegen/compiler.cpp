#include "compiler.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/system.hpp"
#include "espalier/codegen/child.hpp"
#include "espalier/codegen/measure.hpp"
#include "espalier/codegen/program_text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace espalier::codegen {
namespace {

std::vector<std::string> words(std::string_view text) {
    std::istringstream in{std::string(text)};
    std::vector<std::string> out;
    for (std::string word; in >> word;) out.push_back(word);
    return out;
}

} // namespace

std::string compiler() {
    auto const* const value = std::getenv("CXX");
    return value != nullptr && *value != '\0' ? value : "c++";
}

std::string first_line(std::string const& text) { return text.substr(0, text.find('\n')); }

std::filesystem::path unfinished(std::filesystem::path const& file, std::string const& extension) {
    return file.string() + fmt::format(".{}.{}{}", getpid(), gettid(), extension);
}

std::string compile(std::vector<std::string> const& inputs, std::filesystem::path const& result,
                    base::StopToken const& stop) {
    Scratch const made{unfinished(result, ".made")};
    std::vector<std::string> command{compiler()};
    for (auto const& flag : words(compiler_flags)) command.push_back(flag);
    command.insert(command.end(), inputs.begin(), inputs.end());
    command.insert(command.end(), {"-o", made.name.string()});
    auto const end = run_child(command, {.seconds = 120, .stop = stop});
    if (!end.is_good()) return end.errors.empty() ? command[0] + " cannot be run" : first_line(end.errors);
    std::filesystem::rename(made.name, result);
    return {};
}

Machine this_machine() {
    static auto const machine = [] {
        auto const version = run_child({compiler(), "--version"}, {.seconds = 20});
        if (!version.is_good())
            throw base::InputError(
                "{}: cannot be run (programs are compiled before they are measured): install g++, or "
                "set CXX to another compiler",
                compiler());
        return Machine{base::host_name(), base::cpu_name(), base::affinity_cores(), first_line(version.out)};
    }();
    return machine;
}

} // namespace espalier::codegen
