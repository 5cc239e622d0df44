#pragma once

#include <cstdint>

namespace bowline::dataplane {

/// What became of a message that was offered to a peer. What is not accepted has no number and leaves no trace.
enum class Offer : std::uint8_t {
    accepted,
    back_pressured,  ///< queue, ring or pool full, or the handshake is still under way: offer again
    excluded,        ///< the peer is not in view
    closed,          ///< this end stops
    too_large,
};

}  // namespace bowline::dataplane
