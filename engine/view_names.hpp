#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bowline/config.hpp"
#include "bowline/result.hpp"
#include "dataplane/control_messages.hpp"

namespace bowline::engine {

/// The members of a view by name as peers' numbers, in their order. The node's own name may be among them and is left
/// out: a node is always in its own view. Error: an unknown name, one that comes twice, or views are not external.
Result<std::vector<dataplane::PeerIndex>> resolve_view(const Config& config, std::span<const std::string_view> names);

/// The number of the configured peer of that name. Error: there is none.
Result<dataplane::PeerIndex> resolve_peer(const Config& config, std::string_view name);

}  // namespace bowline::engine
