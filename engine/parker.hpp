#pragma once

#include <atomic>
#include <cstdint>

#include "protocol/time.hpp"

namespace bowline::engine {

/// Lets one thread sleep until it is woken or a time has passed, and lets a polling thread find out with one load that
/// there is somebody to wake: only then it pays for a system call. A polling worker that wakes nobody pays a compare.
///
/// The sleeper looks for work between prepare() and park(): what comes later finds it asleep. A poller that has
/// published work just before the sleeper prepared sees asleep() on its next turn at the latest.
class Parker {
public:
    // — sleeper —
    void prepare() { state_.store(kAsleep, std::memory_order_seq_cst); }
    void cancel() { state_.store(kAwake, std::memory_order_relaxed); }
    /// Sleeps until wake() or for `most`, whichever comes first.
    void park(protocol::Duration most);

    // — anybody —
    [[nodiscard]] bool asleep() const { return state_.load(std::memory_order_relaxed) == kAsleep; }
    void wake();

private:
    static constexpr std::uint32_t kAwake = 0;
    static constexpr std::uint32_t kAsleep = 1;
    alignas(64) std::atomic<std::uint32_t> state_{kAwake};
};

}  // namespace bowline::engine
