#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "protocol/wire/bytes.hpp"

/// The Internet checksum (RFC 1071), on the path of every packet of a device without checksum offload.
///
/// Sums are kept in the machine's byte order, which the one's complement sum allows (RFC 1071 §2 B): a folded sum is
/// stored with store_le16() and comes out right on the wire. Pure functions for any thread, any length and alignment.
namespace bowline::protocol::wire {

namespace detail {

/// 16 bytes as two lanes: adding 32-bit halves into 64-bit lanes leaves room for 2^32 carries, so that the loop needs
/// no carry at all and its additions do not wait for each other.
using SumLanes [[gnu::vector_size(16)]] = std::uint64_t;

[[nodiscard]] inline SumLanes load_lanes(const std::byte* from) {
    SumLanes lanes;
    std::memcpy(&lanes, from, sizeof(lanes));
    return lanes;
}

}  // namespace detail

/// `sum` plus the one's complement sum of the bytes, not folded. Pieces may be added one after the other in any order,
/// if each but the last has an even length. Exact for up to 2^31 bytes in all.
[[nodiscard]] inline std::uint64_t checksum_add(std::uint64_t sum, std::span<const std::byte> bytes) {
    const std::byte* at = bytes.data();
    std::size_t left = bytes.size();
    if (left >= 32) {
        constexpr detail::SumLanes low = {0xFFFF'FFFFU, 0xFFFF'FFFFU};
        detail::SumLanes low_0{}, low_1{}, high_0{}, high_1{};
        do {
            const detail::SumLanes a = detail::load_lanes(at);
            const detail::SumLanes b = detail::load_lanes(at + 16);
            low_0 += a & low;
            high_0 += a >> 32;
            low_1 += b & low;
            high_1 += b >> 32;
            at += 32;
            left -= 32;
        } while (left >= 32);
        const detail::SumLanes lanes = (low_0 + low_1) + (high_0 + high_1);
        sum += lanes[0] + lanes[1];
    }
    // At most 31 bytes are left: one step for each bit of their number.
    if ((left & 16U) != 0) {
        constexpr std::uint64_t low = 0xFFFF'FFFFU;
        const std::uint64_t a = load_le64(at);
        const std::uint64_t b = load_le64(at + 8);
        sum += (a & low) + (a >> 32U) + (b & low) + (b >> 32U);
        at += 16;
    }
    if ((left & 8U) != 0) {
        sum += std::uint64_t{load_le32(at)} + load_le32(at + 4);
        at += 8;
    }
    if ((left & 4U) != 0) {
        sum += load_le32(at);
        at += 4;
    }
    if ((left & 2U) != 0) {
        sum += load_le16(at);
        at += 2;
    }
    // An odd last byte counts as if a zero followed it (RFC 1071 §1): the low half of a little-endian word.
    if ((left & 1U) != 0) sum += load_u8(at);
    return sum;
}

/// Folds to 16 bits with end-around carry. 0 only for a sum of nothing but zeros.
[[nodiscard]] constexpr std::uint16_t checksum_fold(std::uint64_t sum) {
    sum = (sum >> 32U) + (sum & 0xFFFF'FFFFU);
    sum = (sum >> 32U) + (sum & 0xFFFF'FFFFU);
    sum = (sum >> 16U) + (sum & 0xFFFFU);
    sum = (sum >> 16U) + (sum & 0xFFFFU);
    return static_cast<std::uint16_t>((sum >> 16U) + (sum & 0xFFFFU));
}

/// The checksum field of these bytes whose field holds 0, to be stored with store_le16(). Over bytes that hold their
/// checksum already it is 0 exactly when that is right.
[[nodiscard]] inline std::uint16_t internet_checksum(std::span<const std::byte> bytes) {
    return static_cast<std::uint16_t>(~checksum_fold(checksum_add(0, bytes)));
}

/// The checksum field (loaded with load_le16()) after one 16-bit word at an even offset (loaded in the same way) has
/// changed from `before` to `after`: RFC 1624 §3, equation 3.
[[nodiscard]] constexpr std::uint16_t checksum_update(std::uint16_t checksum, std::uint16_t before,
                                                      std::uint16_t after) {
    const std::uint64_t sum = std::uint64_t{static_cast<std::uint16_t>(~checksum)} +
                              std::uint64_t{static_cast<std::uint16_t>(~before)} + after;
    return static_cast<std::uint16_t>(~checksum_fold(sum));
}

}  // namespace bowline::protocol::wire
