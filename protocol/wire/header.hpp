#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "protocol/wire/bytes.hpp"
#include "protocol/wire/decoded.hpp"
#include "protocol/wire/frame.hpp"
#include "protocol/wire/sack.hpp"

/// The Bowline header, which begins the payload of every UDP datagram: 36 bytes at fixed offsets, little-endian,
/// followed by the extensions that its flags announce (FIRST, then SACK) and the content (a control body or frames).
/// Pure functions for any thread; those that write need the room that they name.
namespace bowline::protocol::wire {

enum class Type : std::uint8_t {
    hello = 1,
    hello_ack = 2,
    hello_done = 3,
    data = 4,
    ack = 5,
    need_first = 6,
    close = 7,
    probe = 8,
    heartbeat = 9,
    reset = 10,
};

/// The name of a type, such as "hello_ack", or "unknown"; static storage.
[[nodiscard]] const char* name_of(Type type);

inline constexpr std::uint8_t kFlagAck = 0x01;       ///< ack_conn_id, cum_ack and window are valid
inline constexpr std::uint8_t kFlagFirst = 0x02;     ///< the FIRST extension follows
inline constexpr std::uint8_t kFlagSack = 0x04;      ///< the SACK extension follows; type ACK only, with kFlagAck
inline constexpr std::uint8_t kFlagEcho = 0x08;      ///< echo is valid
inline constexpr std::uint8_t kFlagDrained = 0x10;   ///< the sender has nothing unacknowledged: snd_una == seqno
inline constexpr std::uint8_t kFlagBoundary = 0x20;  ///< the first frame of this DATA packet begins a message

inline constexpr std::uint8_t kMagicVersion = 0xB1;  ///< high nibble: magic; low nibble: version
inline constexpr std::size_t kHeaderBytes = 36;
inline constexpr std::size_t kFirstExtensionBytes = 16;

/// One unit of the timestamp and echo fields: 256 ns, so that 32 bits wrap after 18 minutes.
inline constexpr unsigned kTimestampShift = 8;
/// One unit of the ack_delay field: 1,024 ns, so that a byte reaches to 261 us.
inline constexpr unsigned kAckDelayShift = 10;

/// Where each field lies. Normative: docs/PROTOCOL.md.
namespace offset {
inline constexpr std::size_t kMagicVersion = 0;
inline constexpr std::size_t kType = 1;
inline constexpr std::size_t kSlot = 2;
inline constexpr std::size_t kTag = 4;
inline constexpr std::size_t kConnId = 8;
inline constexpr std::size_t kSeqno = 12;
inline constexpr std::size_t kAckConnId = 16;
inline constexpr std::size_t kCumAck = 20;
inline constexpr std::size_t kTimestamp = 24;
inline constexpr std::size_t kEcho = 28;
inline constexpr std::size_t kWindow = 32;
inline constexpr std::size_t kFlags = 34;
inline constexpr std::size_t kAckDelay = 35;
}  // namespace offset

/// The header's fields as numbers of this machine. Magic and version are not among them: encode() writes them and
/// decode() insists on them.
struct Header {
    Type type = Type::data;
    std::uint8_t flags = 0;
    std::uint16_t slot = 0;         ///< receiver's slot for this peer
    std::uint32_t tag = 0;          ///< receiver's tag for this peer
    std::uint32_t conn_id = 0;      ///< connection of the sender's direction
    std::uint32_t seqno = 0;        ///< DATA: this packet's number; else the sender's snd_nxt; low 32 bits
    std::uint32_t ack_conn_id = 0;  ///< connection that cum_ack belongs to: the other direction's
    std::uint32_t cum_ack = 0;      ///< low 32 bits: every packet before it stands in the sender's receive ring
    std::uint32_t timestamp = 0;    ///< sender's clock >> kTimestampShift
    std::uint32_t echo = 0;         ///< timestamp of the latest packet that the sender had from us
    std::uint16_t window = 0;       ///< packets that may be sent from cum_ack on
    std::uint8_t ack_delay = 0;     ///< ACK with kFlagEcho: how long that packet has waited for this, >> kAckDelayShift

