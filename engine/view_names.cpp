#include "engine/view_names.hpp"

#include <algorithm>

#include "engine/config_keys.hpp"

namespace bowline::engine {

using dataplane::PeerIndex;

namespace {

Error error(std::string message) { return {Error::Kind::configuration, std::move(message)}; }

std::string known_peers(const Config& config, std::string_view name) {
    std::vector<std::string_view> names;
    std::string list;
    for (const PeerConfig& peer : config.peers) {
        names.emplace_back(peer.name);
        list += (list.empty() ? "" : ", ") + peer.name;
    }
    if (names.empty()) {
        return "; there are none: add --peer NAME=ADDRESS or a [[peer]] table";
    }
    const auto meant = closest(name, names);
    return std::string(meant ? " (did you mean '" + std::string(*meant) + "'?)" : "") + "; there is: " + list;
}

}  // namespace

Result<PeerIndex> resolve_peer(const Config& config, std::string_view name) {
    const auto at =
        std::find_if(config.peers.begin(), config.peers.end(), [&](const PeerConfig& p) { return p.name == name; });
    if (at == config.peers.end()) {
        return error(name == config.name
                         ? "'" + std::string(name) + "' is this node itself: name a peer"
                         : "no peer '" + std::string(name) + "' is configured" + known_peers(config, name));
    }
    return static_cast<PeerIndex>(at - config.peers.begin());
}

Result<std::vector<PeerIndex>> resolve_view(const Config& config, std::span<const std::string_view> names) {
    if (config.views != Config::Views::external) {
        return error(
            "views = static: the view is made of the peers that answer, and nobody can install another; set "
            "views = \"external\" to install views");
    }
    std::vector<PeerIndex> peers;
    std::vector<bool> taken(config.peers.size());
    bool self_taken = false;
    for (const std::string_view name : names) {
        const bool is_self = name == config.name;
        const Result<PeerIndex> index = is_self ? Result<PeerIndex>(dataplane::kNoPeer) : resolve_peer(config, name);
        if (!index) {
            return index.error();
        }
        if (is_self ? self_taken : taken[*index]) {
            return error("'" + std::string(name) + "' is named twice in the view");
        }
        if (is_self) {
            self_taken = true;
        } else {
            taken[*index] = true;
            peers.push_back(*index);
        }
    }
    return peers;
}

}  // namespace bowline::engine
