#pragma once

// Part of worker.hpp: what goes out.
#include "dataplane/worker.hpp"
#include "protocol/wire/header.hpp"
#include "protocol/wire/sack.hpp"
#include "protocol/wire_clock.hpp"

namespace bowline::dataplane {

template <Port P>
void Worker<P>::send(protocol::Time now) {
    if (wheel_.due(now)) {
        wheel_.expire(now, [&](PeerIndex index) { serve_deadline(now, *peers_[index]); });
    }
    if (dirty_count_ > 0) {
        const std::size_t count = dirty_count_;
        for (std::size_t i = 0; i < count; ++i) {
            serve_data(now, *peers_[dirty_[i]]);
        }
        // Data is on its way before anything that no message waits for: acks that found no data to ride on, deadlines.
        if (tx_count_ > 0) {
            transmit();
        }
        settle_ack(now);
        std::size_t kept = 0;
        for (std::size_t i = 0; i < count; ++i) {
            Peer& peer = *peers_[dirty_[i]];
            serve_acks(now, peer);
            if (has_more(now, peer)) {
                dirty_[kept++] = peer.index;
            } else {
                peer.dirty = false;
            }
        }
        dirty_count_ = kept;
    }
    if (tx_count_ > 0) {
        transmit();
    }
}

template <Port P>
protocol::Time Worker<P>::next_deadline() const {
    return dirty_count_ > 0 || tx_count_ > 0 ? protocol::Time() : wheel_.next();
}

template <Port P>
bool Worker<P>::has_more(protocol::Time now, Peer& peer) {
    if (peer.index == self()) [[unlikely]] {
        // What the ring has no room for waits for finish_batch(); what the pool had no packet for is tried again.
        const bool is_blocked = peer.receive.window().free_pkts(peer.ring.reclaimed()) == 0;
        return !is_blocked && has_something_to_send(peer);
    }
    if (!peer.send.is_open()) [[unlikely]] {
        return peer.answer_probe || peer.receive.ack_due(now);
    }
    const bool data = peer.send.may_send_new() || (peer.send.has_lost() && peer.send.next_to_resend().has_value()) ||
                      (peer.open.packet != nullptr && peer.open.has_frames() && peer.send.open_for_new()) ||
                      (peer.large.active() && peer.associated && !peer.send.queue_full()) ||
                      (peer.inbox_waiting && peer.associated && !peer.large.active() && !peer.send.queue_full());
    return data || peer.answer_probe || peer.receive.ack_due(now);
}

template <Port P>
bool Worker<P>::has_something_to_send(const Peer& peer) const {
    return !peer.send.drained() || peer.open.has_frames() || peer.large.active() ||
           (peer.inbox != nullptr && !peer.inbox->empty());
}

/// A connection that is closed though its peer may be sent to is opened by the first thing there is to send: idle
/// expiry costs a message nothing.
template <Port P>
bool Worker<P>::open_for_data(protocol::Time now, Peer& peer) {
    if (peer.view_wanted && !peer.in_view) {
        enter_view(now, peer);  // it has waited for room among the events
    }
    if (peer.associated && peer.in_view && !peer.send.is_open() && has_something_to_send(peer)) {
        peer.send.open(now);
    }
    return peer.send.is_open();
}

/// To the node itself: the packet goes into its own ring as it is.
template <Port P>
void Worker<P>::serve_self(protocol::Time now, Peer& own) {
    if (own.inbox_waiting) {
        drain_inbox(now, own);
    }
    for (;;) {
        if (own.large.active()) {
            continue_large(now, own);
        }
        if (own.open.has_frames() && !own.large.active()) {
            seal_open(now, own);
        }
        const std::uint64_t free = own.receive.window().free_pkts(own.ring.reclaimed());
        std::uint64_t moved = 0;
        for (; moved < free && !own.send.drained(); ++moved) {
            const protocol::SentPacket& sent = own.send.packet(own.send.window().nxt());
            own.ring.store(own.receive.window().next_position(),
                           {.packet = sent.packet, .content = port_.payload(sent.packet), .bytes = sent.payload_bytes});
            own.receive.advance_own();
            own.send.on_sent_new(now);
            own.send.acknowledge_up_to(now, own.send.window().nxt(), [this](Packet*) { --data_packets_; });
        }
        if (moved == 0) {
            return;
        }
        own.ring.publish(own.receive.window().next_position());
        mark_ready(own);
        if (own.inbox_waiting) {
            drain_inbox(now, own);
        }
    }
}

template <Port P>
void Worker<P>::serve_data(protocol::Time now, Peer& peer) {
    if (!peer.send.is_open()) [[unlikely]] {
        if (peer.index == self()) {
            return serve_self(now, peer);
        }
        if (!open_for_data(now, peer)) {
            return queue_what_waits(now, peer);
        }
    }
    if (send_open_alone(now, peer)) {
        return;
    }
    settle_ack(now);  // it may let more leave, or less be sent again
    if (peer.inbox_waiting) {
        drain_inbox(now, peer);
    }
    for (std::size_t budget = kTurnPackets; budget > 0; --budget) {
        if (!tx_room()) {
            transmit();
            if (!tx_room()) {
                break;
            }
        }
        if (peer.send.has_lost()) [[unlikely]] {
            if (const std::optional<protocol::Seqno> lost = peer.send.next_to_resend(); lost.has_value()) {
                if (!send_data(now, peer, *lost)) {
                    break;
                }
                peer.send.on_resent(now, *lost);
                continue;
            }
        }
        if (!peer.send.may_send_new()) {
            if (peer.large.active()) {
                continue_large(now, peer);
            }
            if (peer.inbox_waiting) {
                drain_inbox(now, peer);
            }
            if (!peer.send.may_send_new() && peer.open.packet != nullptr && peer.open.has_frames() &&
                !peer.large.active() && (peer.send.open_for_new() || peer.send.drained())) {
                // Into the window, or, where that is closed and nothing else is in the queue, into the queue, which is
                // watched: a lost window update must not leave it here for ever.
                seal_open(now, peer);
            }
            if (!peer.send.may_send_new()) {
                break;
            }
        }
        const protocol::Seqno next = peer.send.window().nxt();
        if (!send_data(now, peer, next)) {
            break;
        }
        peer.send.on_sent_new(now);
    }
}

/// The queue is watched: its give-up time reports what was accepted and is not delivered. Without an association
/// whatever else has been accepted goes there, too, unless something is in it already.
template <Port P>
void Worker<P>::queue_what_waits(protocol::Time now, Peer& peer) {
    if (!peer.send.drained()) {
        return;
    }
    if (peer.inbox_waiting) {
        drain_inbox(now, peer);
    }
    if (peer.large.active()) {
        continue_large(now, peer);
    }
    if (peer.send.drained() && peer.open.has_frames()) {
        seal_open(now, peer);
    }
}

template <Port P>
void Worker<P>::serve_acks(protocol::Time now, Peer& peer) {
    if (peer.index == self()) [[unlikely]] {
        return;  // what it has for itself waits for nothing but room, of which finish_batch() tells
    }
    if (peer.associated) {
        if (peer.answer_probe) [[unlikely]] {
            answer_probe(now, peer);
        }
        if (peer.receive.ack_due(now)) {
            send_ack(now, peer);
        }
    } else {
        peer.answer_probe = false;
    }
    wheel_.schedule(peer.index, earlier(peer.send.next_deadline(), peer.receive.ack_deadline()));
    activity_[peer.index].data_packets.store(peer.send.counters().packets + peer.receive.counters().packets,
                                             std::memory_order_relaxed);
    activity_[peer.index].settled.store(
        peer.send.drained() && !peer.open.has_frames() && !peer.large.active() && !peer.inbox_waiting,
        std::memory_order_relaxed);
}

template <Port P>
void Worker<P>::serve_deadline(protocol::Time now, Peer& peer) {
    settle_ack(now);
    const protocol::SendStream::Due due = peer.send.on_deadline(now);
    if (due.gave_up) {
        give_up(now, peer);
    } else if (due.tail_probe.has_value() && send_data(now, peer, *due.tail_probe)) {
        peer.send.on_resent(now, *due.tail_probe);
    } else if (due.window_probe) {
        send_control(now, peer, protocol::wire::Type::probe);
    }
    mark_dirty(peer);
}

/// The give-up time has passed, or, of a peer that is out of view, the retain time, of which control knows.
template <Port P>
void Worker<P>::give_up(protocol::Time /*now*/, Peer& peer) {
    Notice* const notice = peer.in_view ? notices_.try_claim() : nullptr;
    if ((peer.in_view && notice == nullptr) || peer.events.free() < kEventsAtEnd + 2) {
        // Its deadline stays passed, so that it is looked at again with the next tick.
        ++(peer.events.free() < kEventsAtEnd + 2 ? counters_.events_full : counters_.notices_refused);
        return;
    }
    report_abandoned(peer, false);
    if (notice != nullptr) {
        *notice = {};
        notice->kind = Notice::Kind::gave_up;
        notice->peer = peer.index;
        notices_.publish();
    }
}

template <Port P>
protocol::wire::Header Worker<P>::make_header(protocol::Time now, const Peer& peer, protocol::wire::Type type) const {
    namespace wire = protocol::wire;
    wire::Header header;
    header.type = type;
    header.slot = peer.association.remote_slot;
    header.tag = peer.association.remote_tag;
    header.conn_id = peer.send.conn_id();
    header.seqno = peer.send.window().nxt().wire();
    header.timestamp = protocol::wire_timestamp(now);
    if (peer.receive.can_acknowledge()) {
        header.flags |= wire::kFlagAck;
        header.ack_conn_id = peer.receive.ack_conn_id();
        header.cum_ack = peer.receive.cum_ack();
        header.window = peer.receive.window_pkts(peer.ring.reclaimed());
        if (peer.has_timestamp) {
            header.flags |= wire::kFlagEcho;
            header.echo = peer.newest_timestamp;
        }
    }
    return header;
}

template <Port P>
bool Worker<P>::send_data(protocol::Time now, Peer& peer, protocol::Seqno seqno) {
    namespace wire = protocol::wire;
    const protocol::SentPacket& sent = peer.send.packet(seqno);
    Packet* packet = sent.packet;
    if (sent.transmissions > 0 && !port_.exclusive(packet)) [[unlikely]] {
        // The device still owns it: what it may be reading is never rewritten (R7).
        Packet* copy = port_.alloc();
        if (copy == nullptr) {
            ++counters_.no_packet;
            return false;
        }
        std::memcpy(port_.payload(copy), port_.payload(packet), sent.payload_bytes);
        peer.send.replace_packet(seqno, copy);
        port_.free(packet);
        packet = copy;
    }
    wire::Header header = make_header(now, peer, wire::Type::data);
    header.seqno = seqno.wire();
    if (sent.boundary) {
        header.flags |= wire::kFlagBoundary;
    }
    std::byte* bowline = port_.payload(packet) - wire::kHeaderBytes;
    const bool says_first =
        !mutated(protocol::Mutant::r3_say_first_once) || (seqno == peer.send.first_seqno() && sent.transmissions == 0);
    if (peer.send.opening() && says_first) [[unlikely]] {
        bowline -= wire::kFirstExtensionBytes;
        header.flags |= wire::kFlagFirst;
        wire::encode_first_extension(
            {.first_seqno = peer.send.first_seqno().value(), .first_message = peer.send.first_message()},
            bowline + wire::kHeaderBytes);
    }
    wire::encode(header, bowline);
    if (header.has(wire::kFlagAck)) {
        peer.receive.on_ack_sent(peer.ring.reclaimed(), false);
    }
    finish_packet(peer, packet, bowline,
                  static_cast<std::size_t>(port_.payload(packet) - bowline) + sent.payload_bytes);
    port_.ref(packet);
    enqueue(packet);
    note_sent(now, peer);
    return true;
}

template <Port P>
bool Worker<P>::send_control(protocol::Time now, Peer& peer, protocol::wire::Type type, std::span<const std::byte> body,
                             std::uint32_t about_conn_id) {
    namespace wire = protocol::wire;
    Packet* packet = peer.headers.size() != 0 ? port_.alloc() : nullptr;
    if (packet == nullptr) {
        ++counters_.no_packet;
        return false;
    }
    wire::Header header = make_header(now, peer, type);
    if (!has_something_to_send(peer)) {
        header.flags |= wire::kFlagDrained;
    }
    if (about_conn_id != 0) {
        // It names a connection and acknowledges nothing: there is no window that could.
        header.ack_conn_id = about_conn_id;
        header.flags &= static_cast<std::uint8_t>(~(wire::kFlagAck | wire::kFlagEcho));
        header.cum_ack = 0;
        header.window = 0;
        header.echo = 0;
    }
    std::byte* const payload = port_.payload(packet);
    std::byte* const bowline = payload - wire::kHeaderBytes;
    wire::encode(header, bowline);
    if (!body.empty()) {
        std::memcpy(payload, body.data(), body.size());
    }
    if (header.has(wire::kFlagAck)) {
        peer.receive.on_ack_sent(peer.ring.reclaimed(), false);
    }
    finish_packet(peer, packet, bowline, wire::kHeaderBytes + body.size());
    enqueue(packet);
    note_sent(now, peer);
    return true;
}

#ifdef BOWLINE_MUTANTS
template <Port P>
void Worker<P>::send_discarded_ack(protocol::Time now, Peer& peer, const protocol::wire::Header& discarded) {
    namespace wire = protocol::wire;
    Packet* packet = port_.alloc();
    if (packet == nullptr) {
        return;
    }
    wire::Header header = make_header(now, peer, wire::Type::ack);
    header.flags = wire::kFlagAck;
    header.ack_conn_id = discarded.conn_id;
    header.cum_ack = discarded.seqno + 1;
    header.window = 64;
    std::byte* const bowline = port_.payload(packet) - wire::kHeaderBytes;
    wire::encode(header, bowline);
    finish_packet(peer, packet, bowline, wire::kHeaderBytes);
    enqueue(packet);
}
#endif

template <Port P>
bool Worker<P>::send_ack(protocol::Time now, Peer& peer) {
    namespace wire = protocol::wire;
    Packet* packet = port_.alloc();
    if (packet == nullptr) {
        ++counters_.no_packet;
        return false;
    }
    wire::Header header = make_header(now, peer, wire::Type::ack);
    if (header.has(wire::kFlagEcho) && peer.association.peer_takes_ack_delay) {
        header.ack_delay = wire::encode_ack_delay(peer.receive.ack_delay(now).ns());
    }
    std::byte* const payload = port_.payload(packet);
    std::size_t extension = 0;
    if (peer.receive.window().out_of_order_pkts() > 0) [[unlikely]] {
        std::array<std::uint64_t, wire::kSackWordsMax> words;
        const std::size_t room =
            (peer.association.packet_bytes_max - wire::kHeaderBytes - wire::kSackFixedBytes) / sizeof(std::uint64_t);
        const std::size_t count =
            peer.receive.sack_words(std::span(words).first(std::min<std::size_t>(room, words.size())));
        if (count > 0) {
            header.flags |= wire::kFlagSack;
            extension = wire::encode_sack(std::span(words).first(count), payload);
        }
    }
    std::byte* const bowline = payload - wire::kHeaderBytes;
    wire::encode(header, bowline);
    peer.receive.on_ack_sent(peer.ring.reclaimed(), true);
    ++peer.receive.counters().acks_sent;
    finish_packet(peer, packet, bowline, wire::kHeaderBytes + extension);
    enqueue(packet);
    note_sent(now, peer);
    return true;
}

template <Port P>
void Worker<P>::finish_packet(Peer& peer, Packet* packet, std::byte* bowline, std::size_t bowline_bytes) {
    const std::byte* const frame = peer.headers.write(bowline, bowline_bytes);
    const auto before = static_cast<std::uint32_t>(port_.payload(packet) - frame);
    const auto after =
        static_cast<std::uint32_t>(bowline_bytes - static_cast<std::size_t>(port_.payload(packet) - bowline));
    if (!config_.write_checksums) {
        port_.seal(packet, before, after);
    } else if (port_.checksum_offload()) {
        peer.headers.fill_pseudo_header_sum(bowline, bowline_bytes);
        port_.seal_with_checksum(packet, before, after);
    } else {
        peer.headers.fill_udp_checksum(bowline, bowline_bytes);
        port_.seal(packet, before, after);
    }
}

template <Port P>
void Worker<P>::enqueue(Packet* packet) {
    if (!tx_room()) {
        transmit();
        if (!tx_room()) {
            // Acks and control packets only; data waits in its window. Lost here is lost on the wire.
            ++counters_.tx_dropped;
            port_.free(packet);
            return;
        }
    }
    tx_[tx_count_++] = packet;
}

template <Port P>
void Worker<P>::transmit() {
    const std::uint16_t taken = port_.tx_burst(tx_.data(), static_cast<std::uint16_t>(tx_count_));
    counters_.tx_packets += taken;
    if (taken < tx_count_) [[unlikely]] {
        ++counters_.tx_refused;
        std::copy(tx_.begin() + taken, tx_.begin() + static_cast<std::ptrdiff_t>(tx_count_), tx_.begin());
    }
    tx_count_ -= taken;
}

template <Port P>
void Worker<P>::note_sent(protocol::Time now, Peer& peer) {
    activity_[peer.index].last_sent_ns.store(now.ns(), std::memory_order_relaxed);
}

template <Port P>
bool Worker<P>::drained() const {
    if (tx_count_ > 0) {
        return false;
    }
    for (const std::unique_ptr<Peer>& peer : peers_) {
        if (peer->associated && peer->in_view &&
            (has_something_to_send(*peer) || !peer->receive.ack_deadline().is_never())) {
            return false;
        }
    }
    return true;
}

template <Port P>
void Worker<P>::report_all(protocol::Time now) {
    settle_ack(now);
    for (const std::unique_ptr<Peer>& peer : peers_) {
        report_abandoned(*peer, false);
    }
}

template <Port P>
void Worker<P>::check_invariants() const {
    std::uint64_t data_packets = 0;
    for (const std::unique_ptr<Peer>& peer : peers_) {
        peer->send.check_invariants();
        peer->receive.check_invariants();
        data_packets += peer->send.window().size() + (peer->open.packet != nullptr ? 1 : 0);
        BOWLINE_CHECK(peer->open.packet == nullptr || peer->open.at <= peer->open.end);
        BOWLINE_CHECK(peer->ring.published() == peer->receive.window().next_position());
        BOWLINE_CHECK(!peer->send.is_open() || (peer->associated && peer->in_view));
        BOWLINE_CHECK(!peer->receive.is_open() || (peer->associated && peer->in_view));
        BOWLINE_CHECK(!peer->in_view || peer->view_wanted);
        BOWLINE_CHECK(peer->next_message > peer->send.acknowledged_message());
    }
    BOWLINE_CHECK(data_packets == data_packets_);
    wheel_.check_invariants();
}

}  // namespace bowline::dataplane
