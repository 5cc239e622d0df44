#pragma once

#include <cstdint>

#include "sim/scenario.hpp"

namespace bowline::sim {

/// The scenario that a seed of the exploration stands for: two to five nodes, every action of the language at any time,
/// every fault of a link, windows from 2 packets up, both exclusion policies, numbers and clocks near their wraps.
///
/// It ends with everything mended - nothing cut, armed, stalled, paused, exhausted or crashed, and everybody in view of
/// everybody - and messages from each node to each other, which must get through; what links do at random stays.
[[nodiscard]] Scenario make_scenario(std::uint64_t seed);

}  // namespace bowline::sim
