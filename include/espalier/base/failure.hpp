#pragma once

#include "espalier/base/error.hpp"

#include <string>

namespace espalier::base {

/// How an exception ends the program: what is said, and the exit code.
struct Failure {
    std::string text;
    ExitCode code = ExitCode::failure;
};

/// Never the raw words of a library: a file system's refusal names the path and what can be done, memory that is not
/// there is called that.
[[nodiscard]] Failure describe(std::exception const& error);

} // namespace espalier::base
