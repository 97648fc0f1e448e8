#include "espalier/cluster/signals.hpp"

#include "espalier/base/system.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>

namespace espalier::cluster {
namespace {

// The only state a handler may touch; a signal has no other way to say something.
std::atomic<bool> stop_requested{false};
std::atomic<bool> checkpoint_requested{false};
std::atomic<std::int64_t> first_stop_ns{0}; ///< 0: none yet
std::atomic<int> watches{0};                ///< alive, one inside the other
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

/// Launchers forward a signal that the terminal has sent already, so that two close together are one.
constexpr std::int64_t patience_ns = 2'000'000'000;

void on_stop(int signal) {
    auto const now = base::steady_ns(); // clock_gettime may be called here
    std::int64_t first = 0;
    if (!first_stop_ns.compare_exchange_strong(first, now) && now - first >= patience_ns) std::_Exit(128 + signal);
    stop_requested = true;
}
void on_checkpoint(int) { checkpoint_requested = true; }

void install(int signal, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
}

} // namespace

SignalWatch::SignalWatch() {
    if (watches++ > 0) return;
    stop_requested = false;
    first_stop_ns = 0;
    checkpoint_requested = false;
    install(SIGTERM, on_stop);
    install(SIGINT, on_stop);
    install(SIGUSR1, on_checkpoint);
}

SignalWatch::~SignalWatch() {
    if (--watches > 0) return;
    install(SIGTERM, SIG_DFL);
    install(SIGINT, SIG_DFL);
    install(SIGUSR1, SIG_IGN); // a launcher may still send one; it must not end the process now
}

bool SignalWatch::wants_stop() const { return stop_requested; }

bool SignalWatch::take_checkpoint_request() { return checkpoint_requested.exchange(false); }

} // namespace espalier::cluster
