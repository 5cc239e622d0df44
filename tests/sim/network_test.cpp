#include "sim/network.hpp"

#include <bit>
#include <sstream>

#include <gtest/gtest.h>

#include "protocol/wire/ethernet.hpp"
#include "sim/trace.hpp"

namespace bowline::sim {
namespace {

class Sink final : public FrameSink {
public:
    void on_frame(std::span<const std::byte> frame) override { frames.emplace_back(frame.begin(), frame.end()); }
    std::vector<std::vector<std::byte>> frames;
};

class NetworkTest : public testing::Test {
protected:
    NetworkTest() {
        for (NodeId node = 0; node < 3; ++node) {
            network_.attach(node, sinks_[node]);
        }
    }
    static std::vector<std::byte> frame_to(protocol::wire::MacAddress mac) {
        std::vector<std::byte> frame(100, std::byte{0x5A});
        mac.store(frame.data());
        frame[12] = std::byte{0x08};
        frame[13] = std::byte{0x00};
        return frame;
    }
    void send(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            network_.transmit(0, frame_to(Network::mac_of(1)));
        }
    }
    void run() {
        while (!clock_.empty()) {
            network_.arrive(clock_.pop().subject);
        }
    }

    Clock clock_;
    Network network_{clock_, protocol::Random(7), 3};
    Sink sinks_[3];
};

TEST_F(NetworkTest, DeliversAfterTheDelayOfItsDirection) {
    network_.link(0, 1).delay = Duration::us(25);
    send(1);
    EXPECT_EQ(clock_.next().ns(), 25'000);
    run();
    EXPECT_EQ(sinks_[1].frames.size(), 1U);
    EXPECT_EQ(network_.in_flight(), 0U);
}

TEST_F(NetworkTest, BroadcastReachesEverybodyElse) {
    network_.transmit(0, frame_to(protocol::wire::MacAddress::broadcast()));
    run();
    EXPECT_EQ(sinks_[0].frames.size(), 0U);
    EXPECT_EQ(sinks_[1].frames.size(), 1U);
    EXPECT_EQ(sinks_[2].frames.size(), 1U);
}

TEST_F(NetworkTest, CutHoldsForOneDirection) {
    network_.link(0, 1).cut = true;
    send(1);
    network_.transmit(1, frame_to(Network::mac_of(0)));
    run();
    EXPECT_EQ(sinks_[1].frames.size(), 0U);
    EXPECT_EQ(sinks_[0].frames.size(), 1U);
}

TEST_F(NetworkTest, LosesAndDoublesAboutAsOftenAsTold) {
    network_.link(0, 1).loss = 200'000;
    send(5000);
    run();
    EXPECT_NEAR(static_cast<double>(sinks_[1].frames.size()), 4000.0, 150.0);
    sinks_[1].frames.clear();
    network_.link(0, 1).loss = 0;
    network_.link(0, 1).dup = 100'000;
    send(5000);
    run();
    EXPECT_NEAR(static_cast<double>(sinks_[1].frames.size()), 5500.0, 120.0);
}

TEST_F(NetworkTest, CorruptionFlipsOneToThreeBitsOfOneByteBehindEthernet) {
    network_.link(0, 1).corrupt = kAlways;
    send(500);
    run();
    const std::vector<std::byte> sent = frame_to(Network::mac_of(1));
    ASSERT_EQ(sinks_[1].frames.size(), 500U);
    for (const auto& frame : sinks_[1].frames) {
        int changed = 0;
        for (std::size_t i = 0; i < sent.size(); ++i) {
            if (frame[i] != sent[i]) {
                ++changed;
                EXPECT_GE(i, protocol::wire::kEthernetBytes);
                EXPECT_LE(std::popcount(std::to_integer<unsigned>(frame[i] ^ sent[i])), 3);
            }
        }
        EXPECT_EQ(changed, 1);
    }
}

TEST_F(NetworkTest, FilterDecidesBeforeTheLink) {
    std::vector<std::byte> held;
    network_.set_filter([&, n = 0](const FrameInfo& frame) mutable -> FilterVerdict {
        switch (++n) {
            case 1:
                held.assign(frame.bytes.begin(), frame.bytes.end());
                return {.kind = FilterVerdict::Kind::drop, .by = {}};
            case 2:
                return {.kind = FilterVerdict::Kind::duplicate, .by = {}};
            case 3:
                return {.kind = FilterVerdict::Kind::delay, .by = Duration::ms(3)};
            default:
                return {};
        }
    });
    send(4);
    run();
    EXPECT_EQ(sinks_[1].frames.size(), 4U);
    EXPECT_GE(clock_.now().ns(), Duration::ms(3).ns());
    network_.inject(0, 1, held);  // as a script releases what it has held
    run();
    EXPECT_EQ(sinks_[1].frames.size(), 5U);
}

TEST_F(NetworkTest, UnknownAddressesAreSeenByTheTrace) {
    std::vector<Outcome> outcomes;
    network_.set_observer([&](const FrameInfo&, Outcome outcome) { outcomes.push_back(outcome); });
    network_.transmit(0, frame_to({{2, 2, 2, 2, 2, 2}}));
    EXPECT_EQ(outcomes, std::vector<Outcome>{Outcome::unknown_mac});
    EXPECT_EQ(network_.in_flight(), 0U);
}

TEST(Pcap, WritesWhatReadersExpect) {
    std::ostringstream out;
    PcapWriter writer(out);
    const std::byte frame[3] = {std::byte{1}, std::byte{2}, std::byte{3}};
    writer.write(Time::at_ns(1'500'000'000), frame);
    const std::string bytes = out.str();
    ASSERT_EQ(bytes.size(), 24U + 16U + 3U);
    EXPECT_EQ(bytes.substr(0, 8), std::string("\x4D\x3C\xB2\xA1\x02\x00\x04\x00", 8));
    EXPECT_EQ(bytes.substr(24, 8), std::string("\x01\x00\x00\x00\x00\x65\xCD\x1D", 8));
}

}  // namespace
}  // namespace bowline::sim
