#pragma once

#include <cstdint>

#include <x86intrin.h>

namespace bowline::tools {

/// The time-stamp counter as a clock for measurements: a read costs half of clock_gettime(). A machine whose counter
/// stops or changes speed gets clock_gettime() instead. Copyable; any thread.
class CycleClock {
public:
    /// Compares the counter with CLOCK_MONOTONIC for 20 ms, which puts it within a few parts in a million.
    static CycleClock calibrate();

    [[nodiscard]] std::uint64_t ticks() const { return counter_ ? __rdtsc() : monotonic_ns(); }
    [[nodiscard]] std::uint64_t to_ns(std::uint64_t ticks) const {
        return static_cast<std::uint64_t>(static_cast<double>(ticks) * ns_per_tick_);
    }
    /// Ticks from `earlier` to `later`: none when `later` is not later, as between readings taken out of order or on
    /// cores whose counters differ.
    [[nodiscard]] static std::uint64_t elapsed(std::uint64_t earlier, std::uint64_t later) {
        return later > earlier ? later - earlier : 0;
    }
    [[nodiscard]] std::uint64_t to_ticks(double ns) const { return static_cast<std::uint64_t>(ns / ns_per_tick_); }

private:
    CycleClock(bool counter, double ns_per_tick) : counter_(counter), ns_per_tick_(ns_per_tick) {}
    static std::uint64_t monotonic_ns();
    bool counter_;
    double ns_per_tick_;
};

}  // namespace bowline::tools
