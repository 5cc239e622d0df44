#include "protocol/send_stream.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "protocol/check.hpp"

namespace bowline::protocol {

using State = SentPacket::State;

SendStream::SendStream(const Settings& settings, std::uint64_t stream_id, const Storage& storage)
    : rtt_(settings.rto_min, settings.rto_max),
      queue_pkts_max_(settings.send_queue_pkts),
      rto_max_(settings.rto_max),
      give_up_(settings.give_up),
      stream_id_(stream_id),
      congestion_(settings) {
    congestion_word_ = congestion_.word();
    const Seqno first(settings.initial_seqno);
    window_.attach(storage.window, first);
    loss_.attach(storage.resent, storage.lost, first);
    limit_ = first;
    first_seqno_ = first;
}

void SendStream::grant(std::uint32_t peer_window_pkts, Duration peer_ack_delay) {
    limit_ = window_.una() + peer_window_pkts;
    peer_ack_delay_ = peer_ack_delay;
}

void SendStream::open(Time now) {
    BOWLINE_CHECK(conn_id_ != UINT32_MAX);
    conn_id_ += mutated(Mutant::r7_same_conn) && conn_id_ > 0 ? 0U : 1U;
    open_ = true;
    opening_ = true;
    first_seqno_ = window_.una();
    first_message_ = acknowledged_message_ + 1;
    if (mutated(Mutant::r7_first_is_nxt) && window_.unacked_pkts() > 0) {
        first_seqno_ = window_.nxt();
        first_message_ = window_.at(window_.nxt() - 1).next_message;
    }
    // The peer's ring has moved on at most since it last said what fits.
    limit_ = later(limit_, window_.una() + 1);
    retain_until_ = Time::never();
    // What the receiver held out of order it may have dropped with its window: all of it is sent again.
    if (!mutated(Mutant::r5_sacked_is_done)) {
        loss_.restart(window_);
        sacked_pkts_ = 0;
    }
    congestion_word_ = congestion_.on_opened(congestion_view(now));
    rtt_.end_backoff();
    tail_probe_end_.reset();
    timeout_end_.reset();
    window_probe_backoff_ = 0;
    window_probe_sent_ = now;
    last_progress_ = now;
    opened_at_ = now;
}

void SendStream::suspend() {
    open_ = false;
    opening_ = false;
}

void SendStream::retain(Time retain_until) {
    suspend();
    retain_until_ = retain_until;
}

void SendStream::expect_again(Time now) {
    retain_until_ = Time::never();
    last_progress_ = now;
}

Seqno SendStream::next_boundary(Seqno from) const {
    while (from.before(window_.end()) && !window_.at(from).boundary) {
        ++from;
    }
    return from;
}

void SendStream::on_sent_new(Time now) {
    const Seqno seqno = window_.nxt();
    SentPacket& packet = window_.at(seqno);
    packet.state = State::in_flight;
    packet.sent_at = now;
    packet.transmissions = 1;
    window_.sent_one();
    loss_.on_sent(seqno, packet, window_);
    last_sent_ = now;
    ++counters_.packets;
}

void SendStream::on_resent(Time now, Seqno seqno) {
    SentPacket& packet = window_.at(seqno);
    if (packet.state == State::in_flight) {
        loss_.take_for_probe(packet);
    }
    BOWLINE_DCHECK(packet.state == State::lost);
    loss_.on_taken();
    packet.state = State::in_flight;
    packet.sent_at = now;
    packet.count_transmission();
    loss_.on_sent(seqno, packet, window_);
    last_sent_ = now;
    ++counters_.packets;
    ++counters_.retransmits;
}

void SendStream::on_delivered(Time now, Seqno seqno, SentPacket& packet, const std::optional<std::uint32_t>& echo) {
    const LossDetector::Delivery delivery = loss_.on_delivered(now, seqno, packet, echo, rtt_);
    Time sent_at = packet.sent_at;
    if (delivery == LossDetector::Delivery::ambiguous) {
        return;
    }
    if (delivery == LossDetector::Delivery::spurious) {
        // The timer is too short for this path, and would be for ever if only packets sent once were measured. Which
        // transmission arrived is known from its timestamp (RFC 7323 §4.1).
        if (!echo.has_value()) {
            return;
        }
        sent_at = now - elapsed_since(*echo, now);
    }
    if (sent_at < opened_at_) {
        return;  // the connection's making lies between
    }
    if (!rtt_sample_.has_value() || sent_at > rtt_sample_sent_at_) {
        rtt_sample_ = now - sent_at;
        rtt_sample_sent_at_ = sent_at;
    }
}

std::uint32_t SendStream::apply_sack(Time now, Seqno cum, const AckInfo& ack) {
    std::uint32_t newly = 0;
    for (std::size_t w = 0; w < ack.sack.count(); ++w) {
        for (std::uint64_t word = ack.sack.word(w); word != 0; word &= word - 1) {
            const Seqno seqno = cum + 1 + w * 64 + static_cast<std::uint64_t>(std::countr_zero(word));
            if (!seqno.before(window_.nxt())) {
                return newly;  // never sent: a peer that errs, or a forged packet; what was true of the rest stands
            }
            SentPacket& packet = window_.at(seqno);
            if (packet.state == State::sacked) {
                continue;
            }
            on_delivered(now, seqno, packet, ack.echo);
            packet.state = State::sacked;
            ++sacked_pkts_;
            ++newly;
        }
    }
    return newly;
}

void SendStream::after_ack(Time now, Seqno cum, const AckInfo& ack, std::uint32_t newly) {
    if (newly > 0) {
        const std::optional<Duration> sample = std::exchange(rtt_sample_, std::nullopt);
        if (sample.has_value()) {
            rtt_.sample(*sample);
        }
        rtt_.end_backoff();
        if (!congestion_word_.ignores_acks) [[unlikely]] {
            congestion_word_ =
                congestion_.on_acked(congestion_view(now), {.pkts = newly, .rtt = sample, .delay = ack.delay});
        }
        if (tail_probe_end_.has_value() && cum.after(*tail_probe_end_)) [[unlikely]] {
            tail_probe_end_.reset();
        }
        if (timeout_end_.has_value() && !cum.before(*timeout_end_)) [[unlikely]] {
            timeout_end_.reset();
            congestion_word_ = congestion_.on_recovered(congestion_view(now));
        }
    }
    if (ack.sack.count() != 0 || sacked_pkts_ > 0 || loss_.resent_delivered() || !loss_.reorder_deadline().is_never())
        [[unlikely]] {
        detect_losses(now);
    }
    counters_.spurious = loss_.spurious();
}

void SendStream::detect_losses(Time now) {
    if (const std::uint32_t found = loss_.detect(now, window_, rtt_, sacked_pkts_); found > 0) {
        counters_.lost += found;
        congestion_word_ = congestion_.on_lost(congestion_view(now));
    }
}

bool SendStream::window_closed() {
    // Something waits and nothing in flight will bring an ack that could open the window.
    return open_ && loss_.in_flight_pkts() == 0 && window_.size() > 0 && congestion_word_.cwnd_pkts > 0 &&
           !may_send_new() && !next_to_resend().has_value();
}

Time SendStream::window_probe_deadline() const {
    // From the latest word of the peer on, and ever less often (RFC 9293 §3.8.6.1), but well within the give-up time.
    const Duration rto = rtt_.rto(peer_ack_delay_);
    const Duration ceiling = std::max(rto, rto_max_);
    const std::uint32_t doublings = std::min(window_probe_backoff_, 30U);
    const Duration wait = rto.ns() > (ceiling.ns() >> doublings) ? ceiling : Duration::ns(rto.ns() << doublings);
    return std::max(window_probe_sent_, last_progress_) + wait;
}

Time SendStream::tail_probe_deadline() const {
    // RFC 8985 §7.2: twice the round trip, and the delay that the peer's ack may have; not while probing or after a
    // timeout, and not where something else will speak first.
    if (loss_.in_flight_pkts() == 0 || loss_.lost_pkts() > 0 || tail_probe_end_.has_value() || rtt_.backoff() > 0 ||
        !rtt_.has_sample()) {
        return Time::never();
    }
    return last_sent_ + rtt_.srtt() * 2 + peer_ack_delay_;
}

Time SendStream::next_deadline() {
    if (window_.size() == 0) [[likely]] {
        return Time::never();
    }
    Time deadline = give_up_deadline();
    if (!open_ || mutated(Mutant::r9_no_timeout)) {
        return deadline;
    }
    if (loss_.in_flight_pkts() > 0) {
        deadline = earlier(deadline, loss_.oldest_in_flight(window_) + rtt_.rto(peer_ack_delay_));
        deadline = earlier(deadline, loss_.reorder_deadline());
        deadline = earlier(deadline, tail_probe_deadline());
    } else if (congestion_word_.cwnd_pkts == 0) {
        deadline = earlier(deadline, congestion_.release_at());
    } else if (window_closed()) {
        deadline = earlier(deadline, window_probe_deadline());
    }
    return deadline;
}

SendStream::Due SendStream::on_deadline(Time now) {
    Due due;
    if (window_.size() == 0) {
        return due;
    }
    if (give_up_deadline() <= now) {
        due.gave_up = true;
        return due;
    }
    if (!open_ || mutated(Mutant::r9_no_timeout)) {
        return due;
    }
    if (congestion_word_.cwnd_pkts == 0) [[unlikely]] {
        congestion_word_ = congestion_.on_release(congestion_view(now));
    }
    if (loss_.in_flight_pkts() > 0) {
        if (loss_.reorder_deadline() <= now) {
            detect_losses(now);
        }
        if (loss_.oldest_in_flight(window_) + rtt_.rto(peer_ack_delay_) <= now) {
            // The backoff says when to try again. What is lost by now is another matter: all that has had its time.
            counters_.lost += loss_.expire(now, window_, rtt_.base_rto(peer_ack_delay_));
            ++counters_.timeouts;
            rtt_.back_off();
            congestion_word_ = congestion_.on_timeout(congestion_view(now));
            timeout_end_ = window_.nxt();
            tail_probe_end_.reset();
        } else if (tail_probe_deadline() <= now) {
            // The last packet sent, if it is still out: its ack says at once which of those before it are missing.
            tail_probe_end_ = window_.nxt() - 1;
            ++counters_.tail_probes;
            for (Seqno seqno = window_.nxt() - 1; !seqno.before(window_.una()); seqno = seqno - 1) {
                if (window_.at(seqno).state == State::in_flight) {
                    due.tail_probe = seqno;
                    break;
                }
            }
        }
    } else if (window_closed() && window_probe_deadline() <= now) {
        due.window_probe = true;
        window_probe_sent_ = now;
        ++window_probe_backoff_;
        ++counters_.window_probes;
    }
    return due;
}

void SendStream::check_invariants() const {
    loss_.check_invariants(window_);
    congestion_.check_invariants();
    BOWLINE_CHECK(congestion_word_ == congestion_.word());
    std::uint64_t sacked = 0;
    std::uint64_t next_message = acknowledged_message_ + 1;
    for (Seqno seqno = window_.una(); seqno.before(window_.end()); ++seqno) {
        const SentPacket& packet = window_.at(seqno);
        sacked += packet.state == State::sacked ? 1 : 0;
        BOWLINE_CHECK(packet.packet != nullptr);
        BOWLINE_CHECK(packet.next_message >= next_message);
        BOWLINE_CHECK(seqno.before(window_.nxt()) == (packet.state != State::queued));
        next_message = packet.next_message;
    }
    BOWLINE_CHECK(sacked == sacked_pkts_);
    BOWLINE_CHECK(window_.size() <= window_.capacity());
    BOWLINE_CHECK(!opening_ || open_);
}

}  // namespace bowline::protocol
