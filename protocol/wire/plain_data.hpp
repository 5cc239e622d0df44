#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/wire/address.hpp"
#include "protocol/wire/bytes.hpp"
#include "protocol/wire/checksum.hpp"
#include "protocol/wire/ethernet.hpp"
#include "protocol/wire/frame.hpp"
#include "protocol/wire/header.hpp"

namespace bowline::protocol::wire {

/// Recognizes the frame that nearly all traffic consists of by a few wide comparisons: untagged Ethernet, IPv4 without
/// options and not a fragment, UDP to one address and port, and in it a DATA packet without extensions. Of such a frame
/// parse_frame() and decode() would say the same, field by field; of any other this class says nothing.
///
/// match() does not look at checksums. Safe on any bytes; a plain value.
class PlainDataMatcher {
public:
    PlainDataMatcher(Ipv4Address dst_ip, std::uint16_t dst_port)
        : destination_(std::uint64_t{__builtin_bswap32(dst_ip.value)} | std::uint64_t{__builtin_bswap16(dst_port)}
                                                                            << 48U) {}

    /// Where the Bowline header of such a frame lies, with at least one byte of content behind it, or nullptr. The
    /// frames in the content are yet to be checked (plain_content_holds()).
    [[nodiscard]] const std::byte* match(std::span<const std::byte> frame, std::size_t& content_bytes) const {
        if (frame.size() <= kContentAt) [[unlikely]] {
            return nullptr;
        }
        const std::byte* const at = frame.data();
        const std::size_t udp_bytes = load_be16(at + kUdpAt + 4);
        const std::size_t ip_bytes = load_be16(at + kIpAt + 2);
        const std::uint32_t ether_type_and_version = load_le32(at + kIpAt - 2) ^ 0x00450008U;
        const std::uint32_t fragment_and_protocol = load_le32(at + kIpAt + 6) ^ (std::uint32_t{kIpProtocolUdp} << 24U);
        const std::uint64_t destination = load_le64(at + kIpAt + 16) ^ destination_;
        const std::uint32_t type = load_le16(at + kBowlineAt) ^ kMagicAndData;
        const std::uint32_t flags = load_le16(at + kBowlineAt + offset::kFlags);  // and ack_delay, which DATA has not
        const bool plain = (ether_type_and_version & 0x00FFFFFFU) == 0 && (fragment_and_protocol & 0xFF00FF3FU) == 0 &&
                           (destination & 0xFFFF0000FFFFFFFFU) == 0 && type == 0 &&
                           (flags & ~std::uint32_t{kFlagAck | kFlagEcho | kFlagBoundary}) == 0 &&
                           ip_bytes == udp_bytes + kIpv4Bytes && ip_bytes <= frame.size() - kIpAt &&
                           udp_bytes > kUdpBytes + kHeaderBytes;
        content_bytes = udp_bytes - kUdpBytes - kHeaderBytes;
        return plain ? at + kBowlineAt : nullptr;
    }

    /// Whether a frame that was matched carries right checksums: computed as asked, and UDP's not left out.
    [[nodiscard]] static bool checksums_hold(const std::byte* frame, bool compute_ip, bool compute_udp) {
        const std::byte* const datagram = frame + kUdpAt;
        if (load_le16(datagram + 6) == 0 || (compute_ip && internet_checksum({frame + kIpAt, kIpv4Bytes}) != 0)) {
            return false;
        }
        if (!compute_udp) {
            return true;
        }
        const std::size_t udp_bytes = load_be16(datagram + 4);
        const std::uint64_t pseudo = pseudo_header_sum(Ipv4Address{load_be32(frame + kIpAt + 12)},
                                                       Ipv4Address{load_be32(frame + kIpAt + 16)}, udp_bytes);
        return checksum_fold(checksum_add(pseudo, {datagram, udp_bytes})) == 0xFFFF;
    }

private:
    static constexpr std::size_t kIpAt = kEthernetBytes;
    static constexpr std::size_t kUdpAt = kIpAt + kIpv4Bytes;
    static constexpr std::size_t kBowlineAt = kUdpAt + kUdpBytes;
    static constexpr std::size_t kContentAt = kBowlineAt + kHeaderBytes;
    static constexpr std::uint32_t kMagicAndData = kMagicVersion | static_cast<std::uint32_t>(Type::data) << 8U;
    static_assert(offset::kMagicVersion == 0 && offset::kType == 1 && offset::kAckDelay == offset::kFlags + 1);

    std::uint64_t destination_;  ///< IP address, source port (0) and port, as they lie in the frame
};

/// Whether the content of a plain DATA packet is what decode() accepts under these flags.
[[nodiscard]] inline bool plain_content_holds(std::span<const std::byte> content, std::uint32_t flags,
                                              std::uint32_t message_max) {
    return validate_frames(content, message_max) == DecodeError::none &&
           ((flags & kFlagBoundary) != 0) == begins_with_boundary(content);
}

/// The Bowline header of a DATA packet without extensions, as the words in which it is stored: the first field of each
/// in its low half. encode() of the same fields writes the same bytes.
struct PlainDataWords {
    std::uint64_t peer;     ///< plain_peer_word()
    std::uint64_t numbers;  ///< conn_id, seqno
    std::uint64_t ack;      ///< ack_conn_id, cum_ack
    std::uint64_t times;    ///< timestamp, echo
    std::uint32_t window_and_flags;
};
inline void encode_plain_data(const PlainDataWords& words, std::byte* out) {
    static_assert(offset::kSeqno == offset::kConnId + 4 && offset::kCumAck == offset::kAckConnId + 4 &&
                  offset::kEcho == offset::kTimestamp + 4 && offset::kFlags == offset::kWindow + 2);
    store_le64(out, words.peer);
    store_le64(out + offset::kConnId, words.numbers);
    store_le64(out + offset::kAckConnId, words.ack);
    store_le64(out + offset::kTimestamp, words.times);
    store_le32(out + offset::kWindow, words.window_and_flags);
}
/// Magic, version, type, slot and tag: the same for all such packets under one association.
[[nodiscard]] inline std::uint64_t plain_peer_word(std::uint16_t slot, std::uint32_t tag) {
    return kMagicVersion | std::uint64_t{static_cast<std::uint8_t>(Type::data)} << 8U | std::uint64_t{slot} << 16U |
           std::uint64_t{tag} << 32U;
}

}  // namespace bowline::protocol::wire
