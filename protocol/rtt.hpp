#pragma once

#include <cstdint>

#include "protocol/time.hpp"

namespace bowline::protocol {

/// Round-trip estimator and retransmission timeout of one direction (RFC 6298), with a floor in microseconds instead of
/// the RFC's second: the clock here is the TSC, and the peer's acknowledgement delay is known from the handshake.
///
/// Owner: the worker. Knows nothing of packets: the caller applies Karn's rule and offers only unambiguous samples.
class Rtt {
public:
    Rtt(Duration rto_min, Duration rto_max) : rto_min_(rto_min), rto_max_(rto_max) {}

    /// A measured round trip. Ends any backoff (RFC 6298 §5.7: the timer is recomputed from a new sample).
    void sample(Duration rtt);
    /// The timer has run out: the next timeout is twice as long (RFC 6298 §5.5), up to the ceiling.
    void back_off() {
        if (backoff_ < kBackoffMax) {
            ++backoff_;
        }
    }
    /// The peer answered, though with nothing to measure.
    void end_backoff() { backoff_ = 0; }

    [[nodiscard]] bool has_sample() const { return srtt_.ns() > 0; }
    [[nodiscard]] Duration srtt() const { return srtt_; }
    [[nodiscard]] Duration rttvar() const { return rttvar_; }
    [[nodiscard]] Duration min_rtt() const { return min_rtt_; }
    [[nodiscard]] std::uint32_t backoff() const { return backoff_; }

    /// The timeout with its backoff. `ack_delay` is how long the peer may hold an acknowledgement back: part of every
    /// expectation of an answer.
    [[nodiscard]] Duration rto(Duration ack_delay) const;
    /// The same without the backoff: how long an answer takes at most while the path works.
    [[nodiscard]] Duration base_rto(Duration ack_delay) const;

private:
    static constexpr std::uint32_t kBackoffMax = 20;
    /// Before the first sample: long for a rack, short for a person (RFC 6298 §2.1 has 1 s).
    static constexpr Duration kInitialRto = Duration::ms(10);

    Duration srtt_;
    Duration rttvar_;
    Duration min_rtt_ = Duration::max();
    Duration rto_min_;
    Duration rto_max_;
    std::uint32_t backoff_ = 0;
};

}  // namespace bowline::protocol
