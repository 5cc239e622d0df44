#include "sim/bottleneck.hpp"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "sim/network.hpp"

namespace bowline::sim {
namespace {

/// A frame of 101 bytes is 125 on the wire: 1,000 bits, a microsecond at 1 Gbit/s.
constexpr std::size_t kFrame = 101;
constexpr Bottleneck::Config kThreeFrames = {.rate_bps = 1'000'000'000, .queue_bytes = 3 * 125};

Time at_us(std::int64_t us) { return Time() + Duration::us(us); }

TEST(Bottleneck, SendsOneFrameAfterTheOtherAtItsRate) {
    Bottleneck bottleneck(kThreeFrames);
    EXPECT_EQ(bottleneck.pass(at_us(10), kFrame), at_us(11));
    EXPECT_EQ(bottleneck.pass(at_us(10), kFrame), at_us(12));
    EXPECT_EQ(bottleneck.pass(at_us(11), kFrame), at_us(13));
    EXPECT_EQ(bottleneck.pass(at_us(20), kFrame), at_us(21));
    EXPECT_EQ(bottleneck.figures().frames, 4U);
    EXPECT_EQ(bottleneck.figures().wire_bytes, 500U);
    EXPECT_EQ(bottleneck.figures().wait_sum, Duration::us(2));
    EXPECT_EQ(bottleneck.figures().wait_max, Duration::us(1));
    EXPECT_DOUBLE_EQ(bottleneck.utilisation(Duration::us(8)), 0.5);
}

TEST(Bottleneck, DropsWhatItsQueueHasNoRoomForAndTakesMoreAsItEmpties) {
    Bottleneck bottleneck(kThreeFrames);
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(bottleneck.pass(at_us(0), kFrame).has_value());
    }
    EXPECT_FALSE(bottleneck.pass(at_us(0), kFrame).has_value());
    EXPECT_FALSE(bottleneck.pass(Time::at_ns(999), kFrame).has_value());
    EXPECT_EQ(bottleneck.pass(at_us(1), kFrame), at_us(4));
    EXPECT_EQ(bottleneck.figures().dropped, 2U);
    EXPECT_EQ(bottleneck.figures().frames, 4U);
}

TEST(Bottleneck, TellsTheWaitThatMostDidNotExceed) {
    Bottleneck bottleneck(kThreeFrames);
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(bottleneck.pass(at_us(0), kFrame).has_value());
    }
    EXPECT_EQ(bottleneck.wait_quantile(333), Duration::us(1));
    EXPECT_EQ(bottleneck.wait_quantile(600), Duration::us(2));
    EXPECT_EQ(bottleneck.wait_quantile(1000), Duration::us(3));
    bottleneck.reset_figures();
    EXPECT_EQ(bottleneck.wait_quantile(1000), Duration());
    EXPECT_EQ(bottleneck.pass(at_us(0), kFrame), std::nullopt) << "what waits there still does";
}

TEST(Bottleneck, IsSharedByTheLinksThatNameIt) {
    struct Sink final : FrameSink {
        void on_frame(std::span<const std::byte> frame) override { bytes += frame.size(); }
        std::size_t bytes = 0;
    };
    Clock clock;
    Network network(clock, protocol::Random(7), 3);
    Sink sinks[3];
    for (NodeId node = 0; node < 3; ++node) {
        network.attach(node, sinks[node]);
    }
    const BottleneckId shared = network.add_bottleneck(kThreeFrames);
    network.link(0, 2).bottleneck = shared;
    network.link(1, 2).bottleneck = shared;
    std::vector<Outcome> outcomes;
    network.set_observer([&](const FrameInfo&, Outcome outcome) { outcomes.push_back(outcome); });
    std::vector<std::byte> frame(kFrame);
    Network::mac_of(2).store(frame.data());
    for (const NodeId from : {NodeId{0}, NodeId{1}, NodeId{0}, NodeId{1}}) {
        network.transmit(from, frame);
    }
    EXPECT_EQ(outcomes, (std::vector<Outcome>{Outcome::sent, Outcome::sent, Outcome::sent, Outcome::queue_full}));
    std::vector<std::int64_t> arrivals;
    while (!clock.empty()) {
        arrivals.push_back(clock.next().ns());
        network.arrive(clock.pop().subject);
    }
    // Its place in the queue, and then the 10 us of the link.
    EXPECT_EQ(arrivals, (std::vector<std::int64_t>{11'000, 12'000, 13'000}));
    EXPECT_EQ(sinks[2].bytes, 3 * kFrame);
    // Another link is not held up.
    Network::mac_of(1).store(frame.data());
    network.transmit(0, frame);
    EXPECT_EQ(clock.next().ns(), 13'000 + 10'000);
}

}  // namespace
}  // namespace bowline::sim
