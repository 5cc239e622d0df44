#include "protocol/wire/ethernet.hpp"

#include <algorithm>
#include <array>

#include "protocol/check.hpp"

namespace bowline::protocol::wire {

namespace {

constexpr std::uint16_t kArpHardwareEthernet = 1;
constexpr std::size_t kIcmpEchoBytes = 8;  // type, code, checksum, identifier, sequence number
constexpr std::uint8_t kIcmpEchoRequest = 8;
constexpr std::uint8_t kIcmpEchoReply = 0;

}  // namespace

const char* name_of(Stray stray) {
    static constexpr std::array<const char*, kStrays> names = {
        "none",           "truncated",         "other_ethertype",  "bad_arp",
        "bad_ip_header",  "bad_length",        "bad_ip_checksum",  "fragment",
        "other_protocol", "bad_icmp_checksum", "bad_udp_checksum", "no_udp_checksum",
    };
    static_assert(static_cast<std::size_t>(Stray::no_udp_checksum) + 1 == kStrays);
    return names[static_cast<std::size_t>(stray)];
}

namespace detail {

void classify_arp(ParsedFrame& frame) {
    if (frame.payload.size() < kArpBytes) return stray(frame, Stray::truncated);
    frame.payload = frame.payload.first(kArpBytes);
    if (!parse_arp(frame.payload)) return stray(frame, Stray::bad_arp);
    frame.kind = FrameClass::arp;
}

void classify_icmp(ParsedFrame& frame) {
    const std::span<const std::byte> message = frame.payload;
    if (message.size() < kIcmpEchoBytes) return stray(frame, Stray::truncated);
    if (load_u8(message.data()) != kIcmpEchoRequest || load_u8(message.data() + 1) != 0) {
        return stray(frame, Stray::other_protocol);
    }
    // Always in software: no device that Bowline drives verifies ICMP, and an echo is on nobody's hot path.
    if (internet_checksum(message) != 0) return stray(frame, Stray::bad_icmp_checksum);
    frame.kind = FrameClass::icmp_echo_request;
}

}  // namespace detail

std::optional<Arp> parse_arp(std::span<const std::byte> payload) {
    if (payload.size() < kArpBytes) return std::nullopt;
    const std::byte* const at = payload.data();
    if (load_be16(at) != kArpHardwareEthernet || load_be16(at + 2) != kEtherTypeIpv4 || load_u8(at + 4) != 6 ||
        load_u8(at + 5) != 4) {
        return std::nullopt;
    }
    const std::uint16_t operation = load_be16(at + 6);
    if (operation != static_cast<std::uint16_t>(ArpOperation::request) &&
        operation != static_cast<std::uint16_t>(ArpOperation::reply)) {
        return std::nullopt;
    }
    return Arp{
        .operation = static_cast<ArpOperation>(operation),
        .sender_mac = MacAddress::load(at + 8),
        .sender_ip = {load_be32(at + 14)},
        .target_mac = MacAddress::load(at + 18),
        .target_ip = {load_be32(at + 24)},
    };
}

Arp make_arp_request(MacAddress own_mac, Ipv4Address own_ip, Ipv4Address wanted) {
    return {.operation = ArpOperation::request,
            .sender_mac = own_mac,
            .sender_ip = own_ip,
            .target_mac = {},
            .target_ip = wanted};
}

Arp make_arp_reply(const Arp& request, MacAddress own_mac) {
    return {.operation = ArpOperation::reply,
            .sender_mac = own_mac,
            .sender_ip = request.target_ip,
            .target_mac = request.sender_mac,
            .target_ip = request.sender_ip};
}

std::size_t encode_arp_frame(const Arp& arp, std::uint16_t vlan, std::byte* out) {
    std::fill_n(out, kEthernetFrameMin, std::byte{0});
    const bool is_request = arp.operation == ArpOperation::request;
    (is_request ? MacAddress::broadcast() : arp.target_mac).store(out);
    arp.sender_mac.store(out + 6);
    std::byte* at = out + 12;
    if (vlan != kNoVlan) {
        store_be16(at, kEtherTypeVlan);
        store_be16(at + 2, vlan);
        at += kVlanBytes;
    }
    store_be16(at, kEtherTypeArp);
    at += 2;
    store_be16(at, kArpHardwareEthernet);
    store_be16(at + 2, kEtherTypeIpv4);
    store_u8(at + 4, 6);
    store_u8(at + 5, 4);
    store_be16(at + 6, static_cast<std::uint16_t>(arp.operation));
    arp.sender_mac.store(at + 8);
    store_be32(at + 14, arp.sender_ip.value);
    arp.target_mac.store(at + 18);
    store_be32(at + 24, arp.target_ip.value);
    return kEthernetFrameMin;
}

std::size_t turn_into_echo_reply(std::span<std::byte> frame, MacAddress own_mac) {
    const bool tagged = load_be16(frame.data() + 12) == kEtherTypeVlan;
    const std::size_t ip_at = kEthernetBytes + (tagged ? kVlanBytes : 0);
    BOWLINE_CHECK(frame.size() >= ip_at + kIpv4Bytes + kIcmpEchoBytes);
    std::byte* const ip = frame.data() + ip_at;
    const std::size_t ip_header_bytes = (load_u8(ip) & 0xFU) * std::size_t{4};
    const std::size_t total_bytes = load_be16(ip + 2);
    BOWLINE_CHECK(ip_header_bytes + kIcmpEchoBytes <= total_bytes && ip_at + total_bytes <= frame.size());

    MacAddress::load(frame.data() + 6).store(frame.data());
    own_mac.store(frame.data() + 6);

    const std::uint32_t asker = load_le32(ip + 12);
    store_le32(ip + 12, load_le32(ip + 16));
    store_le32(ip + 16, asker);
    constexpr std::uint8_t ttl = 64;
    store_u8(ip + 8, ttl);  // a reply's own life, not what was left of the request's
    store_le16(ip + 10, 0);
    store_le16(ip + 10, internet_checksum({ip, ip_header_bytes}));

    std::byte* const icmp = ip + ip_header_bytes;
    const std::uint16_t type_code = load_le16(icmp);
    store_u8(icmp, kIcmpEchoReply);
    store_le16(icmp + 2, checksum_update(load_le16(icmp + 2), type_code, load_le16(icmp)));
    return ip_at + total_bytes;
}

}  // namespace bowline::protocol::wire
