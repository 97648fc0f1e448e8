#include "espalier/cluster/signals.hpp"

#include <csignal>

namespace espalier::cluster {
namespace {

// The only state a handler may touch; a signal has no other way to say something.
volatile std::sig_atomic_t stop_requested = 0;
volatile std::sig_atomic_t checkpoint_requested = 0;

void on_stop(int) { stop_requested = 1; }
void on_checkpoint(int) { checkpoint_requested = 1; }

void install(int signal, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
}

} // namespace

SignalWatch::SignalWatch() {
    stop_requested = 0;
    checkpoint_requested = 0;
    install(SIGTERM, on_stop);
    install(SIGINT, on_stop);
    install(SIGUSR1, on_checkpoint);
}

SignalWatch::~SignalWatch() {
    install(SIGTERM, SIG_DFL);
    install(SIGINT, SIG_DFL);
    install(SIGUSR1, SIG_IGN); // a launcher may still send one; it must not end the process now
}

bool SignalWatch::wants_stop() const { return stop_requested != 0; }

bool SignalWatch::take_checkpoint_request() {
    if (checkpoint_requested == 0) return false;
    checkpoint_requested = 0;
    return true;
}

} // namespace espalier::cluster
