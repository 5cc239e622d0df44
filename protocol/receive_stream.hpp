#pragma once

#include <cstdint>
#include <span>

#include "protocol/inspector.hpp"
#include "protocol/mutant.hpp"
#include "protocol/receive_window.hpp"
#include "protocol/settings.hpp"
#include "protocol/time.hpp"
#include "protocol/wire/header.hpp"
#include "protocol/wire_clock.hpp"

namespace bowline::protocol {

/// What a receiver remembers of a stream, as the handshake carries it (§4 of docs/PROTOCOL.md): it belongs to the pair
/// (sender's incarnation, stream), not to the association.
struct StreamMemory {
    bool known = false;
    std::uint64_t incarnation = 0;
    std::uint64_t stream_id = 0;
    std::uint64_t rcv_nxt = 0;
};

/// The counters of one receiving direction.
struct ReceiveCounters {
    std::uint64_t packets = 0;  ///< admitted
    std::uint64_t duplicates = 0;
    std::uint64_t out_of_order = 0;
    std::uint64_t beyond_window = 0;
    std::uint64_t stale = 0;      ///< of an earlier connection
    std::uint64_t no_window = 0;  ///< of a connection whose opening has not come
    std::uint64_t too_old = 0;    ///< by their timestamp (PAWS)
    std::uint64_t acks_sent = 0;  ///< packets of type ACK
};

/// The receiving direction of a peer: which connection's packets are admitted where, and when to acknowledge. R1-R3 and
/// R5 live here.
///
/// Owner: the worker. Sans-IO: it says where in the ring an admitted packet goes; the caller puts it there before
/// anything is acknowledged.
class ReceiveStream {
public:
    ReceiveStream(const Settings& settings, std::span<std::uint64_t> window_bits);

    /// The peer's stream under a new association. The same one as remembered: the memory stands. Another: everything of
    /// the old one is forgotten (`drop` gets the positions held out of order; what was acknowledged stays in the ring).
    template <typename Drop>
    void bind(std::uint64_t incarnation, std::uint64_t stream_id, Drop&& drop);
    /// The connection is over: what is held out of order is dropped, nothing is acknowledged any more; what the stream
    /// was stays remembered (the tombstone), so that the next connection goes on where this one ended (R5).
    template <typename Drop>
    void close(Drop&& drop) {
        window_.drop_out_of_order(drop);
        open_ = false;
        ack_now_ = false;
        sack_due_ = false;
        unacked_pkts_ = 0;
        ack_deadline_ = Time::never();
        if (mutated(Mutant::r5_no_tombstone)) {
            known_ = false;
            conn_id_ = 0;
        }
    }
    /// Drops the memory as well. What was acknowledged stays in the ring.
    template <typename Drop>
    void forget(Drop&& drop) {
        close(drop);
        known_ = false;
        conn_id_ = 0;
        incarnation_ = 0;
        stream_id_ = 0;
        drained_ = false;
        newest_at_ = Time::at_ns(INT64_MIN / 2);
    }
    /// The sender has said that it has nothing unacknowledged before `snd_una`.
    void on_drained(std::uint32_t snd_una) {
        drained_at_ = Seqno::expand(snd_una, window_.rcv_nxt());
        drained_ = true;
    }
    /// True when nothing is lost with the memory: there is none, or the sender has acknowledged all that was admitted,
    /// so that whatever it sends from now on has certainly not been delivered (R5).
    [[nodiscard]] bool is_clean() const {
        return !known_ || (drained_ && drained_at_ == window_.rcv_nxt() && window_.out_of_order_pkts() == 0);
    }
    [[nodiscard]] bool is_known() const { return known_; }
    [[nodiscard]] StreamMemory memory() const {
        return {.known = known_,
                .incarnation = incarnation_,
                .stream_id = stream_id_,
                .rcv_nxt = window_.rcv_nxt().value()};
    }

    enum class Verdict : std::uint8_t {
        in_order,      ///< goes to `position`; then advance()
        out_of_order,  ///< goes to `position`; then hold()
        duplicate,
        beyond,     ///< no room: the sender went past the window
        stale,      ///< of a connection that is over
        no_window,  ///< of one that has not been opened: ask where it begins (R6)
        too_old,    ///< of an earlier turn of the wire's seqnos
    };
    struct Admission {
        Verdict verdict;
        std::uint64_t position;
        Seqno seqno;
        bool opened;  ///< the connection has begun with this packet at a place that the consumer does not expect:
                      ///< tell it that from next_position() on messages count from first_message
    };
    /// Where a data packet goes. `consumed`: the ring's position before which the application has taken everything.
    /// `drop` gets the positions of packets held out of order that an opening past them makes void.
    template <typename Drop>
    Admission admit(Time now, const wire::Segment& segment, std::uint64_t consumed, Drop&& drop) {
        if (segment.header.conn_id == conn_id_ && open_) [[likely]] {
            return place(now, segment.header, consumed);
        }
        bool opened = false;
        if (const Verdict verdict = open_for(segment, opened, drop); verdict != Verdict::in_order) {
            return {.verdict = verdict, .position = 0, .seqno = {}, .opened = false};
        }
        Admission admission = place(now, segment.header, consumed);
        admission.opened = opened;
        return admission;
    }
    /// The packet of the admission stands in the ring: from now on it may be acknowledged (R1).
    void advance(Time now, std::uint64_t consumed);
    void hold(Seqno seqno);
    /// The same for a packet of the node itself, of which nobody wants an acknowledgement.
    void advance_own() {
        ++counters_.packets;
        window_.advance();
    }

