#pragma once

#include <cstdint>

#include "dataplane/control_messages.hpp"

namespace bowline::dataplane {

/// What the worker tells the application of a peer, in order with its messages: before everything from `position` on.
struct PeerEvent {
    enum class Kind : std::uint8_t {
        up,            ///< `first`: the peer's incarnation
        down,          ///< `down` says why
        undelivered,   ///< messages first..last to this peer; `certain`: they have never been sent
        opened,        ///< the peer's messages go on with number `first`: a gap if that is not the next one
        restarted,     ///< the peer's messages are those of another stream from here on
        forgotten,     ///< the peer's stream is not remembered any more: where it goes on is said when it does
        view_changed,  ///< `first`: the view's id; an event of the node itself
    };

    std::uint64_t position = 0;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    Kind kind = Kind::up;
    DownReason down = DownReason::none;
    bool certain = false;
};

/// How many events of one peer may wait for its application. A peer comes up only when there is room for all that can
/// happen until it comes up again (kEventsPerAssociation), so that none is ever lost for want of room (R10): at most
/// down, undelivered (twice), restarted and up as it begins, then an opening, a give-up (twice undelivered), and its
/// end.
inline constexpr std::size_t kPeerEvents = 32;
inline constexpr std::size_t kEventsPerAssociation = 16;
/// What can be put off (an opening, a give-up, an association) leaves room for what cannot: down and twice undelivered
/// when the peer leaves the view, the same at the end of the engine, and that its stream is forgotten.
inline constexpr std::size_t kEventsAtEnd = 6;

}  // namespace bowline::dataplane
