#include "tools/stop_flag.hpp"

#include <atomic>
#include <csignal>

namespace bowline::tools {

namespace {

std::atomic<int> stop_signals{0};
std::atomic<bool> stop_flag{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "written by a signal handler");

void on_stop_signal(int signal) {
    stop_flag.store(true, std::memory_order_relaxed);
    // Two may belong together (timeout(1) signals the process and its group); a third is impatience.
    if (stop_signals.fetch_add(1, std::memory_order_relaxed) >= 2) {
        std::signal(signal, SIG_DFL);
        std::raise(signal);
    }
}

}  // namespace

void catch_stop_signals() {
    struct sigaction stop {};
    stop.sa_handler = on_stop_signal;
    stop.sa_flags = 0;  // without SA_RESTART, so that a sleep ends
    sigaction(SIGINT, &stop, nullptr);
    sigaction(SIGTERM, &stop, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
}

void request_stop() { stop_flag.store(true, std::memory_order_relaxed); }

bool stop_requested() { return stop_flag.load(std::memory_order_relaxed); }

}  // namespace bowline::tools
