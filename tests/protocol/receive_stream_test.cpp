#include "protocol/receive_stream.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace bowline::protocol {
namespace {

using Verdict = ReceiveStream::Verdict;

struct ReceiveStreamTest : testing::Test {
    static Settings settings() {
        Settings result;
        result.window_pkts = 16;
        return result;
    }
    std::array<std::uint64_t, 1> bits{};
    ReceiveStream receive{settings(), bits};
    Time now = Time::at_ns(1'000'000'000);
    std::uint64_t consumed = 0;
    std::vector<std::uint64_t> dropped;

    void bind(std::uint64_t incarnation = 1, std::uint64_t stream = 1) {
        receive.bind(incarnation, stream, [&](std::uint64_t position) { dropped.push_back(position); });
        receive.check_invariants();
    }
    ReceiveStream::Admission admit(std::uint32_t conn_id, std::uint64_t seqno,
                                   std::optional<std::uint64_t> first = std::nullopt,
                                   std::optional<std::uint32_t> timestamp = std::nullopt) {
        wire::Segment segment;
        segment.header.conn_id = conn_id;
        segment.header.seqno = Seqno(seqno).wire();
        segment.header.timestamp = timestamp.value_or(wire_timestamp(now));
        if (first.has_value()) {
            segment.header.flags = wire::kFlagFirst;
            segment.first.first_seqno = *first;
        }
        const auto admission =
            receive.admit(now, segment, consumed, [&](std::uint64_t position) { dropped.push_back(position); });
        if (admission.verdict == Verdict::in_order) {
            receive.advance(now, consumed);
        } else if (admission.verdict == Verdict::out_of_order) {
            receive.hold(admission.seqno);
        }
        receive.check_invariants();
        return admission;
    }
    Verdict verdict(std::uint32_t conn_id, std::uint64_t seqno, std::optional<std::uint64_t> first = std::nullopt) {
        return admit(conn_id, seqno, first).verdict;
    }
    void acked(bool with_sack = true) {
        receive.on_ack_sent(consumed, with_sack);
        receive.check_invariants();
    }
};

TEST_F(ReceiveStreamTest, OpensOnlyWhereTheSenderSaysWhicheverPacketComesFirst) {
    bind();
    EXPECT_EQ(verdict(1, 7), Verdict::no_window);
    EXPECT_FALSE(receive.ack_due(now));
    const auto admission = admit(1, 7, 5);
    EXPECT_EQ(admission.verdict, Verdict::out_of_order);
    EXPECT_TRUE(admission.opened);
    EXPECT_EQ(admission.position, 2U);
    EXPECT_EQ(verdict(1, 6, 5), Verdict::out_of_order);
    const auto expected = admit(1, 5, 5);
    EXPECT_EQ(expected.verdict, Verdict::in_order);
    EXPECT_EQ(expected.position, 0U);
    EXPECT_EQ(receive.window().rcv_nxt(), Seqno(8));
    EXPECT_EQ(receive.counters().no_window, 1U);
}

TEST_F(ReceiveStreamTest, AnEarlierConnectionIsStaleForEver) {
    bind();
    verdict(3, 1, 1);
    EXPECT_EQ(verdict(2, 2, 2), Verdict::stale);
    EXPECT_EQ(verdict(3, 2), Verdict::in_order);
    EXPECT_EQ(verdict(4, 3), Verdict::no_window);
    EXPECT_EQ(verdict(4, 3, 3), Verdict::in_order);
    EXPECT_EQ(verdict(3, 4), Verdict::stale);
    EXPECT_EQ(receive.counters().stale, 2U);
}

TEST_F(ReceiveStreamTest, ANewConnectionOverALiveWindowKeepsWhatItHoldsAndSaysSo) {
    bind();
    verdict(1, 1, 1);
    verdict(1, 3);
    verdict(1, 5);
    acked();
    const auto admission = admit(2, 1, 1);  // resent under the new id: it stands here already
    EXPECT_EQ(admission.verdict, Verdict::duplicate);
    EXPECT_FALSE(admission.opened);
    EXPECT_TRUE(receive.needs_sack());
    EXPECT_TRUE(dropped.empty());
    std::array<std::uint64_t, 1> words{};
    ASSERT_EQ(receive.sack_words(words), 1U);
    EXPECT_EQ(words[0], 0b101U);
    EXPECT_EQ(receive.ack_conn_id(), 2U);
    EXPECT_EQ(verdict(2, 2), Verdict::in_order);
    EXPECT_EQ(receive.window().rcv_nxt(), Seqno(4));
}

TEST_F(ReceiveStreamTest, GoesOnBehindWhatTheSenderGaveUpAndDropsWhatWasHeld) {
    bind();
    verdict(1, 1, 1);
    verdict(1, 3);
    const auto admission = admit(2, 10, 10);
    EXPECT_TRUE(admission.opened);
    EXPECT_EQ(admission.verdict, Verdict::in_order);
    EXPECT_EQ(admission.position, 1U);  // the ring has no hole
    EXPECT_EQ(dropped, std::vector<std::uint64_t>{2});
}

TEST_F(ReceiveStreamTest, ANeedlessHandshakeKeepsItsMemoryAndAnotherStreamForgetsIt) {
    bind(1, 1);
    verdict(1, 1, 1);
    verdict(1, 3);
    bind(1, 1);
    EXPECT_TRUE(receive.memory().known);
    EXPECT_EQ(receive.memory().rcv_nxt, 2U);
    EXPECT_EQ(verdict(1, 1), Verdict::duplicate);
    bind(2, 9);
    EXPECT_FALSE(receive.memory().known);
    EXPECT_FALSE(receive.is_open());
    EXPECT_EQ(dropped, std::vector<std::uint64_t>{2});
    EXPECT_EQ(admit(1, 1, 1).position, 1U);  // what was acknowledged stays in the ring
}

TEST_F(ReceiveStreamTest, AcksAtTheLatestAfterTheDelayOrAQuarterOfASmallWindow) {
    bind();
    verdict(1, 1, 1);  // opens: acknowledged at once, so that the sender stops saying where it begins
    EXPECT_TRUE(receive.ack_due(now));
    acked();
    EXPECT_TRUE(receive.ack_deadline().is_never());
    consumed = 1;
    verdict(1, 2);
    EXPECT_FALSE(receive.ack_due(now));
    const Time deadline = now + settings().ack_delay;
    EXPECT_EQ(receive.ack_deadline(), deadline);
    now = now + Duration::us(5);
    verdict(1, 3);
    EXPECT_EQ(receive.ack_deadline(), deadline);  // of the first that waits
    verdict(1, 4);
    EXPECT_FALSE(receive.ack_due(now));
    EXPECT_TRUE(receive.ack_due(deadline));
    verdict(1, 5);
    EXPECT_TRUE(receive.ack_due(now));
}

TEST_F(ReceiveStreamTest, AGapADuplicateAndAClosingWindowAreAcknowledgedAtOnce) {
    bind();
    verdict(1, 1, 1);
    acked();
    verdict(1, 3);
    EXPECT_TRUE(receive.ack_due(now));
    EXPECT_TRUE(receive.needs_sack());
    acked(false);
    EXPECT_TRUE(receive.needs_sack());  // an ack that rode on data did not say what is missing
    acked(true);
    EXPECT_FALSE(receive.ack_due(now));
    verdict(1, 1);
    EXPECT_TRUE(receive.needs_sack());
    acked();
    verdict(1, 2);  // closes the gap
    EXPECT_TRUE(receive.ack_due(now));
    EXPECT_FALSE(receive.needs_sack());
    acked();
    for (std::uint64_t seqno = 4; seqno < 16; ++seqno) {
        verdict(1, seqno);
        acked();
    }
    verdict(1, 16);
    EXPECT_TRUE(receive.ack_due(now));
    EXPECT_EQ(receive.window_pkts(consumed), 0U);
    acked();
    EXPECT_EQ(verdict(1, 17), Verdict::beyond);
    EXPECT_TRUE(receive.ack_due(now));
}

TEST_F(ReceiveStreamTest, TheEdgeOfWhatWasGrantedIsAcknowledgedAtOnce) {
    bind();
    verdict(1, 1, 1);
    for (std::uint64_t seqno = 2; seqno <= 14; ++seqno) {
        verdict(1, seqno);
    }
    acked();  // grants up to 16
    consumed = 10;
    verdict(1, 15);
    EXPECT_FALSE(receive.ack_due(now));
    verdict(1, 16);
    EXPECT_TRUE(receive.ack_due(now));
}

TEST_F(ReceiveStreamTest, AConsumerThatMakesRoomTellsASenderAtTheEdge) {
    bind();
    for (std::uint64_t seqno = 1; seqno <= 16; ++seqno) {
        verdict(1, seqno, 1);
    }
    acked();
    receive.on_consumed(consumed = 3);
    EXPECT_FALSE(receive.ack_due(now));
    receive.on_consumed(consumed = 4);
    EXPECT_TRUE(receive.ack_due(now));
    acked();
    receive.on_consumed(consumed = 5);
    EXPECT_FALSE(receive.ack_due(now));
}

TEST_F(ReceiveStreamTest, AProbeIsAnsweredWithAllThatIsKnown) {
    receive.ask_for_ack();
    EXPECT_FALSE(receive.ack_due(now));  // no connection that an ack could be of
    bind();
    verdict(1, 1, 1);
    verdict(1, 3);
    acked();
    receive.ask_for_ack();
    EXPECT_TRUE(receive.ack_due(now));
    EXPECT_TRUE(receive.needs_sack());
}

TEST_F(ReceiveStreamTest, APacketOfAnEarlierTurnOfTheNumbersIsRefused) {
    bind();
    const std::uint32_t old = wire_timestamp(now);
    verdict(1, 1, 1);
    now = now + Duration::s(11);
    verdict(1, 2);
    EXPECT_EQ(admit(1, 3, std::nullopt, old).verdict, Verdict::too_old);
    EXPECT_EQ(receive.counters().too_old, 1U);
    // Overtaken by a second is not old, and makes nothing that is old look new.
    EXPECT_EQ(admit(1, 3, std::nullopt, wire_timestamp(now - Duration::s(9))).verdict, Verdict::in_order);
    EXPECT_EQ(admit(1, 4, std::nullopt, wire_timestamp(now - Duration::s(12))).verdict, Verdict::too_old);
    EXPECT_EQ(verdict(1, 4), Verdict::in_order);
}

TEST_F(ReceiveStreamTest, APauseOfAnyLengthDoesNotMakeTheNextPacketOld) {
    std::uint64_t seqno = 1;
    bind();
    verdict(1, seqno++, 1);
    for (int seconds = 1; seconds < 1'300; seconds += 7) {
        now = now + Duration::s(seconds);
        consumed = seqno - 1;
        ASSERT_EQ(verdict(1, seqno++), Verdict::in_order) << "after " << seconds << " s";
    }
}

TEST_F(ReceiveStreamTest, NumbersWrapOnTheWireAndNotInside) {
    bind();
    const std::uint64_t first = 0xFFFF'FFFDULL;
    for (std::uint64_t i = 0; i < 8; i += 2) {
        EXPECT_EQ(verdict(1, first + i + 1, first), Verdict::out_of_order);
        EXPECT_EQ(verdict(1, first + i, first), Verdict::in_order);
    }
    EXPECT_EQ(receive.memory().rcv_nxt, first + 8);
    EXPECT_EQ(verdict(1, first), Verdict::duplicate);
}

}  // namespace
}  // namespace bowline::protocol
