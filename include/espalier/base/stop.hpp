#pragma once

#include <atomic>

namespace espalier::base {

/// Thrown where work is given up because the run stops. What was begun counts as unfinished: none of it may be kept
/// where others see it. Not a std::exception, so that nobody takes it for a failure.
struct Stopped {};

/// Polled by long work now and then (about every 10 ms, more often where it costs nothing) so that a run can stop. Once
/// raised it stays raised: nobody who was told to stop is asked to continue. A value; default: never raised.
class StopToken {
public:
    StopToken() = default;
    /// Raised when the flag is, which outlives the token. Any thread may ask.
    explicit StopToken(std::atomic<bool> const& flag) : flag_(&flag) {}

    [[nodiscard]] bool is_raised() const { return flag_ != nullptr && flag_->load(std::memory_order_relaxed); }
    /// Throws Stopped if it is raised.
    void check() const {
        if (is_raised()) throw Stopped{};
    }

private:
    std::atomic<bool> const* flag_ = nullptr;
};

} // namespace espalier::base
