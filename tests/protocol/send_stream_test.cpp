#include "protocol/send_stream.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "stream_link.hpp"

namespace bowline::protocol {
namespace {

using AckResult = SendStream::AckResult;

constexpr Duration kRtt = Duration::us(20);
constexpr std::uint64_t kFirst = 0xFFFF'FFFEULL;  // the wire's numbers wrap after two packets

Settings test_settings() {
    Settings settings;
    settings.window_pkts = 64;
    settings.send_queue_pkts = 64;
    settings.initial_seqno = kFirst;
    return settings;
}

struct SendStreamTest : testing::Test {
    Settings settings = test_settings();
    SendStorage storage{128};
    SendStream send{settings, 7, storage.spans()};
    Time now = Time::at_ns(1'000'000);
    std::uint64_t queued = 0;
    std::vector<std::uint64_t> released;

    void open(std::uint32_t window = 64) { send.open(now, window, settings.ack_delay); }
    void queue(int count) {
        for (int i = 0; i < count; ++i) {
            ASSERT_TRUE(send.queue(now, message_packet(++queued)));
        }
    }
    int send_all() {
        int sent = 0;
        for (; send.may_send_new(); ++sent) {
            send.on_sent_new(now);
        }
        send.check_invariants();
        return sent;
    }
    int resend_all() {
        int sent = 0;
        for (auto seqno = send.next_to_resend(); seqno.has_value(); seqno = send.next_to_resend(), ++sent) {
            send.on_resent(now, *seqno);
        }
        send.check_invariants();
        return sent;
    }
    /// `count`: packets from the first on that the ack covers; `held`: bit i is the packet i + 1 places later.
    AckResult ack(std::uint64_t count, std::uint64_t held = 0, std::uint32_t window = 64,
                  std::optional<std::uint32_t> conn_id = std::nullopt) {
        std::byte words[wire::sack_bytes(1)];
        AckInfo info;
        info.conn_id = conn_id.value_or(send.conn_id());
        info.cum_ack = Seqno(kFirst + count).wire();
        info.window_pkts = window;
        info.echo = wire_timestamp(now - kRtt);
        if (held != 0) {
            wire::encode_sack(std::span(&held, 1), words);
            info.sack = wire::SackView(words + wire::kSackFixedBytes, 1);
        }
        const AckResult result =
            send.on_ack(now, info, [&](Packet* packet) { released.push_back(message_of(packet)); });
        send.check_invariants();
        return result;
    }
    void pass(Duration time) { now = now + time; }
};

TEST_F(SendStreamTest, NothingLeavesBeforeItIsOpenOrBeyondWhatThePeerGrants) {
    queue(10);
    EXPECT_EQ(send_all(), 0);
    open(4);
    EXPECT_EQ(send_all(), 4);
    EXPECT_FALSE(send.open_for_new());
    pass(kRtt);
    EXPECT_EQ(ack(2, 0, 4), AckResult::advanced);
    EXPECT_EQ(send_all(), 2);
    EXPECT_EQ(released, (std::vector<std::uint64_t>{1, 2}));
    EXPECT_EQ(send.acknowledged_message(), 2U);
}

TEST_F(SendStreamTest, SaysWhereItBeginsUntilTheFirstAck) {
    open();
    queue(2);
    send_all();
    EXPECT_TRUE(send.opening());
    EXPECT_EQ(send.first_seqno(), Seqno(kFirst));
    EXPECT_EQ(send.first_message(), 1U);
    ack(1);
    EXPECT_FALSE(send.opening());
    open();
    EXPECT_TRUE(send.opening());
    EXPECT_EQ(send.first_seqno(), Seqno(kFirst + 1));
    EXPECT_EQ(send.first_message(), 2U);
}

TEST_F(SendStreamTest, AnAckOfAnotherConnectionOrOfTheUnsentHasNoEffect) {
    open();
    queue(8);
    send_all();
    EXPECT_EQ(ack(2), AckResult::advanced);
    EXPECT_EQ(ack(5, 0, 64, send.conn_id() - 1), AckResult::stale);
    EXPECT_EQ(ack(5, 0, 64, send.conn_id() + 1), AckResult::stale);
    EXPECT_EQ(ack(9), AckResult::stale);
    EXPECT_EQ(ack(1), AckResult::stale);
    EXPECT_EQ(ack(2), AckResult::duplicate);
    EXPECT_EQ(send.window().una(), Seqno(kFirst + 2));
    EXPECT_EQ(send.counters().stale_acks, 4U);
    send.suspend();
    EXPECT_EQ(ack(5), AckResult::stale);
}

TEST_F(SendStreamTest, ASackOfTheUnsentIsIgnored) {
    open();
    queue(3);
    send_all();
    EXPECT_EQ(ack(0, ~std::uint64_t{0}), AckResult::advanced);
    EXPECT_EQ(send.in_flight_pkts() + (send.next_to_resend().has_value() ? 1 : 0), 1U);
    EXPECT_TRUE(released.empty());
}

TEST_F(SendStreamTest, SackedPacketsStayUntilTheCumulativeAckPassesThem) {
    open();
    send.sample_rtt(kRtt);
    queue(6);
    send_all();
    pass(kRtt);
    ack(0, 0b11110);
    EXPECT_TRUE(released.empty());
    EXPECT_EQ(resend_all(), 2);
    pass(kRtt);
    EXPECT_EQ(ack(6), AckResult::advanced);
    EXPECT_EQ(released, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6}));
    EXPECT_TRUE(send.next_deadline().is_never());
}