    /// True when admit() would have the packet in order, open nothing, and find no gap around it: what nearly every
    /// packet is. Changes nothing.
    [[nodiscard]] bool is_next(Time now, std::uint32_t conn_id, std::uint32_t seqno, std::uint32_t timestamp,
                               std::uint64_t consumed) const {
        return open_ && conn_id == conn_id_ && seqno == window_.rcv_nxt().wire() && window_.out_of_order_pkts() == 0 &&
               window_.free_pkts(consumed) != 0 && now - newest_at_ < kComparable &&
               !timestamp_before(timestamp, newest_timestamp_);
    }
    /// admit() and advance() of a packet that is_next(); it goes to window().next_position() as it was before.
    void take_next(Time now, std::uint32_t timestamp, std::uint64_t consumed) {
        newest_timestamp_ = timestamp;
        newest_at_ = now;
        ++counters_.packets;
        window_.advance();
        count_towards_ack(now, consumed);
    }

    // — acknowledging —

    /// True when an ack should leave in this turn.
    [[nodiscard]] bool ack_due(Time now) const { return ack_now_ || ack_deadline_ <= now; }
    /// True when an ack that is not due yet might as well ride on data going out.
    [[nodiscard]] bool can_acknowledge() const { return open_; }
    /// True when only an ACK packet will do: what is missing needs to be said.
    [[nodiscard]] bool needs_sack() const { return sack_due_; }
    [[nodiscard]] Time ack_deadline() const { return ack_now_ ? Time() : ack_deadline_; }
    /// How long the newest packet has waited for the ack that leaves now. 0 for an ack that is due at once: where it
    /// had to wait nevertheless, this end was busy, which the sender may count as the way's delay.
    [[nodiscard]] Duration ack_delay(Time now) const {
        return ack_now_ || ack_deadline_.is_never() ? Duration() : now - newest_at_;
    }
    void ask_for_ack() {
        ack_now_ = open_;
        sack_due_ = window_.out_of_order_pkts() > 0;
    }
    /// The application has taken packets up to `consumed`: tells a sender that ran into the window.
    void on_consumed(std::uint64_t consumed);

    [[nodiscard]] std::uint32_t ack_conn_id() const { return conn_id_; }
    [[nodiscard]] std::uint32_t cum_ack() const {
        if (mutated(Mutant::r1_ack_over_gap) && window_.out_of_order_pkts() > 0) {
            return (window_.last_held() + 1).wire();
        }
        return window_.rcv_nxt().wire();
    }
    [[nodiscard]] std::uint16_t window_pkts(std::uint64_t consumed) const {
        const std::uint32_t free = window_.free_pkts(consumed);
        return static_cast<std::uint16_t>(free < 0xFFFF ? free : 0xFFFF);
    }
    std::size_t sack_words(std::span<std::uint64_t> out) const { return window_.sack_words(out); }
    /// These fields have left in a packet. Without the SACK words it does not count where they are needed.
    void on_ack_sent(std::uint64_t consumed, bool with_sack) {
        granted_ = window_.rcv_nxt() + window_pkts(consumed);
        if (sack_due_ && !with_sack) {
            return;
        }
        ack_now_ = false;
        sack_due_ = false;
        unacked_pkts_ = 0;
        ack_deadline_ = Time::never();
    }

    [[nodiscard]] bool is_open() const { return open_; }
    [[nodiscard]] std::uint32_t conn_id() const { return conn_id_; }
    [[nodiscard]] const ReceiveWindow& window() const { return window_; }
    ReceiveCounters& counters() { return counters_; }
    [[nodiscard]] const ReceiveCounters& counters() const { return counters_; }

