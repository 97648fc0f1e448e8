#pragma once

#include "espalier/base/error.hpp"

#include <string>

namespace espalier::base {

/// How an exception ends the program: the message and the exit code.
struct Failure {
    std::string text;
    ExitCode code = ExitCode::failure;
};

/// Never the raw words of a library: a refusal by the file system names the path and the remedy, a failed allocation is
/// called a lack of memory.
[[nodiscard]] Failure describe(std::exception const& error);

} // namespace espalier::base
