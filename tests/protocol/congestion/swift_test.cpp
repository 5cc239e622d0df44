#include "protocol/congestion/swift.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "protocol/random.hpp"

namespace bowline::protocol {
namespace {

constexpr std::uint64_t kOne = SwiftCongestion::kOne;
constexpr Duration kGapMax = Duration::s(1);

/// A target of 50 us whatever the window, so that its changes can be computed by heart.
SwiftSettings flat() {
    SwiftSettings settings;
    settings.base_target = Duration::us(50);
    settings.fs_range = Duration();
    return settings;
}

/// A SwiftCongestion and what happens to it. Windows are told in packets, as near as 1/65536 of one.
struct SwiftTest : testing::Test {
    explicit SwiftTest(const SwiftSettings& settings = flat(), std::uint32_t window_pkts = 1024)
        : swift(settings, window_pkts, kGapMax) {}

    [[nodiscard]] double cwnd() const { return static_cast<double>(swift.cwnd()) / static_cast<double>(kOne); }
    [[nodiscard]] CongestionView view(std::uint64_t in_flight) const {
        return {.now = now, .last_sent = last_sent, .srtt = Duration::us(30), .in_flight_pkts = in_flight};
    }
    /// As many packets are acknowledged, of a window that was full.
    void ack(std::uint32_t pkts, Duration rtt, Duration delay = {}) {
        swift.on_acked(view(swift.cwnd_pkts()), {.pkts = pkts, .rtt = rtt, .delay = delay});
        swift.check_invariants();
    }
    /// The start is over, and the window as it was: exactly the target is no reason to shrink.
    void settle() {
        ack(1, swift.target_delay());
        now = now + Duration::ms(1);
    }
    /// Brings the window to that many packets, at least 10, and ends the start.
    void settle_at(std::uint32_t pkts) {
        ack(pkts - 10, Duration::us(1));
        settle();
        ASSERT_EQ(swift.cwnd(), pkts * kOne);
    }
    /// Losses halve it, that many times, and time passes.
    void halve(int times) {
        for (int i = 0; i < times; ++i) {
            swift.on_lost(view(0));
            now = now + Duration::ms(1);
        }
    }

