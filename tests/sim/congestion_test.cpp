// Both congestion controls on one bottleneck: how much of it is used, how long its queue is, and who gets how much.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/simulation.hpp"

namespace bowline::sim {
namespace {

using protocol::CongestionAlgorithm;

constexpr std::uint64_t kRate = 10'000'000'000;
/// 344 full packets, 420 us: a switch's port with a generous share of its memory.
constexpr std::uint32_t kQueueBytes = 512 * 1024;
constexpr Duration kOneWay = Duration::us(10);
constexpr std::uint32_t kMessageBytes = 1400;
constexpr Duration kMeasureFor = Duration::ms(10);

struct Measured {
    double utilisation = 0;  ///< of the bottleneck, by whatever passes
    double goodput = 0;      ///< the same by packets that were admitted at the other end
    double wait_mean_us = 0;
    double wait_p99_us = 0;
    double dropped = 0;   ///< share of the frames that came
    double fairness = 0;  ///< Jain's index over the flows' goodputs: 1 for equal shares, 1/n for one who has all
};

std::ostream& operator<<(std::ostream& out, const Measured& o) {
    return out << "utilisation " << o.utilisation << ", goodput " << o.goodput << ", wait " << o.wait_mean_us
               << " us (p99 " << o.wait_p99_us << "), dropped " << o.dropped << ", fairness " << o.fairness;
}

double jain(const std::vector<double>& shares) {
    double sum = 0;
    double squares = 0;
    for (const double share : shares) {
        sum += share;
        squares += share * share;
    }
    return squares == 0 ? 0 : sum * sum / (static_cast<double>(shares.size()) * squares);
}

/// `senders` times `receivers` flows, each of which always has something to send, over one bottleneck.
class Shared {
public:
    Shared(CongestionAlgorithm algorithm, NodeId senders, NodeId receivers)
        : senders_(senders), nodes_(static_cast<NodeId>(senders + receivers)) {
        std::vector<NodeConfig> configs(nodes_);
        for (NodeId id = 0; id < nodes_; ++id) {
            NodeConfig& config = configs[id];
            config.name = "n" + std::to_string(id);
            config.settings.congestion = algorithm;
            config.settings.window_pkts = 128;
            config.settings.send_queue_pkts = 128;
            config.settings.message_max = 64U << 10U;
        }
        sim_ = std::make_unique<Simulation>(7, configs, arena_);
        bottleneck_ = sim_->network().add_bottleneck({.rate_bps = kRate, .queue_bytes = kQueueBytes});
        for (NodeId from = 0; from < nodes_; ++from) {
            for (NodeId to = 0; to < nodes_; ++to) {
                Link& link = sim_->network().link(from, to);
                link.delay = kOneWay;
                link.bottleneck = from < senders && to >= senders ? bottleneck_ : kNoBottleneck;
            }
        }
    }

    /// `settling`: from when all begin to send until it counts.
    Measured measure(Duration settling) {
        Measured result;
        EXPECT_TRUE(sim_->run_quiet(Duration::s(5))) << sim_->failure();
        each_flow([&](NodeId from, NodeId to) {
            sim_->node(from).send({.to = to, .count = 1'000'000, .size_min = kMessageBytes, .size_max = kMessageBytes});
        });
        sim_->run_for(settling);
        std::vector<std::uint64_t> before;
        each_flow([&](NodeId from, NodeId to) { before.push_back(admitted(from, to)); });
        bottleneck().reset_figures();
        sim_->run_for(kMeasureFor);
        EXPECT_EQ(sim_->failure(), "");
        std::vector<double> shares;
        each_flow([&](NodeId from, NodeId to) {
            shares.push_back(static_cast<double>(admitted(from, to) - before[shares.size()]));
        });
        const Bottleneck::Figures& seen = bottleneck().figures();
        double packets = 0;
        for (const double share : shares) {
            packets += share;
        }
        const double frame_bits = static_cast<double>(seen.wire_bytes) * 8 / static_cast<double>(seen.frames);
        result.utilisation = bottleneck().utilisation(kMeasureFor);
        result.goodput =
            packets * frame_bits / (static_cast<double>(kRate) * static_cast<double>(kMeasureFor.ns()) / 1e9);
        result.wait_mean_us = static_cast<double>(seen.wait_sum.ns()) / 1000 / static_cast<double>(seen.frames);
        result.wait_p99_us = static_cast<double>(bottleneck().wait_quantile(990).ns()) / 1000;
        result.dropped = static_cast<double>(seen.dropped) / static_cast<double>(seen.dropped + seen.frames);
        result.fairness = jain(shares);
        return result;
    }

private:
    template <typename Each>
    void each_flow(Each&& each) {
        for (NodeId from = 0; from < senders_; ++from) {
            for (NodeId to = senders_; to < nodes_; ++to) {
                each(from, to);
            }
        }
    }
    [[nodiscard]] std::uint64_t admitted(NodeId from, NodeId to) const {
        const Node& node = sim_->node(to);
        return node.worker().peer(node.peer_of(from)).receive.counters().packets;
    }
    Bottleneck& bottleneck() { return sim_->network().bottleneck(bottleneck_); }

