#include <map>

#include "pair.hpp"

namespace bowline::sim {
namespace {

using protocol::wire::Type;
using Verdict = FilterVerdict::Kind;

/// Drops the frames from `from` of this type for which `drop(n)` holds; n counts them from 1.
void drop_if(Pair& pair, NodeId from, Type type, const std::function<bool(std::uint64_t)>& drop) {
    pair.network().set_filter([=, n = std::uint64_t{0}](const FrameInfo& frame) mutable -> FilterVerdict {
        if (frame.from != from || !frame.header.has_value() || frame.header->type != type) {
            return {};
        }
        return {.kind = drop(++n) ? Verdict::drop : Verdict::pass, .by = {}};
    });
}

/// Time from now until `messages` have been delivered in all.
Duration until_delivered(Pair& pair, std::uint64_t messages, Duration most) {
    const Time begin = pair->clock().now();
    EXPECT_TRUE(pair->run_while_not(most, [&] { return pair.delivered() == messages; })) << pair->failure();
    return pair->clock().now() - begin;
}

void expect_link_loss(Pair& pair, Ppm loss) {
    Link link;
    link.loss = loss;
    pair->set_links(link);
}

TEST(Recovery, LossOfTheLastPacketIsRepairedByAProbe) {
    const protocol::Settings settings;
    Pair pair(1, settings);
    pair.meet();
    drop_if(pair, kA, Type::data, [](std::uint64_t n) { return n == 5; });
    pair.a().send({.to = kB, .count = 5});
    // Within three round trips and the floor of the retransmission timeout.
    EXPECT_LE(until_delivered(pair, 5, Duration::s(1)).ns(), (Duration::us(3 * 21) + settings.rto_min).ns());
    pair.finish();
}

TEST(Recovery, LossOfALoneMessageIsRepairedInTime) {
    const protocol::Settings settings;
    Pair pair(1, settings);
    pair.meet();
    drop_if(pair, kA, Type::data, [](std::uint64_t n) { return n == 1; });
    pair.a().send({.to = kB});
    EXPECT_LE(until_delivered(pair, 1, Duration::s(1)).ns(), (Duration::us(3 * 21) + settings.rto_min).ns());
    pair.finish();
}

TEST(Recovery, EveryAckLostFiveTimesOverCostsTimeOnly) {
    Pair pair;
    pair.meet();
    drop_if(pair, kB, Type::ack, [](std::uint64_t n) { return n <= 5; });
    pair.a().send({.to = kB, .count = 3});
    pair.finish();
    EXPECT_EQ(pair.delivered(), 3U);
    EXPECT_GT(pair.b().worker().peer(0).receive.counters().duplicates, 0U);
}

TEST(Recovery, EverySecondPacketLostOnceIsResentOnce) {
    Pair pair;
    pair.meet();
    std::map<std::uint32_t, int> seen;
    pair.network().set_filter([&seen](const FrameInfo& frame) -> FilterVerdict {
        if (frame.from != kA || !frame.header.has_value() || frame.header->type != Type::data) {
            return {};
        }
        const bool first_time = seen[frame.header->seqno]++ == 0;
        return {.kind = first_time && frame.header->seqno % 2 == 0 ? Verdict::drop : Verdict::pass, .by = {}};
    });
    pair.a().send({.to = kB, .count = 5000});
    pair.finish();
    EXPECT_EQ(pair.delivered(), 5000U);
    EXPECT_GE(pair.sending(kA).retransmits, 2500U);
    EXPECT_LE(pair.sending(kA).retransmits, 2600U);
}

TEST(Recovery, WindowOfTwoPacketsSuffices) {
    protocol::Settings settings;
    settings.window_pkts = 2;
    settings.send_queue_pkts = 2;
    Pair pair(1, settings);
    expect_link_loss(pair, 100'000);
    pair.a().send({.to = kB, .count = 200, .persistent = true});
    pair.b().send({.to = kA, .count = 200, .size_max = 4000, .persistent = true});
    pair.finish();
    EXPECT_EQ(pair.delivered(), 400U);
}

TEST(Recovery, StalledApplicationHoldsTheSenderBackAndLosesNothing) {
    protocol::Settings settings;
    settings.window_pkts = 16;
    settings.send_queue_pkts = 16;
    Pair pair(1, settings);
    pair.meet();
    pair.b().set_stalled(true);
    pair.a().send({.to = kB, .count = 1000, .size_min = 1300, .size_max = 1300, .packed = true});
    pair->run_for(Duration::s(10));
    ASSERT_EQ(pair->failure(), "");
    EXPECT_EQ(pair.delivered(), 0U);
    // Bounded: the receiver's ring, the sender's queue, a packet in the making.
    EXPECT_EQ(pair->oracle().accepted(), 16U + 16U + 1U);
    EXPECT_GT(pair.sending(kA).window_probes, 0U);
    EXPECT_LT(pair.sending(kA).window_probes, 40U);
    EXPECT_EQ(pair.b().worker().peer(0).receive.counters().beyond_window, 0U);
    EXPECT_TRUE(pair->all_associated());
    pair.b().set_stalled(false);
    pair.finish();
    EXPECT_EQ(pair.delivered(), 1000U);
}

TEST(Recovery, StallOfTheWholeProcessIsSurvived) {
    Pair pair;
    pair.meet();
    pair.a().send({.to = kB, .count = 3000});
    pair->run_for(Duration::us(50));
    pair.b().set_paused(true);
    pair->run_for(Duration::s(10));
    pair.b().set_paused(false);
    pair.finish();
    EXPECT_EQ(pair.delivered() + pair->oracle().reported(), pair->oracle().accepted());
}

TEST(Recovery, MessageOfSixteenMebibytesUnderLoss) {
    Pair pair;
    expect_link_loss(pair, 10'000);
    pair.meet();
    pair.a().send({.to = kB, .size_min = 16U << 20U, .size_max = 16U << 20U});
    pair.finish();
    EXPECT_EQ(pair.delivered(), 1U);
}

TEST(Recovery, LongerMessageIsRefusedWithoutATrace) {
    Pair pair;
    pair.meet();
    const std::uint64_t before = pair.sent(kA, Type::data);
    pair.a().send({.to = kB, .size_min = (16U << 20U) + 1, .size_max = (16U << 20U) + 1});
    pair->run_for(Duration::ms(10));
    EXPECT_EQ(pair->oracle().told(kA, kB).refused, 1U);
    EXPECT_EQ(pair.sent(kA, Type::data), before);
    pair.a().send({.to = kB});
    pair.finish();
    EXPECT_EQ(pair.delivered(), 1U);
}

TEST(Recovery, CorruptionIsCountedAndTakenForLoss) {
    Pair pair;
    Link link;
    link.corrupt = 10'000;
    pair->set_links(link);
    pair.a().send({.to = kB, .count = 3000, .size_max = 500, .persistent = true});
    pair.b().send({.to = kA, .count = 3000, .size_max = 500, .persistent = true});
    pair.finish();
    EXPECT_EQ(pair.delivered(), 6000U);
    EXPECT_GT(pair.network().corrupted(), 0U);
    std::uint64_t counted = 0;
    for (const NodeId node : {kA, kB}) {
        for (std::size_t kind = 1; kind < protocol::wire::kStrays; ++kind) {
            counted += pair->node(node).worker().strays(static_cast<protocol::wire::Stray>(kind));
        }
        counted += pair->node(node).worker().counters().rx_other_address;
    }
    // Nearly all: a few fall on ARP, which is lost, and on what does not come to be counted.
    EXPECT_GE(counted + 3, pair.network().corrupted());
}

class OneWayCut : public testing::TestWithParam<std::int64_t> {};

TEST_P(OneWayCut, IsResumedWithinABackoffStepAndLosesNothing) {
    for (const NodeId from : {kA, kB}) {
        Pair pair;
        pair.meet();
        const NodeId to = from == kA ? kB : kA;
        pair.a().send({.to = kB, .count = 2000, .persistent = true});
        pair.b().send({.to = kA, .count = 2000, .persistent = true});
        pair->run_for(Duration::us(30));
        pair.network().link(from, to).cut = true;
        pair->run_for(Duration::ms(GetParam()));
        pair.network().link(from, to).cut = false;
        // rto_max is the longest step; the greeting's is a second, too, and it takes some.
        until_delivered(pair, 4000, Duration::ms(2500));
        pair.finish();
        EXPECT_EQ(pair->oracle().reported(), 0U);
    }
}
INSTANTIATE_TEST_SUITE_P(Milliseconds, OneWayCut, testing::Values(100, 1000, 10'000));

TEST(Recovery, CopiesOfOpeningPacketsOpenOneWindow) {
    Pair pair;
    pair.meet();
    std::vector<std::vector<std::byte>> opening;
    pair.network().set_filter([&opening](const FrameInfo& frame) -> FilterVerdict {
        if (frame.from == kA && frame.header.has_value() && frame.header->has(protocol::wire::kFlagFirst)) {
            opening.emplace_back(frame.bytes.begin(), frame.bytes.end());
        }
        return {};
    });
    pair.a().send({.to = kB, .count = 3});
    pair.finish();
    ASSERT_FALSE(opening.empty());
    for (int copy = 0; copy < 10; ++copy) {
        for (const auto& frame : opening) {
            pair.network().inject(kA, kB, frame);
        }
    }
    pair.a().send({.to = kB, .count = 3});
    pair.finish();
    EXPECT_EQ(pair.delivered(), 6U);
    EXPECT_EQ(pair.b().worker().peer(0).receive.conn_id(), 1U);
}

TEST(Recovery, OldPacketsOfAnEarlierAssociationChangeNothing) {
    Pair pair;
    std::vector<std::pair<NodeId, std::vector<std::byte>>> old;
    pair.network().set_filter([&old](const FrameInfo& frame) -> FilterVerdict {
        if (frame.header.has_value()) {
            old.emplace_back(frame.from, std::vector<std::byte>(frame.bytes.begin(), frame.bytes.end()));
        }
        return {};
    });
    pair.meet();
    pair.a().send({.to = kB, .count = 20});
    pair.b().send({.to = kA, .count = 20});
    pair.finish();
    pair.b().crash();
    pair.b().start();
    pair->run_for(Duration::s(3));
    pair.finish();
    pair.network().set_filter({});
    for (const auto& [from, frame] : old) {
        pair.network().inject(from, from == kA ? kB : kA, frame);
    }
    pair.a().send({.to = kB, .count = 20, .persistent = true});
    pair.b().send({.to = kA, .count = 20, .persistent = true});
    pair.finish();
    EXPECT_EQ(pair.delivered(), 80U);
}

TEST(Recovery, EmptyPoolOfTheReceiverLosesNoAdmittedMessage) {
    Pair pair;
    pair.meet();
    pair.a().send({.to = kB, .count = 3000});
    pair->run_for(Duration::us(30));
    pair.b().set_exhausted(true);
    pair->run_for(Duration::ms(50));
    EXPECT_LT(pair.delivered(), 3000U);
    pair.b().set_exhausted(false);
    pair.finish();
    EXPECT_EQ(pair.delivered(), 3000U);
}

TEST(Recovery, EmptyPoolOfTheSenderIsBackPressure) {
    Pair pair;
    pair.meet();
    pair.a().set_exhausted(true);
    pair.a().send({.to = kB, .count = 100});
    pair->run_for(Duration::ms(50));
    EXPECT_EQ(pair->oracle().accepted(), 0U);
    pair.a().set_exhausted(false);
    pair.finish();
    EXPECT_EQ(pair.delivered(), 100U);
}

}  // namespace
}  // namespace bowline::sim
