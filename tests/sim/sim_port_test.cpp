#include "sim/sim_port.hpp"

#include <cstring>
#include <optional>

#include <gtest/gtest.h>

namespace bowline::sim {
namespace {

class Sink final : public FrameSink {
public:
    void on_frame(std::span<const std::byte> frame) override { frames.emplace_back(frame.begin(), frame.end()); }
    std::vector<std::vector<std::byte>> frames;
};

class SimPortTest : public testing::Test {
protected:
    SimPortTest() {
        pool_.reset(8);
        network_.attach(0, sinks_[0]);
        network_.attach(1, sinks_[1]);
    }
    SimPort& make(const SimPortConfig& config) { return port_.emplace(config, pool_, network_, NodeId{0}); }
    /// A frame for node 1, ready to be sent.
    Packet* frame(SimPort& port) {
        Packet* const packet = port.alloc();
        std::byte* const at = port.payload(packet) - 14;
        std::memset(at, 0x11, 14 + 50);
        Network::mac_of(1).store(at);
        port.seal(packet, 14, 50);
        return packet;
    }

    Clock clock_;
    Network network_{clock_, protocol::Random(1), 2};
    PacketPool pool_;
    Sink sinks_[2];
    std::optional<SimPort> port_;
};
using SimPortDeathTest = SimPortTest;

TEST_F(SimPortTest, SendsByMacAndGivesTheBufferBack) {
    SimPort& port = make({});
    Packet* packet = frame(port);
    ASSERT_EQ(port.tx_burst(&packet, 1), 1);
    EXPECT_EQ(pool_.in_use(), 0U);
    network_.arrive(clock_.pop().subject);
    ASSERT_EQ(sinks_[1].frames.size(), 1U);
    EXPECT_EQ(sinks_[1].frames[0].size(), 64U);
    EXPECT_EQ(sinks_[0].frames.size(), 0U);
}

TEST_F(SimPortTest, DeviceOwnsAPacketForAsLongAsItIsTold) {
    SimPort& port = make({.tx_hold = Duration::us(5)});
    Packet* packet = frame(port);
    port.ref(packet);
    port.tx_burst(&packet, 1);
    EXPECT_FALSE(port.exclusive(packet));
    port.advance(Time::at_ns(4'999));
    EXPECT_FALSE(port.exclusive(packet));
    port.advance(Time::at_ns(5'000));
    EXPECT_TRUE(port.exclusive(packet));
    port.free(packet);
}

TEST_F(SimPortTest, TakesNoMoreThanItsRingHolds) {
    SimPort& port = make({.tx_ring = 2, .tx_hold = Duration::us(5)});
    Packet* packets[3] = {frame(port), frame(port), frame(port)};
    EXPECT_EQ(port.tx_burst(packets, 3), 2);
    port.free(packets[2]);
    port.clear();
    EXPECT_EQ(pool_.in_use(), 0U);
}

TEST_F(SimPortTest, DropsWhatHasNoBufferOrNoPlace) {
    SimPort& port = make({.rx_ring = 2});
    const std::byte bytes[64] = {};
    pool_.set_exhausted(true);
    port.receive(bytes);
    EXPECT_EQ(port.alloc(), nullptr);
    pool_.set_exhausted(false);
    for (int i = 0; i < 3; ++i) {
        port.receive(bytes);
    }
    EXPECT_EQ(port.rx_dropped(), 2U);
    Packet* packets[4];
    ASSERT_EQ(port.rx_burst(packets, 4), 2);
    EXPECT_EQ(port.rx_frame(packets[0]).length, 64U);
    port.free_bulk(packets, 2);
    EXPECT_EQ(pool_.in_use(), 0U);
}

TEST_F(SimPortDeathTest, AbortsOnADoubleFree) {
    SimPort& port = make({});
    Packet* packet = port.alloc();
    port.free(packet);
    EXPECT_DEATH(port.free(packet), "refs > 0");
}

TEST_F(SimPortDeathTest, AbortsOnUseAfterFree) {
    SimPort& port = make({});
    Packet* packet = port.alloc();
    port.free(packet);
    EXPECT_DEATH(static_cast<void>(port.payload(packet)), "refs > 0");
}

TEST_F(SimPortDeathTest, AbortsWhenAPacketThatTheDeviceOwnsIsRewritten) {
    SimPort& port = make({.tx_hold = Duration::us(5)});
    Packet* packet = frame(port);
    port.ref(packet);
    port.tx_burst(&packet, 1);
    port.payload(packet)[3] = std::byte{0x55};
    EXPECT_DEATH(port.advance(Time::at_ns(5'000)), "owned.sum");
}

}  // namespace
}  // namespace bowline::sim
