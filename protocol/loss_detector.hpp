#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "protocol/inspector.hpp"
#include "protocol/ring_queue.hpp"
#include "protocol/rtt.hpp"
#include "protocol/send_window.hpp"
#include "protocol/time.hpp"
#include "protocol/wire_clock.hpp"

namespace bowline::protocol {

/// Decides which packets are lost, by time (RACK, RFC 8985): a packet is lost when one that was sent after it has been
/// delivered a reordering window ago. Any number of gaps is found at once, retransmissions included.
///
/// RFC 8985 keeps all packets in one list by time of transmission. Here two queues are enough, since first
/// transmissions leave in the order of their seqnos: a cursor over the window for those, and a queue of the
/// retransmissions in the order in which they left. Both are ordered by time, so that detection stops at the first
/// packet that is too young, and costs nothing while nothing is missing.
///
/// Owner: the worker.
class LossDetector {
public:
    /// A retransmission: stale once its packet has been acknowledged or sent yet again.
    struct Resent {
        Seqno seqno;
        std::uint16_t transmissions = 0;
    };

    /// `resent` and `lost`: storage of at least twice the window each, a power of two.
    void attach(std::span<Resent> resent, std::span<Seqno> lost, Seqno first);

    /// A packet has left; `packet` already shows this transmission.
    void on_sent(Seqno seqno, const SentPacket& packet, const SendWindow& window) {
        ++in_flight_pkts_;
        if (packet.transmissions > 1) [[unlikely]] {
            queue_resent(seqno, packet, window);
        }
    }

    /// How a delivery may be used to measure.
    enum class Delivery : std::uint8_t {
        sample,     ///< of the transmission at sent_at: its round trip is known
        ambiguous,  ///< resent, and nothing tells which transmission arrived (Karn, RFC 6298 §3)
        spurious,   ///< resent, but an earlier transmission arrived: the packet had not been lost
    };

    /// A packet has been acknowledged for the first time (in order or not). Inline: once a packet on the path.
    Delivery on_delivered(Time now, Seqno seqno, const SentPacket& packet, std::optional<std::uint32_t> echo,
                          const Rtt& rtt) {
        if (packet.state == SentPacket::State::in_flight) {
            --in_flight_pkts_;
        } else {
            --lost_pkts_;
        }
        Delivery delivery = Delivery::sample;
        if (packet.transmissions > 1) [[unlikely]] {
            delivery = judge_resent(now, packet, echo, rtt);
            if (delivery != Delivery::sample) {
                return delivery;
            }
            resent_delivered_ = true;
        } else if (seqno.before(highest_delivered_)) {
            reordering_seen_ = true;  // RFC 8985 §6.2 step 3
        }
        if (seqno.after(highest_delivered_)) {
            highest_delivered_ = seqno;
        }
        if (sent_before(newest_sent_at_, newest_, packet.sent_at, seqno)) {
            newest_sent_at_ = packet.sent_at;
            newest_ = seqno;
            newest_rtt_ = now - packet.sent_at;
        }
        return delivery;
    }

    /// Marks what is lost by now; returns how many packets that are.
    std::uint32_t detect(Time now, SendWindow& window, const Rtt& rtt, std::uint64_t sacked_pkts);
    /// True when detect() may find something though no packet is out of order: a retransmission that arrived was sent
    /// after originals beyond it.
    [[nodiscard]] bool resent_delivered() const { return resent_delivered_; }
    /// Marks lost what was sent `rto` ago or earlier, each packet by its own clock (R9).
    std::uint32_t expire(Time now, SendWindow& window, Duration rto);
    /// Everything sent is to be sent again: the connection has a new id (R7).
    void restart(SendWindow& window);
    /// The window has been emptied up to `next`.
    void reset(Seqno next);

    /// The next packet to resend, if any: the one that everything waits for, else the earliest found.
    std::optional<Seqno> next_lost(SendWindow& window);
    /// A packet is taken out of flight to be sent once more before its time (tail loss probe).
    void take_for_probe(SentPacket& packet) {
        packet.state = SentPacket::State::lost;
        --in_flight_pkts_;
        ++lost_pkts_;
    }
    /// A lost packet is on its way again: on_sent() follows. Its place in the queue goes stale, and is good again
    /// should it be lost again before the place is reached.
    void on_taken() { --lost_pkts_; }

    /// When the earliest packet that is not lost yet may be declared so; never() when none waits.
    [[nodiscard]] Time reorder_deadline() const { return reorder_deadline_; }
    /// When the packet that has been in flight longest was sent; never() when none is.
    Time oldest_in_flight(const SendWindow& window);

    /// False while nothing is missing and nothing was sent twice of late: then no ack can make detect() find anything.
    [[nodiscard]] bool recovering() const {
        return lost_pkts_ != 0 || !resent_.empty() || resent_delivered_ || !reorder_deadline_.is_never();
    }
    [[nodiscard]] std::uint64_t in_flight_pkts() const { return in_flight_pkts_; }
    [[nodiscard]] std::uint64_t lost_pkts() const { return lost_pkts_; }
    [[nodiscard]] std::uint64_t spurious() const { return spurious_; }

    void check_invariants(const SendWindow& window) const;

private:
    friend struct bowline::Inspector;
    static bool sent_before(Time a_at, Seqno a, Time b_at, Seqno b) {
        return a_at < b_at || (a_at == b_at && a.before(b));
    }
    Delivery judge_resent(Time now, const SentPacket& packet, std::optional<std::uint32_t> echo, const Rtt& rtt);
    [[nodiscard]] Duration reorder_window(const Rtt& rtt, std::uint64_t sacked_pkts) const;
    void queue_resent(Seqno seqno, const SentPacket& packet, const SendWindow& window);
    static bool is_stale(const Resent& resent, const SendWindow& window);
    void mark_lost(Seqno seqno, SentPacket& packet, SendWindow& window);
    void queue_lost(Seqno seqno, SentPacket& packet, SendWindow& window);
    void skip_settled_originals(const SendWindow& window);
    void skip_settled_resent(const SendWindow& window);

    // The delivered packet that was sent last ("RACK.segment", RFC 8985 §5.3).
    Time newest_sent_at_;
    Seqno newest_;
    Duration newest_rtt_;

    Seqno originals_;  ///< no first transmission before it is in flight
    Seqno highest_delivered_;
    RingQueue<Resent> resent_;
    RingQueue<Seqno> lost_;
    std::uint64_t in_flight_pkts_ = 0;
    std::uint64_t lost_pkts_ = 0;
    Time reorder_deadline_ = Time::never();
    bool resent_delivered_ = false;
    bool reordering_seen_ = false;
    std::uint32_t reorder_steps_ = 1;  ///< the reordering window in quarters of min_rtt; grows with spurious resends
    std::uint64_t spurious_ = 0;
};

}  // namespace bowline::protocol