    void check_invariants() const;

private:
    friend struct bowline::Inspector;
    template <typename Drop>
    Verdict open_for(const wire::Segment& segment, bool& opened, Drop&& drop);
    Admission place(Time now, const wire::Header& header, std::uint64_t consumed);
    void count_towards_ack(Time now, std::uint64_t consumed) {
        ++unacked_pkts_;
        // At the edge of what it was granted the sender stands still, whether the ring has room or not.
        if (unacked_pkts_ >= ack_every_pkts_ || window_.free_pkts(consumed) == 0 ||
            !window_.rcv_nxt().before(granted_)) {
            ack_now_ = true;
        } else if (ack_deadline_.is_never()) {
            ack_deadline_ = now + ack_delay_;
        }
    }

    /// A packet is from an earlier turn of the 32-bit seqnos when its timestamp lies this far behind the newest. RFC
    /// 7323 §5 takes any distance; but a packet that was overtaken by a retransmission is older too, and welcome. A
    /// retransmission carries a new timestamp, so that only a packet that spent this long in the network is refused;
    /// 2^32 packets in that time would be 400 million a second.
    static constexpr Duration kOld = Duration::s(10);
    /// Until then after the newest one a timestamp can be told to be old: later, the newest of all would seem to be,
    /// since the two lie more than half of the range apart. (Twice: once for kOld, once for the delay of the newest.)
    static constexpr Duration kComparable = kTimestampHorizon - kOld * 2;

    ReceiveWindow window_;
    std::uint32_t conn_id_ = 0;  ///< the highest seen (R2)
    bool open_ = false;
    bool known_ = false;  ///< rcv_nxt means something
    bool drained_ = false;
    Seqno drained_at_;  ///< with drained_: the sender's snd_una when it last had nothing unacknowledged
    std::uint64_t incarnation_ = 0;
    std::uint64_t stream_id_ = 0;

    std::uint32_t newest_timestamp_ = 0;  ///< of the packets that moved rcv_nxt
    Time newest_at_ = Time::at_ns(INT64_MIN / 2);

    bool ack_now_ = false;
    bool sack_due_ = false;
    std::uint32_t unacked_pkts_ = 0;
    Time ack_deadline_ = Time::never();
    Seqno granted_;  ///< the sender has been told that everything before it fits
    std::uint32_t ack_every_pkts_;
    Duration ack_delay_;
    ReceiveCounters counters_;
};

template <typename Drop>
void ReceiveStream::bind(std::uint64_t incarnation, std::uint64_t stream_id, Drop&& drop) {
    if (known_ && incarnation == incarnation_ && stream_id == stream_id_ && !mutated(Mutant::r5_memory_by_tag)) {
        return;
    }
    close(drop);
    incarnation_ = incarnation;
    stream_id_ = stream_id;
    known_ = false;
    drained_ = false;
    conn_id_ = 0;
    newest_at_ = Time::at_ns(INT64_MIN / 2);
}

template <typename Drop>
ReceiveStream::Verdict ReceiveStream::open_for(const wire::Segment& segment, bool& opened, Drop&& drop) {
    if (segment.header.conn_id < conn_id_ && !mutated(Mutant::r2_take_lower_conn)) {
        ++counters_.stale;
        return Verdict::stale;
    }
    // R2: a conn-id opens one window, ever. R3: it opens where the sender says, never where a packet happens to be.
    const bool is_over = segment.header.conn_id == conn_id_ && !mutated(Mutant::r2_reopen_same_conn);
    if ((is_over || !segment.header.has(wire::kFlagFirst)) && !mutated(Mutant::r3_guess_first)) {
        ++counters_.no_window;
        return Verdict::no_window;
    }
    Seqno first(segment.first.first_seqno);
    if (mutated(Mutant::r3_guess_first)) {
        first = Seqno::expand(segment.header.seqno, known_ ? window_.rcv_nxt() : Seqno(1));
    } else if (mutated(Mutant::r1_ack_discarded) && segment.header.seqno != first.wire()) {
        return Verdict::no_window;  // only the very first packet opens; the caller acknowledges this one all the same
    } else if ((mutated(Mutant::r2_reopen_same_conn) && segment.header.conn_id == conn_id_) ||
               (mutated(Mutant::r2_take_lower_conn) && segment.header.conn_id < conn_id_)) {
        known_ = false;  // as if it had never been open
    }
    if (!known_ || first.after(window_.rcv_nxt())) {
        // Void by the sender's word: what it goes on with comes after them, or they are of no stream that we know.
        window_.drop_out_of_order(drop);
        window_.jump(first);
        opened = true;
    }
    known_ = true;
    open_ = true;
    conn_id_ = segment.header.conn_id;
    granted_ = window_.rcv_nxt();
    // The sender starts its connection by sending everything again: what is held here need not come.
    sack_due_ = window_.out_of_order_pkts() > 0;
    ack_now_ = ack_now_ || sack_due_;
    newest_at_ = Time::at_ns(INT64_MIN / 2);
    return Verdict::in_order;
}

}  // namespace bowline::protocol
