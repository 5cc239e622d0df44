#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

#include "protocol/time.hpp"

namespace bowline::protocol {

/// What an algorithm may want to know of the sending direction when something has happened to it.
struct CongestionView {
    Time now;
    Time last_sent;                    ///< of any data packet
    Duration srtt;                     ///< 0: not measured
    std::uint64_t in_flight_pkts = 0;  ///< after what has happened
};

/// What an ack has shown.
struct CongestionAck {
    std::uint32_t pkts = 0;       ///< acknowledged for the first time
    std::optional<Duration> rtt;  ///< of the newest of them; nothing where it cannot be told
    Duration delay;               ///< how much of that the peer says it held the ack back
};

/// What every congestion control is: how many packets may be in flight, and the events that change it. An algorithm is
/// a plain class in a file of its own; Congestion (congestion.hpp) chooses among them.
///
/// 0 packets means: none before release_at(), which is paced sending for windows below one packet. It costs no timer
/// of its own: nothing else is in flight then, and the stream's deadline is the moment of release.
template <typename T>
concept CongestionControl = requires(T& control, const T& known, const CongestionView& view, const CongestionAck& ack) {
    { known.cwnd_pkts() } -> std::same_as<std::uint32_t>;
    { known.release_at() } -> std::same_as<Time>;
    /// True while on_acked() would change nothing and may be left out: one load on the path of every ack.
    { known.ignores_acks() } -> std::same_as<bool>;
    control.on_acked(view, ack);
    control.on_lost(view);       // packets were found lost by those that were sent after them
    control.on_timeout(view);    // the retransmission timer has run out
    control.on_recovered(view);  // everything that was sent before the timeout is through
    control.on_opened(view);     // a connection begins: the same path, under another conn-id
    control.on_release(view);    // time has passed, perhaps to release_at()
    known.check_invariants();
};

}  // namespace bowline::protocol
