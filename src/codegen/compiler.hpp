#pragma once

#include "espalier/base/stop.hpp"

#include <filesystem>
#include <string>
#include <vector>

/// The compiler of this machine: what CXX names, or c++.
namespace espalier::codegen {

[[nodiscard]] std::string compiler();
/// Compiles or links with the flags of all generated code. Others may make the same file at the same time: it gets
/// its name when it is complete. Returns why it does not compile, in a line; empty if it does.
[[nodiscard]] std::string compile(std::vector<std::string> const& inputs, std::filesystem::path const& result,
                                  base::StopToken const& stop = {});
/// The name under which a process makes a file that others may be making, too.
[[nodiscard]] std::filesystem::path unfinished(std::filesystem::path const& file, std::string const& extension);

/// A file or folder that is gone at the end, whatever happens, unless it has another name by then.
struct Scratch {
    std::filesystem::path name;

    explicit Scratch(std::filesystem::path file) : name(std::move(file)) {}
    ~Scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(name, ignored);
    }
    Scratch(Scratch const&) = delete;
    Scratch& operator=(Scratch const&) = delete;
};

[[nodiscard]] std::string first_line(std::string const& text);

} // namespace espalier::codegen
