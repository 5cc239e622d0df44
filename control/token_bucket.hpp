#pragma once

#include <cstdint>

#include "protocol/check.hpp"
#include "protocol/time.hpp"

namespace bowline::control {

/// A rate with a burst: each take costs one token, and one comes back each `interval`, up to `burst` of them. One
/// thread.
class TokenBucket {
public:
    TokenBucket(protocol::Duration interval, std::uint32_t burst) : interval_(interval), burst_(burst) {
        BOWLINE_CHECK(interval.ns() > 0 && burst > 0);
    }

    /// False: the rate is used up.
    [[nodiscard]] bool try_take(protocol::Time now) {
        // The bucket as one moment (GCRA, ITU-T I.371): when it will be full again. What is taken moves it on.
        const protocol::Time from = full_at_ > now ? full_at_ : now;
        if (from - now > interval_ * (std::int64_t{burst_} - 1)) return false;
        full_at_ = from + interval_;
        return true;
    }

private:
    protocol::Duration interval_;
    std::uint32_t burst_;
    protocol::Time full_at_ = protocol::Time::at_ns(INT64_MIN);
};

}  // namespace bowline::control
