// SendStream and ReceiveStream joined by a bad network: what only the two together can show.
#include "stream_link.hpp"

#include <map>

#include <gtest/gtest.h>

namespace bowline::protocol {
namespace {

constexpr Duration kRoundTrip = Duration::us(20);

Settings small(std::uint32_t window) {
    Settings settings;
    settings.window_pkts = window;
    settings.send_queue_pkts = window;
    settings.rto_max = Duration::ms(20);
    return settings;
}

TEST(StreamLink, WithoutFaultsEachPacketIsSentOnceAndAcksAreBatched) {
    StreamLink link(Settings{}, 10'000, 1);
    link.associate();
    link.run(Time::at_ns(1'000'000'000));
    link.expect_everything_once_in_order();
    link.expect_quiet();
    EXPECT_EQ(link.send.counters().packets, 10'000U);
    EXPECT_LE(link.acks(), 10'000U / 16 + 20);
}

TEST(StreamLink, EverySecondPacketLostOnceIsResentAboutOnceInFewRoundTrips) {
    StreamLink link(Settings{}, 5'000, 1);
    link.send.sample_rtt(kRoundTrip);
    link.drop_data = [](Seqno seqno, bool first) { return first && seqno.value() % 2 == 0; };
    link.associate();
    const Time start = link.now();
    link.run(start + Duration::s(1));
    link.expect_everything_once_in_order();
    EXPECT_LE(link.send.counters().retransmits, 2'500U * 105 / 100);
    // Five windows, each a round trip and one more for its gaps; and the delays of the last ones' acks.
    EXPECT_LE(link.now() - start, kRoundTrip * 20);
}

TEST(StreamLink, TheLastPacketLostIsRepairedWithinThreeRoundTripsAndTheTimeoutsFloor) {
    for (const std::uint64_t count : {1U, 5U}) {
        StreamLink link(Settings{}, count, 1);
        link.send.sample_rtt(kRoundTrip);
        link.drop_data = [&](Seqno seqno, bool first) { return first && seqno == Seqno(count); };
        link.associate();
        const Time start = link.now();
        link.run(start + Duration::s(1));
        link.expect_everything_once_in_order();
        EXPECT_LE(link.now() - start, kRoundTrip * 3 + Settings{}.rto_min);
        EXPECT_EQ(link.send.counters().retransmits, 1U);
    }
}

TEST(StreamLink, EveryAckLostFiveTimesOverEndsWithNothingUnacknowledged) {
    StreamLink link(Settings{}, 100, 1);
    std::map<std::uint64_t, int> lost;
    link.drop_ack = [&] { return ++lost[link.receive.window().rcv_nxt().value()] <= 5; };
    link.associate();
    link.run(Time::at_ns(Duration::s(10).ns()));
    link.expect_everything_once_in_order();
    link.expect_quiet();
}

TEST(StreamLink, ACutIsOverWithinOneBackoffStepOfItsEnd) {
    for (const Duration length : {Duration::ms(100), Duration::s(1), Duration::s(10)}) {
        for (const bool acks_only : {false, true}) {
            StreamLink link(Settings{}, 200'000, 1);
            link.associate();
            const Time from = link.now() + Duration::us(500);
            const Time to = from + length;
            const auto cut = [&] { return from <= link.now() && link.now() < to; };
            link.drop_ack = cut;
            link.drop_data = [&](Seqno, bool) { return !acks_only && cut(); };
            link.run(to + Duration::s(60));
            link.expect_everything_once_in_order();
            EXPECT_LE(link.now() - to, length + Settings{}.rto_max + Duration::ms(20)) << length.ns() << acks_only;
        }
    }
}

TEST(StreamLink, AStalledApplicationClosesTheWindowAndIsWaitedForWithoutGivingUp) {
    for (const std::uint32_t window : {2U, 64U}) {
        Settings settings = small(window);
        settings.give_up = Duration::s(1);
        StreamLink link(settings, 1'000, 1);
        link.associate();
        link.app_reads = false;
        link.run(link.now() + Duration::s(30));
        EXPECT_FALSE(link.gave_up());
        EXPECT_EQ(link.receive.window().next_position(), window);
        EXPECT_EQ(link.send.counters().retransmits, 0U);
        EXPECT_GT(link.send.counters().window_probes, 100U);
        const Time resumed = link.now();
        link.app_reads = true;
        link.run(resumed + Duration::s(1));
        link.expect_everything_once_in_order();
        EXPECT_LE(link.now() - resumed, kRoundTrip * 1'000);
    }
}

TEST(StreamLink, AWindowUpdateThatIsLostIsAskedFor) {
    StreamLink link(small(4), 50, 1);
    link.associate();
    link.drop_ack = [&] { return link.acks() % 2 == 0; };
    link.run(link.now() + Duration::s(5));
    link.expect_everything_once_in_order();
    link.expect_quiet();
}

TEST(StreamLink, AnAssociationMadeWhileTheRingIsFullGoesOnWhenItEmpties) {
    StreamLink link(small(8), 100, 1);
    link.associate();
    link.app_reads = false;
    link.run(link.now() + Duration::ms(50));
    EXPECT_EQ(link.receive.window().free_pkts(0), 0U);
    link.send.suspend();
    link.associate();
    link.run(link.now() + Duration::ms(50));
    link.app_reads = true;
    link.run(link.now() + Duration::s(2));
    link.expect_everything_once_in_order();
    link.expect_quiet();
}

TEST(StreamLink, APeerThatNeverAnswersIsGivenUp) {
    StreamLink link(Settings{}, 10, 1);
    link.drop_data = [](Seqno, bool) { return true; };
    link.associate();
    const Time start = link.now();
    link.run(start + Duration::s(300));
    EXPECT_TRUE(link.gave_up());
    EXPECT_EQ(link.now() - start, Settings{}.give_up);
    EXPECT_LE(link.send.counters().retransmits, 100U);
    std::uint64_t released = 0;
    const Abandoned abandoned = link.send.abandon(11, [&](Packet*) { ++released; });
    EXPECT_EQ(released, 10U);
    EXPECT_EQ(abandoned.uncertain_first, 1U);
    EXPECT_EQ(abandoned.uncertain_last, 10U);
    EXPECT_TRUE(link.send.next_deadline().is_never());
}

TEST(StreamLink, ASlowPathIsMeasuredThoughEveryTimerIsTooShortAtFirst) {
    StreamLink link(Settings{}, 400, 1);
    link.send.sample_rtt(kRoundTrip);
    link.delay = Duration::ms(25);
    link.associate();
    link.run(link.now() + Duration::s(30));
    link.expect_everything_once_in_order();
    EXPECT_GT(link.send.rtt().srtt(), Duration::ms(5));
    EXPECT_LE(link.send.counters().retransmits, 40U);
}

/// One run of everything at once, as the seed has it.
void storm(std::uint64_t seed) {
    Random random(seed * 0x9E37'79B9ULL);
    const std::uint64_t starts[] = {1, 0xFFFF'FFE0ULL, 0x7FFF'FFE0ULL, 0xFFFF'FFFF'FFFF'FFE0ULL};
    Settings settings = small(2U << random.below(6));
    settings.send_queue_pkts = 1U + static_cast<std::uint32_t>(random.below(64));
    settings.initial_seqno = starts[random.below(4)];
    settings.ack_every_pkts = 1U + static_cast<std::uint32_t>(random.below(32));
    StreamLink link(settings, 20 + random.below(130), seed);
    link.faults.loss_percent = random.below(3) == 0 ? 0 : random.below(60);
    link.faults.dup_percent = random.below(2) == 0 ? 0 : random.below(50);
    link.faults.jitter = Duration::us(static_cast<std::int64_t>(random.below(3) == 0 ? 0 : random.below(200)));
    link.faults.app_percent = random.below(2) == 0 ? 100 : 1 + random.below(50);
    link.faults.reopen_every = random.below(3) == 0 ? 40 + random.below(200) : 0;
    link.faults.until = link.now() + Duration::ms(1 + static_cast<std::int64_t>(random.below(40)));
    if (random.below(2) == 0) {
        link.send.sample_rtt(kRoundTrip);
    }
    link.associate();
    link.run(link.faults.until + Duration::ms(200));
    if (testing::Test::HasFatalFailure()) {
        return;
    }
    link.expect_everything_once_in_order();
    link.expect_quiet();
}

TEST(StreamLink, WhateverIsLostDoubledOrOvertakenAllArrivesOnceInOrderAndBothSidesFallQuiet) {
    for (std::uint64_t seed = 1; seed <= 4'000; ++seed) {
        SCOPED_TRACE(seed);
        storm(seed);
        if (HasFailure()) {
            return;
        }
    }
}

}  // namespace
}  // namespace bowline::protocol
