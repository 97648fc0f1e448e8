#pragma once

#include "espalier/base/error.hpp"

#include <chrono>
#include <string>
#include <thread>

namespace espalier::cluster {

/// Ends the whole process if it still exists after a time. For waits inside MPI, which last forever once a rank has
/// died: the thread that waits there cannot look at a clock, so this one does.
class Watchdog {
public:
    struct Options {
        std::chrono::nanoseconds patience;
        std::string message; ///< to stderr, as it is
        int exit_code = static_cast<int>(base::ExitCode::failure);
    };
    explicit Watchdog(Options options);

private:
    std::jthread thread_; ///< its destructor tells it that all is well
};

/// What a rank says when it has waited this long for the others; it may not know any of them yet.
[[nodiscard]] std::string start_message(std::chrono::nanoseconds patience);

} // namespace espalier::cluster
