#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bowline::bench {

/// A raw frame: Ethernet to everybody (no neighbour is looked up), of the type for local experiments, then what tells
/// ours from others' and a number; the rest is filled from the number, so that whoever reads it can check every byte.
inline constexpr std::uint32_t kFrameBytesMin = 32;
inline constexpr std::uint8_t kMagic = 0xB1;

enum class FrameKind : std::uint8_t { ping = 1, pong = 2, flood = 3 };

namespace frame_layout {
inline constexpr std::size_t kDestination = 0;
inline constexpr std::size_t kSource = 6;
inline constexpr std::size_t kEtherType = 12;
inline constexpr std::size_t kMagicAt = 14;
inline constexpr std::size_t kKindAt = 15;
inline constexpr std::size_t kNumber = 16;
inline constexpr std::size_t kFill = 24;
}  // namespace frame_layout

inline void write_fill(std::byte* frame, std::uint32_t bytes, std::uint64_t number) {
    using namespace frame_layout;
    std::size_t at = kFill;
    for (; at + sizeof(number) <= bytes; at += sizeof(number)) {
        std::memcpy(frame + at, &number, sizeof(number));
    }
    std::memcpy(frame + at, &number, bytes - at);
}

inline void write_frame(std::byte* frame, std::uint32_t bytes, FrameKind kind, std::uint64_t number) {
    using namespace frame_layout;
    std::memset(frame + kDestination, 0xFF, 6);
    static constexpr std::uint8_t kFrom[] = {0x02, 0xB0, 0, 0, 0, 0x01};
    std::memcpy(frame + kSource, kFrom, sizeof(kFrom));
    frame[kEtherType] = std::byte{0x88};
    frame[kEtherType + 1] = std::byte{0xB5};
    frame[kMagicAt] = std::byte{kMagic};
    frame[kKindAt] = static_cast<std::byte>(kind);
    std::memcpy(frame + kNumber, &number, sizeof(number));
    write_fill(frame, bytes, number);
}

/// Reads all of it. False when the frame is none of ours, of another kind, or damaged.
inline bool read_frame(const std::byte* frame, std::uint32_t bytes, FrameKind kind, std::uint64_t& number) {
    using namespace frame_layout;
    if (bytes < kFrameBytesMin || frame[kEtherType] != std::byte{0x88} || frame[kEtherType + 1] != std::byte{0xB5} ||
        frame[kMagicAt] != std::byte{kMagic} || frame[kKindAt] != static_cast<std::byte>(kind)) {
        return false;
    }
    std::memcpy(&number, frame + kNumber, sizeof(number));
    std::uint64_t differs = 0;
    std::size_t at = kFill;
    for (; at + sizeof(number) <= bytes; at += sizeof(number)) {
        std::uint64_t word = 0;
        std::memcpy(&word, frame + at, sizeof(word));
        differs |= word ^ number;
    }
    return differs == 0 && std::memcmp(frame + at, &number, bytes - at) == 0;
}

}  // namespace bowline::bench
