#include <gtest/gtest.h>

#include "dataplane/connection_snapshot.hpp"
#include "worker_pair.hpp"

namespace bowline::dataplane {
namespace {

class WorkerSnapshotTest : public WorkerPair {
protected:
    // A turn has to pass before it is filled.
    static void ask(Node& node, WorkerSnapshot& snapshot) {
        snapshot.filled.store(false, std::memory_order_relaxed);
        Command command;
        command.kind = Command::Kind::snapshot;
        command.snapshot = &snapshot;
        node.give(command);
    }
};

TEST_F(WorkerSnapshotTest, ShowsBothDirectionsAsTheyAre) {
    associate_and_clear();
    b().reading = false;
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(a().send(now_, kTestClaimMax));  // a packet each
    }
    ASSERT_TRUE(settle());
    WorkerSnapshot at_a(2);
    WorkerSnapshot at_b(2);
    ask(a(), at_a);
    ask(b(), at_b);
    EXPECT_FALSE(at_a.filled);
    turns(1);
    ASSERT_TRUE(at_a.filled && at_b.filled);

    const ConnectionSnapshot& to_b = at_a.peers[0];
    EXPECT_TRUE(to_b.associated && to_b.up && to_b.in_view);
    EXPECT_TRUE(to_b.send.open);
    EXPECT_FALSE(to_b.send.opening) << "b has acknowledged";
    EXPECT_EQ(to_b.send.conn_id, a().peer().send.conn_id());
    EXPECT_EQ(to_b.send.nxt, to_b.send.una);
    EXPECT_EQ(to_b.send.end, to_b.send.una);
    EXPECT_EQ(to_b.send.una, a().peer().send.window().una().value());
    EXPECT_EQ(to_b.send.limit - to_b.send.una, 64U - 3U) << "three packets of b's ring have not been read";
    EXPECT_EQ(to_b.send.acknowledged_message, 3U);
    EXPECT_EQ(to_b.send.next_message, 4U);
    EXPECT_EQ(to_b.send.counters.packets, 3U);
    EXPECT_GT(to_b.send.srtt_ns, 0);
    EXPECT_GT(to_b.send.rto_ns, to_b.send.srtt_ns);
    EXPECT_EQ(at_a.counters.tx_packets, a().worker().counters().tx_packets);

    const ConnectionSnapshot::Receive& from_a = at_b.peers[0].receive;
    EXPECT_TRUE(from_a.open && from_a.known);
    EXPECT_EQ(from_a.conn_id, to_b.send.conn_id);
    EXPECT_EQ(from_a.rcv_nxt, to_b.send.una);
    EXPECT_EQ(from_a.unread_pkts, 3U);
    EXPECT_EQ(from_a.free_pkts, 64U - 3U);
    EXPECT_EQ(from_a.counters.packets, 3U);
}

TEST_F(WorkerSnapshotTest, ShowsATombstoneAndWhatWaits) {
    associate_and_clear();
    ASSERT_TRUE(b().send(now_, 100));
    ASSERT_TRUE(settle());
    a().give(Command::Kind::exclude, DownReason::excluded);
    turns(1);
    WorkerSnapshot snapshot(2);
    ask(a(), snapshot);
    turns(1);
    ASSERT_TRUE(snapshot.filled);
    EXPECT_FALSE(snapshot.peers[0].in_view);
    EXPECT_FALSE(snapshot.peers[0].up);
    EXPECT_TRUE(snapshot.peers[0].associated) << "exclusion leaves the association alone";
    EXPECT_FALSE(snapshot.peers[0].receive.open);
    EXPECT_TRUE(snapshot.peers[0].receive.known);
    EXPECT_EQ(snapshot.peers[0].receive.rcv_nxt, b().peer().send.window().una().value());
}

TEST_F(WorkerSnapshotTest, CopiesThePieceThatIsAskedFor) {
    associate_and_clear();
    WorkerSnapshot snapshot(2);
    snapshot.first = 1;  // the node itself
    ask(a(), snapshot);
    turns(1);
    ASSERT_TRUE(snapshot.filled);
    EXPECT_FALSE(snapshot.peers[0].associated) << "not asked for";
    EXPECT_TRUE(snapshot.peers[1].in_view);
}

}  // namespace
}  // namespace bowline::dataplane