TEST_F(SendStreamTest, AnOlderAckDoesNotTakeBackWhatWasGranted) {
    open(4);
    queue(20);
    send_all();
    ack(2, 0, 10);
    const Seqno limit = send.limit();
    ack(2, 0, 3);
    EXPECT_EQ(send.limit(), limit);
}

TEST_F(SendStreamTest, TheLastPacketInFlightIsProbedAfterTwoRoundTrips) {
    open();
    send.sample_rtt(kRtt);
    queue(3);
    send_all();
    const Time deadline = now + kRtt * 2 + settings.ack_delay;
    EXPECT_EQ(send.next_deadline(), deadline);
    now = deadline;
    const SendStream::Due due = send.on_deadline(now);
    EXPECT_EQ(due.tail_probe, Seqno(kFirst + 2));
    send.on_resent(now, *due.tail_probe);
    send.check_invariants();
    EXPECT_GT(send.next_deadline(), now + kRtt * 2 + settings.ack_delay);  // one probe, then the timeout
}

TEST_F(SendStreamTest, ADeadlineThatWasMetLiesInTheFuture) {
    open();
    queue(5);
    send_all();
    for (int i = 0; i < 200; ++i) {
        const Time deadline = send.next_deadline();
        ASSERT_GT(deadline, now);
        now = deadline;
        const SendStream::Due due = send.on_deadline(now);
        if (due.gave_up) {
            EXPECT_EQ(now, Time::at_ns(1'000'000) + settings.give_up);
            return;
        }
        // Nothing is sent, as when the device takes nothing.
    }
    FAIL() << "never gave up";
}

TEST_F(SendStreamTest, AFlightSpreadOverTimeIsLostWithItsFirstTimeoutAndResentAtOnce) {
    open();
    send.sample_rtt(kRtt);
    for (int i = 0; i < 64; ++i) {
        queue(1);
        ASSERT_EQ(send_all(), 1);
        pass(Duration::us(10));
    }
    int timeouts = 0;
    while (timeouts < 2) {
        now = std::max(now, send.next_deadline());
        const SendStream::Due due = send.on_deadline(now);
        if (due.tail_probe.has_value()) {
            send.on_resent(now, *due.tail_probe);
            continue;
        }
        ++timeouts;
        EXPECT_EQ(send.next_to_resend(), Seqno(kFirst));
        EXPECT_EQ(resend_all(), 1);
    }
    EXPECT_LE(send.in_flight_pkts(), 2U);
}

TEST_F(SendStreamTest, AfterATimeoutTheFlightGrowsWithWhatGetsThrough) {
    open();
    queue(40);
    send_all();
    pass(Duration::ms(10));
    send.on_deadline(now);
    EXPECT_EQ(resend_all(), 1);
    pass(kRtt);
    ack(1);
    EXPECT_EQ(resend_all(), 2);
    pass(kRtt);
    ack(3);
    EXPECT_EQ(resend_all(), 4);
    pass(kRtt);
    ack(40);
    EXPECT_TRUE(send.drained());
    queue(64);
    EXPECT_EQ(send_all(), 64);
}

TEST_F(SendStreamTest, AClosedWindowIsProbedEverLessOftenUntilItOpens) {
    open(2);
    send.sample_rtt(kRtt);
    queue(5);
    send_all();
    pass(kRtt);
    ack(2, 0, 0);
    EXPECT_EQ(send_all(), 0);
    Duration wait;
    for (int i = 0; i < 40; ++i) {
        const Time deadline = send.next_deadline();
        ASSERT_GT(deadline, now);
        EXPECT_GE(deadline - now, wait);
        EXPECT_LE(deadline - now, settings.rto_max);
        wait = deadline - now;
        now = deadline;
        EXPECT_TRUE(send.on_deadline(now).window_probe);
        ack(2, 0, 0);  // the peer lives: it is not given up
    }
    ack(2, 0, 3);
    EXPECT_EQ(send_all(), 3);
}

TEST_F(SendStreamTest, OpeningTowardsAFullRingStillSendsThePacketThatOpensIt) {
    open(0);
    queue(5);
    EXPECT_EQ(send_all(), 1);
}

