#pragma once

// Part of worker.hpp: messages into packets. Packed without ever waiting for more: what is in the open packet when the
// worker looks goes out together.
#include <algorithm>
#include <cstring>

#include "dataplane/worker.hpp"
#include "protocol/wire/frame.hpp"

namespace bowline::dataplane {

template <Port P>
Offer Worker<P>::check_offer(Peer& peer, std::size_t size) {
    if (stopping_) {
        return Offer::closed;
    }
    if (size > config_.settings.message_max || (peer.associated && size > peer.message_max)) {
        return Offer::too_large;
    }
    if (!peer.in_view) {
        return Offer::excluded;
    }
    if (!peer.associated) {
        ask_for_greeting(peer);
        peer.longest_unagreed = std::max(peer.longest_unagreed, static_cast<std::uint32_t>(size));
    }
    return peer.large.active() ? Offer::back_pressured : Offer::accepted;
}

template <Port P>
void Worker<P>::ask_for_greeting(Peer& peer) {
    if (!peer.wanted_said) {
        Notice notice;
        notice.kind = Notice::Kind::wanted;
        notice.peer = peer.index;
        peer.wanted_said = notices_.try_push(notice);
    }
}

template <Port P>
bool Worker<P>::open_packet(Peer& peer) {
    if (data_packets_ >= config_.data_packets_max) {
        return false;
    }
    Packet* packet = port_.alloc();
    if (packet == nullptr) {
        ++counters_.no_packet;
        return false;
    }
    ++data_packets_;
    std::byte* const begin = port_.payload(packet);
    peer.open = {.packet = packet, .begin = begin, .at = begin, .end = begin + peer.frames_bytes_max, .boundary = true};
    return true;
}

/// The open packet joins the queue; false when that is full.
template <Port P>
bool Worker<P>::seal_open(protocol::Time now, Peer& peer) {
    if (peer.send.queue_full()) {
        return false;
    }
    const bool queued =
        peer.send.queue(now, {.packet = peer.open.packet,
                              .sent_at = {},
                              .next_message = peer.next_message,
                              .payload_bytes = static_cast<std::uint16_t>(peer.open.at - peer.open.begin),
                              .state = protocol::SentPacket::State::queued,
                              .boundary = peer.open.boundary});
    BOWLINE_DCHECK(queued);
    peer.open = {};
    mark_dirty(peer);
    return queued;
}

template <Port P>
Offer Worker<P>::try_claim(PeerIndex index, protocol::Time now, std::size_t size, std::byte*& at) {
    Peer& peer = *peers_[index];
    if (const Offer offer = check_offer(peer, size); offer != Offer::accepted) {
        return offer;
    }
    if (protocol::wire::kFrameHeaderBytes + size > peer.frames_bytes_max) {
        return Offer::too_large;
    }
    const Offer room = make_room(peer, now, size, at);
    if (room == Offer::back_pressured && ack_deferred_of_ != nullptr) [[unlikely]] {
        settle_ack(now);  // it may have made some
        return make_room(peer, now, size, at);
    }
    return room;
}

/// Room in the open packet, or in a new one, for a message that fits in one.
template <Port P>
Offer Worker<P>::make_room(Peer& peer, protocol::Time now, std::size_t size, std::byte*& at) {
    namespace wire = protocol::wire;
    const std::size_t bytes = wire::kFrameHeaderBytes + size;
    if (peer.open.packet != nullptr && peer.open.room() < bytes && !seal_open(now, peer)) {
        return Offer::back_pressured;
    }
    if (peer.open.packet == nullptr && !open_packet(peer)) {
        return Offer::back_pressured;
    }
    at = peer.open.at + wire::kFrameHeaderBytes;
    return Offer::accepted;
}

template <Port P>
std::uint64_t Worker<P>::commit_claim(PeerIndex index, std::size_t size) {
    return commit(*peers_[index], size);
}

template <Port P>
std::uint64_t Worker<P>::commit(Peer& peer, std::size_t size) {
    protocol::wire::encode_whole_frame(peer.open.at, static_cast<std::uint32_t>(size));
    peer.open.at += protocol::wire::kFrameHeaderBytes + size;
    mark_dirty(peer);
    return peer.next_message++;
}

template <Port P>
Offer Worker<P>::offer(PeerIndex index, protocol::Time now, const std::byte* bytes, std::size_t size,
                       std::uint64_t& number) {
    Peer& peer = *peers_[index];
    const Offer offer = check_offer(peer, size);
    if (offer != Offer::accepted) [[unlikely]] {
        return offer;
    }
    const Offer taken = offer_now(peer, now, bytes, size, number);
    if (taken == Offer::back_pressured && ack_deferred_of_ != nullptr) [[unlikely]] {
        settle_ack(now);  // it may have made room
        return offer_now(peer, now, bytes, size, number);
    }
    return taken;
}

/// To a peer that may be sent to.
template <Port P>
Offer Worker<P>::offer_now(Peer& peer, protocol::Time now, const std::byte* bytes, std::size_t size,
                           std::uint64_t& number) {
    if (size + protocol::wire::kFrameHeaderBytes <= peer.frames_bytes_max) [[likely]] {
        std::byte* at = nullptr;
        const Offer offer = make_room(peer, now, size, at);
        if (offer == Offer::accepted) [[likely]] {
            std::copy_n(bytes, size, at);  // of an empty message there may be no address
            number = commit(peer, size);
        }
        return offer;
    }
    number = peer.next_message;
    return offer_fragments(peer, now, bytes, size);
}

/// A message of several packets. All of it is taken at once: into packets where the queue has the room, else into the
/// peer's buffer for large messages, from which packets are cut as others leave.
template <Port P>
Offer Worker<P>::offer_fragments(Peer& peer, protocol::Time now, const std::byte* bytes, std::size_t size) {
    const std::uint64_t needed = size / (peer.frames_bytes_max - protocol::wire::kFrameHeaderBytes) + 2;
    const std::uint64_t queue_free = config_.settings.send_queue_pkts - peer.send.window().queued_pkts();
    const std::uint64_t pool_free = config_.data_packets_max - data_packets_;
    const std::uint64_t free = std::min(queue_free, pool_free);
    const std::uint64_t most = std::min<std::uint64_t>(config_.settings.send_queue_pkts, config_.data_packets_max);
    if (needed > free && needed <= most / 2) {
        return Offer::back_pressured;
    }
    std::size_t done = 0;
    if (needed <= free) {
        done = cut(peer, now, bytes, 0, size);
        if (done == size) {
            ++peer.next_message;
            return Offer::accepted;
        }
    }
    const std::span<std::byte> buffer = peer.storage.outgoing.bytes();
    std::memcpy(buffer.data() + done, bytes + done, size - done);
    peer.large = {.bytes = buffer.data(),
                  .total = static_cast<std::uint32_t>(size),
                  .cut = static_cast<std::uint32_t>(done),
                  .from_application = false};
    mark_dirty(peer);
    return Offer::accepted;
}

/// Cuts [from, total) of a message into packets as far as there is room; returns how far it came.
template <Port P>
std::size_t Worker<P>::cut(Peer& peer, protocol::Time now, const std::byte* bytes, std::size_t from,
                           std::size_t total) {
    namespace wire = protocol::wire;
    constexpr std::size_t worth_starting = 64;  // bytes of a message at the end of a packet that others have filled
    while (from < total) {
        const bool first = from == 0;
        const std::size_t header = first ? wire::kFirstFrameHeaderBytes : wire::kFrameHeaderBytes;
        if (peer.open.packet != nullptr && peer.open.has_frames() &&
            (!first || peer.open.room() < header + worth_starting)) {
            if (!seal_open(now, peer)) {
                return from;
            }
        }
        if (peer.send.queue_full() || (peer.open.packet == nullptr && !open_packet(peer))) {
            return from;
        }
        OpenPacket& open = peer.open;
        if (!open.has_frames()) {
            open.boundary = first;
        }
        if (first && total <= wire::kFrameLengthMax && wire::kFrameHeaderBytes + total <= open.room()) {
            // It was too long for a packet when it was offered, before a handshake had settled how long they are.
            open.at += wire::encode_whole_frame(open.at, static_cast<std::uint32_t>(total));
            std::memcpy(open.at, bytes, total);
            open.at += total;
            mark_dirty(peer);
            return total;
        }
        const auto length = static_cast<std::uint32_t>(
            std::min({total - from, open.room() - header, std::size_t{wire::kFrameLengthMax}}));
        if (first) {
            open.at += wire::encode_first_frame(open.at, length, static_cast<std::uint32_t>(total));
        } else if (from + length == total) {
            open.at += wire::encode_last_frame(open.at, length);
        } else {
            open.at += wire::encode_middle_frame(open.at, length);
        }
        std::memcpy(open.at, bytes + from, length);
        open.at += length;
        from += length;
        mark_dirty(peer);
        if (from < total) {
            const bool sealed = seal_open(now, peer);  // a fragment that is continued ends its packet
            BOWLINE_DCHECK(sealed);
            static_cast<void>(sealed);
        }
    }
    return from;
}

template <Port P>
void Worker<P>::continue_large(protocol::Time now, Peer& peer) {
    peer.large.cut = static_cast<std::uint32_t>(cut(peer, now, peer.large.bytes, peer.large.cut, peer.large.total));
    if (peer.large.cut == peer.large.total) {
        end_large(peer);
    }
}

template <Port P>
void Worker<P>::end_large(Peer& peer) {
    if (peer.large.from_application) {
        peer.shared.large_busy.store(false, std::memory_order_release);
    }
    peer.large = {};
    ++peer.next_message;
}

template <Port P>
void Worker<P>::open_inboxes(std::size_t bytes) {
    for (const std::unique_ptr<Peer>& peer : peers_) {
        peer->inbox = std::make_unique<SendRing>(bytes);
        peer->storage.large_inbox = LargeBuffer(config_.settings.message_max);
    }
}

template <Port P>
void Worker<P>::on_doorbell(PeerIndex index) {
    Peer& peer = *peers_[index];
    if (peer.ring.reclaim([this](Packet* packet) { port_.free(packet); })) {
        peer.receive.on_consumed(peer.ring.reclaimed());
    }
    if (!peer.associated && peer.in_view) {
        ask_for_greeting(peer);
    }
    on_events_taken(peer);
    peer.inbox_waiting = true;
    mark_dirty(peer);
}

/// Messages that the application has numbered already: they wait in the ring as long as there is no room for them.
template <Port P>
void Worker<P>::drain_inbox(protocol::Time now, Peer& peer) {
    SendRing::Record record;
    while (!peer.large.active()) {
        if (!peer.inbox->front(record)) {
            peer.inbox_waiting = false;
            return;
        }
        if (peer.associated && (record.large ? peer.shared.large_bytes : record.size) > peer.message_max) {
            // Accepted while the peer took longer ones. Nothing behind it may overtake it: all of it is reported.
            if (peer.events.free() > kEventsAtEnd + 2) {
                report_abandoned(peer, false);
            }
            return;
        }
        if (record.large) {
            peer.large = {.bytes = peer.storage.large_inbox.bytes().data(),
                          .total = peer.shared.large_bytes,
                          .cut = 0,
                          .from_application = true};
            peer.inbox->pop(record);
            return;
        }
        std::uint64_t number = 0;
        if (offer_now(peer, now, record.bytes, record.size, number) != Offer::accepted) {
            return;
        }
        peer.inbox->pop(record);
    }
}

}  // namespace bowline::dataplane