    Arena arena_;
    NodeId senders_;
    NodeId nodes_;
    std::unique_ptr<Simulation> sim_;
    BottleneckId bottleneck_ = kNoBottleneck;
};

Measured measure(CongestionAlgorithm algorithm, NodeId senders, NodeId receivers, Duration settling) {
    const Measured result = Shared(algorithm, senders, receivers).measure(settling);
    const std::string name = algorithm == CongestionAlgorithm::swift ? "swift" : "fixed";
    std::cout << name << ", " << senders * receivers << " flows: " << testing::PrintToString(result) << '\n';
    return result;
}

/// What swift must come to however many flows there are: a full link, nothing lost, and a short queue.
void expect_full_and_short(const Measured& swift, double wait_mean_us, double wait_p99_us) {
    EXPECT_GE(swift.goodput, 0.95);
    EXPECT_EQ(swift.dropped, 0.0);
    EXPECT_LE(swift.wait_mean_us, wait_mean_us);
    EXPECT_LE(swift.wait_p99_us, wait_p99_us);
}

// The target of two flows is 58 us, of which the path itself takes 21; that of eight is 68, of thirty-two 93.
TEST(CongestionOnABottleneck, TwoFlows) {
    // With nothing by chance on their way the two stay in step, and even out slowly.
    const Measured swift = measure(CongestionAlgorithm::swift, 2, 1, Duration::ms(15));
    expect_full_and_short(swift, 40, 60);
    EXPECT_GE(swift.fairness, 0.9);
    const Measured fixed = measure(CongestionAlgorithm::fixed, 2, 1, Duration::ms(2));
    EXPECT_GE(fixed.goodput, 0.95);
    EXPECT_GE(fixed.wait_mean_us, 5 * swift.wait_mean_us) << "both windows stand in the queue";
}

TEST(CongestionOnABottleneck, EightFlows) {
    const Measured swift = measure(CongestionAlgorithm::swift, 4, 2, Duration::ms(5));
    expect_full_and_short(swift, 55, 75);
    EXPECT_GE(swift.fairness, 0.95);
    const Measured fixed = measure(CongestionAlgorithm::fixed, 4, 2, Duration::ms(2));
    EXPECT_GE(fixed.wait_mean_us, 5 * swift.wait_mean_us) << "the queue is always full";
    EXPECT_GE(fixed.dropped, 0.1);
}

TEST(CongestionOnABottleneck, ThirtyTwoFlows) {
    const Measured swift = measure(CongestionAlgorithm::swift, 8, 4, Duration::ms(5));
    expect_full_and_short(swift, 90, 130);
    EXPECT_GE(swift.fairness, 0.97);
    const Measured fixed = measure(CongestionAlgorithm::fixed, 8, 4, Duration::ms(2));
    EXPECT_GE(fixed.wait_mean_us, 4 * swift.wait_mean_us);
    EXPECT_GE(fixed.dropped, 0.5) << "most of what is sent is sent for nothing";
    EXPECT_LT(fixed.fairness, swift.fairness);
}

}  // namespace
}  // namespace bowline::sim