TEST_F(SendStreamTest, ReopeningResendsEverythingUnacknowledgedWithinTheNewGrant) {
    open();
    queue(10);
    send_all();
    pass(kRtt);
    ack(2, 0b0111);
    const std::uint32_t conn_id = send.conn_id();
    open(4);
    EXPECT_EQ(send.conn_id(), conn_id + 1);
    send.check_invariants();
    EXPECT_EQ(send.next_to_resend(), Seqno(kFirst + 2));
    EXPECT_EQ(resend_all(), 4);
    // The first of them is lost: it goes again, though others that wait were found before it.
    pass(Duration::ms(20));
    send.on_deadline(now);
    EXPECT_EQ(send.next_to_resend(), Seqno(kFirst + 2));
}

TEST_F(SendStreamTest, WhatIsToBeResentBeyondAClosedWindowIsProbedFor) {
    open();
    send.sample_rtt(kRtt);
    queue(5);
    send_all();
    open(1);
    EXPECT_EQ(resend_all(), 1);
    pass(kRtt);
    ack(1, 0, 0);
    EXPECT_EQ(resend_all(), 0);
    now = send.next_deadline();
    EXPECT_TRUE(send.on_deadline(now).window_probe);
    ack(1, 0, 8);
    EXPECT_EQ(resend_all(), 4);
}

TEST_F(SendStreamTest, ARetransmissionThatArrivesProvesOlderOriginalsLost) {
    open();
    send.sample_rtt(kRtt);
    queue(2);
    send.on_sent_new(now);
    pass(Duration::us(300));
    send.on_sent_new(now);
    pass(Duration::us(300));
    send.on_deadline(now);
    EXPECT_EQ(resend_all(), 1);
    pass(kRtt);
    ack(1);
    EXPECT_EQ(send.next_to_resend(), Seqno(kFirst + 1));
}

TEST_F(SendStreamTest, APathSlowerThanTheTimerIsMeasuredByTheEchoOfTheOriginal) {
    open();
    send.sample_rtt(kRtt);
    queue(1);
    send_all();
    const Time sent = now;
    while (send.next_deadline() < sent + Duration::ms(50)) {
        now = send.next_deadline();
        if (const auto probe = send.on_deadline(now).tail_probe) {
            send.on_resent(now, *probe);
        }
        resend_all();
    }
    now = sent + Duration::ms(50);
    AckInfo info;
    info.conn_id = send.conn_id();
    info.cum_ack = Seqno(kFirst + 1).wire();
    info.echo = wire_timestamp(sent);
    EXPECT_EQ(send.on_ack(now, info, [](Packet*) {}), AckResult::advanced);
    EXPECT_GT(send.rtt().srtt(), Duration::ms(5));
    EXPECT_GT(send.rtt().rto(settings.ack_delay), Duration::ms(50));
}

TEST_F(SendStreamTest, ThePeersMemoryAcknowledgesAndIsNoMeasurement) {
    open();
    send.sample_rtt(kRtt);
    queue(10);
    send_all();
    send.suspend();
    pass(Duration::s(5));
    send.acknowledge_up_to(now, Seqno(kFirst + 4), [&](Packet* packet) { released.push_back(message_of(packet)); });
    open();
    EXPECT_EQ(released.size(), 4U);
    ack(6);  // what the peer held, though nothing has been sent on this connection
    EXPECT_EQ(send.rtt().srtt(), kRtt);
    EXPECT_EQ(resend_all(), 4);
    pass(kRtt);
    ack(10);
    EXPECT_EQ(send.rtt().srtt(), kRtt);
    EXPECT_TRUE(send.drained());
}

TEST_F(SendStreamTest, GivesUpWithoutASignAndReportsWhatIsUncertainAndWhatWasNeverSent) {
    open(3);
    queue(5);
    send_all();
    pass(kRtt);
    ack(1, 0, 2);
    pass(settings.give_up);
    EXPECT_TRUE(send.on_deadline(now).gave_up);
    const Abandoned abandoned =
        send.abandon(queued + 1, [&](Packet* packet) { released.push_back(message_of(packet)); });
    EXPECT_EQ(abandoned.uncertain_first, 2U);
    EXPECT_EQ(abandoned.uncertain_last, 3U);
    EXPECT_EQ(abandoned.unsent_first, 4U);
    EXPECT_EQ(abandoned.unsent_last, 5U);
    EXPECT_EQ(released, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
    EXPECT_TRUE(send.next_deadline().is_never());
    send.check_invariants();
    queue(1);
    open();
    EXPECT_EQ(send.first_message(), 6U);
    EXPECT_EQ(send_all(), 1);
}

TEST_F(SendStreamTest, WhatWaitsForAnAssociationIsGivenUpTooAndCountsFromWhenItBeganToWait) {
    pass(Duration::s(100));
    queue(1);
    EXPECT_EQ(send.next_deadline(), now + settings.give_up);
}

TEST_F(SendStreamTest, RefusesWhatItsQueueCannotTake) {
    open(0);
    queue(64);
    send_all();
    EXPECT_FALSE(send.queue_full());
    queue(1);
    EXPECT_TRUE(send.queue_full());
}

}  // namespace
}  // namespace bowline::protocol
