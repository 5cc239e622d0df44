#include "protocol/wire_clock.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace bowline::protocol {
namespace {

TEST(WireClock, CountsIn256Nanoseconds) {
    EXPECT_EQ(wire_timestamp(Time::at_ns(255)), 0U);
    EXPECT_EQ(wire_timestamp(Time::at_ns(256)), 1U);
    EXPECT_EQ(wire_timestamp(Time::at_ns(std::int64_t{1} << 40)), 0U);
}

TEST(WireClock, OrderHoldsAcrossTheWrapUpToTheHorizon) {
    const Time start = Time::at_ns((std::int64_t{1} << 40) - 1000);
    EXPECT_TRUE(timestamp_before(wire_timestamp(start), wire_timestamp(start + Duration::us(2))));
    EXPECT_TRUE(timestamp_before(wire_timestamp(start), wire_timestamp(start + kTimestampHorizon - Duration::us(1))));
    EXPECT_FALSE(timestamp_before(wire_timestamp(start), wire_timestamp(start + kTimestampHorizon + Duration::us(1))));
    EXPECT_FALSE(timestamp_before(5, 5));
}

TEST(WireClock, ElapsedTimeIsRightToOneUnit) {
    EXPECT_TRUE(rc::check([](std::uint64_t at, std::uint64_t span) {
        const Time then = Time::at_ns(static_cast<std::int64_t>(at >> 2U));
        const Duration passed = Duration::ns(static_cast<std::int64_t>(span % ((1ULL << 40U) - 256)));
        const Duration measured = elapsed_since(wire_timestamp(then), then + passed);
        RC_ASSERT(measured - passed < Duration::ns(256));
        RC_ASSERT(passed - measured < Duration::ns(256));
    }));
}

}  // namespace
}  // namespace bowline::protocol
