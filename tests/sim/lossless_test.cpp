#include "pair.hpp"

namespace bowline::sim {
namespace {

using protocol::wire::Type;

TEST(Lossless, TwoNodesMeetInOneHandshake) {
    Pair pair;
    pair.meet();
    EXPECT_EQ(pair.sent(kA, Type::hello_ack) + pair.sent(kB, Type::hello_ack), 1U);
    EXPECT_EQ(pair.sent(kA, Type::hello_done) + pair.sent(kB, Type::hello_done), 1U);
    EXPECT_EQ(pair.sent(kA, Type::reset) + pair.sent(kB, Type::reset), 0U);
}

TEST(Lossless, FirstMessageIsDeliveredAfterOneTrip) {
    Pair pair;
    pair.meet();
    const Time before = pair->clock().now();
    pair.a().send({.to = kB});
    ASSERT_TRUE(pair->run_while_not(Duration::ms(1), [&] { return pair.delivered() == 1; }));
    // One delay of the link, and a turn at each end.
    EXPECT_LE((pair->clock().now() - before).ns(), Duration::us(11).ns());
    pair.finish();
}

TEST(Lossless, EveryMessageCostsItsPacketAndFewAcks) {
    Pair pair;
    pair.meet();
    pair.a().send({.to = kB, .count = 1000});
    pair.finish();
    EXPECT_EQ(pair.delivered(), 1000U);
    EXPECT_EQ(pair.sent(kA, Type::data), 1000U);
    EXPECT_EQ(pair.sending(kA).retransmits, 0U);
    EXPECT_LE(pair.sent(kB, Type::ack), 1000U / 8);
    EXPECT_EQ(pair.sent(kB, Type::need_first), 0U);
}

TEST(Lossless, MessagesThatAreThereTogetherShareAPacket) {
    Pair pair;
    pair.meet();
    pair.a().send({.to = kB, .count = 1000, .packed = true});
    pair.finish();
    EXPECT_EQ(pair.delivered(), 1000U);
    EXPECT_LT(pair.sent(kA, Type::data), 100U);
}

TEST(Lossless, AcksRideOnDataOfTheOtherDirection) {
    Pair pair;
    pair.meet();
    for (int i = 0; i < 200; ++i) {
        pair.a().send({.to = kB});
        pair.b().send({.to = kA});
        pair->run_for(Duration::us(5));
    }
    pair.finish();
    EXPECT_EQ(pair.delivered(), 400U);
    EXPECT_LE(pair.sent(kA, Type::ack) + pair.sent(kB, Type::ack), 8U);
}

TEST(Lossless, EveryNodeTalksWithEveryOther) {
    std::vector<NodeConfig> nodes(4);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].name = std::string(1, static_cast<char>('A' + i));
    }
    Arena arena;
    Simulation simulation(1, nodes, arena);
    for (NodeId from = 0; from < static_cast<NodeId>(nodes.size()); ++from) {
        for (NodeId to = 0; to < static_cast<NodeId>(nodes.size()); ++to) {
            if (from != to) {
                simulation.at(Time(), [&simulation, from, to] { simulation.node(from).send({.to = to, .count = 20}); });
            }
        }
    }
    ASSERT_TRUE(simulation.run_quiet(Duration::s(5))) << simulation.failure();
    simulation.finish();
    EXPECT_EQ(simulation.failure(), "");
    EXPECT_EQ(simulation.oracle().delivered(), 4U * 3U * 20U);
}

TEST(Lossless, BothEndsHaveMeasuredTheRoundTripWhenTheyHaveMet) {
    Pair pair;
    pair.meet();
    for (const Node* node : {&pair.a(), &pair.b()}) {
        EXPECT_GE(node->worker().peer(0).send.rtt().srtt(), Duration::us(20));
        EXPECT_LE(node->worker().peer(0).send.rtt().srtt(), Duration::us(30));
    }
}

TEST(Lossless, OrderlyStopLeavesNothingUnsaid) {
    Pair pair;
    pair.meet();
    pair.a().send({.to = kB, .count = 100});
    pair->run_for(Duration::us(1));
    pair.a().begin_stop();
    ASSERT_TRUE(pair->run_while_not(Duration::s(1), [&] { return pair.a().stopped(); })) << pair->failure();
    pair.a().crash();
    pair->run_for(Duration::s(1));
    // What was refused after the word to stop was not accepted.
    EXPECT_GT(pair.delivered(), 0U);
    EXPECT_EQ(pair.delivered(), pair->oracle().accepted());
    EXPECT_EQ(pair->oracle().reported(), 0U);
    EXPECT_EQ(pair.b().controller().counters().get(control::Counter::peers_stopped), 1U);
    pair->finish();
    EXPECT_EQ(pair->failure(), "");
}

}  // namespace
}  // namespace bowline::sim
