#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "protocol/wire/decoded.hpp"
#include "protocol/wire/header.hpp"

/// The bodies of control packets, behind the header and its extensions. Pure functions for any thread; nothing is
/// allocated. Encoders write at most the named number of bytes and return how many they wrote; decoders take the
/// content of a Segment and are safe on any bytes.
namespace bowline::protocol::wire {

inline constexpr std::size_t kNodeNameBytesMax = 63;
inline constexpr std::size_t kHelloFixedBytes = 98;
inline constexpr std::size_t kHelloBytesMax = kHelloFixedBytes + 2 * kNodeNameBytesMax;
inline constexpr std::size_t kHelloDoneBytes = 16;
inline constexpr std::size_t kNeedFirstBytes = 8;
inline constexpr std::size_t kCloseBytes = 20;

/// A node's configured name: 1 to 63 bytes of printable ASCII without space. Empty only when default-constructed.
class NodeName {
public:
    constexpr NodeName() = default;
    /// Nothing when `text` is no name.
    [[nodiscard]] static std::optional<NodeName> make(std::string_view text);

    [[nodiscard]] constexpr std::string_view view() const { return {bytes_.data(), length_}; }
    bool operator==(const NodeName& other) const { return view() == other.view(); }

private:
    std::array<char, kNodeNameBytesMax> bytes_{};
    std::uint8_t length_ = 0;
};

inline constexpr std::uint32_t kMemoryPresent = 1;       ///< the memory_* fields say what is remembered
inline constexpr std::uint32_t kMemoryDroppedDirty = 2;  ///< a memory had to be dropped with its end unknown (rule R5)

inline constexpr std::uint32_t kFeatureAckDelay = 1;  ///< takes ACKs whose header has an ack_delay
inline constexpr std::uint32_t kFeatures = kFeatureAckDelay;

/// The body of HELLO and HELLO_ACK: who greets whom, how to address the greeter from now on, and what it remembers.
struct Hello {
    std::uint32_t features = 0;     ///< kFeature* bits of what the greeter understands; unknown ones are ignored
    std::uint64_t incarnation = 0;  ///< of the greeter's process
    std::uint64_t nonce = 0;        ///< the greeter's, fresh
    std::uint64_t echo_nonce = 0;   ///< HELLO: 0; HELLO_ACK: the nonce of the HELLO that it answers
    std::uint32_t tag = 0;          ///< to be put in packets towards the greeter
    std::uint16_t slot = 0;         ///< the same
    std::uint16_t max_packet = 0;   ///< largest UDP payload that the greeter takes, bytes
    std::uint32_t window = 0;       ///< packets free in the greeter's ring
    std::uint32_t ack_delay_us = 0;
    std::uint64_t stream_id = 0;  ///< the greeter's stream towards the greeted; 0: none yet
    std::uint64_t memory_incarnation = 0;
    std::uint64_t memory_stream_id = 0;
    std::uint64_t memory_rcv_nxt = 0;
    std::uint32_t message_max = 0;   ///< longest message that the greeter takes, bytes
    std::uint32_t memory_flags = 0;  ///< kMemoryPresent, kMemoryDroppedDirty
    NodeName from;
    NodeName to;
    bool operator==(const Hello&) const = default;
};

/// Body size of this Hello.
[[nodiscard]] std::size_t hello_bytes(const Hello& hello);
/// At most kHelloBytesMax bytes. Both names are set.
std::size_t encode_hello(const Hello& hello, std::byte* out);
/// What only the worker that owns the streams knows of a Hello.
struct HelloState {
    std::uint32_t window = 0;
    std::uint64_t stream_id = 0;
    std::uint64_t memory_incarnation = 0;
    std::uint64_t memory_stream_id = 0;
    std::uint64_t memory_rcv_nxt = 0;
    std::uint32_t memory_flags = 0;
};
/// Puts `state` into the encoded Hello at `body`.
void fill_hello(const HelloState& state, std::byte* body);
/// `type` is the packet's: hello or hello_ack. Errors: bad_body, reserved_set, bad_name.
[[nodiscard]] Decoded<Hello> decode_hello(Type type, std::span<const std::byte> content);

/// The body of HELLO_DONE, which proves to the responder that the initiator is there and means this handshake.
struct HelloDone {
    std::uint64_t nonce = 0;       ///< the initiator's
    std::uint64_t echo_nonce = 0;  ///< the responder's
    bool operator==(const HelloDone&) const = default;
};
std::size_t encode_hello_done(const HelloDone& body, std::byte* out);
[[nodiscard]] Decoded<HelloDone> decode_hello_done(std::span<const std::byte> content);

/// The body of NEED_FIRST: data of the connection header.ack_conn_id found no window (rule R6).
struct NeedFirst {
    std::uint64_t rcv_nxt = 0;
    bool operator==(const NeedFirst&) const = default;
};
std::size_t encode_need_first(const NeedFirst& body, std::byte* out);
[[nodiscard]] Decoded<NeedFirst> decode_need_first(std::span<const std::byte> content);

enum class CloseReason : std::uint32_t {
    idle = 1,          ///< nothing happened for long; the stream is kept as a tombstone
    orderly_stop = 2,  ///< the process stops
    excluded = 3,      ///< the peer is not in the closer's view
};

/// The body of CLOSE.
struct Close {
    CloseReason reason = CloseReason::idle;
    std::uint64_t rcv_nxt = 0;
    std::uint64_t next_message = 0;
    bool operator==(const Close&) const = default;
};
std::size_t encode_close(const Close& body, std::byte* out);
/// Errors: bad_body, also for a reason that is none.
[[nodiscard]] Decoded<Close> decode_close(std::span<const std::byte> content);

}  // namespace bowline::protocol::wire
