#include "protocol/wire/header_template.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "protocol/wire/ethernet.hpp"
#include "protocol/wire/header.hpp"
#include "test_bytes.hpp"

namespace bowline::protocol::wire {
namespace {

/// Room before the payload, filled with a pattern, to see what write() touches.
constexpr std::size_t kRoom = 64;
constexpr std::byte kUntouched{0xEE};

Endpoints endpoints() {
    return {.src_mac = {{2, 0, 0, 0, 0, 1}},
            .dst_mac = {{2, 0, 0, 0, 0, 2}},
            .src_ip = {0x0A00'0001},
            .dst_ip = {0x0A00'0002},
            .src_port = 0xB01E,
            .dst_port = 0xB01F};
}

constexpr const char* kPayload =
    "b1 04 0102 11121314 21222324 31323334 41424344 51525354 61626364 71727374 8182 29 00 0300 616263";
constexpr const char* kEthernet = "020000000002 020000000001 0800";
constexpr const char* kIpv4 = "4500 0045 0000 4000 4011 26a6 0a00 0001 0a00 0002";

struct Buffer {
    Bytes bytes;

    explicit Buffer(const Bytes& payload_bytes) : bytes(Bytes(kRoom, kUntouched) + payload_bytes) {}
    std::byte* payload() { return bytes.data() + kRoom; }
    [[nodiscard]] std::size_t payload_bytes() const { return bytes.size() - kRoom; }
    std::span<std::byte> frame(const std::byte* start) {
        return std::span(bytes).subspan(static_cast<std::size_t>(start - bytes.data()));
    }
};

TEST(HeaderTemplate, WritesAGoldenFrame) {
    const HeaderTemplate headers(endpoints());
    EXPECT_EQ(headers.size(), 42U);
    Buffer buffer(from_hex(kPayload));
    const std::byte* const start = headers.write(buffer.payload(), buffer.payload_bytes());
    EXPECT_EQ(to_hex(buffer.frame(start)),
              packed(kEthernet) + packed(kIpv4) + packed("b01e b01f 0031 0000") + packed(kPayload));
}

TEST(HeaderTemplate, FillsInAGoldenUdpChecksum) {
    const HeaderTemplate headers(endpoints());
    Buffer buffer(from_hex(kPayload));
    const std::byte* const start = headers.write(buffer.payload(), buffer.payload_bytes());
    headers.fill_udp_checksum(buffer.payload(), buffer.payload_bytes());
    const std::string golden = packed(kEthernet) + packed(kIpv4) + packed("b01e b01f 0031 c7b1") + packed(kPayload);
    EXPECT_EQ(to_hex(buffer.frame(start)), golden);
    // Again over its own result, as when a packet is sent a second time.
    headers.fill_udp_checksum(buffer.payload(), buffer.payload_bytes());
    EXPECT_EQ(to_hex(buffer.frame(start)), golden);
}

TEST(HeaderTemplate, FillsInThePseudoHeaderSumForADevice) {
    const HeaderTemplate headers(endpoints());
    Buffer buffer(from_hex(kPayload));
    headers.write(buffer.payload(), buffer.payload_bytes());
    headers.fill_pseudo_header_sum(buffer.payload(), buffer.payload_bytes());
    EXPECT_EQ(to_hex(std::span(buffer.bytes).subspan(kRoom - 8, 8)), packed("b01e b01f 0031 1445"));
    // What the device does then: sums the datagram as it stands, complements, stores.
    const std::span<const std::byte> datagram = std::span(buffer.bytes).subspan(kRoom - 8);
    EXPECT_EQ(__builtin_bswap16(internet_checksum(datagram)), 0xC7B1);
}

TEST(HeaderTemplate, SkipsTheChecksumAgain) {
    const HeaderTemplate headers(endpoints());
    Buffer buffer(from_hex(kPayload));
    headers.write(buffer.payload(), buffer.payload_bytes());
    headers.fill_udp_checksum(buffer.payload(), buffer.payload_bytes());
    HeaderTemplate::skip_udp_checksum(buffer.payload());
    EXPECT_EQ(load_be16(buffer.payload() - 2), 0);
}

TEST(HeaderTemplate, TagsForAVlanAndMarksDscp) {
    Endpoints tagged = endpoints();
    tagged.vlan = 0x123;
    tagged.dscp = 46;
    const HeaderTemplate headers(tagged);
    EXPECT_EQ(headers.size(), 46U);
    Buffer buffer(from_hex(kPayload));
    const std::byte* const start = headers.write(buffer.payload(), buffer.payload_bytes());
    EXPECT_EQ(to_hex(buffer.frame(start).first(22)), packed("020000000002 020000000001 8100 0123 0800 45b8 0045"));
    const ParsedFrame frame = parse_frame(buffer.frame(start), {});
    EXPECT_EQ(frame.kind, FrameClass::udp) << name_of(frame.stray);
    EXPECT_EQ(frame.vlan, 0x123);
}

TEST(HeaderTemplate, TouchesNothingBeforeTheRoomThatItNames) {
    const HeaderTemplate headers(endpoints());
    Buffer buffer(from_hex(kPayload));
    headers.write(buffer.payload(), buffer.payload_bytes());
    for (std::size_t i = 0; i < kRoom - HeaderTemplate::kWriteBytes; ++i) EXPECT_EQ(buffer.bytes[i], kUntouched) << i;
    EXPECT_EQ(to_hex(std::span(buffer.bytes).subspan(kRoom)), packed(kPayload));
}

TEST(HeaderTemplate, WritesAChecksumOfZeroAsAllOnes) {
    const HeaderTemplate headers(endpoints());
    // Two payload bytes that bring the sum to 0xFFFF: its complement, 0, is not to be sent.
    Buffer buffer(Bytes(4));
    headers.write(buffer.payload(), buffer.payload_bytes());
    headers.fill_udp_checksum(buffer.payload(), buffer.payload_bytes());
    const std::uint16_t checksum = load_le16(buffer.payload() - 2);
    store_le16(buffer.payload(), checksum);
    headers.fill_udp_checksum(buffer.payload(), buffer.payload_bytes());
    EXPECT_EQ(load_be16(buffer.payload() - 2), 0xFFFF);
    const std::byte* const start = buffer.payload() - headers.size();
    EXPECT_EQ(parse_frame(buffer.frame(start), {.demand_udp_checksum = true}).kind, FrameClass::udp);
}

TEST(HeaderTemplate, WritesWhatTheParserReads) {
    EXPECT_TRUE(rc::check([](std::uint64_t seed) {
        Random random(seed);
        Endpoints ends;
        for (std::uint8_t& b : ends.src_mac.bytes) b = static_cast<std::uint8_t>(random.next());
        for (std::uint8_t& b : ends.dst_mac.bytes) b = static_cast<std::uint8_t>(random.next());
        ends.src_ip.value = static_cast<std::uint32_t>(random.next());
        ends.dst_ip.value = static_cast<std::uint32_t>(random.next());
        ends.src_port = static_cast<std::uint16_t>(random.next());
        ends.dst_port = static_cast<std::uint16_t>(random.next());
        ends.vlan = random.below(2) == 0 ? kNoVlan : static_cast<std::uint16_t>(random.below(kVlanIdMax + 1));
        ends.dscp = static_cast<std::uint8_t>(random.below(64));
        const HeaderTemplate headers(ends);
        Buffer buffer(random_bytes(random, random.below(9'000)));
        const std::byte* const start = headers.write(buffer.payload(), buffer.payload_bytes());
        headers.fill_udp_checksum(buffer.payload(), buffer.payload_bytes());

        const ParsedFrame frame = parse_frame(buffer.frame(start), {.demand_udp_checksum = true});
        RC_ASSERT(frame.kind == FrameClass::udp);
        RC_ASSERT(frame.stray == Stray::none);
        RC_ASSERT(frame.src_mac == ends.src_mac);
        RC_ASSERT(frame.dst_mac == ends.dst_mac);
        RC_ASSERT(frame.vlan == ends.vlan);
        RC_ASSERT(frame.src_ip == ends.src_ip);
        RC_ASSERT(frame.dst_ip == ends.dst_ip);
        RC_ASSERT(frame.src_port == ends.src_port);
        RC_ASSERT(frame.dst_port == ends.dst_port);
        RC_ASSERT(frame.payload.data() == buffer.payload());
        RC_ASSERT(frame.payload.size() == buffer.payload_bytes());
    }));
}

TEST(HeaderTemplate, TakesTheLargestDatagram) {
    const HeaderTemplate headers(endpoints());
    Buffer buffer(Bytes(65507, std::byte{0xFF}));
    const std::byte* const start = headers.write(buffer.payload(), buffer.payload_bytes());
    headers.fill_udp_checksum(buffer.payload(), buffer.payload_bytes());
    EXPECT_EQ(parse_frame(buffer.frame(start), {}).payload.size(), 65507U);
}

}  // namespace
}  // namespace bowline::protocol::wire
