#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "tools/little_endian.hpp"

namespace bowline::tools {

// What `bowline flood` and `bowline sink` say to each other, one frame a message:
//
//   flood    start ------- data data data ... finish
//   sink            ready ---------------------------- report
//
// Data begins with a word of 64 bits: the kind in its lowest byte and the message's number, from 0 on, above it. Every
// other frame is its kind, seven bytes of magic, and the numbers of a FloodReport. Pure; any thread.

enum class FloodKind : std::uint8_t { start = 0xF1, ready = 0xF2, data = 0xF3, finish = 0xF4, report = 0xF5 };

/// What the sink has seen of a flood. In a start, ready or finish only `id` counts.
struct FloodReport {
    std::uint64_t id = 0;
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t sum = 0;         ///< of all payload bytes, as fold() sums them
    std::uint64_t misplaced = 0;   ///< messages whose number was not the one after the last
    std::uint64_t elapsed_ns = 0;  ///< from the first message to the last

    bool operator==(const FloodReport&) const = default;
};

/// The smallest message that holds the word.
inline constexpr std::size_t kFloodSizeMin = 8;

inline std::uint64_t flood_word(std::uint64_t number) {
    return number << 8U | static_cast<std::uint64_t>(FloodKind::data);
}

/// Touches every byte: the sum of the words of 64 bits, the last one filled up with zeros.
inline std::uint64_t fold(const std::byte* bytes, std::size_t size) {
    std::uint64_t sum = 0;
    std::size_t at = 0;
    for (; at + 8 <= size; at += 8) {
        sum += load_u64(bytes + at);
    }
    if (at < size) {
        std::uint64_t rest = 0;
        std::memcpy(&rest, bytes + at, size - at);
        sum += rest;
    }
    return sum;
}

inline constexpr char kFloodMagic[] = "bwlfld1";
inline constexpr std::size_t kFloodFrameBytes = 8 + 6 * 8;

inline std::vector<std::byte> encode(FloodKind kind, const FloodReport& report) {
    std::vector<std::byte> bytes(kFloodFrameBytes);
    bytes[0] = static_cast<std::byte>(kind);
    std::memcpy(&bytes[1], kFloodMagic, 7);
    const std::uint64_t words[] = {report.id,  report.messages,  report.bytes,
                                   report.sum, report.misplaced, report.elapsed_ns};
    std::memcpy(&bytes[8], words, sizeof(words));
    return bytes;
}

struct FloodFrame {
    FloodKind kind = FloodKind::start;
    FloodReport report;
};

/// A frame of any kind but data, or nothing when the message is none.
inline std::optional<FloodFrame> decode_flood(std::span<const std::byte> message) {
    if (message.size() != kFloodFrameBytes || std::memcmp(&message[1], kFloodMagic, 7) != 0) {
        return std::nullopt;
    }
    const auto kind = static_cast<FloodKind>(message[0]);
    if (kind < FloodKind::start || kind > FloodKind::report || kind == FloodKind::data) {
        return std::nullopt;
    }
    const std::byte* const words = &message[8];
    return FloodFrame{kind,
                      {load_u64(words), load_u64(words + 8), load_u64(words + 16), load_u64(words + 24),
                       load_u64(words + 32), load_u64(words + 40)}};
}

}  // namespace bowline::tools
