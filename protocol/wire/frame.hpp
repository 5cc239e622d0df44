#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/check.hpp"
#include "protocol/wire/bytes.hpp"
#include "protocol/wire/decoded.hpp"

/// Message frames, which fill the content of a DATA packet to its end.
///
/// A frame is a u16 (top 2 bits the kind, low 14 the number of message bytes that follow) and those bytes; a first
/// fragment has the u32 length of the whole message between the two, not counted in the frame's length. A packet holds
/// either one middle fragment, or [last fragment] [whole messages] [first fragment], each part optional but not all.
namespace bowline::protocol::wire {

enum class FrameKind : std::uint8_t {
    whole = 0,   ///< a message; may be empty
    first = 1,   ///< the first fragment of a message that is longer than it; the packet's last frame
    middle = 2,  ///< alone in its packet
    last = 3,    ///< the last fragment of a message; the packet's first frame
};

inline constexpr std::size_t kFrameHeaderBytes = 2;
inline constexpr std::size_t kFirstFrameHeaderBytes = 6;
inline constexpr std::uint32_t kFrameLengthMax = 0x3FFF;

namespace detail {

inline constexpr unsigned kFrameKindShift = 14;

inline void store_frame_word(std::byte* out, FrameKind kind, std::uint32_t length) {
    BOWLINE_DCHECK(length <= kFrameLengthMax);
    store_le16(out, static_cast<std::uint16_t>((static_cast<std::uint32_t>(kind) << kFrameKindShift) | length));
}

}  // namespace detail

/// Each writes a frame's header at `out` and returns the number of bytes written; the caller puts `length` message
/// bytes behind it. `length` is at most kFrameLengthMax, and at least 1 for fragments.
inline std::size_t encode_whole_frame(std::byte* out, std::uint32_t length) {
    detail::store_frame_word(out, FrameKind::whole, length);
    return kFrameHeaderBytes;
}
/// `total` is the length of the whole message, more than `length`.
inline std::size_t encode_first_frame(std::byte* out, std::uint32_t length, std::uint32_t total) {
    BOWLINE_DCHECK(length > 0 && length < total);
    detail::store_frame_word(out, FrameKind::first, length);
    store_le32(out + kFrameHeaderBytes, total);
    return kFirstFrameHeaderBytes;
}
inline std::size_t encode_middle_frame(std::byte* out, std::uint32_t length) {
    BOWLINE_DCHECK(length > 0);
    detail::store_frame_word(out, FrameKind::middle, length);
    return kFrameHeaderBytes;
}
inline std::size_t encode_last_frame(std::byte* out, std::uint32_t length) {
    BOWLINE_DCHECK(length > 0);
    detail::store_frame_word(out, FrameKind::last, length);
    return kFrameHeaderBytes;
}

/// One frame of a validated packet. `bytes` points into the packet and is valid as long as that is.
struct Frame {
    FrameKind kind = FrameKind::whole;
    std::uint32_t length = 0;  ///< message bytes in this frame
    std::uint32_t total = 0;   ///< length of the message: whole and first; 0 for middle and last
    const std::byte* bytes = nullptr;
};

/// Walks the frames of a DATA packet's content that decode() (or validate_frames()) has accepted; it trusts that.
/// A position in the content, as offset(), can be kept and resumed from.
class FrameReader {
public:
    FrameReader() = default;
    explicit FrameReader(std::span<const std::byte> content, std::size_t offset = 0)
        : start_(content.data()), at_(start_ + offset), end_(start_ + content.size()) {}

    [[nodiscard]] bool done() const { return at_ == end_; }
    [[nodiscard]] std::size_t offset() const { return static_cast<std::size_t>(at_ - start_); }

    /// The next frame; only while not done().
    [[nodiscard]] Frame next() {
        BOWLINE_DCHECK(!done());
        const std::uint32_t word = load_le16(at_);
        Frame frame;
        frame.kind = static_cast<FrameKind>(word >> detail::kFrameKindShift);
        frame.length = word & kFrameLengthMax;
        frame.bytes = at_ + kFrameHeaderBytes;
        if (frame.kind == FrameKind::whole) {
            frame.total = frame.length;
        } else if (frame.kind == FrameKind::first) {
            frame.total = load_le32(frame.bytes);
            frame.bytes = at_ + kFirstFrameHeaderBytes;
        }
        at_ = frame.bytes + frame.length;
        BOWLINE_DCHECK(at_ <= end_);
        return frame;
    }

private:
    const std::byte* start_ = nullptr;
    const std::byte* at_ = nullptr;
    const std::byte* end_ = nullptr;
};

/// Checks that frames fill `content` exactly and stand in an order that a sender produces: DecodeError::none,
/// empty_data or bad_frame. decode() calls it for every DATA packet, so that every reader afterwards may trust.
/// A message of more than `message_max` bytes is a bad_frame: the sender has been told what we take.
[[nodiscard]] inline DecodeError validate_frames(std::span<const std::byte> content,
                                                 std::uint32_t message_max = UINT32_MAX) {
    if (content.empty()) return DecodeError::empty_data;
    const std::size_t size = content.size();
    std::size_t at = 0;
    while (at < size) {
        if (size - at < kFrameHeaderBytes) return DecodeError::bad_frame;
        const std::byte* const header = content.data() + at;
        const std::uint32_t word = load_le16(header);
        const auto kind = static_cast<FrameKind>(word >> detail::kFrameKindShift);
        const std::size_t length = word & kFrameLengthMax;
        const std::size_t header_bytes = kind == FrameKind::first ? kFirstFrameHeaderBytes : kFrameHeaderBytes;
        const std::size_t bytes = header_bytes + length;
        if (bytes > size - at) return DecodeError::bad_frame;
        const std::size_t end = at + bytes;
        if (kind != FrameKind::whole) {
            // A last or middle fragment continues the packet before; a first or middle one is continued by the next.
            const bool continues = kind != FrameKind::first;
            const bool is_continued = kind != FrameKind::last;
            if (length == 0 || (continues && at != 0) || (is_continued && end != size)) return DecodeError::bad_frame;
            if (kind == FrameKind::first) {
                const std::uint32_t total = load_le32(header + kFrameHeaderBytes);
                if (total <= length || total > message_max) return DecodeError::bad_frame;
            }
        } else if (length > message_max) {
            return DecodeError::bad_frame;
        }
        at = end;
    }
    return DecodeError::none;
}

/// Whether the first frame of non-empty, valid content begins a message: what the BOUNDARY flag must say.
[[nodiscard]] inline bool begins_with_boundary(std::span<const std::byte> content) {
    const auto kind = static_cast<FrameKind>(load_le16(content.data()) >> detail::kFrameKindShift);
    return kind == FrameKind::whole || kind == FrameKind::first;
}

}  // namespace bowline::protocol::wire
