#pragma once

#include <cstdint>

#include "protocol/check.hpp"
#include "protocol/congestion/interface.hpp"
#include "protocol/inspector.hpp"

namespace bowline::protocol {

/// Congestion control for links without a shared bottleneck (point-to-point, virtual devices): as many packets in
/// flight as configured, except after a timeout, when the path has shown nothing for a while: then one more than what
/// is still thought to be in flight, doubled with what gets through, until everything sent before the timeout is
/// through (as slow start does, RFC 5681 §3.1).
class FixedCongestion {
public:
    explicit FixedCongestion(std::uint32_t cwnd_pkts) : cwnd_pkts_(cwnd_pkts), allowed_pkts_(cwnd_pkts) {}

    [[nodiscard]] std::uint32_t cwnd_pkts() const { return allowed_pkts_; }
    [[nodiscard]] static Time release_at() { return Time::never(); }
    [[nodiscard]] bool ignores_acks() const { return allowed_pkts_ == cwnd_pkts_; }

    void on_acked(const CongestionView& /*view*/, const CongestionAck& ack) {
        allowed_pkts_ = allowed_pkts_ + ack.pkts < cwnd_pkts_ ? allowed_pkts_ + ack.pkts : cwnd_pkts_;
    }
    void on_lost(const CongestionView& /*view*/) {}
    /// What has not timed out must not keep back the one packet that a timeout resends (RFC 6298 §5.4), or each packet
    /// of a dead flight would have to time out by itself, every time twice as late.
    void on_timeout(const CongestionView& view) {
        allowed_pkts_ =
            view.in_flight_pkts < cwnd_pkts_ ? static_cast<std::uint32_t>(view.in_flight_pkts) + 1 : cwnd_pkts_;
    }
    void on_recovered(const CongestionView& /*view*/) { allowed_pkts_ = cwnd_pkts_; }
    void on_opened(const CongestionView& /*view*/) { allowed_pkts_ = cwnd_pkts_; }
    void on_release(const CongestionView& /*view*/) {}

    void check_invariants() const { BOWLINE_CHECK(allowed_pkts_ > 0 && allowed_pkts_ <= cwnd_pkts_); }

private:
    friend struct bowline::Inspector;
    std::uint32_t cwnd_pkts_;
    std::uint32_t allowed_pkts_;
};

}  // namespace bowline::protocol
