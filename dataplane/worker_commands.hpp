#pragma once

// Part of worker.hpp: what control has decided.
#include <cstring>

#include "dataplane/worker.hpp"
#include "protocol/association.hpp"
#include "protocol/wire/bytes.hpp"
#include "protocol/wire/control_body.hpp"

namespace bowline::dataplane {

template <Port P>
Worker<P>::Worker(P& port, const WorkerConfig& config, SpscRing<Command>& commands, SpscRing<Notice>& notices,
                  std::span<PeerActivity> activity, protocol::Random random, protocol::Time now)
    : port_(port),
      config_(config),
      commands_(commands),
      notices_(notices),
      activity_(activity),
      slots_(std::size_t{2} * config.peers),
      wheel_(config.peers, now),
      dirty_(config.peers + std::size_t{1}),
      ready_(config.peers + std::size_t{1}),
      reading_(config.peers + std::size_t{1}) {
    BOWLINE_CHECK(activity.size() == config.peers);
    BOWLINE_CHECK(notices.capacity() > std::size_t{kNoticesPerPeer} * config.peers);
    constexpr std::uint32_t longest_frame = protocol::wire::kFrameHeaderBytes + protocol::wire::kFrameLengthMax;
    const bool in_view = config.settings.views == protocol::ViewSource::fixed;
    for (std::uint16_t i = 0; i <= config.peers; ++i) {
        // A stream's id is never 0: that says "none yet".
        protocol::Settings settings = config.settings;
        if (i == config.peers) {
            settings.window_pkts = std::min(settings.window_pkts, kOwnWindow);
            settings.send_queue_pkts = std::min(settings.send_queue_pkts, kOwnWindow);
        }
        peers_.push_back(std::make_unique<Peer>(i, settings, random.next() | 1U));
        Peer& peer = *peers_.back();
        peer.message_max = config.settings.message_max;
        // Until a handshake has settled it: what every peer can take.
        peer.frames_bytes_max = protocol::Handshake::kPacketBytesMin - kPacketOverhead;
        peer.in_view = peer.view_wanted = in_view;
        peer.shared.in_view.store(in_view, std::memory_order_relaxed);
        peer.shared.message_max.store(peer.message_max, std::memory_order_relaxed);
    }
    Peer& own = *peers_.back();
    own.in_view = own.view_wanted = own.associated = true;
    own.frames_bytes_max = std::min(port.payload_capacity(), longest_frame);
    own.shared.in_view.store(true, std::memory_order_relaxed);
}

template <Port P>
Worker<P>::~Worker() {
    for (const std::unique_ptr<Peer>& peer : peers_) {
        peer->send.abandon(peer->next_message, [this](Packet* p) { release_data(p); });
        if (peer->open.packet != nullptr) {
            release_data(peer->open.packet);
        }
        peer->receive.close([&](std::uint64_t position) { drop_position(*peer, position); });
        peer->ring.consume(peer->ring.published());
        peer->ring.reclaim([this](Packet* p) { port_.free(p); });
    }
    while (Command* command = commands_.front()) {
        if (command->packet != nullptr) {
            port_.free(command->packet);
        }
        commands_.pop();
    }
    port_.free_bulk(burst_.data(), burst_count_);
    port_.free_bulk(tx_.data(), static_cast<std::uint32_t>(tx_count_));
}

template <Port P>
void Worker<P>::apply_commands(protocol::Time now) {
    while (Command* command = commands_.front()) {
        apply(now, *command);
        commands_.pop();
    }
}

template <Port P>
void Worker<P>::apply(protocol::Time now, const Command& command) {
    Peer* peer = command.peer < peers_.size() ? peers_[command.peer].get() : nullptr;
    switch (command.kind) {
        case Command::Kind::set_endpoints:
            peer->headers = protocol::wire::HeaderTemplate(command.endpoints);
            break;
        case Command::Kind::associate:
            // Without room for its events it waits, like an expected one, for the peer's next packet.
            if (!associate(now, *peer, command.association)) {
                expect(*peer, command.association);
            }
            break;
        case Command::Kind::expect:
            expect(*peer, command.association);
            break;
        case Command::Kind::cancel_expected:
            if (peer->expected) {
                slots_[peer->candidate.local_slot] = {};
                peer->expected = false;
            }
            break;
        case Command::Kind::dissociate:
            dissociate(now, *peer, command.down_reason);
            break;
        case Command::Kind::forget:
            forget(*peer);
            break;
        case Command::Kind::admit:
            admit(now, *peer);
            break;
        case Command::Kind::exclude:
            exclude(now, *peer, command.down_reason);
            break;
        case Command::Kind::view_changed:
            tell_view(command.number);
            break;
        case Command::Kind::close_connections:
            close_connections(now, *peer);
            break;
        case Command::Kind::rotate:
            rotate(now, *peer, command.number);
            break;
        case Command::Kind::transmit:
            transmit_frame(now, command.frame);
            break;
        case Command::Kind::transmit_packet:
            if (Packet* copy = command.packet_bytes <= port_.payload_capacity() ? port_.alloc() : nullptr) {
                std::memcpy(port_.payload(copy), port_.rx_frame(command.packet).data, command.packet_bytes);
                port_.seal(copy, 0, command.packet_bytes);
                enqueue(copy);
            } else {
                ++counters_.no_packet;
            }
            port_.free(command.packet);
            break;
        case Command::Kind::release_packet:
            port_.free(command.packet);
            break;
        case Command::Kind::heartbeat:
            if (peer->associated) {
                send_control(now, *peer, protocol::wire::Type::heartbeat);
            }
            break;
        case Command::Kind::probe:
            if (peer->associated) {
                send_control(now, *peer, protocol::wire::Type::probe);
            }
            break;
        case Command::Kind::send_close:
            if (peer->associated) {
                // From here on nothing of this peer is admitted, so that what the CLOSE says stays true.
                peer->stopping = true;
                // It is not acknowledged: a few copies make it unlikely that the peer must find out by silence.
                for (int copy = 0; copy < 3; ++copy) {
                    send_close(now, *peer, protocol::wire::CloseReason::orderly_stop);
                }
            }
            break;
        case Command::Kind::snapshot:
            copy_figures(*command.snapshot, command.snapshot->first, WorkerSnapshot::kPiece);
            command.snapshot->filled.store(true, std::memory_order_release);
            break;
    }
}

template <Port P>
void Worker<P>::expect(Peer& peer, const Association& association) {
    if (peer.associated && peer.association.local_slot == association.local_slot) {
        // Control has not heard, or not taken, that the one before it is in use. Its word stands, or the two would
        // never agree again: packets with the old tag get RESET, and the new association takes its place.
        ++counters_.expects_over_live;
    }
    if (peer.expected) {
        slots_[peer.candidate.local_slot] = {};
    }
    peer.candidate = association;
    peer.expected = true;
    peer.answers_sent = 0;
    slots_[association.local_slot] = {.tag = association.local_tag, .expected = true};
}

template <Port P>
bool Worker<P>::associate(protocol::Time now, Peer& peer, const Association& association) {
    if (peer.events.free() < kEventsPerAssociation) {
        ++counters_.events_full;
        return false;
    }
    // From here on the old tags match nothing (R8): whatever is still under way with them is void.
    const Association agreed = association;
    drop_tags(peer);
    slots_[agreed.local_slot] = {.tag = agreed.local_tag, .expected = false};
    peer.associated = true;
    peer.association = agreed;
    peer.has_timestamp = false;
    peer.wanted_said = false;
    peer.rotation_asked = 0;
    peer.asks.reset();
    peer.message_max = std::min(agreed.message_max, config_.settings.message_max);
    peer.frames_bytes_max =
        std::min({agreed.packet_bytes_max - kPacketOverhead, port_.payload_capacity(),
                  // the longest whole message that a frame can hold
                  static_cast<std::uint32_t>(protocol::wire::kFrameHeaderBytes) + protocol::wire::kFrameLengthMax});

    const bool restarted = peer.incarnation != 0 && peer.incarnation != agreed.peer_incarnation;
    if (restarted && peer.up) {
        peer.up = false;
        push_event(peer, {.kind = PeerEvent::Kind::down, .down = DownReason::restarted});
    }
    resume_sending(now, peer, agreed, restarted);
    if (peer.longest_unagreed > peer.message_max) {
        report_abandoned(peer, false);  // the peer takes no message so long
    }
    peer.longest_unagreed = 0;
    if (peer.incarnation != agreed.peer_incarnation) {
        push_event(peer, {.kind = PeerEvent::Kind::restarted});
    }
    peer.incarnation = agreed.peer_incarnation;
    peer.receive.bind(agreed.peer_incarnation, agreed.peer_stream_id,
                      [&](std::uint64_t position) { drop_position(peer, position); });
    peer.send.grant(agreed.peer_window_pkts, agreed.peer_ack_delay);
    if (agreed.rtt.ns() > 0) {
        peer.send.sample_rtt(agreed.rtt);
    }
    if (agreed.admit) {
        peer.view_wanted = true;
        peer.in_view = true;
        peer.heard_said = false;
    }
    peer.shared.message_max.store(peer.message_max, std::memory_order_relaxed);
    peer.shared.in_view.store(peer.in_view, std::memory_order_relaxed);
    peer.shared.associated.store(true, std::memory_order_release);
    if (peer.in_view) {
        peer.send.open(now);
        come_up(now, peer);
    }
    mark_dirty(peer);
    return true;
}

/// What becomes of what is unacknowledged: it goes on where the peer remembers it, is sent again where the peer
/// certainly never had it, and is reported where nobody can know (R5, R8).
template <Port P>
void Worker<P>::resume_sending(protocol::Time now, Peer& peer, const Association& association, bool restarted) {
    using protocol::Mutant;
    const protocol::StreamMemory& memory = association.peer_memory;
    const auto release = [this](Packet* p) { release_data(p); };
    if (restarted && !mutated(Mutant::r8_replay)) {
        if (mutated(Mutant::r8_silent_restart)) {
            peer.send.abandon(peer.next_message, release);
            return;
        }
        return report_abandoned(peer, false);
    }
    if (memory.known && memory.incarnation == config_.incarnation && memory.stream_id == peer.send.stream_id()) {
        return peer.send.acknowledge_up_to(now, protocol::Seqno(memory.rcv_nxt), release);
    }
    // It lives, and knows nothing of our stream: it can go on where a message begins. What has been sent it has
    // certainly not delivered, unless it has had to forget it with its end unknown.
    const bool is_uncertain =
        association.peer_dropped_dirty && config_.settings.on_uncertain == protocol::OnUncertain::report;
    const protocol::SendWindow& window = peer.send.window();
    const protocol::Seqno from = peer.send.next_boundary(is_uncertain ? window.nxt() : window.una());
    const bool goes_on = from != window.end() || (peer.open.has_frames() ? peer.open.boundary : peer.large.cut == 0);
    if (!goes_on) {
        return report_abandoned(peer, false);
    }
    if (from != window.una()) {
        report(peer, peer.send.abandon_before(from, release));
    }
}

template <Port P>
void Worker<P>::drop_tags(Peer& peer) {
    slots_[std::size_t{2} * peer.index] = {};
    slots_[std::size_t{2} * peer.index + 1] = {};
    peer.expected = false;
}

template <Port P>
void Worker<P>::dissociate(protocol::Time now, Peer& peer, DownReason reason) {
    const bool was_associated = peer.associated;  // or it was still waiting for room among the events
    drop_tags(peer);
    peer.associated = false;
    peer.shared.associated.store(false, std::memory_order_relaxed);
    peer.receive.close([&](std::uint64_t position) { drop_position(peer, position); });
    if (peer.in_view) {
        peer.send.suspend();
        peer.send.expect_again(now);
    }
    if (peer.up) {
        peer.up = false;
        push_event(peer, {.kind = PeerEvent::Kind::down, .down = reason});
    }
    if (reason == DownReason::stopped && was_associated) {
        // Its CLOSE has said what it had: the rest has certainly not been delivered, and never will be. What is sent
        // from now on is for whoever takes its place.
        report_abandoned(peer, true);
        peer.incarnation = 0;
        peer.frames_bytes_max = protocol::Handshake::kPacketBytesMin - kPacketOverhead;
    }
    mark_dirty(peer);
}

/// Everything of the association and of the peer's stream goes; our own stream's numbers stay, as they do for ever.
template <Port P>
void Worker<P>::forget(Peer& peer) {
    drop_tags(peer);
    peer.associated = false;
    peer.shared.associated.store(false, std::memory_order_relaxed);
    if (peer.receive.is_known()) {
        peer.dropped_dirty = !peer.receive.is_clean() && !mutated(protocol::Mutant::r5_dirty_taken_clean);
        ++(peer.receive.is_clean() ? counters_.forgotten_clean : counters_.forgotten_dirty);
        push_event(peer, {.kind = PeerEvent::Kind::forgotten});
    }
    peer.receive.forget([&](std::uint64_t position) { drop_position(peer, position); });
    if (peer.in_view) {
        peer.send.suspend();
        // What was asked for before may have led to an agreement that control has dropped with this command, and of
        // which nothing has come here.
        peer.wanted_said = false;
        if (has_something_to_send(peer)) {
            ask_for_greeting(peer);
        }
    }
    mark_dirty(peer);
}

template <Port P>
void Worker<P>::close_connections(protocol::Time now, Peer& peer) {
    if (!peer.associated || !peer.in_view || (!peer.receive.is_open() && !peer.send.is_open())) {
        return;
    }
    send_close(now, peer, protocol::wire::CloseReason::idle);
    peer.receive.close([&](std::uint64_t position) { drop_position(peer, position); });
    peer.send.suspend();
    mark_dirty(peer);
}

template <Port P>
void Worker<P>::report_abandoned(Peer& peer, bool nothing_uncertain) {
    if (peer.large.active()) {
        end_large(peer);  // accepted, and cut into packets in part
    }
    if (peer.inbox != nullptr) {
        // Accepted by the application's thread, though not yet looked at here.
        for (SendRing::Record record; peer.inbox->front(record); peer.inbox->pop(record)) {
            if (record.large) {
                peer.shared.large_busy.store(false, std::memory_order_release);
            }
            ++peer.next_message;
        }
    }
    if (peer.open.packet != nullptr) {
        release_data(peer.open.packet);
        peer.open = {};
    }
    protocol::Abandoned abandoned = peer.send.abandon(peer.next_message, [this](Packet* p) { release_data(p); });
    if (nothing_uncertain) {
        abandoned.unsent_first = abandoned.uncertain_first;
        abandoned.uncertain_last = abandoned.uncertain_first - 1;
    }
    report(peer, abandoned);
}

template <Port P>
void Worker<P>::report(Peer& peer, const protocol::Abandoned& abandoned) {
    if (abandoned.uncertain_first <= abandoned.uncertain_last) {
        push_event(peer, {.first = abandoned.uncertain_first,
                          .last = abandoned.uncertain_last,
                          .kind = PeerEvent::Kind::undelivered,
                          .certain = false});
    }
    if (abandoned.unsent_first <= abandoned.unsent_last) {
        push_event(peer, {.first = abandoned.unsent_first,
                          .last = abandoned.unsent_last,
                          .kind = PeerEvent::Kind::undelivered,
                          .certain = true});
    }
}

template <Port P>
void Worker<P>::push_event(Peer& peer, PeerEvent event) {
    event.position = peer.receive.window().next_position();
    BOWLINE_CHECK(peer.events.try_push(event));  // associate() has seen to the room
    mark_ready(peer);
}

template <Port P>
void Worker<P>::transmit_frame(protocol::Time now, const ControlFrame& frame) {
    namespace wire = protocol::wire;
    Packet* packet = frame.length <= port_.payload_capacity() ? port_.alloc() : nullptr;
    if (packet == nullptr) {
        ++counters_.no_packet;
        return;
    }
    std::byte* const bytes = port_.payload(packet);
    std::memcpy(bytes, frame.bytes.data(), frame.length);
    if (frame.hello_at != 0) {
        Peer& peer = *peers_[frame.peer];
        if (wire::load_u8(bytes + frame.udp_payload_at + 1) == static_cast<std::uint8_t>(wire::Type::hello_ack)) {
            ++peer.answers_sent;
            peer.answered_at = now;
        }
        const protocol::StreamMemory memory = peer.receive.memory();
        wire::fill_hello({.window = peer.receive.window_pkts(peer.ring.reclaimed()),
                          .stream_id = peer.send.stream_id(),
                          .memory_incarnation = memory.incarnation,
                          .memory_stream_id = memory.stream_id,
                          .memory_rcv_nxt = memory.rcv_nxt,
                          .memory_flags = (memory.known ? wire::kMemoryPresent : 0) |
                                          (peer.dropped_dirty ? wire::kMemoryDroppedDirty : 0)},
                         bytes + frame.hello_at);
    }
    if (frame.udp_payload_at != 0 && config_.write_checksums) {
        std::byte* const datagram = bytes + frame.udp_payload_at - wire::kUdpBytes;
        const std::byte* const ip = datagram - wire::kIpv4Bytes;
        const std::size_t size = static_cast<std::size_t>(bytes + frame.length - datagram);
        wire::store_be16(datagram + 6, 0);
        const std::uint64_t pseudo =
            wire::pseudo_header_sum({wire::load_be32(ip + 12)}, {wire::load_be32(ip + 16)}, size);
        const auto sum = static_cast<std::uint16_t>(~wire::checksum_fold(wire::checksum_add(pseudo, {datagram, size})));
        wire::store_le16(datagram + 6, sum == 0 ? std::uint16_t{0xFFFF} : sum);
    }
    port_.seal(packet, 0, frame.length);
    enqueue(packet);
}

template <Port P>
void Worker<P>::send_close(protocol::Time now, Peer& peer, protocol::wire::CloseReason reason) {
    namespace wire = protocol::wire;
    std::array<std::byte, wire::kCloseBytes> body;
    wire::encode_close({.reason = reason,
                        .rcv_nxt = peer.receive.window().rcv_nxt().value(),
                        .next_message = peer.send.acknowledged_message() + 1},
                       body.data());
    if (send_control(now, peer, wire::Type::close, body)) {
        ++counters_.closes_sent;
    }
}

}  // namespace bowline::dataplane
