#pragma once

#include "espalier/base/system.hpp"

#include <cstdint>

namespace espalier::search {

/// Tells when a slice of time is over while looking at the clock only now and then: every node if nodes are slow, every
/// few hundred if they take 100 ns.
class Pace {
public:
    void start(std::int64_t now_ns, std::int64_t slice_ns) {
        slice_ns_ = slice_ns;
        last_ns_ = now_ns;
        end_ns_ = now_ns + slice_ns;
        left_ = steps_;
    }
    /// Call once per node.
    [[nodiscard]] bool is_over() { return --left_ == 0 && look(); }
    [[nodiscard]] std::int64_t last_look_ns() const { return last_ns_; }
    /// Nodes until the next look, when one has just been taken; else 0.
    [[nodiscard]] std::uint32_t fresh_steps() const { return left_ == steps_ ? steps_ : 0; }

private:
    bool look() {
        auto const now = base::steady_ns();
        auto const step_ns = now - last_ns_;
        if (step_ns < slice_ns_ / 64 && steps_ < 4096)
            steps_ *= 2;
        else if (step_ns > slice_ns_ / 16 && steps_ > 1)
            steps_ /= 2;
        last_ns_ = now;
        left_ = steps_;
        return now >= end_ns_;
    }
    std::int64_t slice_ns_ = 0;
    std::int64_t last_ns_ = 0;
    std::int64_t end_ns_ = 0;
    std::uint32_t steps_ = 1;
    std::uint32_t left_ = 1;
};

} // namespace espalier::search
