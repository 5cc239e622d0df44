#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "protocol/check.hpp"
#include "protocol/packet.hpp"
#include "protocol/seqno.hpp"
#include "protocol/time.hpp"

namespace bowline::protocol {

/// A packet of a stream from the moment it is packed until the cumulative acknowledgement passes it.
struct SentPacket {
    enum class State : std::uint8_t {
        queued,     ///< packed, not yet sent
        in_flight,  ///< sent, nothing heard
        sacked,     ///< the receiver holds it out of order; kept, since it may still drop it (R5)
        lost,       ///< to be sent again
    };

    Packet* packet = nullptr;
    Time sent_at;                     ///< of the latest transmission
    std::uint64_t next_message = 0;   ///< once acknowledged, so is every message before this one
    std::uint16_t payload_bytes = 0;  ///< frames
    State state = State::queued;
    bool boundary = false;            ///< its first frame begins a message
    std::uint16_t transmissions = 0;  ///< 1: only once; counts on from 2 after it wraps
    bool in_lost_queue = false;       ///< LossDetector's: it stands there once, whatever becomes of it meanwhile

    void count_transmission() {
        transmissions = static_cast<std::uint16_t>(transmissions == 0xFFFF ? 2 : transmissions + 1);
    }
};
static_assert(sizeof(SentPacket) == 32);

/// The packets that a sender answers for: [una, nxt) sent and not yet acknowledged in order, [nxt, end) queued behind
/// the window. A ring over storage that the owner provides; it moves numbers and holds no policy.
class SendWindow {
public:
    /// `storage`: a power of two of entries, which outlive the window.
    void attach(std::span<SentPacket> storage, Seqno first) {
        BOWLINE_CHECK(std::has_single_bit(storage.size()));
        entries_ = storage.data();
        mask_ = storage.size() - 1;
        una_ = nxt_ = end_ = first;
    }

    [[nodiscard]] Seqno una() const { return una_; }
    [[nodiscard]] Seqno nxt() const { return nxt_; }
    [[nodiscard]] Seqno end() const { return end_; }
    [[nodiscard]] std::uint64_t unacked_pkts() const { return nxt_.value() - una_.value(); }
    [[nodiscard]] std::uint64_t queued_pkts() const { return end_.value() - nxt_.value(); }
    [[nodiscard]] std::uint64_t size() const { return end_.value() - una_.value(); }
    [[nodiscard]] std::uint64_t capacity() const { return mask_ + 1; }
    [[nodiscard]] bool full() const { return size() > mask_; }

    [[nodiscard]] SentPacket& at(Seqno seqno) { return entries_[seqno.value() & mask_]; }
    [[nodiscard]] const SentPacket& at(Seqno seqno) const { return entries_[seqno.value() & mask_]; }

    /// Queues a packet; false when full.
    [[nodiscard]] bool push(const SentPacket& packet) {
        if (full()) {
            return false;
        }
        at(end_) = packet;
        ++end_;
        return true;
    }
    /// The first queued packet is on its way.
    void sent_one() {
        BOWLINE_DCHECK(nxt_.before(end_));
        ++nxt_;
    }
    /// Forgets everything before `seqno`, whose packets the caller has taken out.
    void advance(Seqno seqno) {
        BOWLINE_DCHECK(!seqno.before(una_) && !seqno.after(end_));
        una_ = seqno;
        nxt_ = later(nxt_, seqno);
    }
    /// Goes on at `seqno`; nothing may be in the window.
    void jump(Seqno seqno) {
        BOWLINE_CHECK(size() == 0);
        una_ = nxt_ = end_ = seqno;
    }

private:
    SentPacket* entries_ = nullptr;
    std::uint64_t mask_ = 0;
    Seqno una_;
    Seqno nxt_;
    Seqno end_;
};

}  // namespace bowline::protocol
