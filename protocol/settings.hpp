#pragma once

#include <cstdint>

#include "protocol/time.hpp"

namespace bowline::protocol {

/// What becomes of unacknowledged messages to a peer that a view excludes.
enum class Exclusion : std::uint8_t {
    retain,   ///< they wait for `retain_time` for the peer to come back, and then go on exactly once
    discard,  ///< they are given up at once, and reported
};
/// What becomes of messages of which nobody can know whether the peer has delivered them, when it lives on but has had
/// to forget our stream (R5).
enum class OnUncertain : std::uint8_t {
    report,  ///< they are given up and reported as uncertain
    resend,  ///< they are sent again: at least once
};
/// Who decides which peers are in view.
enum class ViewSource : std::uint8_t {
    fixed,     ///< "static": the configured peers, while they answer
    external,  ///< the application: whatever it has installed
};

/// How many packets may be in flight.
enum class CongestionAlgorithm : std::uint8_t {
    fixed,  ///< as many as the window holds (congestion/fixed.hpp)
    swift,  ///< as many as keep the delay at a target (congestion/swift.hpp)
};

/// The parameters of `swift`, under the names of the paper (congestion/swift.hpp). Thousandths are `_milli`.
struct SwiftSettings {
    Duration base_target = Duration::us(50);    ///< delay that is aimed at with many packets in flight
    Duration fs_range = Duration::us(250);      ///< most that flow-based scaling adds to it
    std::uint32_t fs_min_cwnd_milli = 100;      ///< packets in flight at which it adds all of that ...
    std::uint32_t fs_max_cwnd_milli = 100'000;  ///< ... and at which it adds nothing
    std::uint32_t ai_milli = 1000;              ///< packets by which the window grows in a round trip
    std::uint32_t beta_milli = 800;             ///< share of the relative excess of delay by which it shrinks
    std::uint32_t max_mdf_milli = 500;          ///< the largest share by which it shrinks at once
    std::uint32_t min_cwnd_milli = 10;          ///< packets: the window's floor

    bool operator==(const SwiftSettings&) const = default;
};

/// What the protocol can be told, one value a node. Settled at start; the engine fills it from its configuration, the
/// simulator from a scenario.
struct Settings {
    std::uint32_t window_pkts = 1024;        ///< packets in the receive ring, and most in flight; a power of two
    std::uint32_t send_queue_pkts = 1024;    ///< packets that wait behind the window
    std::uint32_t message_max = 16U << 20U;  ///< bytes
    std::uint32_t ack_every_pkts = 16;       ///< acknowledge at the latest after so many packets ...
    Duration ack_delay = Duration::us(25);   ///< ... or so long
    Duration rto_min = Duration::us(500);    ///< floor of the retransmission timeout (RFC 6298 §2.4 has 1 s)
    Duration rto_max = Duration::s(1);       ///< ceiling of its backoff
    Duration give_up = Duration::s(60);      ///< without a sign of the peer: report what is unacknowledged
    Duration heartbeat = Duration::ms(200);
    Duration suspect_after = Duration::s(1);
    ViewSource views = ViewSource::fixed;
    Exclusion exclusion = Exclusion::retain;
    Duration retain_time = Duration::s(10);  ///< how long an excluded peer's messages wait for it
    OnUncertain on_uncertain = OnUncertain::report;
    CongestionAlgorithm congestion = CongestionAlgorithm::fixed;
    SwiftSettings swift;
    Duration conn_expiry;             ///< connections without data for so long are closed; 0: never
    std::uint64_t initial_seqno = 1;  ///< of every stream; tests start it near a wrap
};

}  // namespace bowline::protocol
