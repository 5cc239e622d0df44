#include "protocol/loss_detector.hpp"

#include <algorithm>
#include <limits>

#include "protocol/check.hpp"
#include "protocol/mutant.hpp"

namespace bowline::protocol {

using State = SentPacket::State;

void LossDetector::attach(std::span<Resent> resent, std::span<Seqno> lost, Seqno first) {
    resent_.attach(resent);
    lost_.attach(lost);
    reset(first);
}

void LossDetector::reset(Seqno next) {
    originals_ = next;
    highest_delivered_ = next - 1;
    newest_ = next - 1;
    newest_sent_at_ = Time::at_ns(std::numeric_limits<std::int64_t>::min());  // before every packet
    resent_.clear();
    lost_.clear();
    in_flight_pkts_ = 0;
    lost_pkts_ = 0;
    reorder_deadline_ = Time::never();
    resent_delivered_ = false;
}

LossDetector::Delivery LossDetector::judge_resent(Time now, const SentPacket& packet, std::optional<std::uint32_t> echo,
                                                  const Rtt& rtt) {
    if (!echo.has_value()) {
        // RFC 8985 §6.2 step 2: an answer faster than the network has ever been is to the first transmission.
        return now - packet.sent_at < rtt.min_rtt() ? Delivery::spurious : Delivery::ambiguous;
    }
    if (timestamp_before(*echo, wire_timestamp(packet.sent_at))) {
        ++spurious_;
        // RFC 8985 §6.2 step 4 widens the window on a duplicate report; the echo says the same without one.
        reorder_steps_ = std::min(reorder_steps_ + 1, 16U);
        reordering_seen_ = true;
        return Delivery::spurious;
    }
    return Delivery::sample;
}

Duration LossDetector::reorder_window(const Rtt& rtt, std::uint64_t sacked_pkts) const {
    if (!reordering_seen_ && (lost_pkts_ > 0 || sacked_pkts >= 3)) {
        return Duration();  // RFC 8985 §6.2 step 4: with no reordering ever seen, three packets are proof enough
    }
    if (!rtt.has_sample()) {
        return Duration();
    }
    return std::min(rtt.min_rtt() * reorder_steps_ / 4, rtt.srtt());
}

void LossDetector::mark_lost(Seqno seqno, SentPacket& packet, SendWindow& window) {
    packet.state = State::lost;
    --in_flight_pkts_;
    ++lost_pkts_;
    queue_lost(seqno, packet, window);
}

void LossDetector::queue_lost(Seqno seqno, SentPacket& packet, SendWindow& window) {
    if (packet.in_lost_queue) {
        return;  // an earlier loss of it, whose place has not been reached
    }
    if (lost_.full()) {
        // Places of packets that were acknowledged before they were reached. The others are in the window, each once.
        lost_.compact([&](Seqno queued) {
            if (queued.before(window.una())) {
                return true;
            }
            SentPacket& other = window.at(queued);
            other.in_lost_queue = other.state == State::lost;
            return !other.in_lost_queue;
        });
    }
    lost_.push(seqno);
    packet.in_lost_queue = true;
}

void LossDetector::skip_settled_originals(const SendWindow& window) {
    originals_ = later(originals_, window.una());
    while (originals_.before(window.nxt())) {
        const SentPacket& packet = window.at(originals_);
        if (packet.state == State::in_flight && packet.transmissions == 1) {
            return;
        }
        ++originals_;
    }
}

bool LossDetector::is_stale(const Resent& resent, const SendWindow& window) {
    if (resent.seqno.before(window.una())) {
        return true;
    }
    const SentPacket& packet = window.at(resent.seqno);
    return packet.state != State::in_flight || packet.transmissions != resent.transmissions;
}

void LossDetector::queue_resent(Seqno seqno, const SentPacket& packet, const SendWindow& window) {
    if (resent_.full()) {
        // What is not stale is in flight, each packet once: at most a window of them.
        resent_.compact([&](const Resent& resent) { return is_stale(resent, window); });
    }
    resent_.push({.seqno = seqno, .transmissions = packet.transmissions});
}

void LossDetector::skip_settled_resent(const SendWindow& window) {
    while (!resent_.empty() && is_stale(resent_.front(), window)) {
        resent_.pop();
    }
}

std::uint32_t LossDetector::detect(Time now, SendWindow& window, const Rtt& rtt, std::uint64_t sacked_pkts) {
    reorder_deadline_ = Time::never();
    resent_delivered_ = false;
    if (in_flight_pkts_ == 0) {
        return 0;
    }
    const Duration patience = newest_rtt_ + reorder_window(rtt, sacked_pkts);
    std::uint32_t found = 0;

    // RFC 8985 §6.2 step 5: true when the packet is lost; otherwise notes when it might be, if it is a suspect.
    const auto overdue = [&](Seqno seqno, const SentPacket& packet) {
        if (!sent_before(packet.sent_at, seqno, newest_sent_at_, newest_)) {
            return false;
        }
        const Time due = packet.sent_at + patience;
        if (due <= now) {
            return true;
        }
        reorder_deadline_ = earlier(reorder_deadline_, due);
        return false;
    };

    for (skip_settled_originals(window); originals_.before(window.nxt()); skip_settled_originals(window)) {
        SentPacket& packet = window.at(originals_);
        if (!overdue(originals_, packet)) {
            break;
        }
        mark_lost(originals_, packet, window);
        ++found;
    }
    for (skip_settled_resent(window); !resent_.empty(); skip_settled_resent(window)) {
        const Seqno seqno = resent_.front().seqno;
        SentPacket& packet = window.at(seqno);
        if (!overdue(seqno, packet)) {
            break;
        }
        resent_.pop();
        mark_lost(seqno, packet, window);
        ++found;
    }
    return found;
}

std::uint32_t LossDetector::expire(Time now, SendWindow& window, Duration rto) {
    std::uint32_t found = 0;
    for (skip_settled_originals(window); originals_.before(window.nxt()); skip_settled_originals(window)) {
        SentPacket& packet = window.at(originals_);
        if (packet.sent_at + rto > now) {
            break;
        }
        mark_lost(originals_, packet, window);
        ++found;
    }
    for (skip_settled_resent(window); !resent_.empty(); skip_settled_resent(window)) {
        const Seqno seqno = resent_.front().seqno;
        SentPacket& packet = window.at(seqno);
        if (packet.sent_at + rto > now) {
            break;
        }
        resent_.pop();
        mark_lost(seqno, packet, window);
        ++found;
    }
    return found;
}

void LossDetector::restart(SendWindow& window) {
    reset(window.una());
    for (Seqno seqno = window.una(); seqno.before(window.nxt()); ++seqno) {
        SentPacket& packet = window.at(seqno);
        packet.state = State::lost;
        packet.in_lost_queue = false;
        queue_lost(seqno, packet, window);
        ++lost_pkts_;
    }
    originals_ = window.nxt();
}

std::optional<Seqno> LossDetector::next_lost(SendWindow& window) {
    if (lost_pkts_ == 0) {
        return std::nullopt;
    }
    // Nothing is delivered before it, and the window does not move: it never waits behind others that were found
    // earlier, of which some may lie beyond what the peer grants now.
    if (window.at(window.una()).state == State::lost) {
        return window.una();
    }
    if (mutated(Mutant::r9_one_gap)) {
        return std::nullopt;
    }
    while (!lost_.empty()) {
        const Seqno seqno = lost_.front();
        if (!seqno.before(window.una())) {
            SentPacket& packet = window.at(seqno);
            if (packet.state == State::lost) {
                return seqno;
            }
            packet.in_lost_queue = false;
        }
        lost_.pop();  // resent or acknowledged meanwhile, and out of the count
    }
    return std::nullopt;
}

Time LossDetector::oldest_in_flight(const SendWindow& window) {
    if (in_flight_pkts_ == 0) {
        return Time::never();
    }
    skip_settled_originals(window);
    skip_settled_resent(window);
    Time oldest = Time::never();
    if (originals_.before(window.nxt())) {
        oldest = window.at(originals_).sent_at;
    }
    if (!resent_.empty()) {
        oldest = earlier(oldest, window.at(resent_.front().seqno).sent_at);
    }
    return oldest;
}

void LossDetector::check_invariants(const SendWindow& window) const {
    std::uint64_t in_flight = 0;
    std::uint64_t lost = 0;
    std::uint64_t queued_lost = 0;
    for (Seqno seqno = window.una(); seqno.before(window.nxt()); ++seqno) {
        const SentPacket& packet = window.at(seqno);
        BOWLINE_CHECK(packet.state != State::queued);
        BOWLINE_CHECK(packet.transmissions > 0);
        in_flight += packet.state == State::in_flight ? 1 : 0;
        lost += packet.state == State::lost ? 1 : 0;
        queued_lost += packet.in_lost_queue ? 1 : 0;
        BOWLINE_CHECK(packet.state != State::lost || packet.in_lost_queue);
        if (seqno.before(originals_)) {
            BOWLINE_CHECK(packet.state != State::in_flight || packet.transmissions > 1);
        }
    }
    BOWLINE_CHECK(in_flight == in_flight_pkts_);
    BOWLINE_CHECK(lost == lost_pkts_);
    BOWLINE_CHECK(lost_.size() >= queued_lost);
}

}  // namespace bowline::protocol