    Time now = Time::at_ns(1'000'000'000);
    Time last_sent = now;
    SwiftCongestion swift;
};

struct SwiftDefaults : SwiftTest {
    SwiftDefaults() : SwiftTest(SwiftSettings()) {}
    void expect_target(double us) { EXPECT_NEAR(static_cast<double>(swift.target_delay().ns()), us * 1000.0, 20.0); }
};
struct SwiftSmall : SwiftTest {
    SwiftSmall() : SwiftTest(flat(), 4) {}
};

TEST_F(SwiftTest, BeginsWithTenPacketsAndDoublesInARoundTripUntilDelayShows) {
    EXPECT_EQ(swift.cwnd_pkts(), 10U);
    ack(10, Duration::us(20));
    EXPECT_EQ(swift.cwnd_pkts(), 20U);
    ack(16, Duration::us(20));
    ack(4, Duration::us(20));
    EXPECT_EQ(swift.cwnd_pkts(), 40U);
    ack(8, Duration::us(50));
    EXPECT_EQ(swift.cwnd_pkts(), 40U);
    ack(40, Duration::us(20));
    EXPECT_EQ(swift.cwnd_pkts(), 41U);
}

TEST_F(SwiftTest, ALossOrATimeoutEndsTheStart) {
    swift.on_lost(view(0));
    EXPECT_EQ(swift.cwnd_pkts(), 5U);
    ack(5, Duration::us(20));
    EXPECT_EQ(swift.cwnd_pkts(), 6U);
}

TEST_F(SwiftSmall, BeginsWithNoMoreThanTheWindowAndGrowsNoFurther) {
    EXPECT_EQ(swift.cwnd_pkts(), 4U);
    ack(4, Duration::us(20));
    EXPECT_EQ(swift.cwnd_pkts(), 4U);
    settle();
    ack(4, Duration::us(20));
    EXPECT_EQ(swift.cwnd(), 4 * kOne);
}

// 50 us + 250 us * (1/sqrt(cwnd) - 1/sqrt(100)) / (1/sqrt(0.1) - 1/sqrt(100)), between the two ends.
TEST_F(SwiftDefaults, TheTargetIsHigherTheSmallerTheWindow) {
    expect_target(67.653);  // 10 packets: 0.31623 - 0.1 of 3.06228
    settle_at(25);
    expect_target(58.164);  // 0.2 - 0.1
    ack(25, Duration::us(1));
    settle();
    halve(2);
    EXPECT_NEAR(cwnd(), 6.5, 0.001);
    expect_target(73.857);  // 0.39223 - 0.1
    halve(2);
    EXPECT_NEAR(cwnd(), 1.625, 0.001);
    expect_target(105.878);  // 0.78446 - 0.1
    halve(4);
    EXPECT_NEAR(cwnd(), 0.1016, 0.0001);
    expect_target(298.006);  // 3.13786 - 0.1
    halve(1);
    expect_target(300.0);  // less than fs_min_cwnd
}

TEST_F(SwiftDefaults, ALargeWindowHasTheBaseTarget) {
    settle_at(100);
    expect_target(50.0);
    ack(100, Duration::us(1));
    EXPECT_EQ(swift.cwnd_pkts(), 101U);
    expect_target(50.0);
}

TEST_F(SwiftTest, GrowsByAiPacketsInARoundTrip) {
    settle();
    ack(1, Duration::us(49));
    EXPECT_EQ(swift.cwnd(), 10 * kOne + kOne / 10);
    settle();
    for (int i = 0; i < 10; ++i) {
        ack(1, Duration::us(20));
    }
    EXPECT_NEAR(cwnd(), 11.05, 0.01);  // a tenth, and ten times a little less than a tenth
    halve(1);
    const double before = cwnd();
    ack(2, Duration::us(20));
    EXPECT_NEAR(cwnd(), before + 2 / before, 0.001);
}

TEST(SwiftCongestion, AiIsWhatIsConfigured) {
    SwiftSettings settings = flat();
    settings.ai_milli = 250;
    SwiftCongestion swift(settings, 64, kGapMax);
    const CongestionView view{.now = Time::at_ns(1), .last_sent = Time(), .srtt = {}, .in_flight_pkts = 10};
    swift.on_acked(view, {.pkts = 1, .rtt = Duration::us(50), .delay = {}});
    swift.on_acked(view, {.pkts = 10, .rtt = Duration::us(20), .delay = {}});
    EXPECT_EQ(swift.cwnd(), 10 * kOne + kOne / 4);
}

TEST_F(SwiftTest, BelowOnePacketEveryAckAddsAi) {
    settle();
    halve(4);
    EXPECT_EQ(swift.cwnd(), kOne * 10 / 16);
    ack(1, Duration::us(20));
    EXPECT_EQ(swift.cwnd(), kOne * 26 / 16);
}

TEST_F(SwiftTest, ShrinksByBetaTimesTheRelativeExcess) {
    settle();
    ack(1, Duration::ns(62'500));  // an excess of a fifth, of which beta is 0.8
    EXPECT_NEAR(cwnd(), 10 * (1 - 0.16), 0.001);
    EXPECT_EQ(swift.cwnd_pkts(), 8U);
}

TEST_F(SwiftTest, ShrinksByMaxMdfAtMost) {
    settle();
    ack(1, Duration::us(100));  // excess 1/2: 0.4
    EXPECT_NEAR(cwnd(), 6.0, 0.001);
    now = now + Duration::ms(1);
    ack(1, Duration::ms(1));  // excess 0.95: 0.76
    EXPECT_NEAR(cwnd(), 3.0, 0.001);
}

TEST_F(SwiftTest, ShrinksOnceARoundTrip) {
    settle();
    ack(1, Duration::us(100));
    const std::uint64_t once = swift.cwnd();
    now = now + Duration::ns(99'999);  // acknowledges what was sent before the window shrank
    ack(1, Duration::us(100));
    EXPECT_EQ(swift.cwnd(), once);
    now = now + Duration::ns(1);
    ack(1, Duration::us(100));
    EXPECT_NEAR(cwnd(), 3.6, 0.001);
}

TEST_F(SwiftTest, ForHowLongThePeerHeldTheAckBackIsNoDelayOfThePath) {
    settle();
    ack(10, Duration::us(74), Duration::us(24));
    EXPECT_EQ(swift.cwnd_pkts(), 10U);
    ack(10, Duration::us(73), Duration::us(24));
    EXPECT_EQ(swift.cwnd_pkts(), 11U);
    // Nor does a peer's word that cannot be true make the delay negative.
    ack(11, Duration::us(10), Duration::us(261));
    EXPECT_EQ(swift.cwnd_pkts(), 12U);
}

TEST_F(SwiftTest, AnAckThatMeasuresNothingChangesNothing) {
    settle();
    swift.on_acked(view(10), {.pkts = 10, .rtt = std::nullopt, .delay = {}});
    EXPECT_EQ(swift.cwnd(), 10 * kOne);
}

TEST_F(SwiftTest, AWindowThatIsNotUsedDoesNotGrow) {
    settle();
    swift.on_acked(view(7), {.pkts = 2, .rtt = Duration::us(20), .delay = {}});
    EXPECT_EQ(swift.cwnd(), 10 * kOne);
    swift.on_acked(view(8), {.pkts = 2, .rtt = Duration::us(20), .delay = {}});
    EXPECT_NEAR(cwnd(), 10.2, 0.001);
}

TEST_F(SwiftTest, ALossCostsMaxMdfOnceARoundTrip) {
    settle_at(40);
    ack(1, Duration::us(50));  // the round trip that counts
    now = now + Duration::us(50);
    swift.on_lost(view(30));
    EXPECT_EQ(swift.cwnd_pkts(), 20U);
    now = now + Duration::us(49);
    swift.on_lost(view(30));
    EXPECT_EQ(swift.cwnd_pkts(), 20U);
    now = now + Duration::us(1);
    swift.on_lost(view(30));
    EXPECT_EQ(swift.cwnd_pkts(), 10U);
}

TEST_F(SwiftTest, TimeoutsHalveAndTheFifthInARowLeavesTheSmallestWindow) {
    settle_at(64);
    for (const std::uint32_t expected : {32U, 16U, 8U, 4U}) {
        swift.on_timeout(view(0));
        EXPECT_EQ(swift.cwnd_pkts(), expected);
        now = now + Duration::ms(1);
    }
    swift.on_timeout(view(0));
    EXPECT_NEAR(cwnd(), 0.01, 0.0001);
    // What gets through ends the row.
    now = now + Duration::ms(1);
    ack(1, Duration::us(20));
    EXPECT_NEAR(cwnd(), 1.01, 0.0001);
    swift.on_timeout(view(0));
    EXPECT_NEAR(cwnd(), 0.505, 0.0001);
}

TEST_F(SwiftTest, ALossEndsTheRowOfTimeouts) {
    settle_at(64);
    for (int i = 0; i < 4; ++i) {
        swift.on_timeout(view(0));
        now = now + Duration::ms(1);
    }
    swift.on_lost(view(0));
    now = now + Duration::ms(1);
    swift.on_timeout(view(0));
    EXPECT_EQ(swift.cwnd_pkts(), 1U);  // 64 / 2^6
    EXPECT_EQ(swift.cwnd(), kOne);
}

TEST_F(SwiftTest, AfterATimeoutOnePacketMayLeaveWhateverIsStillInFlight) {
    settle();
    swift.on_timeout(view(30));
    EXPECT_EQ(swift.cwnd(), 5 * kOne);
    EXPECT_EQ(swift.cwnd_pkts(), 31U);
    ack(1, Duration::us(50));
    EXPECT_EQ(swift.cwnd_pkts(), 5U);
}

TEST_F(SwiftTest, BelowOnePacketThereIsOneEveryRoundTripDividedByTheWindow) {
    settle();
    ack(1, Duration::us(100));  // 6 packets
    now = now + Duration::ms(1);
    halve(3);
    EXPECT_NEAR(cwnd(), 0.75, 0.0001);
    EXPECT_EQ(swift.cwnd_pkts(), 1U);  // the last one left long ago
    last_sent = now;
    now = now + Duration::us(60);
    swift.on_lost(view(0));
    EXPECT_NEAR(cwnd(), 0.375, 0.0001);
    EXPECT_EQ(swift.cwnd_pkts(), 0U);
    // 100 us / 0.375
    EXPECT_NEAR(static_cast<double>((swift.release_at() - last_sent).ns()), 266'667, 50);
    now = swift.release_at() - Duration::ns(1);
    swift.on_release(view(0));
    EXPECT_EQ(swift.cwnd_pkts(), 0U);
    now = now + Duration::ns(1);
    swift.on_release(view(0));
    EXPECT_EQ(swift.cwnd_pkts(), 1U);
}

TEST(SwiftCongestion, NobodyWaitsLongerThanTheLongestGap) {
    SwiftCongestion swift(flat(), 64, Duration::ms(3));
    CongestionView view{.now = Time::at_ns(1'000'000'000), .last_sent = {}, .srtt = Duration::us(400)};
    for (int i = 0; i < 5; ++i) {
        view.last_sent = view.now;
        swift.on_timeout(view);
    }
    EXPECT_EQ(swift.release_at() - view.last_sent, Duration::ms(3)) << "not 400 us / 0.01";
}

TEST(SwiftCongestion, WithoutASampleTheHandshakesRoundTripPaces) {
    SwiftCongestion swift(flat(), 64, kGapMax);
    CongestionView view{.now = Time::at_ns(1'000'000'000), .last_sent = {}, .srtt = Duration::us(40)};
    for (int i = 0; i < 5; ++i) {
        view.last_sent = view.now;
        swift.on_timeout(view);
    }
    EXPECT_NEAR(static_cast<double>((swift.release_at() - view.last_sent).ns()), 4'000'000, 10'000);
}

TEST_F(SwiftTest, ANewConnectionKeepsWhatIsKnownOfThePath) {
    settle();
    swift.on_timeout(view(30));
    swift.on_opened(view(0));
    EXPECT_EQ(swift.cwnd_pkts(), 5U);
    swift.on_recovered(view(0));
    EXPECT_EQ(swift.cwnd_pkts(), 5U);
}

TEST(SwiftCongestion, KeepsItsBoundsWhateverHappensAndWhateverItIsConfiguredWith) {
    EXPECT_TRUE(rc::check([](std::uint64_t seed) {
        Random random(seed);
        SwiftSettings settings;
        settings.base_target = Duration::ns(static_cast<std::int64_t>(1000 + random.below(10'000'000'000)));
        settings.fs_range = Duration::ns(static_cast<std::int64_t>(random.below(10'000'000'001)));
        settings.fs_min_cwnd_milli = static_cast<std::uint32_t>(10 + random.below(16'384'000));
        settings.fs_max_cwnd_milli = static_cast<std::uint32_t>(10 + random.below(16'384'000));
        settings.ai_milli = static_cast<std::uint32_t>(1 + random.below(100'000));
        settings.beta_milli = static_cast<std::uint32_t>(1 + random.below(1000));
        settings.max_mdf_milli = static_cast<std::uint32_t>(1 + random.below(999));
        settings.min_cwnd_milli = static_cast<std::uint32_t>(1 + random.below(1000));
        const std::uint32_t window = std::uint32_t{2} << random.below(14);
        SwiftCongestion swift(settings, window, Duration::ms(100));
        CongestionView view;
        view.now = Time::at_ns(static_cast<std::int64_t>(random.below(1ULL << 61U)));
        const auto any_time = [&random] {
            return Duration::ns(static_cast<std::int64_t>(random.next() >> (1 + random.below(63))));
        };
        for (int i = 0; i < 200; ++i) {
            view.now = view.now + Duration::ns(static_cast<std::int64_t>(random.below(1'000'000)));
            view.last_sent = view.now - Duration::ns(static_cast<std::int64_t>(random.below(200'000)));
            view.in_flight_pkts = random.below(window + 1);
            switch (random.below(6)) {
                case 0:
                    swift.on_lost(view);
                    break;
                case 1:
                    swift.on_timeout(view);
                    break;
                case 2:
                    swift.on_opened(view);
                    break;
                case 3:
                    swift.on_release(view);
                    break;
                default:
                    swift.on_acked(view, {.pkts = static_cast<std::uint32_t>(1 + random.below(window)),
                                          .rtt = random.below(4) == 0 ? std::nullopt : std::optional(any_time()),
                                          .delay = Duration::ns(static_cast<std::int64_t>(random.below(300'000)))});
                    break;
            }
            swift.check_invariants();
            RC_ASSERT(swift.target_delay() >= settings.base_target);
            RC_ASSERT(swift.target_delay() <= settings.base_target + settings.fs_range);
        }
    }));
}

}  // namespace
}  // namespace bowline::protocol
