#pragma once

#include <cstdint>

#include <x86intrin.h>

#include "protocol/time.hpp"

namespace bowline::engine {

/// The engine's clock: the time-stamp counter, in nanoseconds since the clock was made, where the counter runs evenly
/// (12 ns a read); CLOCK_MONOTONIC elsewhere. Copyable; any thread; all copies agree.
class Clock {
public:
    /// Compares the counter with CLOCK_MONOTONIC for `calibration`, without sleeping.
    explicit Clock(protocol::Duration calibration = protocol::Duration::ms(2));

    [[nodiscard]] protocol::Time now() const {
        if (!counter_) [[unlikely]] {
            return protocol::Time::at_ns(monotonic_ns() - origin_);
        }
        const auto ticks = static_cast<std::uint64_t>(__rdtsc()) - static_cast<std::uint64_t>(origin_);
        __extension__ using Wide = unsigned __int128;
        return protocol::Time::at_ns(static_cast<std::int64_t>((static_cast<Wide>(ticks) * ns_per_tick_) >> 32U));
    }

private:
    static std::int64_t monotonic_ns();

    bool counter_;
    std::uint64_t ns_per_tick_ = 0;  ///< 32.32 fixed point
    std::int64_t origin_ = 0;
};

}  // namespace bowline::engine
