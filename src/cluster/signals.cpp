#include "espalier/cluster/signals.hpp"

#include <atomic>
#include <csignal>

namespace espalier::cluster {
namespace {

// The only state a handler may touch; a signal has no other way to say something.
std::atomic<bool> stop_requested{false};
std::atomic<bool> checkpoint_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_stop(int) { stop_requested = true; }
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
    stop_requested = false;
    checkpoint_requested = false;
    install(SIGTERM, on_stop);
    install(SIGINT, on_stop);
    install(SIGUSR1, on_checkpoint);
}

SignalWatch::~SignalWatch() {
    install(SIGTERM, SIG_DFL);
    install(SIGINT, SIG_DFL);
    install(SIGUSR1, SIG_IGN); // a launcher may still send one; it must not end the process now
}

bool SignalWatch::wants_stop() const { return stop_requested; }

bool SignalWatch::take_checkpoint_request() { return checkpoint_requested.exchange(false); }

} // namespace espalier::cluster
