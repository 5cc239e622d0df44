#include "protocol/receive_stream.hpp"

#include <algorithm>

#include "protocol/check.hpp"

namespace bowline::protocol {

ReceiveStream::ReceiveStream(const Settings& settings, std::span<std::uint64_t> window_bits)
    // A sender must not use up a small window before an ack is due: it would stand still for the ack delay each time.
    : ack_every_pkts_(std::max(std::min(settings.ack_every_pkts, settings.window_pkts / 4), 1U)),
      ack_delay_(settings.ack_delay) {
    window_.attach(window_bits, settings.window_pkts);
}

ReceiveStream::Admission ReceiveStream::place(Time now, const wire::Header& header, std::uint64_t consumed) {
    const Seqno seqno = Seqno::expand(header.seqno, window_.rcv_nxt());
    Admission admission{.verdict = Verdict::in_order, .position = 0, .seqno = seqno, .opened = false};
    const bool comparable = now - newest_at_ < kComparable;
    if (comparable && timestamp_before(header.timestamp, newest_timestamp_ - wire_timestamp(Time::at_ns(kOld.ns()))))
        [[unlikely]] {
        ++counters_.too_old;
        ack_now_ = true;  // RFC 7323 §5.3 R1
        sack_due_ = window_.out_of_order_pkts() > 0;
        admission.verdict = Verdict::too_old;
        return admission;
    }
    switch (window_.place(seqno, consumed)) {
        case ReceiveWindow::Place::in_order:
            // Only forwards: a packet that filled a gap may be older than what was admitted before it.
            if (!comparable || !timestamp_before(header.timestamp, newest_timestamp_)) {
                newest_timestamp_ = header.timestamp;
                newest_at_ = now;
            }
            break;
        case ReceiveWindow::Place::out_of_order:
            admission.verdict = Verdict::out_of_order;
            break;
        case ReceiveWindow::Place::duplicate:
            // Its ack was lost, or is on its way: say again at once what stands here.
            admission.verdict = Verdict::duplicate;
            ++counters_.duplicates;
            ack_now_ = true;
            sack_due_ = window_.out_of_order_pkts() > 0;
            return admission;
        case ReceiveWindow::Place::beyond:
            admission.verdict = Verdict::beyond;
            ++counters_.beyond_window;
            if (mutated(Mutant::r1_ack_before_ring) && seqno == window_.rcv_nxt()) {
                window_.jump(seqno + 1);
            }
            ack_now_ = true;
            sack_due_ = window_.out_of_order_pkts() > 0;
            return admission;
    }
    admission.position = window_.position(seqno);
    return admission;
}

void ReceiveStream::advance(Time now, std::uint64_t consumed) {
    ++counters_.packets;
    const bool had_gap = window_.out_of_order_pkts() > 0;
    window_.advance();
    if (had_gap) [[unlikely]] {
        ack_now_ = true;  // a gap has closed: the sender waits for that (RFC 5681 §4.2)
        sack_due_ = window_.out_of_order_pkts() > 0;
    }
    count_towards_ack(now, consumed);
}

void ReceiveStream::hold(Seqno seqno) {
    ++counters_.packets;
    ++counters_.out_of_order;
    window_.hold(seqno);
    ack_now_ = true;
    sack_due_ = true;
}

void ReceiveStream::on_consumed(std::uint64_t consumed) {
    if (!open_) {
        return;
    }
    // Worth a packet of its own only when the sender may be standing at the edge: less than a quarter of the ring is
    // left of what it was granted, and a quarter has become free. (Not more: an application may hold the rest.)
    const std::int64_t left = granted_.distance_from(window_.rcv_nxt());
    const std::int64_t free = window_.free_pkts(consumed);
    const std::int64_t quarter = std::max(window_.capacity() / 4, 1U);
    if (left < quarter && free - std::max<std::int64_t>(left, 0) >= quarter) {
        ack_now_ = true;
    }
}

void ReceiveStream::check_invariants() const {
    window_.check_invariants();
    BOWLINE_CHECK(!open_ || known_);
    BOWLINE_CHECK(open_ || !ack_now_);
    BOWLINE_CHECK(!sack_due_ || (ack_now_ && window_.out_of_order_pkts() > 0));
    BOWLINE_CHECK(open_ || window_.out_of_order_pkts() == 0);
}

}  // namespace bowline::protocol
