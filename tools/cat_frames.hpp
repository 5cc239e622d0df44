#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bowline::tools {

// What the two ends of `bowline cat` say to each other, one frame a message:
//
//   sender    begin ----------------- data data data ... end
//   receiver         ready ------------------------------------- confirm      (or refuse, at any time)
//
// Data is the byte `data` and then the bytes themselves. Every other frame is its kind, seven bytes of magic, and
// numbers of 64 bits; a refusal ends in text. Pure; any thread.

enum class CatKind : std::uint8_t {
    begin = 0xC1,    ///< id of the transfer, size of its largest block
    ready = 0xC2,    ///< id
    data = 0xC3,     ///< no number: the contract of the engine is that they come once and in order
    end = 0xC4,      ///< id, bytes, messages
    confirm = 0xC5,  ///< id, bytes, messages: as written out by the receiver
    refuse = 0xC6,   ///< id, 0, 0, then why
};

struct CatFrame {
    CatKind kind = CatKind::data;
    std::uint64_t id = 0;
    std::uint64_t bytes = 0;  ///< of a begin: the block's size
    std::uint64_t messages = 0;
    std::string text;

    bool operator==(const CatFrame&) const = default;
};

/// Bytes of a data frame before its payload.
inline constexpr std::size_t kCatDataHeader = 1;
/// The longest text of a refusal that is encoded; the rest is cut off.
inline constexpr std::size_t kCatTextMax = 400;

std::vector<std::byte> encode(const CatFrame& frame);

/// A frame of any kind but data, or nothing when the message is none: another program sent it.
std::optional<CatFrame> decode_control(std::span<const std::byte> message);

/// The payload of a data frame, or nothing when the message is none.
std::optional<std::span<const std::byte>> decode_data(std::span<const std::byte> message);

}  // namespace bowline::tools
