// What losses cost on a path of 100 us there and back: goodput, and the time that a message waits.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

#include "pair.hpp"

namespace bowline::sim {
namespace {

using protocol::wire::Type;
using Verdict = FilterVerdict::Kind;

constexpr Duration kOneWay = Duration::us(50);
constexpr Duration kRtt = kOneWay + kOneWay;
constexpr std::uint32_t kFullMessage = 1400;
constexpr std::uint64_t kRate = 10'000'000'000;

/// Two nodes with that path between them, whose connections are open and whose round trip is known.
class LongPair : public Pair {
public:
    explicit LongPair(std::uint64_t seed, const protocol::Settings& settings = {}) : Pair(seed, settings) {
        Link link;
        link.delay = kOneWay;
        operator*().set_links(link);
        meet();
        for (int i = 0; i < 8; ++i) {
            a().send({.to = kB});
            b().send({.to = kA});
            EXPECT_TRUE(operator*().run_quiet(Duration::s(1)));
        }
    }
};

// — goodput —

/// A line of 10 Gbit/s that takes all that A may have in flight, so that no packet is lost but by `loss`, both ways.
void put_line_between(LongPair& pair, Ppm loss) {
    const BottleneckId line = pair.network().add_bottleneck({.rate_bps = kRate, .queue_bytes = 8U << 20U});
    for (const NodeId from : {kA, kB}) {
        Link& link = pair.network().link(from, from == kA ? kB : kA);
        link.loss = loss;
        link.bottleneck = from == kA ? line : kNoBottleneck;
    }
}

/// Full packets that pass that line in `time`.
double line_packets(Duration time) {
    return static_cast<double>(kRate) / 8 / (kFullMessage + 100) * static_cast<double>(time.ns()) / 1e9;
}

/// Full packets that arrive at B within `time`, with `loss` both ways and A never short of messages. The window is more
/// than twice what line and path hold: with less, an end that may send nothing until a gap is closed leaves the line
/// idle.
double arrived_within(Duration time, Ppm loss) {
    protocol::Settings settings;
    settings.window_pkts = 4096;
    LongPair pair(3, settings);
    put_line_between(pair, loss);
    pair.a().send({.to = kB, .count = 1'000'000, .size_min = kFullMessage, .size_max = kFullMessage});
    pair->run_for(Duration::ms(10));
    const std::uint64_t before = pair.delivered();
    pair->run_for(time);
    EXPECT_EQ(pair->failure(), "");
    return static_cast<double>(pair.delivered() - before);
}

struct GoodputBound {
    Ppm loss;
    double least;
};
constexpr std::array kGoodputBounds{GoodputBound{1'000, 0.98}, GoodputBound{10'000, 0.93}, GoodputBound{50'000, 0.80}};

TEST(LossCost, AnEndlessStreamLosesLittleMoreThanItsLostPackets) {
    constexpr Duration kTime = Duration::ms(100);
    const double lossless = arrived_within(kTime, 0);
    EXPECT_GE(lossless, 0.98 * line_packets(kTime)) << "the line is to be the limit";
    for (const GoodputBound& bound : kGoodputBounds) {
        const double ratio = arrived_within(kTime, bound.loss) / lossless;
        std::cout << "loss " << bound.loss << " ppm: goodput " << ratio << " of that without\n";
        EXPECT_GE(ratio, bound.least) << bound.loss << " ppm";
    }
}

TEST(LossCost, AStreamOfNineTenthsOfItsLineGoesOnAtItsRate) {
    constexpr Duration kStep = Duration::us(60);
    constexpr std::uint64_t kAtOnce = 45;
    constexpr int kSteps = 1000;
    ASSERT_NEAR(static_cast<double>(kAtOnce), 0.9 * line_packets(kStep), 0.05 * line_packets(kStep));
    for (const GoodputBound& bound : kGoodputBounds) {
        LongPair pair(5);
        put_line_between(pair, bound.loss);
        const std::uint64_t before = pair.delivered();
        for (int i = 0; i < kSteps; ++i) {
            pair.a().send({.to = kB, .count = kAtOnce, .size_min = kFullMessage, .size_max = kFullMessage});
            pair->run_for(kStep);
        }
        const double ratio = static_cast<double>(pair.delivered() - before) / (kAtOnce * kSteps);
        std::cout << "loss " << bound.loss << " ppm: arrived in time " << ratio << "\n";
        EXPECT_GE(ratio, 0.98) << bound.loss << " ppm";
        pair.finish();
    }
}

// — latency —

/// The latest that a message of `latencies` has waited, in thousandths of them.
Duration quantile(std::vector<Duration>& latencies, std::size_t permille) {
    std::sort(latencies.begin(), latencies.end());
    return latencies[std::min(latencies.size() * permille / 1000, latencies.size() - 1)];
}

/// What the loss of the packet `lost` (from 1) adds to its message's way, in a stream of `count` messages `apart`.
Duration added_by_loss(std::uint64_t seed, std::uint64_t count, std::uint64_t lost, Duration apart) {
    LongPair pair(seed);
    const std::uint64_t before = pair.delivered();
    Time lost_at = Time::never();
    pair.network().set_filter([&, n = std::uint64_t{0}](const FrameInfo& frame) mutable -> FilterVerdict {
        if (frame.from != kA || !frame.header.has_value() || frame.header->type != Type::data || ++n != lost) {
            return {};
        }
        lost_at = pair->clock().now();
        return {.kind = Verdict::drop, .by = {}};
    });
    Time arrived = Time::never();
    const auto watch = [&] {
        if (arrived.is_never() && pair.delivered() >= before + lost) {
            arrived = pair->clock().now();
        }
        return false;
    };
    for (std::uint64_t i = 0; i < count; ++i) {
        pair.a().send({.to = kB});
        static_cast<void>(pair->run_while_not(apart, watch));
    }
    static_cast<void>(pair->run_while_not(Duration::ms(20), watch));
    EXPECT_FALSE(lost_at.is_never());
    EXPECT_FALSE(arrived.is_never());
    pair.finish();
    return arrived - lost_at - kOneWay;
}

TEST(LossCost, AMessageOfABusyStreamWaitsARoundTripAndAHalfMore) {
    std::vector<Duration> added;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        added.push_back(
            added_by_loss(seed, 200, 80 + seed % 40, Duration::ns(1'000 + 97 * static_cast<std::int64_t>(seed))));
    }
    const Duration p99 = quantile(added, 990);
    std::cout << "p50 " << quantile(added, 500).ns() << " ns, p99 " << p99.ns() << " ns\n";
    EXPECT_LE(p99.ns(), kRtt.ns() * 3 / 2);
}

TEST(LossCost, TheLastOfABurstWaitsTwoRoundTripsAndAHalfMore) {
    const protocol::Settings settings;
    std::vector<Duration> added;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const std::uint64_t burst = 1 + seed % 20;
        added.push_back(added_by_loss(seed, burst, burst, Duration::us(1)));
    }
    const Duration p99 = quantile(added, 990);
    std::cout << "p50 " << quantile(added, 500).ns() << " ns, p99 " << p99.ns() << " ns\n";
    EXPECT_LE(p99.ns(), kRtt.ns() * 5 / 2 + settings.ack_delay.ns());
}

}  // namespace
}  // namespace bowline::sim
