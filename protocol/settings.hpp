#pragma once

#include <cstdint>

#include "protocol/time.hpp"

namespace bowline::protocol {

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
    std::uint64_t initial_seqno = 1;  ///< of every stream; tests start it near a wrap
};

}  // namespace bowline::protocol
