#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "protocol/wire/address.hpp"
#include "protocol/wire/bytes.hpp"
#include "protocol/wire/checksum.hpp"

/// What lies around a Bowline packet on a network: Ethernet II with an optional 802.1Q tag, IPv4 (RFC 791), UDP (RFC
/// 768), and beside it ARP (RFC 826) and ICMP echo (RFC 792), which the engine answers itself. Big-endian on the wire,
/// numbers of this machine here. Pure functions for any thread; parsers are safe on any bytes.
namespace bowline::protocol::wire {

inline constexpr std::size_t kEthernetBytes = 14;
inline constexpr std::size_t kVlanBytes = 4;
inline constexpr std::size_t kIpv4Bytes = 20;  ///< without options
inline constexpr std::size_t kUdpBytes = 8;
inline constexpr std::size_t kArpBytes = 28;
/// The least that Ethernet carries, without FCS: shorter frames are padded with zeros, some devices leave that to us.
inline constexpr std::size_t kEthernetFrameMin = 60;

inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherTypeArp = 0x0806;
inline constexpr std::uint16_t kEtherTypeVlan = 0x8100;
inline constexpr std::uint8_t kIpProtocolIcmp = 1;
inline constexpr std::uint8_t kIpProtocolUdp = 17;
inline constexpr std::uint16_t kVlanIdMax = 4094;

/// What a received frame is.
enum class FrameClass : std::uint8_t {
    stray,              ///< none of the others; ParsedFrame::stray says why
    udp,                ///< a whole UDP datagram over IPv4
    arp,                ///< a well-formed ARP request or reply: parse_arp() reads it
    icmp_echo_request,  ///< a whole ICMP echo request with a right checksum: turn_into_echo_reply() answers it
};

/// Why a frame is of no use. Each kind has its own counter.
enum class Stray : std::uint8_t {
    none,
    truncated,        ///< ends within a header, or before the length that IPv4 says
    other_ethertype,  ///< neither IPv4 nor ARP
    bad_arp,          ///< ARP for other than Ethernet and IPv4, or of an unknown operation
    bad_ip_header,    ///< not version 4, or a header length below 5 words
    bad_length,       ///< IPv4 or UDP length fields that contradict each other
    bad_ip_checksum,
    fragment,        ///< an IPv4 fragment: never sent by Bowline, never put together
    other_protocol,  ///< IPv4, but neither UDP nor an ICMP echo request
    bad_icmp_checksum,
    bad_udp_checksum,
    no_udp_checksum,  ///< the sender left out a checksum that is demanded here
};

/// How many Strays there are, `none` included: the size of a table of counters indexed by them.
inline constexpr std::size_t kStrays = 12;

/// The counter's name, such as "bad_ip_checksum"; static storage.
[[nodiscard]] const char* name_of(Stray stray);

/// Which checksums parse_frame() computes. What the device has verified need not be verified again.
struct Verify {
    bool ip_checksum = true;
    bool udp_checksum = true;
    bool demand_udp_checksum = false;  ///< refuse datagrams whose sender skipped the checksum (field 0)
};

inline constexpr std::uint16_t kNoVlan = 0xFFFF;

/// A received frame, taken apart. Views point into the frame and are valid as long as that is. Whether its addresses
/// and ports are ours is for the caller to judge.
struct ParsedFrame {
    FrameClass kind = FrameClass::stray;
    Stray stray = Stray::none;     ///< not none exactly when kind is stray
    std::uint16_t vlan = kNoVlan;  ///< VLAN id of the 802.1Q tag
    MacAddress dst_mac;            ///< valid once the frame has an Ethernet header
    MacAddress src_mac;
    Ipv4Address src_ip;  ///< udp and icmp_echo_request
    Ipv4Address dst_ip;
    std::uint16_t src_port = 0;  ///< udp, as the next ones
    std::uint16_t dst_port = 0;
    std::uint16_t udp_checksum = 0;       ///< as it is in the datagram; 0: the sender skipped it
    std::span<const std::byte> ip;        ///< IPv4 header with options
    std::span<const std::byte> datagram;  ///< UDP header and payload: what its checksum covers, with the pseudo-header
    std::span<const std::byte> payload;   ///< udp: what UDP carries; arp: the ARP packet; echo: the ICMP message
};

/// The pseudo-header's part of a UDP checksum (RFC 768): addresses, protocol, and the UDP length (header and payload).
[[nodiscard]] inline std::uint64_t pseudo_header_sum(Ipv4Address src, Ipv4Address dst, std::size_t udp_bytes) {
    // On the wire's byte order turned into the machine's, as checksum_add() would have loaded them.
    return std::uint64_t{__builtin_bswap32(src.value)} + __builtin_bswap32(dst.value) +
           __builtin_bswap16(kIpProtocolUdp) + __builtin_bswap16(static_cast<std::uint16_t>(udp_bytes));
}

/// Whether the datagram of a frame of kind udp is what its checksum says. A skipped checksum (0) says nothing: true.
[[nodiscard]] inline bool udp_checksum_holds(const ParsedFrame& frame) {
    if (frame.udp_checksum == 0) return true;
    const std::uint64_t pseudo = pseudo_header_sum(frame.src_ip, frame.dst_ip, frame.datagram.size());
    return checksum_fold(checksum_add(pseudo, frame.datagram)) == 0xFFFF;
}

namespace detail {

/// The parts of parse_frame() that are not on the path of a message.
void classify_arp(ParsedFrame& frame);
void classify_icmp(ParsedFrame& frame);

inline void stray(ParsedFrame& frame, Stray why) {
    frame.kind = FrameClass::stray;
    frame.stray = why;
}

/// `ip` is what follows the Ethernet header, padding included.
inline void classify_ipv4(ParsedFrame& frame, std::span<const std::byte> ip, Verify verify) {
    if (ip.size() < kIpv4Bytes) return stray(frame, Stray::truncated);
    const std::byte* const header = ip.data();
    const std::size_t version_ihl = load_u8(header);
    const std::size_t header_bytes = (version_ihl & 0xFU) * 4;
    if (version_ihl >> 4U != 4 || header_bytes < kIpv4Bytes) return stray(frame, Stray::bad_ip_header);
    const std::size_t total_bytes = load_be16(header + 2);
    if (total_bytes < header_bytes) return stray(frame, Stray::bad_length);
    if (total_bytes > ip.size()) return stray(frame, Stray::truncated);
    frame.ip = ip.first(header_bytes);
    if (verify.ip_checksum && internet_checksum(frame.ip) != 0) return stray(frame, Stray::bad_ip_checksum);
    constexpr std::uint32_t more_fragments_and_offset = 0x3FFF;
    if ((load_be16(header + 6) & more_fragments_and_offset) != 0) return stray(frame, Stray::fragment);
    frame.src_ip.value = load_be32(header + 12);
    frame.dst_ip.value = load_be32(header + 16);
    const std::span<const std::byte> body = ip.subspan(header_bytes, total_bytes - header_bytes);
    const std::uint8_t protocol = load_u8(header + 9);
    if (protocol != kIpProtocolUdp) {
        if (protocol != kIpProtocolIcmp) return stray(frame, Stray::other_protocol);
        frame.payload = body;
        return classify_icmp(frame);
    }
    if (body.size() < kUdpBytes) return stray(frame, Stray::truncated);
    if (load_be16(body.data() + 4) != body.size()) return stray(frame, Stray::bad_length);
    frame.src_port = load_be16(body.data());
    frame.dst_port = load_be16(body.data() + 2);
    frame.udp_checksum = load_be16(body.data() + 6);
    frame.datagram = body;
    frame.payload = body.subspan(kUdpBytes);
    if (verify.demand_udp_checksum && frame.udp_checksum == 0) return stray(frame, Stray::no_udp_checksum);
    if (verify.udp_checksum && !udp_checksum_holds(frame)) return stray(frame, Stray::bad_udp_checksum);
    frame.kind = FrameClass::udp;
}

}  // namespace detail

/// Takes a received frame apart, from its Ethernet header on and without FCS.
[[nodiscard]] inline ParsedFrame parse_frame(std::span<const std::byte> bytes, Verify verify) {
    ParsedFrame frame;
    if (bytes.size() < kEthernetBytes) {
        detail::stray(frame, Stray::truncated);
        return frame;
    }
    std::memcpy(frame.dst_mac.bytes.data(), bytes.data(), 6);
    std::memcpy(frame.src_mac.bytes.data(), bytes.data() + 6, 6);
    std::uint16_t ether_type = load_be16(bytes.data() + 12);
    std::size_t at = kEthernetBytes;
    if (ether_type == kEtherTypeVlan) {
        if (bytes.size() < kEthernetBytes + kVlanBytes) {
            detail::stray(frame, Stray::truncated);
            return frame;
        }
        frame.vlan = load_be16(bytes.data() + at) & 0x0FFFU;
        ether_type = load_be16(bytes.data() + at + 2);
        at += kVlanBytes;
    }
    if (ether_type == kEtherTypeIpv4) {
        detail::classify_ipv4(frame, bytes.subspan(at), verify);
    } else if (ether_type == kEtherTypeArp) {
        frame.payload = bytes.subspan(at);
        detail::classify_arp(frame);
    } else {
        detail::stray(frame, Stray::other_ethertype);
    }
    return frame;
}

enum class ArpOperation : std::uint16_t { request = 1, reply = 2 };

/// An ARP packet for Ethernet and IPv4.
struct Arp {
    ArpOperation operation = ArpOperation::request;
    MacAddress sender_mac;
    Ipv4Address sender_ip;
    MacAddress target_mac;  ///< zero in a request
    Ipv4Address target_ip;
    bool operator==(const Arp&) const = default;
};

/// Reads an ARP packet (ParsedFrame::payload); nothing for other than a request or reply for Ethernet and IPv4.
[[nodiscard]] std::optional<Arp> parse_arp(std::span<const std::byte> payload);

[[nodiscard]] Arp make_arp_request(MacAddress own_mac, Ipv4Address own_ip, Ipv4Address wanted);
/// The answer of the node that owns request.target_ip.
[[nodiscard]] Arp make_arp_reply(const Arp& request, MacAddress own_mac);

/// Writes a frame of kEthernetFrameMin bytes at `out`, padded with zeros, and returns that number. A request goes to
/// everybody, a reply to its target. `vlan`: a VLAN id or kNoVlan.
std::size_t encode_arp_frame(const Arp& arp, std::uint16_t vlan, std::byte* out);

/// Turns a frame that parse_frame() has called an icmp_echo_request, in place, into the reply to it, sent from
/// `own_mac`, with new checksums. Returns the length to send: what IPv4 says, without the request's padding.
std::size_t turn_into_echo_reply(std::span<std::byte> frame, MacAddress own_mac);

}  // namespace bowline::protocol::wire
