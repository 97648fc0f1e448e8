#pragma once

#include "espalier/program/graph.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace espalier::codegen {

struct TextFile {
    std::string name;
    std::string text;
    bool is_command = false;
};

/// What files are made from.
struct Package {
    program::Graph program;   ///< verified
    program::Graph input;     ///< the input program, which the program is checked against and compared with
    std::vector<int> weights; ///< inputs that may be packed beforehand
    std::string name;         ///< of the function; an identifier of C
    std::string about;        ///< a line: which program it is
};

/// A folder that stands alone: `sh build` compiles it with the system's compiler, `./bench` checks and measures it.
[[nodiscard]] std::vector<TextFile> cpu_package(Package const& package);

/// The additional files for torch: the program as an op of torch.library.
[[nodiscard]] std::vector<TextFile> torch_files(Package const& package);

/// An identifier such as `rmsnorm_linear` from any name of a program.
[[nodiscard]] std::string identifier(std::string_view text);

} // namespace espalier::codegen
