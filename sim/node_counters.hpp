#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/node.hpp"

namespace bowline::sim {

/// Which counters there are, and whether they are kept for each peer.
enum class CounterScope : std::uint8_t { unknown, node, peer };

/// By the names that the engine has for them; those of the control thread also without their group in front
/// (`control_probes`, `probes`). Static: a name can be checked before anything runs.
[[nodiscard]] CounterScope scope_of_counter(std::string_view name);
/// Those that a name may have been meant for: the one that is a slip away, and those that share a word with it; all
/// where there is none.
[[nodiscard]] std::vector<std::string_view> counters_near(std::string_view name);

/// The value of a counter that there is, of one peer or, without, of all. Only while the node is alive.
[[nodiscard]] std::uint64_t counter_of(const Node& node, std::string_view name,
                                       std::optional<dataplane::PeerIndex> peer);

}  // namespace bowline::sim
