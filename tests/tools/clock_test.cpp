#include "tools/clock.hpp"

#include <gtest/gtest.h>

namespace bowline::tools {
namespace {

TEST(CycleClock, ElapsedTimeIsTheDifference) {
    EXPECT_EQ(CycleClock::elapsed(40, 42), 2U);
    EXPECT_EQ(CycleClock::elapsed(0, ~std::uint64_t{0}), ~std::uint64_t{0});
}

// A reading taken before the event that it is compared with must not look like centuries of silence.
TEST(CycleClock, NothingHasElapsedBetweenReadingsOutOfOrder) {
    EXPECT_EQ(CycleClock::elapsed(42, 42), 0U);
    EXPECT_EQ(CycleClock::elapsed(43, 42), 0U);
    EXPECT_EQ(CycleClock::elapsed(~std::uint64_t{0}, 0), 0U);
}

TEST(CycleClock, TicksAndNanosecondsAgree) {
    const CycleClock clock = CycleClock::calibrate();
    const std::uint64_t start = clock.ticks();
    const std::uint64_t ticks = clock.to_ticks(1e9);
    EXPECT_NEAR(static_cast<double>(clock.to_ns(ticks)), 1e9, 1e3);
    EXPECT_GE(clock.ticks(), start);
}

}  // namespace
}  // namespace bowline::tools
