#include "protocol/wire/control_body.hpp"

#include <algorithm>
#include <cstring>

#include "protocol/check.hpp"
#include "protocol/wire/bytes.hpp"

namespace bowline::protocol::wire {

namespace {

// Where the fields of a HELLO body lie. Normative: docs/PROTOCOL.md.
namespace at {
constexpr std::size_t kFeatures = 0;
constexpr std::size_t kCapabilities = 4;
constexpr std::size_t kIncarnation = 8;
constexpr std::size_t kNonce = 16;
constexpr std::size_t kEchoNonce = 24;
constexpr std::size_t kTag = 32;
constexpr std::size_t kSlot = 36;
constexpr std::size_t kMaxPacket = 38;
constexpr std::size_t kWindow = 40;
constexpr std::size_t kAckDelay = 44;
constexpr std::size_t kStreamId = 48;
constexpr std::size_t kMemoryIncarnation = 56;
constexpr std::size_t kMemoryStreamId = 64;
constexpr std::size_t kMemoryRcvNxt = 72;
constexpr std::size_t kMessageMax = 80;
constexpr std::size_t kSpare = 84;
constexpr std::size_t kMemoryFlags = 88;
constexpr std::size_t kAddress = 92;
constexpr std::size_t kFromLength = 96;
constexpr std::size_t kToLength = 97;
static_assert(kToLength + 1 == kHelloFixedBytes);
}  // namespace at

constexpr detail::ContentBytes content_bytes(Type type) {
    return detail::kControlContent[static_cast<std::size_t>(type)];
}
static_assert(content_bytes(Type::hello).min == kHelloFixedBytes + 2);
static_assert(content_bytes(Type::hello).max == kHelloBytesMax);
static_assert(content_bytes(Type::hello_ack).min == kHelloFixedBytes + 2);
static_assert(content_bytes(Type::hello_ack).max == kHelloBytesMax);
static_assert(content_bytes(Type::hello_done).min == kHelloDoneBytes);
static_assert(content_bytes(Type::need_first).min == kNeedFirstBytes);
static_assert(content_bytes(Type::close).min == kCloseBytes);

std::optional<NodeName> name_at(const std::byte* bytes, std::size_t length) {
    std::array<char, kNodeNameBytesMax> text{};
    if (length > text.size()) return std::nullopt;
    std::memcpy(text.data(), bytes, length);
    return NodeName::make({text.data(), length});
}

}  // namespace

std::optional<NodeName> NodeName::make(std::string_view text) {
    const auto is_allowed = [](char c) { return c > ' ' && c <= '~'; };
    if (text.empty() || text.size() > kNodeNameBytesMax || !std::ranges::all_of(text, is_allowed)) return std::nullopt;
    NodeName name;
    std::ranges::copy(text, name.bytes_.begin());
    name.length_ = static_cast<std::uint8_t>(text.size());
    return name;
}

std::size_t hello_bytes(const Hello& hello) {
    return kHelloFixedBytes + hello.from.view().size() + hello.to.view().size();
}

std::size_t encode_hello(const Hello& hello, std::byte* out) {
    const std::string_view from = hello.from.view();
    const std::string_view to = hello.to.view();
    BOWLINE_CHECK(!from.empty() && !to.empty());
    store_le32(out + at::kFeatures, hello.features);
    store_le32(out + at::kCapabilities, 0);
    store_le64(out + at::kIncarnation, hello.incarnation);
    store_le64(out + at::kNonce, hello.nonce);
    store_le64(out + at::kEchoNonce, hello.echo_nonce);
    store_le32(out + at::kTag, hello.tag);
    store_le16(out + at::kSlot, hello.slot);
    store_le16(out + at::kMaxPacket, hello.max_packet);
    store_le32(out + at::kWindow, hello.window);
    store_le32(out + at::kAckDelay, hello.ack_delay_us);
    store_le64(out + at::kStreamId, hello.stream_id);
    store_le64(out + at::kMemoryIncarnation, hello.memory_incarnation);
    store_le64(out + at::kMemoryStreamId, hello.memory_stream_id);
    store_le64(out + at::kMemoryRcvNxt, hello.memory_rcv_nxt);
    store_le32(out + at::kMessageMax, hello.message_max);
    store_le32(out + at::kSpare, 0);
    store_le32(out + at::kMemoryFlags, hello.memory_flags);
    store_le32(out + at::kAddress, 0);
    store_u8(out + at::kFromLength, static_cast<std::uint8_t>(from.size()));
    store_u8(out + at::kToLength, static_cast<std::uint8_t>(to.size()));
    std::memcpy(out + kHelloFixedBytes, from.data(), from.size());
    std::memcpy(out + kHelloFixedBytes + from.size(), to.data(), to.size());
    return hello_bytes(hello);
}

void fill_hello(const HelloState& state, std::byte* body) {
    store_le32(body + at::kWindow, state.window);
    store_le64(body + at::kMemoryIncarnation, state.memory_incarnation);
    store_le64(body + at::kMemoryStreamId, state.memory_stream_id);
    store_le64(body + at::kMemoryRcvNxt, state.memory_rcv_nxt);
    store_le32(body + at::kMemoryFlags, state.memory_flags);
    store_le64(body + at::kStreamId, state.stream_id);
}

Decoded<Hello> decode_hello(Type type, std::span<const std::byte> content) {
    if (content.size() < kHelloFixedBytes) return DecodeError::bad_body;
    const std::byte* const from = content.data();
    if (load_le32(from + at::kCapabilities) != 0 || load_le32(from + at::kSpare) != 0 ||
        load_le32(from + at::kAddress) != 0) {
        return DecodeError::reserved_set;
    }
    Hello hello;
    hello.features = load_le32(from + at::kFeatures);
    hello.incarnation = load_le64(from + at::kIncarnation);
    hello.nonce = load_le64(from + at::kNonce);
    hello.echo_nonce = load_le64(from + at::kEchoNonce);
    hello.tag = load_le32(from + at::kTag);
    hello.slot = load_le16(from + at::kSlot);
    hello.max_packet = load_le16(from + at::kMaxPacket);
    hello.window = load_le32(from + at::kWindow);
    hello.ack_delay_us = load_le32(from + at::kAckDelay);
    hello.stream_id = load_le64(from + at::kStreamId);
    hello.memory_incarnation = load_le64(from + at::kMemoryIncarnation);
    hello.memory_stream_id = load_le64(from + at::kMemoryStreamId);
    hello.memory_rcv_nxt = load_le64(from + at::kMemoryRcvNxt);
    hello.message_max = load_le32(from + at::kMessageMax);
    hello.memory_flags = load_le32(from + at::kMemoryFlags);
    if (type == Type::hello && hello.echo_nonce != 0) return DecodeError::bad_body;
    if ((hello.memory_flags & ~(kMemoryPresent | kMemoryDroppedDirty)) != 0) return DecodeError::bad_body;

    const std::size_t from_length = load_u8(from + at::kFromLength);
    const std::size_t to_length = load_u8(from + at::kToLength);
    if (content.size() != kHelloFixedBytes + from_length + to_length) return DecodeError::bad_body;
    const std::optional<NodeName> from_name = name_at(from + kHelloFixedBytes, from_length);
    const std::optional<NodeName> to_name = name_at(from + kHelloFixedBytes + from_length, to_length);
    if (!from_name || !to_name) return DecodeError::bad_name;
    hello.from = *from_name;
    hello.to = *to_name;
    return hello;
}

std::size_t encode_hello_done(const HelloDone& body, std::byte* out) {
    store_le64(out, body.nonce);
    store_le64(out + 8, body.echo_nonce);
    return kHelloDoneBytes;
}

Decoded<HelloDone> decode_hello_done(std::span<const std::byte> content) {
    if (content.size() != kHelloDoneBytes) return DecodeError::bad_body;
    return HelloDone{.nonce = load_le64(content.data()), .echo_nonce = load_le64(content.data() + 8)};
}

std::size_t encode_need_first(const NeedFirst& body, std::byte* out) {
    store_le64(out, body.rcv_nxt);
    return kNeedFirstBytes;
}

Decoded<NeedFirst> decode_need_first(std::span<const std::byte> content) {
    if (content.size() != kNeedFirstBytes) return DecodeError::bad_body;
    return NeedFirst{.rcv_nxt = load_le64(content.data())};
}

std::size_t encode_close(const Close& body, std::byte* out) {
    store_le32(out, static_cast<std::uint32_t>(body.reason));
    store_le64(out + 4, body.rcv_nxt);
    store_le64(out + 12, body.next_message);
    return kCloseBytes;
}

Decoded<Close> decode_close(std::span<const std::byte> content) {
    if (content.size() != kCloseBytes) return DecodeError::bad_body;
    const std::uint32_t reason = load_le32(content.data());
    if (reason < static_cast<std::uint32_t>(CloseReason::idle) ||
        reason > static_cast<std::uint32_t>(CloseReason::excluded)) {
        return DecodeError::bad_body;
    }
    return Close{.reason = static_cast<CloseReason>(reason),
                 .rcv_nxt = load_le64(content.data() + 4),
                 .next_message = load_le64(content.data() + 12)};
}

}  // namespace bowline::protocol::wire
