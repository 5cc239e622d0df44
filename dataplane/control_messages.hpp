#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "protocol/packet.hpp"
#include "protocol/receive_stream.hpp"
#include "protocol/time.hpp"
#include "protocol/wire/header.hpp"
#include "protocol/wire/header_template.hpp"

/// What the control thread and a worker say to each other. Control decides, the worker executes: commands are applied
/// between bursts, whole and in order. Both directions are bounded single-producer single-consumer rings.
namespace bowline::dataplane {

/// The number of a peer in this engine: its place in the configuration.
using PeerIndex = std::uint16_t;
inline constexpr PeerIndex kNoPeer = 0xFFFF;

struct WorkerSnapshot;

/// Each peer has two slots in the worker's table of associations, so that one that is being made stands beside the one
/// in use: slot = 2 * peer + (0 or 1).
constexpr PeerIndex peer_of_slot(std::uint16_t slot) { return static_cast<PeerIndex>(slot / 2); }

/// What both ends of an association have agreed on, as this end needs it (§4 of docs/PROTOCOL.md).
struct Association {
    std::uint16_t local_slot = 0;  ///< what the peer's packets carry: ours
    std::uint32_t local_tag = 0;
    std::uint16_t remote_slot = 0;  ///< what our packets carry: the peer's
    std::uint32_t remote_tag = 0;
    std::uint64_t peer_incarnation = 0;
    std::uint64_t peer_stream_id = 0;
    protocol::StreamMemory peer_memory;  ///< what the peer remembers of our stream
    bool peer_dropped_dirty = false;     ///< the peer has had to forget somebody with the end unknown (R5)
    std::uint16_t packet_bytes_max = 0;  ///< UDP payload: the smaller of both ends'
    std::uint32_t peer_window_pkts = 0;  ///< packets free in the peer's ring for us
    std::uint32_t message_max = 0;       ///< bytes: the smaller of both ends'
    protocol::Duration peer_ack_delay;
    bool peer_takes_ack_delay = false;  ///< ACKs may say how long they have waited
    protocol::Duration rtt;             ///< of the handshake; 0: not measured
    bool admit = true;                  ///< the peer is in view once it is in use
};

/// A control frame that the worker sends for the control thread: everything from Ethernet on, but for what only the
/// worker knows.
struct ControlFrame {
    static constexpr std::size_t kBytesMax = 320;
    std::uint16_t length = 0;
    std::uint16_t udp_payload_at = 0;  ///< where the Bowline header begins; 0: no UDP, send as it is
    std::uint16_t hello_at =
        0;  ///< where a Hello body begins; its window, stream_id and memory_* fields are the worker's; 0: none
    PeerIndex peer = kNoPeer;  ///< of the Hello
    std::array<std::byte, kBytesMax> bytes{};
};

/// Why a peer went down, as its PeerDown event says.
enum class DownReason : std::uint8_t { none, stopped, silent, restarted, gave_up, excluded };

/// From control to a worker.
struct Command {
    enum class Kind : std::uint8_t {
        set_endpoints,  ///< peer, endpoints: where its packets go from now on
        associate,      ///< peer, association: in use at once (initiator: the peer has answered)
        expect,  ///< peer, association: in use once a packet with its tag arrives (responder); replaces an earlier one
        cancel_expected,    ///< peer: no longer
        dissociate,         ///< peer, down_reason: tags die, sending stops, the application is told
        forget,             ///< peer: tags die, and with them what is remembered of its stream (R5)
        admit,              ///< peer: is in view: messages flow both ways as soon as there is an association
        exclude,            ///< peer, down_reason: is out of view: no messages flow, its association stays
        view_changed,       ///< number: id of the view that the commands before it have made
        close_connections,  ///< peer: both directions, as after idle expiry; the next message opens anew
        rotate,             ///< peer, number: a new conn-id in place of this one; 0: of whichever it is (R7)
        transmit,           ///< frame: send it
        transmit_packet,    ///< packet, packet_bytes: a received packet, rewritten in place, goes out
        release_packet,     ///< packet: control has read it
        heartbeat,          ///< peer: say that we live, and where we are
        probe,              ///< peer: ask for an ack at once
        send_close,         ///< peer: tell it that we stop (CLOSE)
        snapshot,           ///< snapshot: copy the figures of its piece of the peers
    };

    Kind kind = Kind::release_packet;
    PeerIndex peer = kNoPeer;
    DownReason down_reason = DownReason::none;
    std::uint32_t packet_bytes = 0;
    std::uint64_t number = 0;
    protocol::Packet* packet = nullptr;
    WorkerSnapshot* snapshot = nullptr;
    Association association;
    protocol::wire::Endpoints endpoints;
    ControlFrame frame;
};

/// From a worker to control.
struct Notice {
    enum class Kind : std::uint8_t {
        frame,        ///< packet, bytes, length: ARP, ICMP echo, HELLO*, or another that control answers; give it back
        unknown_tag,  ///< the same, with a tag that matches nothing: a RESET may be due
        reset,        ///< the same: a RESET that names a tag which we use
        associated,   ///< peer, local_tag: the expected association is in use
        close,        ///< peer, packet: the peer says that it stops or closes (CLOSE with a valid tag); give it back
        wanted,       ///< peer: the application sends to it and there is no association: greet now
        gave_up,      ///< peer: nothing came of it for the give-up time; what it was owed has been reported
        heard,        ///< peer: it lives, though it is out of view; once an exclusion
        need_first,   ///< peer, conn_id: it has no window for that connection of ours, which is the present one (R6)
    };

    Kind kind = Kind::frame;
    PeerIndex peer = kNoPeer;
    std::uint32_t local_tag = 0;
    std::uint32_t conn_id = 0;
    std::uint32_t length = 0;
    protocol::Packet* packet = nullptr;
    std::byte* bytes = nullptr;  ///< the whole frame, writable
};

/// Notices that the worker must be able to give for each peer whatever the network sends; the ring has room for these
/// and more.
inline constexpr std::size_t kNoticesPerPeer = 6;

/// What a worker lets control see of a peer without a message: written by the worker with relaxed stores, at most once
/// a burst.
struct alignas(64) PeerActivity {
    std::atomic<std::int64_t> last_heard_ns{INT64_MIN};  ///< a packet with a valid tag
    std::atomic<std::int64_t> last_sent_ns{INT64_MIN};   ///< any packet of its association
    std::atomic<std::uint64_t> data_packets{0};          ///< sent to it and admitted from it
    std::atomic<bool> settled{true};                     ///< nothing queued or unacknowledged towards it
};

}  // namespace bowline::dataplane
