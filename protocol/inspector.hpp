#pragma once

namespace bowline {

/// Reads what classes keep to themselves, in order to compare whole states of nodes. They only name it as a friend; it
/// is defined by who compares: the exhaustive exploration (sim/exhaustive_state.cpp).
struct Inspector;

}  // namespace bowline
