#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "dataplane/peer_event.hpp"
#include "dataplane/receive_ring.hpp"
#include "dataplane/spsc_ring.hpp"
#include "protocol/inspector.hpp"
#include "protocol/packet.hpp"
#include "protocol/wire/frame.hpp"

namespace bowline::dataplane {

/// Turns the packets and events of one peer back into messages and events, in order: unpacks, puts fragments together,
/// numbers. It runs on the application's side of the receive ring.
///
/// A batch is read with read() and ended with finish_batch(): what was handed out is valid in between.
class MessageReader {
public:
    /// `assembly`: room for the longest message.
    void attach(ReceiveRing& ring, SpscRing<PeerEvent>& events, std::span<std::byte> assembly) {
        ring_ = &ring;
        events_ = &events;
        assembly_ = assembly;
    }

    /// True when read() might find something.
    [[nodiscard]] bool has_work() const { return position_ != ring_->readable() || !events_->empty(); }
    /// The next message has this number; also the last one delivered, plus one.
    [[nodiscard]] std::uint64_t next_message() const { return next_message_; }

    /// Hands out at most `limit` messages and events: `on_message(bytes, size, number, packet)`, where `packet` is the
    /// buffer that holds the bytes or nullptr when they were put together from several, and `on_event(PeerEvent)`.
    /// Returns how many. A gap comes as an event of kind `opened` with first..last missing.
    template <typename OnMessage, typename OnEvent>
    std::size_t read(std::size_t limit, OnMessage&& on_message, OnEvent&& on_event);
    /// The batch has been dealt with: its packets may be taken back.
    void finish_batch() {
        assembly_handed_out_ = false;
        ring_->consume(position_);
    }

private:
    friend struct bowline::Inspector;
    /// One frame; false when it must wait for the next batch.
    template <typename OnMessage>
    bool take(const protocol::wire::Frame& frame, protocol::Packet* packet, std::size_t& count, OnMessage&& on_message);
    /// Returns true when the application should see the event.
    bool apply(PeerEvent& event);

    ReceiveRing* ring_ = nullptr;
    SpscRing<PeerEvent>* events_ = nullptr;
    std::uint64_t position_ = 0;  ///< of the packet being read
    std::size_t offset_ = 0;      ///< in its content
    std::uint64_t next_message_ = 1;
    bool known_ = false;      ///< next_message_ means something: a later number is a gap
    bool forgotten_ = false;  ///< an earlier one is possible as well
    bool assembling_ = false;
    bool assembly_handed_out_ = false;
    std::uint32_t assembled_ = 0;  ///< bytes
    std::uint32_t total_ = 0;
    std::span<std::byte> assembly_;
};

template <typename OnMessage>
bool MessageReader::take(const protocol::wire::Frame& frame, protocol::Packet* packet, std::size_t& count,
                         OnMessage&& on_message) {
    using protocol::wire::FrameKind;
    if (frame.kind == FrameKind::whole) [[likely]] {
        on_message(frame.bytes, frame.length, next_message_++, packet);
        ++count;
        return true;
    }
    if (frame.kind == FrameKind::first) {
        if (assembly_handed_out_) {
            return false;
        }
        assembling_ = frame.total <= assembly_.size();
        total_ = frame.total;
        assembled_ = 0;
    }
    if (!assembling_ || frame.length > total_ - assembled_) [[unlikely]] {
        assembling_ = false;  // a tail whose head was before a gap, or a peer that contradicts itself
        // It cannot be delivered, but it had a number: those that follow keep theirs.
        next_message_ += frame.kind == FrameKind::last ? 1U : 0U;
        return true;
    }
    std::memcpy(assembly_.data() + assembled_, frame.bytes, frame.length);
    assembled_ += frame.length;
    if (frame.kind == FrameKind::last) {
        assembling_ = false;
        if (assembled_ == total_) {
            assembly_handed_out_ = true;
            on_message(assembly_.data(), total_, next_message_, nullptr);
            ++count;
        }
        ++next_message_;
    }
    return true;
}

template <typename OnMessage, typename OnEvent>
std::size_t MessageReader::read(std::size_t limit, OnMessage&& on_message, OnEvent&& on_event) {
    // Events first are pushed, then the packets behind them published: in this order here, none is overtaken.
    const std::uint64_t readable = ring_->readable();
    std::size_t count = 0;
    while (count < limit) {
        if (PeerEvent* event = offset_ == 0 ? events_->front() : nullptr;
            event != nullptr && event->position <= position_) [[unlikely]] {
            if (apply(*event)) {
                on_event(*event);
                ++count;
            }
            events_->pop();
            continue;
        }
        if (position_ == readable) {
            break;
        }
        const ReceiveRing::Slot& slot = ring_->slot(position_);
        protocol::wire::FrameReader frames({slot.content, slot.bytes}, offset_);
        bool blocked = false;
        while (!frames.done() && count < limit) {
            const std::size_t at = frames.offset();
            if (!take(frames.next(), slot.packet, count, on_message)) {
                offset_ = at;
                blocked = true;
                break;
            }
        }
        if (blocked) {
            break;
        }
        if (frames.done()) {
            ++position_;
            offset_ = 0;
        } else {
            offset_ = frames.offset();
        }
    }
    return count;
}

inline bool MessageReader::apply(PeerEvent& event) {
    switch (event.kind) {
        case PeerEvent::Kind::restarted:
            known_ = false;
            forgotten_ = false;
            assembling_ = false;
            return false;
        case PeerEvent::Kind::forgotten:
            forgotten_ = true;
            assembling_ = false;
            return false;
        case PeerEvent::Kind::opened: {
            const bool gap = known_ && event.first > next_message_;
            const std::uint64_t missing = next_message_;
            // Behind what was forgotten the numbers may begin again further down: the sender wants it so
            // (on_uncertain).
            if (!known_ || gap || forgotten_) {
                next_message_ = event.first;
                assembling_ = false;
            }
            known_ = true;
            forgotten_ = false;
            event.last = event.first - 1;
            event.first = missing;
            return gap;
        }
        case PeerEvent::Kind::up:
        case PeerEvent::Kind::down:
        case PeerEvent::Kind::undelivered:
        case PeerEvent::Kind::view_changed:
            return true;
    }
    return false;
}

}  // namespace bowline::dataplane
