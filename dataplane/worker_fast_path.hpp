#pragma once

// Part of worker.hpp: the way of nearly every packet, received in order and sent at once. Nothing here does what
// worker_receive.hpp and worker_send.hpp would not: each function first looks whether a packet is the common case, and
// returns false, with nothing changed, when it is not.
#include <cstring>

#include "dataplane/worker.hpp"
#include "protocol/wire/header.hpp"
#include "protocol/wire/plain_data.hpp"
#include "protocol/wire_clock.hpp"

namespace bowline::dataplane {

/// receive_packet() for the next packet of an open connection, DATA without extensions. Why the outcome is the same:
/// match() has passed what parse_frame() and decode() would pass, the tag is of an association in use, is_next() is
/// what admit() finds in order and free of side effects, and from there on the same things happen. But for one: the ack
/// that a lone packet carries is applied only when what the application answers is on its way, at the latest in the
/// send() of this turn, and before anything that it could change: what is refused, sent again, or held back by the
/// window (settle_ack()).
template <Port P>
bool Worker<P>::receive_next(protocol::Time now, Packet* packet) {
    namespace wire = protocol::wire;
    const RxFrame frame = port_.rx_frame(packet);
    std::size_t content_bytes = 0;
    const std::byte* const header = plain_data_.match({frame.data, frame.length}, content_bytes);
    if (header == nullptr || !may_match_plain_) [[unlikely]] {
        return false;
    }
    if (config_.verify_checksums &&
        !wire::PlainDataMatcher::checksums_hold(frame.data, frame.ip_checksum != RxChecksum::good,
                                                frame.udp_checksum != RxChecksum::good)) {
        return false;
    }
    const std::uint32_t slot = wire::load_le16(header + wire::offset::kSlot);
    const std::uint32_t tag = wire::load_le32(header + wire::offset::kTag);
    if (slot >= slots_.size() || tag == 0 || slots_[slot].tag != tag || slots_[slot].expected) [[unlikely]] {
        return false;
    }
    Peer& peer = *peers_[peer_of_slot(static_cast<std::uint16_t>(slot))];
    const std::uint64_t consumed = peer.ring.reclaimed();
    const std::uint32_t timestamp = wire::load_le32(header + wire::offset::kTimestamp);
    const std::uint32_t flags = wire::load_u8(header + wire::offset::kFlags);
    const std::span<const std::byte> content(header + wire::kHeaderBytes, content_bytes);
    if (peer.stopping ||
        !peer.receive.is_next(now, wire::load_le32(header + wire::offset::kConnId),
                              wire::load_le32(header + wire::offset::kSeqno), timestamp, consumed) ||
        !wire::plain_content_holds(content, flags, config_.settings.message_max)) [[unlikely]] {
        return false;
    }
    activity_[peer.index].last_heard_ns.store(now.ns(), std::memory_order_relaxed);
    if ((flags & wire::kFlagAck) != 0) {
        deferred_ack_.conn_id = wire::load_le32(header + wire::offset::kAckConnId);
        deferred_ack_.cum_ack = wire::load_le32(header + wire::offset::kCumAck);
        deferred_ack_.window_pkts = wire::load_le16(header + wire::offset::kWindow);
        deferred_ack_.echo.reset();
        if ((flags & wire::kFlagEcho) != 0) {
            deferred_ack_.echo = wire::load_le32(header + wire::offset::kEcho);
        }
        ack_deferred_of_ = &peer;
        if (burst_count_ != 1 || peer.send.recovering()) {
            settle_ack(now);
        }
    }
    peer.newest_timestamp = timestamp;
    peer.has_timestamp = true;
    const std::uint64_t position = peer.receive.window().next_position();
    peer.ring.store(position,
                    {.packet = packet, .content = content.data(), .bytes = static_cast<std::uint32_t>(content_bytes)});
    peer.receive.take_next(now, timestamp, consumed);
    peer.ring.publish(position + 1);
    mark_ready(peer);
    mark_dirty(peer);
    return true;
}

/// Sends the open packet of a peer to which nothing else waits to go: seal_open(), send_data() and on_sent_new() in
/// one, without the packet's passing through the queue.
template <Port P>
bool Worker<P>::send_open_alone(protocol::Time now, Peer& peer) {
    namespace wire = protocol::wire;
    constexpr std::size_t kCopiedMost = 256;  // bytes; a larger packet costs more to copy than the driver's wait
    protocol::SendStream& send = peer.send;
    if (!peer.open.has_frames() || !send.open_for_new() || send.opening() || send.has_lost() || send.window().full() ||
        peer.inbox_waiting || peer.large.active() || !tx_room() || !may_send_alone_) {
        return false;
    }
    Packet* const packet = peer.open.packet;
    std::byte* const bowline = peer.open.begin - wire::kHeaderBytes;
    const auto bytes = static_cast<std::size_t>(peer.open.at - peer.open.begin);
    // Written in wide words from where the values are: a Header in between would be stored in small pieces, and read
    // back in large ones before these have left the store buffer.
    const auto both = [](std::uint32_t low, std::uint32_t high) { return low | std::uint64_t{high} << 32U; };
    std::uint32_t flags = peer.open.boundary ? wire::kFlagBoundary : 0U;
    std::uint64_t ack = 0;
    std::uint32_t echo = 0;
    std::uint32_t window = 0;
    const std::uint64_t consumed = peer.ring.reclaimed();
    if (peer.receive.can_acknowledge()) [[likely]] {
        ack = both(peer.receive.ack_conn_id(), peer.receive.cum_ack());
        window = peer.receive.window_pkts(consumed);
        echo = peer.has_timestamp ? peer.newest_timestamp : 0;
        flags |= peer.has_timestamp ? wire::kFlagAck | wire::kFlagEcho : wire::kFlagAck;
    }
    wire::encode_plain_data({.peer = wire::plain_peer_word(peer.association.remote_slot, peer.association.remote_tag),
                             .numbers = both(send.conn_id(), send.window().nxt().wire()),
                             .ack = ack,
                             .times = both(protocol::wire_timestamp(now), echo),
                             .window_and_flags = window | flags << 16U},
                            bowline);
    finish_packet(peer, packet, bowline, wire::kHeaderBytes + bytes);
    // What the window keeps is a copy: to give up one of two references to a buffer takes the driver an atomic
    // operation in the middle of its transmission, which then waits for everything written before to reach the other
    // core.
    Packet* kept = bytes <= kCopiedMost ? port_.alloc() : nullptr;
    if (kept != nullptr) [[likely]] {
        std::memcpy(port_.payload(kept), peer.open.begin, bytes);
    } else {
        kept = packet;
        port_.ref(packet);
    }
    tx_[tx_count_++] = packet;
    if (dirty_count_ == 1) {
        // Nobody else has anything to send: what is to be noted of this packet is noted while it is on its way.
        transmit();
    }
    if ((flags & wire::kFlagAck) != 0) [[likely]] {
        peer.receive.on_ack_sent(consumed, false);
    }
    note_sent(now, peer);
    send.on_sent_at_once(now, {.packet = kept,
                               .sent_at = now,
                               .next_message = peer.next_message,
                               .payload_bytes = static_cast<std::uint16_t>(bytes),
                               .state = protocol::SentPacket::State::in_flight,
                               .boundary = peer.open.boundary,
                               .transmissions = 1});
    peer.open = {};
    return true;
}

}  // namespace bowline::dataplane
