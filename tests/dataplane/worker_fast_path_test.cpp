#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/worker.hpp"
#include "worker_pair.hpp"

namespace bowline::dataplane {
namespace {

Duration microseconds(std::uint64_t n) { return Duration::us(static_cast<std::int64_t>(n)); }

/// Two nodes that run by seed: what they send, when they turn, and what the network does to which frame.
class Run : public WorkerPair {
public:
    struct Trace {
        std::vector<Bytes> frames;  ///< of both, in the order in which they left
        std::vector<Handed> handed_a;
        std::vector<Handed> handed_b;
        std::vector<bool> accepted;
    };

    Run(bool short_cuts, std::uint64_t seed, unsigned faults_percent)
        : network_(seed), script_(seed + 1), faults_percent_(faults_percent) {
        a_options_.short_cuts = b_options_.short_cuts = short_cuts;
        a_options_.data_packets_max = b_options_.data_packets_max = 40;  // small enough to be used up
        start();
        for (Node* node : {a_.get(), b_.get()}) {
            node->port.fault = [this](std::span<std::byte> frame) { return on_frame(frame); };
        }
        associate();
    }

    const Trace& run(int steps) {
        for (int step = 0; step < steps; ++step) {
            now_ = now_ + (script_.below(50) == 0 ? Duration::ms(30) : microseconds(1 + script_.below(80)));
            turn(*a_);
            turn(*b_);
            if (script_.below(400) == 0) {
                associate();  // a new connection: everything unacknowledged is sent again under it
            }
        }
        faults_percent_ = 0;
        EXPECT_TRUE(settle());
        trace_.handed_a = a_->take_handed();
        trace_.handed_b = b_->take_handed();
        return trace_;
    }

    [[nodiscard]] Node& node(int which) { return which == 0 ? *a_ : *b_; }

private:
    void TestBody() override {}

    Fate on_frame(std::span<std::byte> frame) {
        trace_.frames.emplace_back(frame.begin(), frame.end());
        if (network_.below(100) >= faults_percent_) {
            return Fate::pass;
        }
        switch (network_.below(4)) {
            case 0:
                return Fate::twice;
            case 1:
                return Fate::behind_the_next;
            case 2:
                frame[network_.below(frame.size())] ^= std::byte{1};
                return Fate::pass;
            default:
                return Fate::drop;
        }
    }

    /// As an application does that answers while it reads, or after a while, or not at all.
    void turn(Node& node) {
        node.worker().receive(now_);
        if (script_.below(8) != 0) {
            node.read();
        }
        static constexpr std::array<std::size_t, 6> kSizes = {0, 8, 64, 64, 900, 4000};
        for (std::uint64_t left = script_.below(4) == 0 ? script_.below(12) : script_.below(2); left > 0; --left) {
            trace_.accepted.push_back(node.send(now_, kSizes[script_.below(kSizes.size())]));
        }
        node.worker().send(now_);
        node.worker().check_invariants();
    }

    protocol::Random network_;
    protocol::Random script_;
    unsigned faults_percent_;
    Trace trace_;
};

std::size_t first_difference(const std::vector<Bytes>& x, const std::vector<Bytes>& y) {
    return static_cast<std::size_t>(std::mismatch(x.begin(), x.end(), y.begin(), y.end()).first - x.begin());
}

void expect_same(std::uint64_t seed, unsigned faults_percent) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", faults " << faults_percent << "%");
    Run with(true, seed, faults_percent);
    Run without(false, seed, faults_percent);
    const Run::Trace& x = with.run(600);
    const Run::Trace& y = without.run(600);
    ASSERT_EQ(x.accepted, y.accepted);
    ASSERT_EQ(x.frames.size(), y.frames.size()) << "differ from frame " << first_difference(x.frames, y.frames);
    ASSERT_EQ(x.frames, y.frames) << "differ from frame " << first_difference(x.frames, y.frames);
    ASSERT_EQ(x.handed_a, y.handed_a);
    ASSERT_EQ(x.handed_b, y.handed_b);
    for (const int which : {0, 1}) {
        const Peer& p = with.node(which).peer();
        const Peer& q = without.node(which).peer();
        EXPECT_EQ(p.send.acknowledged_message(), q.send.acknowledged_message());
        EXPECT_EQ(p.send.counters().acks, q.send.counters().acks);
        EXPECT_EQ(p.send.counters().stale_acks, q.send.counters().stale_acks);
        EXPECT_EQ(p.send.counters().retransmits, q.send.counters().retransmits);
        EXPECT_EQ(p.send.rtt().srtt(), q.send.rtt().srtt());
        EXPECT_EQ(p.receive.counters().packets, q.receive.counters().packets);
        EXPECT_EQ(p.receive.counters().duplicates, q.receive.counters().duplicates);
        EXPECT_EQ(p.receive.counters().acks_sent, q.receive.counters().acks_sent);
    }
}

TEST(WorkerFastPath, SendsAndHandsOutTheSameToTheByteAsWithoutIt) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        expect_same(seed, 0);
        expect_same(seed, 5);
        expect_same(seed, 30);
        if (testing::Test::HasFailure()) {
            return;
        }
    }
}

}  // namespace
}  // namespace bowline::dataplane
