#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "protocol/check.hpp"
#include "protocol/wire/address.hpp"
#include "protocol/wire/bytes.hpp"
#include "protocol/wire/checksum.hpp"
#include "protocol/wire/ethernet.hpp"

namespace bowline::protocol::wire {

/// Where the packets of one peer go from and to.
struct Endpoints {
    MacAddress src_mac;
    MacAddress dst_mac;
    Ipv4Address src_ip;
    Ipv4Address dst_ip;
    std::uint16_t src_port = 0;
    std::uint16_t dst_port = 0;
    std::uint16_t vlan = kNoVlan;  ///< VLAN id or kNoVlan
    std::uint8_t dscp = 0;         ///< differentiated services code point (RFC 2474), 0..63
};

/// Ethernet, 802.1Q (if any), IPv4 and UDP headers towards one peer, made once and copied in front of each packet, with
/// only lengths and checksums left to fill in. TTL is 64, don't-fragment is set, the IP id is 0 (RFC 6864 §4.1 allows
/// that for what is never fragmented).
///
/// A plain value; made by whoever resolves the peer's address, used by the worker that owns the peer.
class HeaderTemplate {
public:
    /// write() may overwrite so many bytes before the UDP payload, whatever size() is: a copy of fixed length is
    /// faster.
    static constexpr std::size_t kWriteBytes = 48;

    HeaderTemplate() = default;
    explicit HeaderTemplate(const Endpoints& endpoints);

    /// Bytes of all headers: 42, with VLAN 46.
    [[nodiscard]] std::size_t size() const { return size_; }

    /// Writes the headers so that they end where the UDP payload (the Bowline header) begins, for a payload of
    /// `udp_payload_bytes` (at most 65507), with the UDP checksum 0, which says that it is skipped. Returns the start
    /// of the frame.
    std::byte* write(std::byte* udp_payload, std::size_t udp_payload_bytes) const {
        BOWLINE_DCHECK(size_ != 0 && udp_payload_bytes <= kUdpPayloadMax);
        const auto udp_bytes = static_cast<std::uint16_t>(kUdpBytes + udp_payload_bytes);
        const std::uint16_t ip_bytes = __builtin_bswap16(static_cast<std::uint16_t>(kIpv4Bytes + udp_bytes));
        std::memcpy(udp_payload - kWriteBytes, bytes_.data(), kWriteBytes);
        store_le16(udp_payload - kIpFromEnd + 2, ip_bytes);
        store_le16(udp_payload - kIpFromEnd + 10, static_cast<std::uint16_t>(~checksum_fold(ip_sum_ + ip_bytes)));
        store_be16(udp_payload - kUdpBytes + 4, udp_bytes);
        return udp_payload - size_;
    }

    /// After write(), and after the last change to the payload, which must be contiguous: fills in the UDP checksum.
    void fill_udp_checksum(std::byte* udp_payload, std::size_t udp_payload_bytes) const {
        std::byte* const datagram = udp_payload - kUdpBytes;
        store_le16(datagram + 6, 0);
        const std::uint64_t sum =
            checksum_add(pseudo_sum(udp_payload_bytes), {datagram, kUdpBytes + udp_payload_bytes});
        const auto checksum = static_cast<std::uint16_t>(~checksum_fold(sum));
        // 0 would say that there is none; the one's complement has a second zero for that (RFC 768).
        store_le16(datagram + 6, checksum == 0 ? std::uint16_t{0xFFFF} : checksum);
    }

    /// After write(): leaves the rest of the UDP checksum to the device, which expects the pseudo-header's sum, not
    /// complemented, in the field.
    void fill_pseudo_header_sum(std::byte* udp_payload, std::size_t udp_payload_bytes) const {
        store_le16(udp_payload - kUdpBytes + 6, checksum_fold(pseudo_sum(udp_payload_bytes)));
    }

    /// After write(): back to a skipped checksum, for a packet that is sent again another way.
    static void skip_udp_checksum(std::byte* udp_payload) { store_le16(udp_payload - kUdpBytes + 6, 0); }

private:
    static constexpr std::size_t kIpFromEnd = kIpv4Bytes + kUdpBytes;
    static constexpr std::size_t kUdpPayloadMax = 65535 - kIpv4Bytes - kUdpBytes;

    [[nodiscard]] std::uint64_t pseudo_sum(std::size_t udp_payload_bytes) const {
        return pseudo_sum_ + __builtin_bswap16(static_cast<std::uint16_t>(kUdpBytes + udp_payload_bytes));
    }

    std::array<std::byte, kWriteBytes> bytes_{};  ///< the headers, flush with the end; IP total length and checksums 0
    std::uint64_t ip_sum_ = 0;                    ///< of the IP header, without total length
    std::uint64_t pseudo_sum_ = 0;                ///< of the pseudo-header, without UDP length
    std::uint32_t size_ = 0;
};

}  // namespace bowline::protocol::wire
