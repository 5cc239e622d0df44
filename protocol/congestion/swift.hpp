#pragma once

#include <cstdint>

#include "protocol/congestion/interface.hpp"
#include "protocol/inspector.hpp"
#include "protocol/settings.hpp"
#include "protocol/time.hpp"

namespace bowline::protocol {

/// Congestion control by delay: Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the
/// Datacenter", SIGCOMM 2020, §3 and Algorithm 1. While an ack shows less delay than the target the window grows by
/// `ai` packets a round trip; when one shows more it shrinks by `beta` times the relative excess, by `max_mdf` at most
/// and once a round trip. The target is higher for small windows (§3.5: flow-based scaling), so that many flows leave
/// each other room and large ones give way to small ones. Below one packet the window is kept by pacing: one packet
/// every rtt / cwnd.
///
/// docs/PROTOCOL.md §6.7 says where this departs from the paper, docs/adr/0014 why.
///
/// Arithmetic is on whole numbers, so that a run is the same on every machine: windows in 1/65536 of a packet.
/// Owner: the worker. Pure; knows nothing of packets.
class SwiftCongestion {
public:
    /// `window_pkts`: the largest window. `gap_max`: the longest wait between two packets of a window below one.
    SwiftCongestion(const SwiftSettings& settings, std::uint32_t window_pkts, Duration gap_max);

    [[nodiscard]] std::uint32_t cwnd_pkts() const { return allowed_pkts_; }
    [[nodiscard]] Time release_at() const { return release_at_; }
    [[nodiscard]] static bool ignores_acks() { return false; }

    void on_acked(const CongestionView& view, const CongestionAck& ack);
    void on_lost(const CongestionView& view);  // the paper's "fast recovery"
    void on_timeout(const CongestionView& view);
    void on_recovered(const CongestionView& /*view*/) {}
    void on_opened(const CongestionView& view);
    void on_release(const CongestionView& view);

    // — what is known —

    /// In 1/65536 of a packet.
    [[nodiscard]] std::uint64_t cwnd() const { return cwnd_; }
    /// The delay that is aimed at with the present window.
    [[nodiscard]] Duration target_delay() const;

    static constexpr unsigned kShift = 16;
    static constexpr std::uint64_t kOne = std::uint64_t{1} << kShift;

    void check_invariants() const;

private:
    friend struct bowline::Inspector;
    [[nodiscard]] bool may_decrease(Time now, Duration rtt) const { return now - decreased_at_ >= rtt; }
    void grow(std::uint64_t pkts);
    void decrease(Time now, std::uint64_t share);
    void settle(const CongestionView& view);

    // Settings, in the units in which they are used.
    Duration base_target_;
    Duration fs_range_;
    std::uint64_t fs_inverse_root_min_ = 0;  ///< 1/sqrt(fs_max_cwnd), in 1/65536
    std::uint64_t fs_inverse_root_max_ = 0;  ///< 1/sqrt(fs_min_cwnd)
    std::uint64_t ai_;
    std::uint64_t beta_;
    std::uint64_t max_mdf_;
    std::uint64_t min_cwnd_;
    std::uint64_t max_cwnd_;
    Duration gap_max_;

    std::uint64_t cwnd_;
    std::uint32_t allowed_pkts_ = 0;
    std::uint32_t granted_pkts_ = 0;  ///< by a timeout, whatever cwnd is, until the next ack; 0: none
    std::uint32_t timeouts_ = 0;      ///< in a row
    bool starting_ = true;            ///< nothing has shown congestion yet
    Duration rtt_;                    ///< the newest measured; 0: none
    Time decreased_at_ = Time::at_ns(INT64_MIN / 2);
    Time release_at_ = Time::never();
};

}  // namespace bowline::protocol
