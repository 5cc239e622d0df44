#pragma once

#include <cstdint>
#include <optional>

#include "protocol/congestion/congestion.hpp"
#include "protocol/inspector.hpp"
#include "protocol/loss_detector.hpp"
#include "protocol/mutant.hpp"
#include "protocol/rtt.hpp"
#include "protocol/send_window.hpp"
#include "protocol/settings.hpp"
#include "protocol/time.hpp"
#include "protocol/wire/sack.hpp"

namespace bowline::protocol {

/// An acknowledgement as it came, already known to be from the peer's present association (R4: the tag).
struct AckInfo {
    std::uint32_t conn_id = 0;
    std::uint32_t cum_ack = 0;
    std::uint32_t window_pkts = 0;
    std::optional<std::uint32_t> echo;
    Duration delay;  ///< how long the packet that is echoed has waited for it, as far as the peer says so
    wire::SackView sack;
};

/// The counters of one sending direction.
struct SendCounters {
    std::uint64_t packets = 0;  ///< data packets sent, resent ones included
    std::uint64_t retransmits = 0;
    std::uint64_t tail_probes = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t window_probes = 0;
    std::uint64_t acks = 0;
    std::uint64_t stale_acks = 0;
    std::uint64_t lost = 0;
    std::uint64_t spurious = 0;
};

/// What was given up, by message number. Ranges are empty when last < first.
struct Abandoned {
    std::uint64_t uncertain_first = 0, uncertain_last = 0;  ///< sent and never acknowledged
    std::uint64_t unsent_first = 0, unsent_last = 0;        ///< never sent
};

/// The sending direction of a peer: stream, connection, window, loss recovery. It sequences its parts (SendWindow,
/// LossDetector, Rtt, congestion control); what they compute is theirs.
///
/// The stream (its id, seqnos, message numbers) lives as long as this node's incarnation; a connection is a period of
/// it (§4 of docs/PROTOCOL.md). Owner: the worker. Sans-IO: packets are handles, `now` comes from outside, and the
/// caller asks `next_to_resend()`, `may_send_new()` and `next_deadline()`.
class SendStream {
public:
    struct Storage {
        std::span<SentPacket> window;
        std::span<LossDetector::Resent> resent;
        std::span<Seqno> lost;
    };

    SendStream(const Settings& settings, std::uint64_t stream_id, const Storage& storage);

    // — connection —

    /// A new association: what its handshake has said of the peer. open() follows, now or later.
    void grant(std::uint32_t peer_window_pkts, Duration peer_ack_delay);
    /// A new connection: conn-id + 1, first seqno = una, everything unacknowledged is sent again under the new id (R7).
    /// Acks of the one before are dead from now on. Of a peer without room one packet is sent nevertheless: only data
    /// opens its window, and until then it cannot answer probes.
    void open(Time now);
    void open(Time now, std::uint32_t peer_window_pkts, Duration peer_ack_delay) {
        grant(peer_window_pkts, peer_ack_delay);
        open(now);
    }
    /// The connection is over: nothing is sent, nothing runs but the give-up time.
    void suspend();
    /// The same for a peer that is out of view: what is unacknowledged waits until `retain_until`, whatever the give-up
    /// time.
    void retain(Time retain_until);
    /// The peer is in view again, without an association yet: the give-up time counts from now.
    void expect_again(Time now);
    /// The peer has said that it holds everything before `rcv_nxt` of this stream (handshake): as good as an ack.
    template <typename Release>
    void acknowledge_up_to(Time now, Seqno rcv_nxt, Release&& release);
    /// Gives up everything unacknowledged and queued, and whatever else the caller has numbered before `next_message`;
    /// the connection must be opened anew before anything is sent.
    template <typename Release>
    Abandoned abandon(std::uint64_t next_message, Release&& release);
    /// The same for the packets before `end`, which is a next_boundary(): a peer that knows nothing of our stream can
    /// go on from there.
    template <typename Release>
    Abandoned abandon_before(Seqno end, Release&& release);
    /// The first packet from `from` on that begins with the beginning of a message; window().end() when none does.
    [[nodiscard]] Seqno next_boundary(Seqno from) const;

    // — sending —

