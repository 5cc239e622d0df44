#include "pair.hpp"

namespace bowline::sim {
namespace {

using protocol::wire::Type;

TEST(Restart, SenderIsToldWhatWasAcknowledgedAndWhatNot) {
    Pair pair;
    pair.meet();
    pair.a().send({.to = kB, .count = 10});
    pair.finish();
    // These arrive and are delivered, but no ack comes back; then B ends.
    pair.network().link(kB, kA).cut = true;
    pair.a().send({.to = kB, .count = 5});
    pair->run_for(Duration::us(50));
    EXPECT_EQ(pair.delivered(), 15U);
    pair.b().crash();
    pair.network().link(kB, kA).cut = false;
    pair.b().start();
    pair.finish();
    // The oracle would object to a report of 1..10, or to one that calls 11..15 certain.
    EXPECT_EQ(pair->oracle().reported(), 5U);
    pair.a().send({.to = kB, .count = 7});
    pair.finish();
    EXPECT_EQ(pair.delivered(), 22U);
}

TEST(Restart, NewStreamOfARestartedSenderBeginsWithOne) {
    Pair pair;
    pair.meet();
    pair.a().send({.to = kB, .count = 10});
    pair.finish();
    pair.a().crash();
    pair.a().start();
    pair.a().send({.to = kB, .count = 10, .persistent = true});
    pair.finish();
    EXPECT_EQ(pair.delivered(), 20U);
}

TEST(Restart, RestartIsNoticedBeforeSilenceWouldBe) {
    Pair pair;
    pair.meet();
    pair.b().crash();
    pair.b().start();
    const Time begin = pair->clock().now();
    ASSERT_TRUE(pair->run_while_not(Duration::s(1), [&] { return pair->all_associated(); }));
    EXPECT_LT((pair->clock().now() - begin).ns(), Duration::ms(10).ns());
    pair.finish();
}

TEST(Restart, BothRestartAgainAndAgainWhileEachSends) {
    Pair pair;
    Link link;
    link.loss = 50'000;
    pair->set_links(link);
    for (int round = 0; round < 10; ++round) {
        for (const NodeId node : {kA, kB}) {
            pair->node(node).send({.to = node == kA ? kB : kA, .count = 50, .size_max = 3000, .persistent = true});
        }
        pair->run_for(Duration::us(300 + 977 * round));
        Node& node = pair->node(round % 3 == 0 ? kA : kB);
        if (node.alive()) {
            node.crash();
        }
        pair->run_for(Duration::us(50));
        node.start();
        ASSERT_EQ(pair->failure(), "");
    }
    pair.finish(Duration::s(60));
    EXPECT_GT(pair.delivered(), 0U);
}

TEST(Restart, PeerThatNeverAnswersIsGivenUpByNumberAndNotSentTo) {
    std::vector<NodeConfig> nodes = Pair::configs({});
    Arena arena;
    Simulation simulation(1, nodes, arena);
    simulation.run_until(Time());
    simulation.node(kB).crash();
    simulation.node(kA).send({.to = kB, .count = 100, .packed = true, .persistent = true});
    simulation.run_for(Duration::s(120));
    ASSERT_EQ(simulation.failure(), "");
    // What was taken for it before it could be known is reported after the give-up time.
    EXPECT_EQ(simulation.oracle().accepted(), 100U);
    EXPECT_EQ(simulation.oracle().reported(), 100U);
    EXPECT_EQ(simulation.node(kA).worker().data_packets(), 0U);
    const auto sent = [&](Type type) { return simulation.network().sent(kA, kB, static_cast<std::size_t>(type)); };
    EXPECT_EQ(sent(Type::data), 0U);
    // It is asked for about once a second, not at full speed.
    EXPECT_LT(sent(Type::hello) + simulation.network().sent(kA, kB, 0), 500U);
    simulation.node(kB).start();
    simulation.node(kA).send({.to = kB, .count = 100, .packed = true, .persistent = true});
    ASSERT_TRUE(simulation.run_quiet(Duration::s(5))) << simulation.failure();
    simulation.finish();
    EXPECT_EQ(simulation.failure(), "");
    EXPECT_EQ(simulation.oracle().delivered(), 100U);
}

TEST(Restart, PeerThatFallsSilentForEverIsGivenUpByNumber) {
    protocol::Settings settings;
    settings.give_up = Duration::s(5);
    Pair pair(1, settings);
    pair.meet();
    pair.a().send({.to = kB, .count = 10});
    pair.finish();
    pair.b().crash();
    pair.a().send({.to = kB, .count = 10});
    pair->run_for(settings.retain_time + Duration::s(3));  // silent first, and out of view
    pair->finish();
    ASSERT_EQ(pair->failure(), "");
    EXPECT_EQ(pair->oracle().reported(), 10U);
    // Memory returned: nothing of the data remains.
    EXPECT_EQ(pair.a().worker().data_packets(), 0U);
}

// Packets that arrived but for their acks are given up together with a message that has not been packed yet: the
// receiver has every packet, and must nevertheless learn that a number is missing.
TEST(Restart, GivenUpMessageThatWasNeverPackedLeavesItsNumberBehind) {
    protocol::Settings settings;
    settings.give_up = Duration::ms(300);
    settings.window_pkts = 2;
    Pair pair(1, settings);
    pair.meet();
    pair.network().link(kB, kA).cut = true;
    pair.a().send({.to = kB, .count = 3});
    pair->run_for(Duration::s(2));
    ASSERT_EQ(pair->failure(), "");
    pair.network().link(kB, kA).cut = false;
    pair->run_for(Duration::s(3));
    pair.a().send({.to = kB, .count = 5, .persistent = true});
    pair.finish();
    EXPECT_EQ(pair->oracle().reported(), 3U);
    EXPECT_EQ(pair.delivered(), 7U);
}

}  // namespace
}  // namespace bowline::sim
