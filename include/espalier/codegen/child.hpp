#pragma once

#include "espalier/base/stop.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::codegen {

/// What a process may use.
struct ChildLimits {
    double seconds = 60;                  ///< wall-clock time
    std::uint64_t memory_bytes = 0;       ///< of addresses; 0: no limit
    std::uint64_t output_bytes = 1 << 20; ///< output beyond that is thrown away
    base::StopToken stop = {};            ///< then it is killed
};

/// How a process ended.
struct ChildEnd {
    enum class How : std::uint8_t { exited, killed, timed_out };
    How how = How::exited;
    int code = 0; ///< exit code, or the signal that killed it
    std::string out;
    std::string errors;

    [[nodiscard]] bool is_good() const { return how == How::exited && code == 0; }
};
/// Runs a command, without a shell, and waits for it; when its time is over, it and its children are killed.
/// Throws SystemError if no process can be made, and Stopped.
[[nodiscard]] ChildEnd run_child(std::vector<std::string> const& command, ChildLimits const& limits);

} // namespace espalier::codegen