    /// Queues a packed packet behind the window; false when the queue is full.
    [[nodiscard]] bool queue(Time now, const SentPacket& packet) {
        if (window_.size() == 0) {
            last_progress_ = now;
        }
        return window_.push(packet);
    }
    [[nodiscard]] bool queue_full() const { return window_.full() || window_.queued_pkts() >= queue_pkts_max_; }

    /// True when the first queued packet may leave.
    [[nodiscard]] bool may_send_new() const {
        return window_.nxt().before(window_.end()) && window_.nxt().before(limit_) && may_fly();
    }
    /// True when a packet that were queued now might leave at once: nothing waits, the window is open.
    [[nodiscard]] bool open_for_new() const {
        return window_.nxt() == window_.end() && window_.nxt().before(limit_) && may_fly();
    }
    /// True when next_to_resend() is worth asking: one load on the path of a stream that loses nothing.
    [[nodiscard]] bool has_lost() const { return loss_.lost_pkts() != 0; }
    /// False while an ack could change what is to be sent again: losses, or packets held out of order.
    [[nodiscard]] bool recovering() const { return sacked_pkts_ != 0 || loss_.recovering(); }
    /// A lost packet that may leave now.
    [[nodiscard]] std::optional<Seqno> next_to_resend() {
        if (!has_lost() || !may_fly()) [[likely]] {
            return std::nullopt;
        }
        const std::optional<Seqno> seqno = loss_.next_lost(window_);
        return seqno.has_value() && seqno->before(limit_) ? seqno : std::nullopt;
    }
    /// The packet is with the device: the first queued one, or the one that next_to_resend() named.
    void on_sent_new(Time now);
    /// queue() and on_sent_new() in one, for a stream that is open_for_new() and whose window is not full.
    void on_sent_at_once(Time now, const SentPacket& packet) {
        if (window_.size() == 0) {
            last_progress_ = now;
        }
        const bool pushed = window_.push(packet);
        BOWLINE_DCHECK(pushed);
        static_cast<void>(pushed);
        loss_.on_sent(window_.nxt(), packet, window_);
        window_.sent_one();
        last_sent_ = now;
        ++counters_.packets;
    }
    void on_resent(Time now, Seqno seqno);

    [[nodiscard]] const SentPacket& packet(Seqno seqno) const { return window_.at(seqno); }
    /// The packet was copied, since the device still owns the old buffer.
    void replace_packet(Seqno seqno, Packet* packet) { window_.at(seqno).packet = packet; }

    // — hearing —

    enum class AckResult : std::uint8_t { advanced, duplicate, stale };
    template <typename Release>
    AckResult on_ack(Time now, const AckInfo& ack, Release&& release);

    // — time —

    /// What a deadline that has come asks of the caller.
    struct Due {
        std::optional<Seqno> tail_probe;  ///< send this packet once more, now (then on_resent)
        bool window_probe = false;        ///< send a PROBE
        bool gave_up = false;             ///< the peer has shown nothing for the give-up time: abandon
    };
    Due on_deadline(Time now);
    /// never() when nothing waits.
    [[nodiscard]] Time next_deadline();

    // — what is known —

    [[nodiscard]] std::uint64_t stream_id() const { return stream_id_; }
    [[nodiscard]] std::uint32_t conn_id() const { return conn_id_; }
    [[nodiscard]] bool is_open() const { return open_; }
    /// Until the connection's first ack arrives, every data packet says where it begins (R3).
    [[nodiscard]] bool opening() const { return opening_; }
    [[nodiscard]] Seqno first_seqno() const { return first_seqno_; }
    [[nodiscard]] std::uint64_t first_message() const { return first_message_; }
    [[nodiscard]] const SendWindow& window() const { return window_; }
    /// True when the first unacknowledged packet, if there is one, begins with the beginning of a message: a receiver
    /// that knows nothing of what came before can go on from it.
    [[nodiscard]] bool at_boundary() const { return window_.size() == 0 || window_.at(window_.una()).boundary; }
    [[nodiscard]] bool drained() const { return window_.size() == 0; }
    /// Every message up to this one has been dealt with: acknowledged, or given up.
    [[nodiscard]] std::uint64_t acknowledged_message() const { return acknowledged_message_; }
    /// What the latest abandon() gave up; empty (last < first) before the first.
    [[nodiscard]] std::uint64_t given_up_first() const { return given_up_first_; }
    [[nodiscard]] std::uint64_t given_up_last() const { return given_up_last_; }
    [[nodiscard]] std::uint64_t in_flight_pkts() const { return loss_.in_flight_pkts(); }
    [[nodiscard]] std::uint64_t lost_pkts() const { return loss_.lost_pkts(); }
    [[nodiscard]] std::uint32_t cwnd_pkts() const { return congestion_word_.cwnd_pkts; }
    [[nodiscard]] Duration rto() const { return rtt_.rto(peer_ack_delay_); }
    [[nodiscard]] const Rtt& rtt() const { return rtt_; }
    void sample_rtt(Duration rtt) { rtt_.sample(rtt); }
    [[nodiscard]] const SendCounters& counters() const { return counters_; }
    /// Everything before it may be sent as far as the peer's ring goes.
    [[nodiscard]] Seqno limit() const { return limit_; }

