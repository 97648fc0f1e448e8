#pragma once

namespace espalier::cluster {

/// Watches SIGTERM and SIGINT (checkpoint and stop) and SIGUSR1 (checkpoint) while it lives. Handlers only set flags.
/// One at a time.
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
