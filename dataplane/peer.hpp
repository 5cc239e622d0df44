#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/control_messages.hpp"
#include "dataplane/large_buffer.hpp"
#include "dataplane/message_reader.hpp"
#include "dataplane/peer_event.hpp"
#include "dataplane/receive_ring.hpp"
#include "dataplane/send_ring.hpp"
#include "protocol/inspector.hpp"
#include "protocol/receive_stream.hpp"
#include "protocol/send_stream.hpp"
#include "protocol/settings.hpp"
#include "protocol/wire/header_template.hpp"

namespace bowline::dataplane {

/// The storage of one peer's windows, taken at set-up.
struct PeerStorage {
    explicit PeerStorage(const protocol::Settings& settings);

    std::vector<protocol::SentPacket> sent;
    std::vector<protocol::LossDetector::Resent> resent;
    std::vector<protocol::Seqno> lost;
    std::vector<std::uint64_t> window_bits;
    std::vector<ReceiveRing::Slot> slots;
    LargeBuffer assembly;     ///< of a received message
    LargeBuffer outgoing;     ///< of a message that is larger than the send queue
    LargeBuffer large_inbox;  ///< of a message from another thread that is larger than the send ring (dedicated mode)
};

/// The packet that is being filled with messages.
struct OpenPacket {
    protocol::Packet* packet = nullptr;
    std::byte* begin = nullptr;  ///< of the frames
    std::byte* at = nullptr;
    std::byte* end = nullptr;
    bool boundary = false;  ///< its first frame begins a message

    [[nodiscard]] bool has_frames() const { return at != begin; }
    [[nodiscard]] std::size_t room() const { return static_cast<std::size_t>(end - at); }
};

/// A message that is larger than what the queue takes at once, being cut into packets as these leave.
struct OutgoingLarge {
    const std::byte* bytes = nullptr;
    std::uint32_t total = 0;        ///< 0: none
    std::uint32_t cut = 0;          ///< bytes that are in packets
    bool from_application = false;  ///< it lies in large_inbox
    [[nodiscard]] bool active() const { return total != 0; }
};

/// Says when a peer may be told something again that it did not heed: at once for the first time, then ever less often.
class AskLimiter {
public:
    /// `about`: what it is about; another one begins anew.
    [[nodiscard]] bool try_ask(protocol::Time now, std::uint64_t about) {
        if (about != about_) {
            about_ = about;
            next_ = now;
            interval_ = kFirst;
        }
        if (now < next_) {
            return false;
        }
        next_ = now + interval_;
        interval_ = std::min(interval_ * 2, kMost);
        return true;
    }
    void reset() { about_ = 0; }

private:
    friend struct bowline::Inspector;
    static constexpr protocol::Duration kFirst = protocol::Duration::us(500);
    static constexpr protocol::Duration kMost = protocol::Duration::ms(100);
    std::uint64_t about_ = 0;
    protocol::Time next_;
    protocol::Duration interval_;
};

/// Everything that a worker has of one peer.
struct Peer {
    Peer(PeerIndex number, const protocol::Settings& settings, std::uint64_t stream_id)
        : index(number),
          storage(settings),
          send(settings, stream_id, {.window = storage.sent, .resent = storage.resent, .lost = storage.lost}),
          receive(settings, storage.window_bits),
          events(kPeerEvents) {
        ring.attach(storage.slots);
        reader.attach(ring, events, storage.assembly.bytes());
    }

    // — owner: worker —

    PeerIndex index;
    bool associated = false;  ///< our packets have a tag to carry
    bool up = false;          ///< the application has been told so
    bool in_view = true;      ///< messages for it are accepted, and those from it are admitted
    bool view_wanted = true;  ///< control's word for in_view, which waits for room in `events` where it is ahead
    bool stopping = false;    ///< we stop: nothing more is admitted from it
    bool dirty = false;       ///< in the worker's list of peers to be served
    bool ready = false;       ///< in the worker's list of peers with something to read
    bool answer_probe = false;
    std::uint32_t probe_conn_id = 0;  ///< of the latest PROBE: the connection that it speaks for
    bool inbox_waiting = false;       ///< there may be something in the inbox
    bool wanted_said = false;
    bool heard_said = false;             ///< control knows that it lives though it is out of view
    bool dropped_dirty = false;          ///< what was remembered of its stream is lost (R5)
    bool expected = false;               ///< `candidate` awaits its first packet
    std::uint32_t answers_sent = 0;      ///< HELLO_ACKs that offer it
    protocol::Time answered_at;          ///< the last of them
    std::uint32_t rotation_asked = 0;    ///< the conn-id for which control has been told of a NEED_FIRST
    std::uint32_t newest_timestamp = 0;  ///< of the peer's packets: what we echo
    bool has_timestamp = false;
    std::uint32_t frames_bytes_max = 0;  ///< of a packet
    std::uint32_t message_max = 0;
    std::uint32_t longest_unagreed = 0;  ///< bytes, of the messages accepted without an association
    std::uint64_t next_message = 1;      ///< the number of the next message accepted
    OpenPacket open;
    OutgoingLarge large;
    protocol::wire::HeaderTemplate headers;
    Association association;
    Association candidate;
    std::uint64_t incarnation = 0;  ///< of the peer that messages are for; 0: whoever comes
    AskLimiter asks;                ///< NEED_FIRST, and CLOSE to a peer that is out of view

    PeerStorage storage;
    protocol::SendStream send;
    protocol::ReceiveStream receive;

    // — shared: worker and application —

    ReceiveRing ring;
    SpscRing<PeerEvent> events;
    std::unique_ptr<SendRing> inbox;  ///< messages from another thread (dedicated mode), or nullptr
    /// What an application on another thread must know before it may offer a message; written by the worker.
    struct alignas(kCacheLine) Shared {
        std::atomic<bool> in_view{true};
        std::atomic<bool> associated{false};
        std::atomic<std::uint32_t> message_max{0};
        std::atomic<bool> large_busy{false};  ///< storage.large_inbox holds a message that has not been cut up yet
        std::uint32_t large_bytes = 0;        ///< of that message
    };
    Shared shared;

    // — owner: application —

    alignas(kCacheLine) MessageReader reader;
};

}  // namespace bowline::dataplane
