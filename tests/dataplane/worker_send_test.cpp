#include <vector>

#include <gtest/gtest.h>

#include "protocol/random.hpp"
#include "worker_pair.hpp"

namespace bowline::dataplane {
namespace {

namespace wire = protocol::wire;

class WorkerSend : public WorkerPair {
protected:
    static constexpr std::size_t kBowlineAt = wire::kEthernetBytes + wire::kIpv4Bytes + wire::kUdpBytes;
    static wire::Type type_of(std::span<const std::byte> frame) {
        return static_cast<wire::Type>(frame[kBowlineAt + wire::offset::kType]);
    }
    /// Messages both ways in random sizes, with whatever faults are set, and all of them arrive once and in order.
    void exchange(std::uint64_t seed, std::size_t messages) {
        protocol::Random random(seed);
        const auto size = [&] {
            const std::uint64_t kind = random.below(20);
            return static_cast<std::size_t>(kind == 0  ? random.below(60'000)
                                            : kind < 5 ? random.below(3000)
                                                       : random.below(200));
        };
        std::vector<Handed> expected_a;
        std::vector<Handed> expected_b;
        for (std::size_t turn = 0; expected_a.size() < messages || expected_b.size() < messages; ++turn) {
            ASSERT_LT(turn, 400'000U);
            if (const std::size_t bytes = size(); expected_b.size() < messages && a().send(now_, bytes)) {
                expected_b.push_back(message(a().sent, bytes));
            }
            if (const std::size_t bytes = size(); expected_a.size() < messages && b().send(now_, bytes)) {
                expected_a.push_back(message(b().sent, bytes));
            }
            turns(1);
        }
        ASSERT_TRUE(settle());
        turns(20);
        EXPECT_EQ(a().take_handed(), expected_a);
        EXPECT_EQ(b().take_handed(), expected_b);
    }
    static Fault lose(std::uint64_t seed, std::uint64_t percent) {
        return [random = protocol::Random(seed), percent](std::span<std::byte>) mutable {
            return random.below(100) < percent ? Fate::drop : Fate::pass;
        };
    }
};

TEST_F(WorkerSend, EverythingArrivesOnceAndInOrderThroughLossBothWays) {
    for (const std::uint64_t percent : {1U, 5U, 20U, 40U}) {
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            start();
            associate_and_clear();
            a().port.fault = lose(seed, percent);
            b().port.fault = lose(seed + 100, percent);
            exchange(seed, 150);
            if (HasFatalFailure()) {
                FAIL() << "seed " << seed << ", " << percent << "%";
            }
        }
    }
    EXPECT_GT(a().peer().send.counters().retransmits, 0U);
}

TEST_F(WorkerSend, ADeviceThatTakesFewerThanOfferedIsOfferedTheRestAgain) {
    associate_and_clear();
    a().port.tx_burst_max = 1;
    b().port.tx_burst_max = 2;
    exchange(1, 300);
    EXPECT_GT(a().worker().counters().tx_refused, 0U);
}

TEST_F(WorkerSend, ADeviceThatTakesNothingForAWhileHoldsNothingUpForEver) {
    associate_and_clear();
    a().port.tx_burst_max = 0;
    std::vector<Handed> expected;
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(a().send(now_, 1000));
        expected.push_back(message(a().sent, 1000));
        turns(10);
    }
    for (int i = 0; i < 100; ++i) {
        a().give(Command::Kind::heartbeat);
        turns(1);
    }
    EXPECT_GT(a().worker().counters().tx_dropped, 0U);
    a().port.tx_burst_max = 0xFFFF;
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), expected);
}

TEST_F(WorkerSend, WhatTheDeviceStillOwnsIsCopiedBeforeItIsSentAgain) {
    // TestPort::seal() aborts on a packet that somebody else has a reference to.
    associate_and_clear();
    a().port.device_keeps = 100;
    a().port.fault = lose(7, 20);
    exchange(3, 300);
    EXPECT_GT(a().peer().send.counters().retransmits, 20U);
}

TEST_F(WorkerSend, APoolThatIsEmptyForAWhileDelaysAndLosesNothing) {
    associate_and_clear();
    a().port.fault = lose(5, 10);
    a().port.device_keeps = 50;
    protocol::Random random(9);
    std::vector<Handed> expected;
    for (int i = 0; i < 400; ++i) {
        a().port.starve = random.below(3) != 0;
        b().port.starve = random.below(3) == 0;
        if (a().send(now_, 900)) {
            expected.push_back(message(a().sent, 900));
        }
        turns(5);
    }
    a().port.starve = false;
    b().port.starve = false;
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), expected);
    EXPECT_GT(a().worker().counters().no_packet, 0U);
}

TEST_F(WorkerSend, APoolOfAFewPacketsStillGetsEverythingThrough) {
    a_options_.packets = 40;
    a_options_.data_packets_max = 16;
    b_options_.packets = 100;
    b_options_.data_packets_max = 16;
    start();
    associate_and_clear();
    a().port.fault = lose(5, 5);
    exchange(11, 150);
}

