#pragma once

#include "npz.hpp"

#include "espalier/base/stop.hpp"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace espalier::problems::rewrite {

/// What a back end told about a model.
struct BackendRun {
    std::vector<double> ms; ///< of each repetition; at least one
    Tensors outputs;        ///< bf16 as u16, see to_npz
    std::string backend;    ///< what it calls itself; may be empty
    std::string clock;      ///< what it measured, in its words; may be empty

    [[nodiscard]] double median_ms() const;
};

/// Why there is no such thing.
struct BackendFailure {
    enum class How : std::uint8_t { crashed, timed_out, nonsense, no_outputs };
    How how = How::crashed;
    std::string reason; ///< in a line
};
using BackendOutcome = std::variant<BackendRun, BackendFailure>;

/// A command of the user that runs models: it gets a model file, an inputs file (.npz) and a number of threads as
/// further arguments, and prints one JSON object, {"ms": [..], "outputs": "file.npz"}. The outputs may lie beside the
/// inputs, in a folder that is gone afterwards.
///
/// The command is read by /bin/sh, so it may have arguments, quotes and variables. It runs in another process, which
/// ends, with what it started, when its time is over, when the run stops, and when this process ends. A value without
/// state: any thread may call it, but two at a time disturb each other's measurements.
class Backend {
public:
    /// Throws InputError if the command is empty or there is not at least one thread.
    Backend(std::string command, int threads);

    /// Throws Stopped, and SystemError if no process or file can be made.
    [[nodiscard]] BackendOutcome run(std::string const& model_path, Tensors const& inputs, double limit_seconds,
                                     base::StopToken const& stop) const;
    [[nodiscard]] std::string const& command() const { return command_; }
    [[nodiscard]] int threads() const { return threads_; }

private:
    std::string command_;
    int threads_;
};

} // namespace espalier::problems::rewrite
