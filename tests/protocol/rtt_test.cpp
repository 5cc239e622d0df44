#include "protocol/rtt.hpp"

#include <gtest/gtest.h>

namespace bowline::protocol {
namespace {

constexpr Duration kFloor = Duration::us(500);
constexpr Duration kCeiling = Duration::ms(100);
constexpr Duration kAckDelay = Duration::us(25);

TEST(Rtt, BeforeTheFirstSampleTheTimeoutIsTenMilliseconds) {
    const Rtt rtt(kFloor, kCeiling);
    EXPECT_FALSE(rtt.has_sample());
    EXPECT_EQ(rtt.rto(kAckDelay), Duration::ms(10));
}

TEST(Rtt, FirstSampleSetsTheEstimateAndHalfOfItAsVariance) {
    Rtt rtt(kFloor, kCeiling);
    rtt.sample(Duration::ms(8));
    EXPECT_EQ(rtt.srtt(), Duration::ms(8));
    EXPECT_EQ(rtt.rttvar(), Duration::ms(4));
    EXPECT_EQ(rtt.min_rtt(), Duration::ms(8));
    EXPECT_EQ(rtt.rto(kAckDelay), Duration::ms(8) + Duration::ms(16) + kAckDelay);
}

TEST(Rtt, FurtherSamplesMoveEstimateByAnEighthAndVarianceByAQuarter) {
    Rtt rtt(kFloor, kCeiling);
    rtt.sample(Duration::us(800));
    rtt.sample(Duration::us(1600));
    EXPECT_EQ(rtt.rttvar(), Duration::us(500));  // 3/4 * 400 + 1/4 * 800
    EXPECT_EQ(rtt.srtt(), Duration::us(900));    // 7/8 * 800 + 1/8 * 1600
    EXPECT_EQ(rtt.min_rtt(), Duration::us(800));
}

TEST(Rtt, TimeoutKeepsItsFloorAboveASteadyRoundTrip) {
    Rtt rtt(kFloor, kCeiling);
    for (int i = 0; i < 200; ++i) {
        rtt.sample(Duration::ms(20));
    }
    EXPECT_LT(rtt.rttvar(), Duration::us(1));
    EXPECT_EQ(rtt.rto(kAckDelay), Duration::ms(20) + kFloor + kAckDelay);
}

TEST(Rtt, BacksOffUntilNextSample) {
    Rtt rtt(kFloor, kCeiling);
    rtt.sample(Duration::us(10));
    const Duration base = rtt.rto(kAckDelay);
    rtt.back_off();
    EXPECT_EQ(rtt.rto(kAckDelay), base * 2);
    rtt.back_off();
    EXPECT_EQ(rtt.rto(kAckDelay), base * 4);
    EXPECT_EQ(rtt.base_rto(kAckDelay), base);
    rtt.sample(Duration::us(10));
    EXPECT_EQ(rtt.backoff(), 0U);
    EXPECT_LE(rtt.rto(kAckDelay), base);
}

TEST(Rtt, BackoffEndsAtTheCeilingHoweverOftenItIsAskedFor) {
    Rtt rtt(kFloor, kCeiling);
    rtt.sample(Duration::us(10));
    for (int i = 0; i < 1000; ++i) {
        rtt.back_off();
        EXPECT_LE(rtt.rto(kAckDelay), kCeiling);
    }
    EXPECT_EQ(rtt.rto(kAckDelay), kCeiling);
    rtt.end_backoff();
    EXPECT_LT(rtt.rto(kAckDelay), Duration::ms(1));
}

TEST(Rtt, APathSlowerThanTheCeilingIsStillWaitedFor) {
    Rtt rtt(kFloor, kCeiling);
    rtt.sample(Duration::ms(300));
    rtt.back_off();
    EXPECT_GE(rtt.rto(kAckDelay), Duration::ms(300));
}

TEST(Rtt, AnImmeasurablyShortRoundTripIsASample) {
    Rtt rtt(kFloor, kCeiling);
    rtt.sample(Duration::ns(0));
    rtt.sample(Duration::ns(0));
    EXPECT_TRUE(rtt.has_sample());
    EXPECT_GT(rtt.srtt(), Duration::ns(0));
}

}  // namespace
}  // namespace bowline::protocol
