#include "protocol/wire/ethernet.hpp"

#include <initializer_list>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "test_bytes.hpp"

namespace bowline::protocol::wire {
namespace {

constexpr const char* kEthernet = "020000000002 020000000001 0800";
constexpr const char* kUdpFrame =
    "020000000002 020000000001 0800 4500 0045 0000 4000 4011 26a6 0a00 0001 0a00 0002 b01e b01f 0031 c7b1"
    "b1 04 0102 11121314 21222324 31323334 41424344 51525354 61626364 71727374 8182 29 00 0300 616263";
constexpr const char* kEchoRequest =
    "020000000002 020000000001 0800 4500 0023 beef 4000 3f01 68e8 0a00 0001 0a00 0002"
    "0800 549d 1234 0001 61626364656667";
constexpr const char* kEchoReply =
    "020000000001 020000000002 0800 4500 0023 beef 4000 4001 67e8 0a00 0002 0a00 0001"
    "0000 5c9d 1234 0001 61626364656667";
constexpr const char* kArpRequestFrame =
    "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002"
    "000000000000000000000000000000000000";
constexpr const char* kArpReplyFrame =
    "020000000001 020000000002 0806 0001 0800 06 04 0002 020000000002 0a000002 020000000001 0a000001"
    "000000000000000000000000000000000000";

constexpr MacAddress kMac1 = {{2, 0, 0, 0, 0, 1}};
constexpr MacAddress kMac2 = {{2, 0, 0, 0, 0, 2}};
constexpr Ipv4Address kIp1 = {0x0A00'0001};
constexpr Ipv4Address kIp2 = {0x0A00'0002};
constexpr std::size_t kIp = kEthernetBytes;
constexpr std::size_t kUdp = kIp + kIpv4Bytes;

/// What is wrong with this frame; the frame is given an IP header checksum that is right.
Stray stray_of(Bytes bytes, Verify verify = {}) {
    store_le16(bytes.data() + kIp + 10, 0);
    store_le16(bytes.data() + kIp + 10, internet_checksum(std::span(bytes).subspan(kIp, kIpv4Bytes)));
    const ParsedFrame frame = parse_frame(bytes, verify);
    EXPECT_EQ(frame.kind == FrameClass::stray, frame.stray != Stray::none);
    return frame.stray;
}

TEST(ParseFrame, TakesAGoldenUdpFrameApart) {
    const Bytes bytes = from_hex(kUdpFrame);
    const ParsedFrame frame = parse_frame(bytes, {.demand_udp_checksum = true});
    ASSERT_EQ(frame.kind, FrameClass::udp) << name_of(frame.stray);
    EXPECT_EQ(frame.dst_mac, kMac2);
    EXPECT_EQ(frame.src_mac, kMac1);
    EXPECT_EQ(frame.vlan, kNoVlan);
    EXPECT_EQ(frame.src_ip, kIp1);
    EXPECT_EQ(frame.dst_ip, kIp2);
    EXPECT_EQ(frame.src_port, 0xB01E);
    EXPECT_EQ(frame.dst_port, 0xB01F);
    EXPECT_EQ(frame.udp_checksum, 0xC7B1);
    EXPECT_EQ(frame.ip.data(), bytes.data() + kIp);
    EXPECT_EQ(frame.ip.size(), kIpv4Bytes);
    EXPECT_EQ(frame.datagram.data(), bytes.data() + kUdp);
    EXPECT_EQ(frame.datagram.size(), 49U);
    EXPECT_EQ(frame.payload.data(), bytes.data() + kUdp + kUdpBytes);
    EXPECT_EQ(frame.payload.size(), 41U);
}

TEST(ParseFrame, IgnoresPaddingBehindTheIpLength) {
    const ParsedFrame frame = parse_frame(from_hex(kUdpFrame) + Bytes(13, std::byte{0xAA}), {});
    EXPECT_EQ(frame.kind, FrameClass::udp);
    EXPECT_EQ(frame.payload.size(), 41U);
}

TEST(ParseFrame, StepsOverAVlanTag) {
    const Bytes plain = from_hex(kUdpFrame);
    const Bytes tagged = prefix(plain, 12) + from_hex("8100 e123") + Bytes(plain.begin() + 12, plain.end());
    const ParsedFrame frame = parse_frame(tagged, {});
    ASSERT_EQ(frame.kind, FrameClass::udp) << name_of(frame.stray);
    EXPECT_EQ(frame.vlan, 0x123);  // without the priority bits
    EXPECT_EQ(frame.payload.size(), 41U);
    for (std::size_t size = 14; size < tagged.size(); ++size) {
        EXPECT_EQ(parse_frame(prefix(tagged, size), {}).stray, Stray::truncated) << size;
    }
    const Bytes twice = prefix(tagged, 16) + from_hex("8100 0001") + Bytes(plain.begin() + 12, plain.end());
    EXPECT_EQ(parse_frame(twice, {}).stray, Stray::other_ethertype);
}

TEST(ParseFrame, StepsOverIpOptions) {
    const Bytes plain = from_hex(kUdpFrame);
    Bytes bytes = prefix(plain, kUdp) + from_hex("01010101 01010100") + Bytes(plain.begin() + kUdp, plain.end());
    store_u8(bytes.data() + kIp, 0x47);
    store_be16(bytes.data() + kIp + 2, 0x45 + 8);
    store_le16(bytes.data() + kIp + 10, 0);
    store_le16(bytes.data() + kIp + 10, internet_checksum(std::span(bytes).subspan(kIp, 28)));
    const ParsedFrame frame = parse_frame(bytes, {});
    ASSERT_EQ(frame.kind, FrameClass::udp) << name_of(frame.stray);
    EXPECT_EQ(frame.ip.size(), 28U);
    EXPECT_EQ(frame.payload.size(), 41U);
}

TEST(ParseFrame, RefusesEveryTruncation) {
    for (const char* text : {kUdpFrame, kEchoRequest}) {
        const Bytes bytes = from_hex(text);
        for (std::size_t size = 0; size < bytes.size(); ++size) {
            EXPECT_EQ(parse_frame(prefix(bytes, size), {}).stray, Stray::truncated) << size;
        }
    }
    for (std::size_t size = 0; size < kEthernetBytes + kArpBytes; ++size) {
        EXPECT_EQ(parse_frame(prefix(from_hex(kArpRequestFrame), size), {}).stray, Stray::truncated) << size;
    }
}

TEST(ParseFrame, NamesOtherEthertypes) {
    for (const std::uint16_t type : std::initializer_list<std::uint16_t>{0x86DD, 0x88CC, 0x0026, 0x88A8}) {
        Bytes bytes = from_hex(kUdpFrame);
        store_be16(bytes.data() + 12, type);
        EXPECT_EQ(parse_frame(bytes, {}).stray, Stray::other_ethertype);
    }
}

TEST(ParseFrame, RefusesABadIpHeader) {
    for (const std::uint8_t version_ihl : std::initializer_list<std::uint8_t>{0x65, 0x44, 0x40, 0x05}) {
        Bytes bytes = from_hex(kUdpFrame);
        store_u8(bytes.data() + kIp, version_ihl);
        EXPECT_EQ(stray_of(bytes), Stray::bad_ip_header);
    }
}

TEST(ParseFrame, RefusesContradictoryLengths) {
    Bytes bytes = from_hex(kUdpFrame);
    store_be16(bytes.data() + kIp + 2, 19);  // less than the IP header
    EXPECT_EQ(stray_of(bytes), Stray::bad_length);
    store_be16(bytes.data() + kIp + 2, 20 + 7);  // no room for a UDP header
    EXPECT_EQ(stray_of(bytes), Stray::truncated);
    store_be16(bytes.data() + kIp + 2, 0x46);  // more than there is
    EXPECT_EQ(stray_of(bytes), Stray::truncated);
    store_be16(bytes.data() + kIp + 2, 0x44);  // less than UDP says
    EXPECT_EQ(stray_of(bytes), Stray::bad_length);
    bytes = from_hex(kUdpFrame);
    store_u8(bytes.data() + kIp, 0x4F);  // options that pass the IP length
    store_be16(bytes.data() + kIp + 2, 59);
    EXPECT_EQ(parse_frame(bytes, {}).stray, Stray::bad_length);
    for (const std::uint16_t udp_length : std::initializer_list<std::uint16_t>{0, 7, 8, 0x30, 0x32, 0xFFFF}) {
        bytes = from_hex(kUdpFrame);
        store_be16(bytes.data() + kUdp + 4, udp_length);
        EXPECT_EQ(stray_of(bytes), Stray::bad_length) << udp_length;
    }
}

TEST(ParseFrame, RefusesABadIpChecksumUnlessToldNotToLook) {
    for (std::size_t bit = 0; bit < kIpv4Bytes * 8; ++bit) {
        Bytes bytes = from_hex(kUdpFrame);
        bytes[kIp + bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        EXPECT_EQ(parse_frame(bytes, {}).kind, FrameClass::stray) << bit;
    }
    Bytes bytes = from_hex(kUdpFrame);
    bytes[kIp + 10] ^= std::byte{1};
    EXPECT_EQ(parse_frame(bytes, {}).stray, Stray::bad_ip_checksum);
    EXPECT_EQ(parse_frame(bytes, {.ip_checksum = false}).kind, FrameClass::udp);
}

TEST(ParseFrame, RefusesFragmentsButNotDontFragment) {
    for (const std::uint16_t field : std::initializer_list<std::uint16_t>{0x2000, 0x0001, 0x1FFF, 0x6000, 0x4001}) {
        Bytes bytes = from_hex(kUdpFrame);
        store_be16(bytes.data() + kIp + 6, field);
        EXPECT_EQ(stray_of(bytes), Stray::fragment) << field;
    }
    Bytes bytes = from_hex(kUdpFrame);
    store_be16(bytes.data() + kIp + 6, 0);
    EXPECT_EQ(stray_of(bytes), Stray::none);
}

TEST(ParseFrame, NamesOtherProtocols) {
    for (const std::uint8_t protocol : std::initializer_list<std::uint8_t>{0, 2, 6, 50, 132, 255}) {
        Bytes bytes = from_hex(kUdpFrame);
        store_u8(bytes.data() + kIp + 9, protocol);
        EXPECT_EQ(stray_of(bytes), Stray::other_protocol) << unsigned{protocol};
    }
}

TEST(ParseFrame, RefusesEveryFlippedBitOfADatagramUnlessToldNotToLook) {
    const Bytes valid = from_hex(kUdpFrame);
    for (std::size_t bit = kUdp * 8; bit < valid.size() * 8; ++bit) {
        Bytes bytes = valid;
        bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        const bool in_length = bit / 8 == kUdp + 4 || bit / 8 == kUdp + 5;
        EXPECT_EQ(parse_frame(bytes, {}).stray, in_length ? Stray::bad_length : Stray::bad_udp_checksum) << bit;
    }
    Bytes bytes = valid;
    bytes.back() ^= std::byte{1};
    const ParsedFrame frame = parse_frame(bytes, {.udp_checksum = false});
    EXPECT_EQ(frame.kind, FrameClass::udp);
    EXPECT_FALSE(udp_checksum_holds(frame));
}

TEST(ParseFrame, TakesASkippedUdpChecksumUnlessOneIsDemanded) {
    Bytes bytes = from_hex(kUdpFrame);
    store_be16(bytes.data() + kUdp + 6, 0);
    const ParsedFrame frame = parse_frame(bytes, {});
    EXPECT_EQ(frame.kind, FrameClass::udp);
    EXPECT_TRUE(udp_checksum_holds(frame));
    EXPECT_EQ(parse_frame(bytes, {.demand_udp_checksum = true}).stray, Stray::no_udp_checksum);
}

TEST(ParseFrame, TakesAnEmptyDatagram) {
    const ParsedFrame frame = parse_frame(from_hex(kEthernet) + from_hex("4500 001c 0000 4000 4011 26cf 0a00 0001 0a00"
                                                                         "0002 0001 0002 0008 0000"),
                                          {});
    EXPECT_EQ(frame.kind, FrameClass::udp) << name_of(frame.stray);
    EXPECT_TRUE(frame.payload.empty());
}

TEST(Arp, EncodesGoldenFrames) {
    const Arp request = make_arp_request(kMac1, kIp1, kIp2);
    Bytes bytes(kEthernetFrameMin, std::byte{0xEE});
    EXPECT_EQ(encode_arp_frame(request, kNoVlan, bytes.data()), bytes.size());
    EXPECT_EQ(to_hex(bytes), packed(kArpRequestFrame));
    EXPECT_EQ(encode_arp_frame(make_arp_reply(request, kMac2), kNoVlan, bytes.data()), bytes.size());
    EXPECT_EQ(to_hex(bytes), packed(kArpReplyFrame));
}

TEST(Arp, ReadsGoldenFrames) {
    const Bytes request = from_hex(kArpRequestFrame);
    EXPECT_EQ(parse_frame(request, {}).kind, FrameClass::arp);
    EXPECT_EQ(parse_arp(std::span(request).subspan(kEthernetBytes)), make_arp_request(kMac1, kIp1, kIp2));
    const Bytes reply = from_hex(kArpReplyFrame);
    EXPECT_EQ(parse_arp(std::span(reply).subspan(kEthernetBytes)),
              make_arp_reply(make_arp_request(kMac1, kIp1, kIp2), kMac2));
}

TEST(Arp, RoundTripsWithinAVlan) {
    const Arp request = make_arp_request(kMac1, kIp1, kIp2);
    Bytes bytes(kEthernetFrameMin);
    encode_arp_frame(request, 7, bytes.data());
    const ParsedFrame frame = parse_frame(bytes, {});
    ASSERT_EQ(frame.kind, FrameClass::arp);
    EXPECT_EQ(frame.vlan, 7);
    EXPECT_EQ(parse_arp(frame.payload), request);
}

TEST(Arp, RefusesOtherHardwareProtocolsSizesAndOperations) {
    struct Case {
        std::size_t at;
        std::uint16_t value;
    };
    for (const Case& c : {Case{0, 6}, Case{2, 0x86DD}, Case{4, 0x0804}, Case{4, 0x0610}, Case{6, 0}, Case{6, 3}}) {
        Bytes bytes = from_hex(kArpRequestFrame);
        store_be16(bytes.data() + kEthernetBytes + c.at, c.value);
        EXPECT_EQ(parse_frame(bytes, {}).stray, Stray::bad_arp) << c.at;
        EXPECT_FALSE(parse_arp(std::span(bytes).subspan(kEthernetBytes)));
    }
    const Bytes valid = from_hex(kArpRequestFrame);
    for (std::size_t size = 0; size < kArpBytes; ++size) {
        EXPECT_FALSE(parse_arp(Bytes(valid.begin() + 14, valid.begin() + 14 + static_cast<std::ptrdiff_t>(size))));
    }
}

TEST(IcmpEcho, TurnsAGoldenRequestIntoItsReply) {
    Bytes bytes = from_hex(kEchoRequest);
    const ParsedFrame frame = parse_frame(bytes, {});
    ASSERT_EQ(frame.kind, FrameClass::icmp_echo_request) << name_of(frame.stray);
    EXPECT_EQ(frame.src_ip, kIp1);
    EXPECT_EQ(frame.dst_ip, kIp2);
    EXPECT_EQ(turn_into_echo_reply(bytes, kMac2), bytes.size());
    EXPECT_EQ(to_hex(bytes), packed(kEchoReply));
}

TEST(IcmpEcho, RepliesWithoutTheRequestsPaddingAndWithinItsVlan) {
    const Bytes plain = from_hex(kEchoRequest);
    Bytes bytes = prefix(plain, 12) + from_hex("8100 0007") + Bytes(plain.begin() + 12, plain.end()) + Bytes(9);
    ASSERT_EQ(parse_frame(bytes, {}).kind, FrameClass::icmp_echo_request);
    const std::size_t length = turn_into_echo_reply(bytes, kMac2);
    EXPECT_EQ(length, plain.size() + kVlanBytes);
    const std::string reply = packed(kEchoReply);
    EXPECT_EQ(to_hex(prefix(bytes, length)), reply.substr(0, 24) + "81000007" + reply.substr(24));
}

TEST(IcmpEcho, RepliesWithRightChecksumsToEveryRequest) {
    EXPECT_TRUE(rc::check([](std::uint64_t seed) {
        Random random(seed);
        const Bytes text = random_bytes(random, random.below(1'400));
        Bytes bytes =
            prefix(from_hex(kEchoRequest), kIp + kIpv4Bytes) + from_hex("0800 0000") + random_bytes(random, 4) + text;
        std::byte* const ip = bytes.data() + kIp;
        store_be16(ip + 2, static_cast<std::uint16_t>(bytes.size() - kIp));
        store_le16(ip + 10, 0);
        store_le16(ip + 10, internet_checksum({ip, kIpv4Bytes}));
        const std::span<const std::byte> message = std::span(bytes).subspan(kIp + kIpv4Bytes);
        store_le16(ip + kIpv4Bytes + 2, internet_checksum(message));
        RC_ASSERT(parse_frame(bytes, {}).kind == FrameClass::icmp_echo_request);
        RC_ASSERT(turn_into_echo_reply(bytes, kMac2) == bytes.size());
        RC_ASSERT(internet_checksum({ip, kIpv4Bytes}) == 0);
        RC_ASSERT(internet_checksum(message) == 0);
        RC_ASSERT(load_u8(message.data()) == 0);
    }));
}

TEST(IcmpEcho, RefusesOtherMessagesAndBadChecksums) {
    Bytes bytes = from_hex(kEchoRequest);
    store_u8(bytes.data() + kUdp, 0);
    EXPECT_EQ(parse_frame(bytes, {}).stray, Stray::other_protocol);
    bytes = from_hex(kEchoRequest);
    store_u8(bytes.data() + kUdp + 1, 1);
    EXPECT_EQ(parse_frame(bytes, {}).stray, Stray::other_protocol);
    bytes = from_hex(kEchoRequest);
    bytes.back() ^= std::byte{0x10};
    EXPECT_EQ(parse_frame(bytes, {}).stray, Stray::bad_icmp_checksum);
    bytes = from_hex(kEchoRequest);
    store_be16(bytes.data() + kIp + 2, 20 + 7);
    EXPECT_EQ(stray_of(bytes), Stray::truncated);
}

TEST(ParseFrame, SurvivesFlippedBytesAndCuts) {
    Random random(8);
    const std::vector<Bytes> valid = {from_hex(kUdpFrame), from_hex(kEchoRequest), from_hex(kArpRequestFrame)};
    std::set<Stray> seen;
    for (int round = 0; round < 100'000; ++round) {
        Bytes bytes = valid[random.below(valid.size())];
        for (std::uint64_t flips = 1 + random.below(3); flips != 0; --flips) {
            bytes[random.below(bytes.size())] = static_cast<std::byte>(random.next());
        }
        if (random.below(4) == 0) bytes = prefix(bytes, random.below(bytes.size() + 1));
        const Verify verify = {.ip_checksum = random.below(2) == 0,
                               .udp_checksum = random.below(2) == 0,
                               .demand_udp_checksum = random.below(2) == 0};
        const ParsedFrame frame = parse_frame(bytes, verify);
        seen.insert(frame.stray);
        ASSERT_EQ(frame.kind == FrameClass::stray, frame.stray != Stray::none);
        if (frame.kind == FrameClass::stray) continue;
        ASSERT_GE(frame.payload.data(), bytes.data());
        ASSERT_LE(frame.payload.data() + frame.payload.size(), bytes.data() + bytes.size());
        if (frame.kind == FrameClass::udp) {
            ASSERT_TRUE(!verify.udp_checksum || udp_checksum_holds(frame));
        }
        if (frame.kind == FrameClass::arp) {
            ASSERT_TRUE(parse_arp(frame.payload));
        }
        if (frame.kind == FrameClass::icmp_echo_request) {
            ASSERT_LE(turn_into_echo_reply(bytes, kMac2), bytes.size());
        }
    }
    EXPECT_GE(seen.size(), kStrays - 1);
}

TEST(Strays, HaveDistinctNames) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < kStrays; ++i) names.insert(name_of(static_cast<Stray>(i)));
    EXPECT_EQ(names.size(), kStrays);
}

}  // namespace
}  // namespace bowline::protocol::wire