TEST_F(WorkerSend, AcksRideOnDataThatGoesTheOtherWay) {
    associate_and_clear();
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(a().send(now_, 64));
        ASSERT_TRUE(b().send(now_, 64));
        turns(1);
    }
    const std::uint64_t acks = a().peer().receive.counters().acks_sent + b().peer().receive.counters().acks_sent;
    EXPECT_LT(acks, 5U);
    ASSERT_TRUE(settle());
}

TEST_F(WorkerSend, AClosedWindowOpensOnceTheApplicationReads) {
    associate_and_clear();
    b().reading = false;
    while (a().send(now_, 1000)) {
        turns(1);
    }
    turns(50);
    EXPECT_EQ(b().peer().receive.window().free_pkts(b().peer().ring.reclaimed()), 0U);
    const std::uint64_t probes = a().peer().send.counters().window_probes;
    b().reading = true;
    turns(12);
    // Told by the receiver, not found out by a probe.
    EXPECT_EQ(a().peer().send.counters().window_probes, probes);
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed().size(), a().sent);
}

TEST_F(WorkerSend, AZeroWindowIsProbedWhenTheWordOfItsOpeningIsLost) {
    associate_and_clear();
    b().reading = false;
    while (a().send(now_, 1000)) {
        turns(1);
    }
    turns(20);
    b().port.fault = [](std::span<std::byte>) { return Fate::drop; };
    b().reading = true;
    turns(3);
    b().port.fault = nullptr;
    ASSERT_TRUE(settle());
    EXPECT_GT(a().peer().send.counters().window_probes, 0U);
    EXPECT_EQ(b().take_handed().size(), a().sent);
}

TEST_F(WorkerSend, ASlowReaderIsNotGivenUpWhileItAnswersProbes) {
    associate_and_clear();
    b().reading = false;
    while (a().send(now_, 1000)) {
        turns(1);
    }
    const Time long_after = now_ + Duration::s(5);  // more than twice the give-up time
    while (now_ < long_after) {
        now_ = now_ + Duration::ms(1);
        turns(1);
    }
    EXPECT_TRUE(a().take_handed().empty());
    b().reading = true;
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed().size(), a().sent);
}

TEST_F(WorkerSend, TheLastMessageLostComesByATailProbeLongBeforeATimeout) {
    associate_and_clear();
    for (int i = 0; i < 50; ++i) {  // the path is measured
        ASSERT_TRUE(a().send(now_, 10));
        turns(3);
    }
    ASSERT_TRUE(settle());
    b().take_handed();
    a().port.fault = [](std::span<std::byte>) { return Fate::drop; };
    ASSERT_TRUE(a().send(now_, 10));
    turns(1);
    a().port.fault = nullptr;
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), std::vector<Handed>{message(51, 10)});
    EXPECT_EQ(a().peer().send.counters().timeouts, 0U);
    EXPECT_EQ(a().peer().send.counters().tail_probes, 1U);
}

TEST_F(WorkerSend, AProbeIsAnsweredAtOnceWithOrWithoutAConnection) {
    associate_and_clear();
    wire::Type answer{};
    b().port.fault = [&](std::span<std::byte> frame) {
        answer = type_of(frame);
        return Fate::pass;
    };
    a().give(Command::Kind::probe);
    turns(1);
    EXPECT_EQ(answer, wire::Type::heartbeat);  // nothing has been received that could be acknowledged
    ASSERT_TRUE(a().send(now_, 10));
    ASSERT_TRUE(settle());
    a().give(Command::Kind::probe);
    turns(1);
    EXPECT_EQ(answer, wire::Type::ack);
}

TEST_F(WorkerSend, TheNextDeadlineIsNowWhileThereIsWorkAndNeverWhenAllIsDone) {
    EXPECT_TRUE(a().worker().next_deadline().is_never());
    associate_and_clear();
    ASSERT_TRUE(a().send(now_, 10));
    EXPECT_LE(a().worker().next_deadline(), now_);
    a().turn(now_);
    EXPECT_GT(a().worker().next_deadline(), now_);
    EXPECT_FALSE(a().worker().next_deadline().is_never());
    ASSERT_TRUE(settle());
    // Timeouts that are no longer wanted are found and forgotten.
    for (int i = 0; i < 1000; ++i) {
        now_ = now_ + Duration::ms(10);
        turns(1);
    }
    EXPECT_TRUE(a().worker().next_deadline().is_never());
    EXPECT_TRUE(b().worker().next_deadline().is_never());
}

TEST_F(WorkerSend, ChecksumsAreLeftOutBetweenProcessesThatShareMemoryOnlyWhereToldSo) {
    associate_and_clear();
    std::uint16_t checksum = 0;
    a().port.fault = [&](std::span<std::byte> frame) {
        checksum = wire::load_be16(frame.data() + kBowlineAt - 2);
        return Fate::pass;
    };
    ASSERT_TRUE(a().send(now_, 10));
    turns(1);
    EXPECT_NE(checksum, 0);
    // A device that computes them is given the pseudo-header's sum: as good as wrong for a software check.
    a().port.checksum_offloaded = true;
    ASSERT_TRUE(a().send(now_, 10));
    turns(1);
    EXPECT_EQ(b().worker().strays(wire::Stray::bad_udp_checksum), 1U);
    a().port.checksum_offloaded = false;
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed().size(), 2U);
}

}  // namespace
}  // namespace bowline::dataplane
