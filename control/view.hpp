#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/control_messages.hpp"

namespace bowline::control {

/// Who is a member, as this node sees it. Another node's view may differ, at any time and for any length of time: the
/// protocol is right anyway (§9 of docs/PROTOCOL.md).
struct View {
    std::uint64_t id = 0;                     ///< grows with each view of this node
    std::vector<dataplane::PeerIndex> peers;  ///< in view, in order; this node is always a member and not listed
};

}  // namespace bowline::control
