#include "tools/stop_flag.hpp"

#include <atomic>
#include <csignal>

namespace bowline::tools {

namespace {

std::atomic<bool> stop_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

void on_stop_signal(int) { stop_flag.store(true, std::memory_order_relaxed); }

}  // namespace

void catch_stop_signals() {
    struct sigaction stop {};
    stop.sa_handler = on_stop_signal;
    // Without SA_RESTART, so that a sleep ends; with SA_RESETHAND, so that the impatient need no SIGKILL.
    stop.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &stop, nullptr);
    sigaction(SIGTERM, &stop, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
}

bool stop_requested() { return stop_flag.load(std::memory_order_relaxed); }

}  // namespace bowline::tools