    void check_invariants() const;

private:
    friend struct bowline::Inspector;
    [[nodiscard]] Time give_up_deadline() const {
        if (mutated(Mutant::r9_never_give_up)) {
            return Time::never();
        }
        return retain_until_.is_never() ? last_progress_ + give_up_ : retain_until_;
    }
    [[nodiscard]] bool may_fly() const { return open_ && loss_.in_flight_pkts() < congestion_word_.cwnd_pkts; }
    [[nodiscard]] bool window_closed();
    [[nodiscard]] Time window_probe_deadline() const;
    [[nodiscard]] Time tail_probe_deadline() const;
    void on_delivered(Time now, Seqno seqno, SentPacket& packet, const std::optional<std::uint32_t>& echo);
    std::uint32_t apply_sack(Time now, Seqno cum, const AckInfo& ack);
    template <typename Release>
    std::uint32_t pass(Time now, Seqno cum, const std::optional<std::uint32_t>& echo, Release&& release);
    void after_ack(Time now, Seqno cum, const AckInfo& ack, std::uint32_t newly);
    void detect_losses(Time now);
    [[nodiscard]] CongestionView congestion_view(Time now) const {
        return {.now = now, .last_sent = last_sent_, .srtt = rtt_.srtt(), .in_flight_pkts = loss_.in_flight_pkts()};
    }

    SendWindow window_;
    LossDetector loss_;
    Rtt rtt_;
    Congestion::Word congestion_word_;  ///< congestion_'s latest
    Seqno limit_;                       ///< the peer's ring has room for everything before it
    bool open_ = false;
    bool opening_ = false;
    std::uint32_t conn_id_ = 0;
    Time retain_until_ = Time::never();  ///< of a peer that is out of view; never(): the give-up time counts
    std::uint64_t acknowledged_message_ = 0;
    std::uint64_t given_up_first_ = 1;
    std::uint64_t given_up_last_ = 0;
    std::uint64_t sacked_pkts_ = 0;
    Time opened_at_;
    Time last_sent_;                      ///< of any data packet
    Time last_progress_;                  ///< of the peer's last sign, or when something began to wait
    std::optional<Duration> rtt_sample_;  ///< newest of the ack being applied
    Time rtt_sample_sent_at_;

    std::optional<Seqno> tail_probe_end_;  ///< a tail probe is out until the ack passes it (RFC 8985 §7.2)
    std::optional<Seqno> timeout_end_;     ///< recovering from a timeout until the ack passes it
    Time window_probe_sent_;
    std::uint32_t window_probe_backoff_ = 0;

