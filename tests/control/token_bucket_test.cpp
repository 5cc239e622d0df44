#include "control/token_bucket.hpp"

#include <gtest/gtest.h>

namespace bowline::control {
namespace {

using protocol::Duration;
using protocol::Time;

TEST(TokenBucket, AllowsABurstAndThenTheRate) {
    TokenBucket bucket(Duration::ms(10), 4);
    Time now = Time::at_ns(0);
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(bucket.try_take(now));
    EXPECT_FALSE(bucket.try_take(now));
    now = now + Duration::ms(9);
    EXPECT_FALSE(bucket.try_take(now));
    now = now + Duration::ms(1);
    EXPECT_TRUE(bucket.try_take(now));
    EXPECT_FALSE(bucket.try_take(now));
}

TEST(TokenBucket, HoldsNoMoreThanItsBurst) {
    TokenBucket bucket(Duration::ms(10), 4);
    const Time later = Time::at_ns(0) + Duration::s(3600);
    int taken = 0;
    while (bucket.try_take(later)) ++taken;
    EXPECT_EQ(taken, 4);
}

TEST(TokenBucket, KeepsTheRateOverALongTime) {
    TokenBucket bucket(Duration::ms(10), 4);
    int taken = 0;
    for (Time now; now < Time() + Duration::s(10); now = now + Duration::us(100)) taken += bucket.try_take(now) ? 1 : 0;
    EXPECT_EQ(taken, 1'000 + 3);
}

}  // namespace
}  // namespace bowline::control
