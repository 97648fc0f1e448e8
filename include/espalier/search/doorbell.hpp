#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace espalier::search {

/// Where threads without work sleep. A sleeper announces itself, looks for work once more, and only then waits, so that
/// a ring between the look and the wait is not lost. Nobody spins. Thread safe.
class Doorbell {
public:
    /// Announces the caller. Every announce() is followed by one wait() or cancel().
    [[nodiscard]] std::uint64_t announce() {
        std::lock_guard const lock(mutex_);
        waiting_.fetch_add(1);
        return rings_;
    }
    void cancel() { waiting_.fetch_sub(1); }
    /// Returns when the bell has rung since announce().
    void wait(std::uint64_t ticket) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return rings_ != ticket; });
        waiting_.fetch_sub(1);
    }
    void wait_for(std::uint64_t ticket, std::chrono::nanoseconds at_most) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, at_most, [&] { return rings_ != ticket; });
        waiting_.fetch_sub(1);
    }
    /// Wakes all who wait; cheap if nobody does.
    void ring() {
        if (waiting_.load() == 0) return;
        {
            std::lock_guard const lock(mutex_);
            ++rings_;
        }
        changed_.notify_all();
    }
    [[nodiscard]] int waiting() const { return waiting_.load(std::memory_order_relaxed); }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t rings_ = 0;
    std::atomic<int> waiting_{0};
};

} // namespace espalier::search