    Seqno first_seqno_;
    std::uint64_t first_message_ = 1;
    std::uint64_t queue_pkts_max_;
    Duration peer_ack_delay_;
    Duration rto_max_;
    Duration give_up_;
    std::uint64_t stream_id_;
    SendCounters counters_;
    Congestion congestion_;
};

template <typename Release>
std::uint32_t SendStream::pass(Time now, Seqno cum, const std::optional<std::uint32_t>& echo, Release&& release) {
    std::uint32_t newly = 0;
    for (Seqno seqno = window_.una(); seqno.before(cum); ++seqno) {
        SentPacket& packet = window_.at(seqno);
        if (packet.state == SentPacket::State::sacked) {
            --sacked_pkts_;
        } else {
            on_delivered(now, seqno, packet, echo);
            ++newly;
        }
        acknowledged_message_ = packet.next_message - 1;
        release(packet.packet);
    }
    window_.advance(cum);
    return newly;
}

template <typename Release>
SendStream::AckResult SendStream::on_ack(Time now, const AckInfo& ack, Release&& release) {
    // R4: an ack of another connection, or of what was never sent, has no effect.
    const Seqno cum = Seqno::expand(ack.cum_ack, window_.una());
    const bool is_other_conn = ack.conn_id != conn_id_ && !mutated(Mutant::r4_any_conn_ack);
    if (!open_ || is_other_conn || cum.before(window_.una()) || cum.after(window_.nxt())) [[unlikely]] {
        ++counters_.stale_acks;
        return AckResult::stale;
    }
    ++counters_.acks;
    opening_ = false;
    last_progress_ = now;
    // The peer's ring only ever moves on, so that the furthest grant stands, in whatever order acks arrive.
    if (const Seqno granted = cum + ack.window_pkts; granted.after(limit_)) {
        limit_ = granted;
        window_probe_backoff_ = 0;
    }

    const bool advanced = cum != window_.una();
    std::uint32_t newly = pass(now, cum, ack.echo, release);
    const bool sacked = ack.sack.count() != 0;
    if (sacked) [[unlikely]] {
        newly += apply_sack(now, cum, ack);
    }
    after_ack(now, cum, ack, newly);
    return advanced || newly > 0 ? AckResult::advanced : AckResult::duplicate;
}

template <typename Release>
void SendStream::acknowledge_up_to(Time now, Seqno rcv_nxt, Release&& release) {
    if (rcv_nxt.before(window_.una()) || rcv_nxt.after(window_.nxt())) {
        return;
    }
    pass(now, rcv_nxt, std::nullopt, release);
    rtt_sample_.reset();  // it says when we met again, not how far away the peer is
    last_progress_ = now;
}

template <typename Release>
Abandoned SendStream::abandon_before(Seqno end, Release&& release) {
    Abandoned result;
    std::uint64_t next = acknowledged_message_ + 1;
    given_up_first_ = next;
    result.uncertain_first = next;
    result.uncertain_last = next - 1;
    for (Seqno seqno = window_.una(); seqno.before(end); ++seqno) {
        next = window_.at(seqno).next_message;
        if (seqno.before(window_.nxt())) {
            result.uncertain_last = next - 1;
        }
        release(window_.at(seqno).packet);
    }
    result.unsent_first = result.uncertain_last + 1;
    result.unsent_last = next - 1;
    given_up_last_ = next - 1;
    acknowledged_message_ = next - 1;
    window_.advance(end);
    loss_.restart(window_);
    sacked_pkts_ = 0;
    suspend();
    return result;
}

template <typename Release>
Abandoned SendStream::abandon(std::uint64_t next_message, Release&& release) {
    Abandoned result;
    std::uint64_t next = acknowledged_message_ + 1;
    result.uncertain_first = next;
    for (Seqno seqno = window_.una(); seqno.before(window_.nxt()); ++seqno) {
        next = window_.at(seqno).next_message;
        release(window_.at(seqno).packet);
    }
    // A message that was sent in part is uncertain only by the letter: without its last fragment it cannot have been
    // delivered. It counts with what was never sent.
    result.uncertain_last = next - 1;
    result.unsent_first = next;
    for (Seqno seqno = window_.nxt(); seqno.before(window_.end()); ++seqno) {
        next = window_.at(seqno).next_message;
        release(window_.at(seqno).packet);
    }
    result.unsent_last = next_message - 1;
    if (next_message - 1 > acknowledged_message_) {
        given_up_first_ = acknowledged_message_ + 1;
        given_up_last_ = next_message - 1;
    }
    acknowledged_message_ = next_message - 1;
    window_.advance(window_.end());
    if (next < next_message) {
        // Something numbered was never packed. It takes a seqno with it: a receiver that has every packet could not
        // tell otherwise that the message numbers do not go on where they were.
        window_.jump(window_.end() + 1);
    }
    loss_.reset(window_.end());
    sacked_pkts_ = 0;
    suspend();
    return result;
}

}  // namespace bowline::protocol