    [[nodiscard]] constexpr bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
    bool operator==(const Header&) const = default;
};

/// ack_delay for `ns`, which is not negative: rounded down, and never more than the field holds.
[[nodiscard]] constexpr std::uint8_t encode_ack_delay(std::int64_t ns) {
    const std::int64_t units = ns >> kAckDelayShift;
    return units < UINT8_MAX ? static_cast<std::uint8_t>(units) : UINT8_MAX;
}
/// The least number of nanoseconds that an ack_delay stands for.
[[nodiscard]] constexpr std::int64_t decode_ack_delay(std::uint8_t ack_delay) {
    return std::int64_t{ack_delay} << kAckDelayShift;
}

/// The wire layout as a struct, to pin the offsets above to what a C compiler would lay out without padding.
namespace detail {
struct HeaderLayout {
    std::uint8_t magic_version;
    std::uint8_t type;
    std::uint16_t slot;
    std::uint32_t tag;
    std::uint32_t conn_id;
    std::uint32_t seqno;
    std::uint32_t ack_conn_id;
    std::uint32_t cum_ack;
    std::uint32_t timestamp;
    std::uint32_t echo;
    std::uint16_t window;
    std::uint8_t flags;
    std::uint8_t ack_delay;
};
static_assert(sizeof(HeaderLayout) == kHeaderBytes);
static_assert(offsetof(HeaderLayout, magic_version) == offset::kMagicVersion);
static_assert(offsetof(HeaderLayout, type) == offset::kType);
static_assert(offsetof(HeaderLayout, slot) == offset::kSlot);
static_assert(offsetof(HeaderLayout, tag) == offset::kTag);
static_assert(offsetof(HeaderLayout, conn_id) == offset::kConnId);
static_assert(offsetof(HeaderLayout, seqno) == offset::kSeqno);
static_assert(offsetof(HeaderLayout, ack_conn_id) == offset::kAckConnId);
static_assert(offsetof(HeaderLayout, cum_ack) == offset::kCumAck);
static_assert(offsetof(HeaderLayout, timestamp) == offset::kTimestamp);
static_assert(offsetof(HeaderLayout, echo) == offset::kEcho);
static_assert(offsetof(HeaderLayout, window) == offset::kWindow);
static_assert(offsetof(HeaderLayout, flags) == offset::kFlags);
static_assert(offsetof(HeaderLayout, ack_delay) == offset::kAckDelay);
}  // namespace detail

/// The FIRST extension: where the connection opens (rule R3).
struct First {
    std::uint64_t first_seqno = 0;    ///< first seqno of the connection header.conn_id
    std::uint64_t first_message = 0;  ///< number of the message to which the first frame of that packet belongs
    bool operator==(const First&) const = default;
};

/// A validated packet. The views point into the decoded bytes and are valid as long as those are.
struct Segment {
    Header header;
    First first;                         ///< only with kFlagFirst
    SackView sack;                       ///< empty without kFlagSack
    std::span<const std::byte> content;  ///< DATA: valid frames; control types: the body, of the right size
};

/// Writes kHeaderBytes bytes at `out`.
inline void encode(const Header& header, std::byte* out) {
    store_u8(out + offset::kMagicVersion, kMagicVersion);
    store_u8(out + offset::kType, static_cast<std::uint8_t>(header.type));
    store_le16(out + offset::kSlot, header.slot);
    store_le32(out + offset::kTag, header.tag);
    store_le32(out + offset::kConnId, header.conn_id);
    store_le32(out + offset::kSeqno, header.seqno);
    store_le32(out + offset::kAckConnId, header.ack_conn_id);
    store_le32(out + offset::kCumAck, header.cum_ack);
    store_le32(out + offset::kTimestamp, header.timestamp);
    store_le32(out + offset::kEcho, header.echo);
    store_le16(out + offset::kWindow, header.window);
    store_u8(out + offset::kFlags, header.flags);
    store_u8(out + offset::kAckDelay, header.ack_delay);
}

/// Writes kFirstExtensionBytes bytes at `out`, which is right behind the header.
inline void encode_first_extension(const First& first, std::byte* out) {
    store_le64(out, first.first_seqno);
    store_le64(out + 8, first.first_message);
}

/// The fields of a packet that was checked, or that this side built: kHeaderBytes bytes at `from`, trusted.
[[nodiscard]] inline Header load_header(const std::byte* from) {
    Header header;
    header.type = static_cast<Type>(load_u8(from + offset::kType));
    header.slot = load_le16(from + offset::kSlot);
    header.tag = load_le32(from + offset::kTag);
    header.conn_id = load_le32(from + offset::kConnId);
    header.seqno = load_le32(from + offset::kSeqno);
    header.ack_conn_id = load_le32(from + offset::kAckConnId);
    header.cum_ack = load_le32(from + offset::kCumAck);
    header.timestamp = load_le32(from + offset::kTimestamp);
    header.echo = load_le32(from + offset::kEcho);
    header.window = load_le16(from + offset::kWindow);
    header.flags = load_u8(from + offset::kFlags);
    header.ack_delay = load_u8(from + offset::kAckDelay);
    return header;
}

/// Rewrites of one field of a packet that this side built and the device does not own: `header` points at its
/// kHeaderBytes bytes. They change no lengths; whoever sets or clears kFlagFirst or kFlagSack lays out the packet anew.
inline void set_slot(std::byte* header, std::uint16_t slot) { store_le16(header + offset::kSlot, slot); }
inline void set_tag(std::byte* header, std::uint32_t tag) { store_le32(header + offset::kTag, tag); }
inline void set_conn_id(std::byte* header, std::uint32_t conn_id) { store_le32(header + offset::kConnId, conn_id); }
inline void set_timestamp(std::byte* header, std::uint32_t timestamp) {
    store_le32(header + offset::kTimestamp, timestamp);
}
inline void set_echo(std::byte* header, std::uint32_t echo) { store_le32(header + offset::kEcho, echo); }
inline void set_window(std::byte* header, std::uint16_t window) { store_le16(header + offset::kWindow, window); }
inline void set_flags(std::byte* header, std::uint8_t flags) { store_u8(header + offset::kFlags, flags); }
[[nodiscard]] inline std::uint8_t get_flags(const std::byte* header) { return load_u8(header + offset::kFlags); }
/// The three fields that kFlagAck announces; the flag itself is set with set_flags().
inline void set_ack(std::byte* header, std::uint32_t ack_conn_id, std::uint32_t cum_ack, std::uint16_t window) {
    store_le32(header + offset::kAckConnId, ack_conn_id);
    store_le32(header + offset::kCumAck, cum_ack);
    store_le16(header + offset::kWindow, window);
}

namespace detail {

inline constexpr std::size_t kTypes = 11;  // 0 is no type

/// The flags that each type may carry.
inline constexpr std::array<std::uint8_t, kTypes> kFlagsAllowed = [] {
    std::array<std::uint8_t, kTypes> allowed{};
    // Before the handshake is through there is no connection whose packets could be acknowledged or announced.
    allowed[static_cast<std::size_t>(Type::hello)] = kFlagEcho;
    allowed[static_cast<std::size_t>(Type::hello_ack)] = kFlagEcho;
    allowed[static_cast<std::size_t>(Type::reset)] = kFlagEcho;
    constexpr std::uint8_t state = kFlagAck | kFlagEcho | kFlagDrained;
    allowed[static_cast<std::size_t>(Type::hello_done)] = state;
    allowed[static_cast<std::size_t>(Type::need_first)] = state;
    allowed[static_cast<std::size_t>(Type::close)] = state;
    allowed[static_cast<std::size_t>(Type::probe)] = state | kFlagFirst;
    allowed[static_cast<std::size_t>(Type::heartbeat)] = state | kFlagFirst;
    allowed[static_cast<std::size_t>(Type::ack)] = state | kFlagFirst | kFlagSack;
    // A DATA packet is itself unacknowledged: DRAINED on it would be a lie.
    allowed[static_cast<std::size_t>(Type::data)] = kFlagAck | kFlagEcho | kFlagFirst | kFlagBoundary;
    return allowed;
}();

struct ContentBytes {
    std::uint16_t min;
    std::uint16_t max;
};

/// Sizes of the control bodies (control_body.hpp pins them to its own); DATA has frames instead.
inline constexpr std::array<ContentBytes, kTypes> kControlContent = [] {
    std::array<ContentBytes, kTypes> bytes{};
    bytes[static_cast<std::size_t>(Type::hello)] = {98 + 2, 98 + 2 * 63};
    bytes[static_cast<std::size_t>(Type::hello_ack)] = {98 + 2, 98 + 2 * 63};
    bytes[static_cast<std::size_t>(Type::hello_done)] = {16, 16};
    bytes[static_cast<std::size_t>(Type::need_first)] = {8, 8};
    bytes[static_cast<std::size_t>(Type::close)] = {20, 20};
    return bytes;
}();

/// Why the fixed header of these bytes, of which there are enough, is refused, or none.
[[nodiscard]] inline DecodeError check_header(const std::byte* bytes) {
    const std::uint32_t magic_version = load_u8(bytes + offset::kMagicVersion);
    if (magic_version != kMagicVersion) [[unlikely]] {
        return (magic_version ^ kMagicVersion) < 0x10 ? DecodeError::bad_version : DecodeError::bad_magic;
    }
    const std::size_t type = load_u8(bytes + offset::kType);
    if (type - 1 >= kTypes - 1) [[unlikely]]
        return DecodeError::bad_type;
    const std::uint32_t flags = load_u8(bytes + offset::kFlags);
    if ((flags & ~std::uint32_t{kFlagsAllowed[type]}) != 0) [[unlikely]]
        return DecodeError::bad_flags;
    const bool may_be_delayed = type == static_cast<std::size_t>(Type::ack) && (flags & kFlagEcho) != 0;
    if (load_u8(bytes + offset::kAckDelay) != 0 && !may_be_delayed) [[unlikely]]
        return DecodeError::reserved_set;
    return DecodeError::none;
}

/// Constructs the segment at `out`, or returns why there is none.
[[nodiscard]] inline DecodeError decode_into(std::span<const std::byte> bytes, std::uint32_t message_max,
                                             Segment* out) {
    if (bytes.size() < kHeaderBytes) [[unlikely]] {
        return DecodeError::too_short;
    }
    if (const DecodeError error = check_header(bytes.data()); error != DecodeError::none) [[unlikely]] {
        return error;
    }
    const auto type = static_cast<Type>(load_u8(bytes.data() + offset::kType));
    const std::uint32_t flags = load_u8(bytes.data() + offset::kFlags);
    const std::byte* at = bytes.data() + kHeaderBytes;
    std::size_t left = bytes.size() - kHeaderBytes;
    First first;
    if ((flags & kFlagFirst) != 0) {
        if (left < kFirstExtensionBytes) return DecodeError::bad_extension;
        first = {load_le64(at), load_le64(at + 8)};
        // No packet lies before its connection's first one (serial arithmetic, as Seqno::expand).
        const std::uint32_t seqno = load_le32(bytes.data() + offset::kSeqno);
        const auto distance = static_cast<std::int32_t>(seqno - static_cast<std::uint32_t>(first.first_seqno));
        if (distance < 0) return DecodeError::bad_extension;
        at += kFirstExtensionBytes;
        left -= kFirstExtensionBytes;
    }
    SackView sack;
    if ((flags & kFlagSack) != 0) {
        if ((flags & kFlagAck) == 0) return DecodeError::bad_flags;
        if (left < kSackFixedBytes) return DecodeError::bad_extension;
        const std::size_t words = load_le16(at);
        if (words - 1 >= kSackWordsMax || left < sack_bytes(words)) return DecodeError::bad_extension;
        if (load_le16(at + 2) != 0) return DecodeError::reserved_set;
        sack = SackView(at + kSackFixedBytes, words);
        at += sack_bytes(words);
        left -= sack_bytes(words);
    }
    const std::span<const std::byte> content(at, left);
    if (type == Type::data) {
        if (const DecodeError error = validate_frames(content, message_max); error != DecodeError::none) return error;
        if (((flags & kFlagBoundary) != 0) != begins_with_boundary(content)) return DecodeError::bad_flags;
    } else {
        const ContentBytes allowed = kControlContent[static_cast<std::size_t>(type)];
        if (left < allowed.min || left > allowed.max) return DecodeError::bad_body;
    }
    ::new (out) Segment{.header = load_header(bytes.data()), .first = first, .sack = sack, .content = content};
    return DecodeError::none;
}

}  // namespace detail

/// Decodes the payload of a UDP datagram: everything in the Segment has been checked (type, flags, extensions, sizes,
/// frames), except what only the receiver's state can judge (tag, slot, numbers) and the values in a control body,
/// which control_body.hpp decodes. `message_max`: what this side takes, bytes. Safe on any bytes.
[[nodiscard]] inline Decoded<Segment> decode(std::span<const std::byte> bytes, std::uint32_t message_max = UINT32_MAX) {
    return Decoded<Segment>::made_by(
        [=](Segment* segment) { return detail::decode_into(bytes, message_max, segment); });
}

}  // namespace bowline::protocol::wire
