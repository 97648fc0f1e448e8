#pragma once

#include "espalier/base/stop.hpp"

#include <filesystem>

namespace espalier::search {

/// A thread's share in the cores of its host, which all threads of all ranks there have while they work, or one alone
/// while it measures. Made of two lock files: whoever measures holds `wish` and waits until everybody has let go of
/// `work`; whoever works lets go at the end of a chunk when `wish` is held. The kernel frees what a dead process held.
/// Not movable; used by one thread.
class HostCores {
public:
    /// Throws SystemError if the lock files cannot be made.
    explicit HostCores(std::filesystem::path const& lock = default_lock());
    ~HostCores();
    HostCores(HostCores const&) = delete;
    HostCores& operator=(HostCores const&) = delete;

    /// Before a chunk: has a share, or waits for one while somebody measures. Without one if the run stops meanwhile.
    void share(base::StopToken const& stop);
    /// Before sleeping: others need not wait for this thread.
    void leave();
    /// Alone on the host until give_back(). Throws Stopped, and has nothing then.
    void take(base::StopToken const& stop);
    void give_back();

    /// The same for all runs of a user on a host.
    [[nodiscard]] static std::filesystem::path default_lock();

private:
    int work_;
    int wish_;
    bool has_share_ = false;
};

/// All cores of the host, for a scope.
class Exclusive {
public:
    Exclusive(HostCores& cores, base::StopToken const& stop) : cores_(cores) { cores.take(stop); }
    ~Exclusive() { cores_.give_back(); }
    Exclusive(Exclusive const&) = delete;
    Exclusive& operator=(Exclusive const&) = delete;

private:
    HostCores& cores_;
};

} // namespace espalier::search
