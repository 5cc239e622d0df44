#pragma once

#include <cstdint>

#include "protocol/inspector.hpp"

namespace bowline::protocol {

/// Congestion control for links without a shared bottleneck (point-to-point, virtual devices): as many packets in
/// flight as configured, except after a timeout, when the path has shown nothing for a while: then one more than what
/// is still thought to be in flight, doubled with what gets through, until everything sent before the timeout is
/// through (as slow start does, RFC 5681 §3.1).
///
/// The interface of every algorithm: cwnd_pkts() and the on_*() inputs.
class FixedCongestion {
public:
    explicit FixedCongestion(std::uint32_t cwnd_pkts) : cwnd_pkts_(cwnd_pkts), allowed_pkts_(cwnd_pkts) {}

    [[nodiscard]] std::uint32_t cwnd_pkts() const { return allowed_pkts_; }

    void on_acked(std::uint32_t pkts) {
        if (allowed_pkts_ != cwnd_pkts_) [[unlikely]] {
            allowed_pkts_ = allowed_pkts_ + pkts < cwnd_pkts_ ? allowed_pkts_ + pkts : cwnd_pkts_;
        }
    }
    /// `in_flight_pkts`: what has not timed out. It must not keep back the one packet that a timeout resends (RFC 6298
    /// §5.4), or each packet of a dead flight would have to time out by itself, every time twice as late.
    void on_timeout(std::uint64_t in_flight_pkts) {
        allowed_pkts_ = in_flight_pkts < cwnd_pkts_ ? static_cast<std::uint32_t>(in_flight_pkts) + 1 : cwnd_pkts_;
    }
    void on_recovered() { allowed_pkts_ = cwnd_pkts_; }

private:
    friend struct bowline::Inspector;
    std::uint32_t cwnd_pkts_;
    std::uint32_t allowed_pkts_;
};

}  // namespace bowline::protocol
