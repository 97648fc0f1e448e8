#pragma once

namespace espalier::cluster {

/// Watches SIGTERM and SIGINT (checkpoint and stop) and SIGUSR1 (checkpoint) while it lives. Handlers only set flags,
/// but a second SIGTERM or SIGINT at least 2 s after the first ends the process at once, whatever it does (exit code
/// 128 + signal). One inside another adds nothing: both have seen the signals that the outer one has seen.
class SignalWatch {
public:
    SignalWatch();
    ~SignalWatch();
    SignalWatch(SignalWatch const&) = delete;
    SignalWatch& operator=(SignalWatch const&) = delete;

    [[nodiscard]] bool wants_stop() const;
    /// True once for each SIGUSR1 or several close together.
    [[nodiscard]] bool take_checkpoint_request();
};

} // namespace espalier::cluster
