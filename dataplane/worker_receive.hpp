#pragma once

// Part of worker.hpp: what comes in.
#include "dataplane/worker.hpp"
#include "protocol/wire/control_body.hpp"
#include "protocol/wire/ethernet.hpp"

namespace bowline::dataplane {

template <Port P>
bool Worker<P>::fetch() {
    if (burst_count_ == 0) {
        burst_count_ = port_.rx_burst(burst_.data(), kBurst);
        for (std::uint16_t i = 0; i < burst_count_; ++i) {
            __builtin_prefetch(port_.rx_frame(burst_[i]).data);
        }
    }
    return burst_count_ > 0 || dirty_count_ > 0 || tx_count_ > 0 || commands_.front() != nullptr;
}

template <Port P>
void Worker<P>::receive(protocol::Time now) {
    ++counters_.turns;
    settle_ack(now);
    apply_commands(now);
    static_cast<void>(fetch());
    counters_.rx_packets += burst_count_;
    for (std::uint16_t i = 0; i < burst_count_; ++i) {
        if (!receive_next(now, burst_[i])) {
            receive_packet(now, burst_[i]);
        }
    }
    burst_count_ = 0;
}

template <Port P>
void Worker<P>::receive_packet(protocol::Time now, Packet* packet) {
    namespace wire = protocol::wire;
    const RxFrame frame = port_.rx_frame(packet);
    const wire::Verify verify{
        .ip_checksum = config_.verify_checksums && frame.ip_checksum != RxChecksum::good,
        .udp_checksum = config_.verify_checksums && frame.udp_checksum != RxChecksum::good,
        .demand_udp_checksum = config_.verify_checksums,
    };
    const wire::ParsedFrame parsed = wire::parse_frame({frame.data, frame.length}, verify);
    if (parsed.kind == wire::FrameClass::udp) [[likely]] {
        if (parsed.dst_port != config_.udp_port || !(parsed.dst_ip == config_.ip)) {
            ++counters_.rx_other_address;
        } else if ((parsed.vlan == 0 ? wire::kNoVlan : parsed.vlan) != config_.vlan) {
            ++counters_.rx_wrong_vlan;  // a tag with id 0 carries a priority and no VLAN (IEEE 802.1Q)
        } else if (const auto segment = wire::decode(parsed.payload, config_.settings.message_max)) [[likely]] {
            on_segment(now, packet, frame, *segment);
            return;
        } else {
            ++decode_errors_[static_cast<std::size_t>(segment.error())];
        }
    } else if (parsed.kind != wire::FrameClass::stray) {
        pass_to_control(Notice::Kind::frame, kNoPeer, packet, frame);
        return;
    } else {
        ++strays_[static_cast<std::size_t>(parsed.stray)];
    }
    port_.free(packet);
}

template <Port P>
bool Worker<P>::is_known_tag(const protocol::wire::Header& header) const {
    if (header.slot >= slots_.size()) {
        return false;
    }
    const Slot& slot = slots_[header.slot];
    if (mutated(protocol::Mutant::r4_any_tag) && slot.tag != 0 && !slot.expected) {
        return true;
    }
    return slot.tag == header.tag && header.tag != 0;  // 0: of a free slot, which matches nothing
}

template <Port P>
void Worker<P>::on_segment(protocol::Time now, Packet* packet, const RxFrame& frame,
                           const protocol::wire::Segment& segment) {
    namespace wire = protocol::wire;
    const wire::Header& header = segment.header;
    switch (header.type) {
        case wire::Type::hello:
        case wire::Type::hello_ack:
            pass_to_control(Notice::Kind::frame, kNoPeer, packet, frame);
            return;
        case wire::Type::reset:
            pass_to_control(Notice::Kind::reset, kNoPeer, packet, frame);
            return;
        default:
            break;
    }
    if (!is_known_tag(header)) [[unlikely]] {
        ++counters_.rx_unknown_tag;
        pass_to_control(Notice::Kind::unknown_tag, kNoPeer, packet, frame);
        return;
    }
    Peer& peer = *peers_[peer_of_slot(header.slot)];
    if (slots_[header.slot].expected) [[unlikely]] {
        if (peer.answers_sent == 1) {
            // What confirms the answer is sent at once. Answered twice, nobody knows which one is confirmed (Karn); and
            // only the first packet measures, should there be no room yet for what it brings about.
            peer.candidate.rtt = std::max(now - peer.answered_at, protocol::Duration::ns(1));
            peer.answers_sent = 0;
        }
        Notice* const notice = notices_.try_claim();
        if (notice == nullptr || !associate(now, peer, peer.candidate)) {
            counters_.notices_refused += notice == nullptr ? 1U : 0U;
            port_.free(packet);  // no room to tell control or the application of this yet: the peer will ask again
            return;
        }
        *notice = {.kind = Notice::Kind::associated, .peer = peer.index, .local_tag = header.tag};
        notices_.publish();
    }
    activity_[peer.index].last_heard_ns.store(now.ns(), std::memory_order_relaxed);
    if (!peer.view_wanted) [[unlikely]] {
        note_heard_out_of_view(peer);
    }
    if (header.has(wire::kFlagAck)) {
        on_ack(now, peer, segment);
    }
    if (header.has(wire::kFlagDrained)) {
        peer.receive.on_drained(header.seqno);
    }
    bool kept = false;
    switch (header.type) {
        case wire::Type::data:
            kept = on_data(now, peer, packet, segment);
            break;
        case wire::Type::ack:
            ++counters_.rx_ack_only;
            break;
        case wire::Type::probe:
            peer.answer_probe = true;
            peer.probe_conn_id = header.conn_id;
            break;
        case wire::Type::heartbeat:
            break;
        case wire::Type::hello_done:
            pass_to_control(Notice::Kind::frame, peer.index, packet, frame);
            kept = true;
            break;
        case wire::Type::close:
            kept = on_close(now, peer, packet, frame, segment);
            break;
        case wire::Type::need_first:
            on_need_first(peer, segment);
            break;
        default:
            ++counters_.rx_unexpected;
            break;
    }
    mark_dirty(peer);
    if (!kept) {
        port_.free(packet);
    }
}

/// CLOSE: of the connections that it names, or of the peer's process. True when control has the packet now.
template <Port P>
bool Worker<P>::on_close(protocol::Time now, Peer& peer, Packet* packet, const RxFrame& frame,
                         const protocol::wire::Segment& segment) {
    namespace wire = protocol::wire;
    const auto body = wire::decode_close(segment.content);
    if (!body) {
        ++counters_.rx_unexpected;
        return false;
    }
    ++counters_.closes_received;
    switch (body->reason) {
        case wire::CloseReason::orderly_stop:
            // The peer's last word on what stands in its ring: what is beyond it will never get there.
            peer.send.acknowledge_up_to(now, protocol::Seqno(body->rcv_nxt), [this](Packet* p) { release_data(p); });
            pass_to_control(Notice::Kind::close, peer.index, packet, frame);
            return true;
        case wire::CloseReason::idle: {
            // Each direction by its own conn-id, so that a copy that comes late ends nothing that is newer (R4).
            const bool any = mutated(protocol::Mutant::r4_any_close);
            const bool receiving = peer.receive.is_open() && (any || segment.header.conn_id == peer.receive.conn_id());
            const bool sending =
                peer.send.is_open() &&
                (any || (segment.header.has(wire::kFlagAck) && segment.header.ack_conn_id == peer.send.conn_id()));
            if (receiving) {
                peer.receive.close([&](std::uint64_t position) { drop_position(peer, position); });
            }
            if (sending) {
                peer.send.suspend();  // send() opens anew when there is something to send
            }
            counters_.closes_stale += receiving || sending ? 0U : 1U;
            return false;
        }
        case wire::CloseReason::excluded:
            // Nothing to be done: what waits here is sent again and again until the peer asks for it, or given up.
            return false;
    }
    return false;
}

/// The peer has no window for what we send: control rotates, if it is about the connection that is open now (R7).
template <Port P>
void Worker<P>::on_need_first(Peer& peer, const protocol::wire::Segment& segment) {
    const std::uint32_t conn_id = segment.header.ack_conn_id;
    const bool is_present =
        (peer.send.is_open() && conn_id == peer.send.conn_id()) || mutated(protocol::Mutant::r7_obey_stale);
    if (!is_present || peer.rotation_asked == conn_id) {
        ++(is_present ? counters_.need_first_received : counters_.need_first_stale);
        return;
    }
    ++counters_.need_first_received;
    Notice notice;
    notice.kind = Notice::Kind::need_first;
    notice.peer = peer.index;
    notice.conn_id = conn_id;
    if (notices_.try_push(notice)) {
        peer.rotation_asked = conn_id;
    } else {
        ++counters_.notices_refused;  // the peer asks again
    }
}

/// A peer that is out of view lives: control may want to know, once.
template <Port P>
void Worker<P>::note_heard_out_of_view(Peer& peer) {
    if (!peer.heard_said) {
        Notice notice;
        notice.kind = Notice::Kind::heard;
        notice.peer = peer.index;
        peer.heard_said = notices_.try_push(notice);
    }
}

/// Data of a peer that is out of view is not admitted; the peer is told (R6).
template <Port P>
void Worker<P>::on_excluded_data(protocol::Time now, Peer& peer) {
    ++counters_.excluded_data;
    constexpr std::uint64_t about_exclusion = UINT64_MAX;
    if (!peer.asks.try_ask(now, about_exclusion)) {
        ++counters_.asks_suppressed;
        return;
    }
    send_close(now, peer, protocol::wire::CloseReason::excluded);
}

/// NEED_FIRST: the peer's connection has no window here, and cannot get one any more (R2): it is to begin another (R6).
/// False: one has been sent just now.
template <Port P>
bool Worker<P>::ask_first(protocol::Time now, Peer& peer, std::uint32_t conn_id) {
    namespace wire = protocol::wire;
    if (mutated(protocol::Mutant::r6_never_ask)) {
        return false;
    }
    if (!peer.asks.try_ask(now, conn_id) && !mutated(protocol::Mutant::r6_ask_always)) {
        ++counters_.asks_suppressed;
        return false;
    }
    std::array<std::byte, wire::kNeedFirstBytes> body;
    wire::encode_need_first({.rcv_nxt = peer.receive.is_known() ? peer.receive.window().rcv_nxt().value() : 0},
                            body.data());
    const bool sent = send_control(now, peer, wire::Type::need_first, body, conn_id);
    counters_.need_first_sent += sent ? 1U : 0U;
    return sent;
}

/// A PROBE wants to hear what the window has room for. Where there is none it is told that: a sender whose window was
/// full when its connection was closed here sends nothing else that would tell.
template <Port P>
void Worker<P>::answer_probe(protocol::Time now, Peer& peer) {
    const bool lacks_window = peer.in_view && peer.receive.is_known() && !peer.receive.is_open() &&
                              peer.probe_conn_id == peer.receive.conn_id();
    const bool answered = peer.receive.is_open() ? send_ack(now, peer)
                          : lacks_window && ask_first(now, peer, peer.probe_conn_id)
                              ? true
                              : send_control(now, peer, protocol::wire::Type::heartbeat);
    peer.answer_probe = !answered;
}

template <Port P>
void Worker<P>::on_ack(protocol::Time now, Peer& peer, const protocol::wire::Segment& segment) {
    const protocol::wire::Header& header = segment.header;
    const protocol::AckInfo ack{
        .conn_id = header.ack_conn_id,
        .cum_ack = header.cum_ack,
        .window_pkts = header.window,
        .echo = header.has(protocol::wire::kFlagEcho) ? std::optional(header.echo) : std::nullopt,
        .delay = protocol::Duration::ns(protocol::wire::decode_ack_delay(header.ack_delay)),
        .sack = segment.sack,
    };
    peer.send.on_ack(now, ack, [this](Packet* p) { release_data(p); });
}

template <Port P>
bool Worker<P>::on_data(protocol::Time now, Peer& peer, Packet* packet, const protocol::wire::Segment& segment) {
    using Verdict = protocol::ReceiveStream::Verdict;
    if (peer.stopping) {
        return false;  // the peer has been told where its stream ended
    }
    if (!peer.in_view && !mutated(protocol::Mutant::r6_admit_excluded)) [[unlikely]] {
        on_excluded_data(now, peer);
        return false;
    }
    const protocol::wire::Header& header = segment.header;
    if (header.conn_id > peer.receive.conn_id() && header.has(protocol::wire::kFlagFirst) &&
        peer.events.free() <= kEventsAtEnd) [[unlikely]] {
        ++counters_.events_full;  // it may open a connection, of which there is no room to tell yet: it comes again
        return false;
    }
    const std::uint64_t consumed = peer.ring.reclaimed();
    const protocol::ReceiveStream::Admission admission =
        peer.receive.admit(now, segment, consumed, [&](std::uint64_t position) { drop_position(peer, position); });
    if (admission.opened) [[unlikely]] {
        push_event(peer, {.first = segment.first.first_message, .kind = PeerEvent::Kind::opened});
    }
    if (admission.verdict != Verdict::stale && admission.verdict != Verdict::no_window &&
        admission.verdict != Verdict::too_old) [[likely]] {
        // What is echoed says which transmission an ack answers: it is of a packet that the ack counts or asks about.
        peer.newest_timestamp = header.timestamp;
        peer.has_timestamp = true;
    }
    const ReceiveRing::Slot slot{.packet = packet,
                                 .content = segment.content.data(),
                                 .bytes = static_cast<std::uint32_t>(segment.content.size())};
    if (admission.verdict == Verdict::in_order) [[likely]] {
        peer.ring.store(admission.position, slot);
        peer.receive.advance(now, consumed);
        peer.ring.publish(peer.receive.window().next_position());
        mark_ready(peer);
        return true;
    }
    if (admission.verdict == Verdict::out_of_order) {
        peer.ring.store(admission.position, slot);
        peer.receive.hold(admission.seqno);
        return true;
    }
    if (admission.verdict == Verdict::no_window) {
#ifdef BOWLINE_MUTANTS
        if (mutated(protocol::Mutant::r1_ack_discarded)) {
            send_discarded_ack(now, peer, header);
        }
#endif
        static_cast<void>(ask_first(now, peer, header.conn_id));
    }
    return false;
}

template <Port P>
void Worker<P>::pass_to_control(Notice::Kind kind, PeerIndex peer, Packet* packet, const RxFrame& frame) {
    // What comes from the network may fill the ring; what control must hear of has its room kept.
    const bool room = notices_.free() > std::size_t{kNoticesPerPeer} * config_.peers;
    Notice* notice = room ? notices_.try_claim() : nullptr;
    if (notice == nullptr) {
        ++counters_.notices_refused;
        port_.free(packet);
        return;
    }
    *notice = {
        .kind = kind, .peer = peer, .local_tag = 0, .length = frame.length, .packet = packet, .bytes = frame.data};
    notices_.publish();
}

template <Port P>
template <typename OnMessage, typename OnEvent>
std::size_t Worker<P>::read(std::size_t limit, OnMessage&& on_message, OnEvent&& on_event) {
    const auto read_from = [&](Peer& peer, std::size_t most) {
        reading_[reading_count_++] = peer.index;
        return peer.reader.read(
            most,
            [&](const std::byte* bytes, std::uint32_t size, std::uint64_t number, Packet* packet) {
                on_message(peer.index, bytes, size, number, packet);
            },
            [&](const PeerEvent& event) { on_event(peer.index, event); });
    };
    if (ready_count_ == 1 && limit > 0) [[likely]] {
        Peer& peer = *peers_[ready_[0]];
        const std::size_t count = read_from(peer, limit);
        peer.ready = peer.reader.has_work();
        if (!peer.ready) {
            ready_[0] = ready_[--ready_count_];
        }
        return count;
    }
    std::size_t count = 0;
    std::size_t kept = 0;
    // A share each, so that a peer that floods does not keep the others waiting for a whole batch.
    const std::size_t share = ready_count_ <= 1 ? limit : std::max<std::size_t>(limit / ready_count_, 1);
    for (std::size_t i = 0; i < ready_count_; ++i) {
        Peer& peer = *peers_[ready_[i]];
        if (count < limit) {
            count += read_from(peer, std::min(share, limit - count));
        }
        if (peer.reader.has_work()) {
            ready_[kept++] = peer.index;
        } else {
            peer.ready = false;
        }
    }
    if (kept > 1 && kept == ready_count_) {
        std::rotate(ready_.begin(), ready_.begin() + 1, ready_.begin() + static_cast<std::ptrdiff_t>(kept));
    }
    ready_count_ = kept;
    return count;
}

template <Port P>
template <typename Ready>
void Worker<P>::take_ready(Ready&& ready) {
    for (std::size_t i = 0; i < ready_count_; ++i) {
        peers_[ready_[i]]->ready = false;
        ready(ready_[i]);
    }
    ready_count_ = 0;
}

template <Port P>
void Worker<P>::finish_batch() {
    for (std::size_t i = 0; i < reading_count_; ++i) {
        Peer& peer = *peers_[reading_[i]];
        peer.reader.finish_batch();
        if (peer.ring.reclaim([this](Packet* packet) { port_.free(packet); })) {
            peer.receive.on_consumed(peer.ring.reclaimed());
            if (peer.receive.ack_due(protocol::Time()) || (peer.index == self() && has_something_to_send(peer))) {
                mark_dirty(peer);
            }
        }
        on_events_taken(peer);
    }
    reading_count_ = 0;
}

}  // namespace bowline::dataplane
