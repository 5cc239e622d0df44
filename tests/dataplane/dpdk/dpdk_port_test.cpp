#include "dataplane/dpdk/dpdk_port.hpp"

#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/dataplane/dpdk/eal_fixture.hpp"

namespace bowline::dataplane::dpdk {
namespace {

using protocol::Packet;

class DpdkPortTest : public testing::Test {
protected:
    static Packet* sealed(DpdkPort& port, std::string_view header, std::string_view payload) {
        Packet* packet = port.alloc();
        std::byte* at = port.payload(packet);
        std::memcpy(at - header.size(), header.data(), header.size());
        std::memcpy(at, payload.data(), payload.size());
        port.seal(packet, static_cast<std::uint32_t>(header.size()), static_cast<std::uint32_t>(payload.size()));
        return packet;
    }
    static std::string bytes_of(DpdkPort& port, Packet* packet) {
        const RxFrame frame = port.rx_frame(packet);
        return {reinterpret_cast<const char*>(frame.data), frame.length};
    }
};

constexpr std::string_view kHeader = "fourteen-bytes";

TEST_F(DpdkPortTest, RingsEndsReceiveFromEachOther) {
    const auto left = open_device("ring:pair");
    const auto right = open_device("ring:pair");
    ASSERT_TRUE(left && right);
    const WorkerThread worker;
    DpdkPort a(*left);
    DpdkPort b(*right);
    std::array<Packet*, 4> packets{sealed(a, kHeader, "one"), sealed(a, kHeader, "two")};
    ASSERT_EQ(a.tx_burst(packets.data(), 2), 2);
    std::array<Packet*, 4> received{};
    EXPECT_EQ(a.rx_burst(received.data(), 4), 0);
    ASSERT_EQ(b.rx_burst(received.data(), 4), 2);
    EXPECT_EQ(bytes_of(b, received[0]), "fourteen-bytesone");
    EXPECT_EQ(bytes_of(b, received[1]), "fourteen-bytestwo");
    b.free_bulk(received.data(), 2);
}

TEST_F(DpdkPortTest, AThirdEndOfARingIsRefused) {
    const auto left = open_device("ring:full");
    const auto right = open_device("ring:full");
    ASSERT_TRUE(left && right);
    const auto third = Device::open(*parse_device_spec("ring:full"), small_device());
    ASSERT_FALSE(third);
    EXPECT_NE(third.error().message.find("both its ends are in use"), std::string::npos);
}

TEST_F(DpdkPortTest, ASentPacketIsExclusiveAgainWhenTheDeviceAndTheReceiverAreDone) {
    const auto left = open_device("ring:ref");
    const auto right = open_device("ring:ref");
    ASSERT_TRUE(left && right);
    const WorkerThread worker;
    DpdkPort a(*left);
    DpdkPort b(*right);
    Packet* packet = sealed(a, kHeader, "kept");
    EXPECT_TRUE(a.exclusive(packet));
    a.ref(packet);
    EXPECT_FALSE(a.exclusive(packet));
    ASSERT_EQ(a.tx_burst(&packet, 1), 1);
    Packet* received = nullptr;
    ASSERT_EQ(b.rx_burst(&received, 1), 1);
    EXPECT_FALSE(a.exclusive(packet));
    b.free(received);
    EXPECT_TRUE(a.exclusive(packet));
    a.seal(packet, 4, 2);  // shorter than before, on the same bytes
    ASSERT_EQ(a.tx_burst(&packet, 1), 1);
    ASSERT_EQ(b.rx_burst(&received, 1), 0) << "a frame without a whole Ethernet header is refused";
    EXPECT_EQ(b.counters().rx_short, 1U);
}

TEST_F(DpdkPortTest, TheLoopOfANetRingReturnsWhatWasSent) {
    const auto device = open_device("net_ring7");
    ASSERT_TRUE(device);
    EXPECT_TRUE(device->link_up());
    const WorkerThread worker;
    DpdkPort port(*device);
    Packet* packet = sealed(port, kHeader, std::string(1400, 'x'));
    ASSERT_EQ(port.tx_burst(&packet, 1), 1);
    Packet* received = nullptr;
    ASSERT_EQ(port.rx_burst(&received, 1), 1);
    const RxFrame frame = port.rx_frame(received);
    EXPECT_EQ(frame.length, 1414U);
    EXPECT_EQ(frame.udp_checksum, RxChecksum::unknown);
    port.free(received);
}

TEST_F(DpdkPortTest, AnEmptyPoolIsANullptrAndCountedAndRefills) {
    const auto device = open_device("null");
    ASSERT_TRUE(device);
    const WorkerThread worker;
    DpdkPort port(*device);
    std::vector<Packet*> all;
    while (Packet* packet = port.alloc()) {
        all.push_back(packet);
    }
    EXPECT_EQ(all.size(), device->info().pool_packets);
    EXPECT_EQ(port.counters().alloc_failed, 1U);
    port.free_bulk(all.data(), static_cast<std::uint32_t>(all.size()));
    Packet* packet = port.alloc();
    EXPECT_NE(packet, nullptr);
    port.free(packet);
    EXPECT_EQ(device->pool_available(), device->info().pool_packets);
}

TEST_F(DpdkPortTest, NullTakesEverythingAndReceivesNothing) {
    const auto device = open_device("null");
    ASSERT_TRUE(device);
    const WorkerThread worker;
    DpdkPort port(*device);
    Packet* packet = sealed(port, kHeader, "gone");
    EXPECT_EQ(port.tx_burst(&packet, 1), 1);
    Packet* received = nullptr;
    EXPECT_EQ(port.rx_burst(&received, 1), 0);
    EXPECT_EQ(device->stats().tx_packets, 1U);
    EXPECT_EQ(device->pool_available(), device->info().pool_packets);
}

TEST_F(DpdkPortTest, AHeaderOfAnyLengthAndAFullPayloadFitOneBuffer) {
    const auto device = open_device("null");
    ASSERT_TRUE(device);
    const DpdkPort port(*device);
    EXPECT_GE(port.payload_capacity(), 1500U);
    EXPECT_LE(port.payload_capacity() + kTxHeadroom, device->buffer_bytes());
}

TEST_F(DpdkPortTest, JumboFramesGetBuffersToMatch) {
    DeviceOptions options = small_device();
    options.mtu = 9000;
    const auto device = open_device("null", options);
    ASSERT_TRUE(device);
    EXPECT_GE(DpdkPort(*device).payload_capacity(), 9000U);
}

TEST_F(DpdkPortTest, AClosedDeviceOpensAgainAndGivesItsMemoryBack) {
    const std::uint32_t packets = 20'000;  // of which DPDK's 128 MB hold two pools, not three
    DeviceOptions options = small_device();
    options.pool_packets = packets;
    for (int round = 0; round < 8; ++round) {
        const auto device = open_device("null", options);
        ASSERT_TRUE(device) << "round " << round;
        EXPECT_EQ(device->pool_available(), packets);
    }
}

TEST_F(DpdkPortTest, AskedForAndPossibleAreSaidSideBySide) {
    DeviceOptions options = small_device();
    options.queue_pairs = 2000;
    const auto queues = Device::open(*parse_device_spec("null"), options);
    ASSERT_FALSE(queues);
    EXPECT_NE(queues.error().message.find("queue pairs asked for: 2000, of the device: "), std::string::npos);
    options = small_device();
    options.mtu = 100;
    const auto mtu = Device::open(*parse_device_spec("null"), options);
    ASSERT_FALSE(mtu);
    EXPECT_NE(mtu.error().message.find("mtu asked for: 100, possible: 576 to"), std::string::npos);
    options = small_device();
    options.pool_packets = 1'000'000;
    const auto pool = Device::open(*parse_device_spec("null"), options);
    ASSERT_FALSE(pool);
    EXPECT_NE(pool.error().message.find("raise memory_mb"), std::string::npos);
}

TEST_F(DpdkPortTest, AnUnknownDriverAndAnAbsentInterfaceAreNamed) {
    ASSERT_TRUE(test_eal());
    const auto driver = Device::open(*parse_device_spec("net_nonesuch0"), small_device());
    ASSERT_FALSE(driver);
    EXPECT_NE(driver.error().message.find("net_nonesuch0"), std::string::npos);
    const auto interface = Device::open(*parse_device_spec("af_packet:nonesuch"), small_device());
    ASSERT_FALSE(interface);
    EXPECT_NE(interface.error().message.find("there is no interface 'nonesuch' here; there are: "), std::string::npos);
}

}  // namespace
}  // namespace bowline::dataplane::dpdk
