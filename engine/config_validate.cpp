#include <optional>
#include <span>
#include <string>
#include <utility>

#include "bowline/config.hpp"
#include "engine/config_address.hpp"
#include "engine/config_keys.hpp"
#include "engine/config_peer.hpp"
#include "protocol/settings_text.hpp"

// Config::validate: what no single key can show, and every key once more, since a program may have filled the struct by
// hand.

namespace bowline {

namespace {

using Problem = std::optional<std::string>;

std::string duration_text(std::int64_t ns) { return protocol::format_duration(protocol::Duration::ns(ns)); }

bool shares_memory(std::string_view device) {
    return device.starts_with("memif") || device.starts_with("net_memif") || device.starts_with("ring") ||
           device.starts_with("net_ring") || device.starts_with("null") || device.starts_with("net_null");
}

// Each key's value, put through the text that it would have in a file.
Problem check_keys(const Config& config) {
    for (const engine::Key& key : engine::config_keys()) {
        const std::string text = engine::value_text(config, key);
        Config scratch;
        if (text.empty() && (key.name == "name" || key.name == "device" || key.name == "address")) {
            return "key '" + std::string(key.name) + "' is missing: it must be " + engine::allowed_text(key);
        }
        if (const auto wrong = engine::assign(scratch, key, text, false)) {
            return "key '" + std::string(key.name) + "': " + *wrong;
        }
    }
    return std::nullopt;
}

Problem check_own_address(const Config& config, const engine::Ipv4Network& network) {
    if (!engine::is_unicast(network.address)) {
        return "key 'address': " + config.address + " is not an address that a node can have";
    }
    if (network.is_network_address(network.address)) {
        return "key 'address': " + config.address + " is the network's own address: take another one of it";
    }
    if (network.is_broadcast(network.address)) {
        return "key 'address': " + config.address + " is the network's broadcast address: take another one of it";
    }
    if (config.gateway.empty()) {
        return std::nullopt;
    }
    const engine::Ipv4Address gateway = *engine::Ipv4Address::parse(config.gateway);
    if (gateway == network.address) {
        return "key 'gateway': " + config.gateway + " is this node's own address";
    }
    if (!network.contains(gateway) || network.is_network_address(gateway) || network.is_broadcast(gateway)) {
        return "key 'gateway': " + config.gateway + " is not a node's address in the network of " + config.address;
    }
    return std::nullopt;
}

Problem check_peer(const Config& config, const engine::Ipv4Network& network, const PeerConfig& peer) {
    const std::string who = "peer '" + peer.name + "': ";
    for (const engine::PeerField& field : engine::peer_fields()) {
        const std::string& text = peer.*field.field;
        if ((field.required || !text.empty()) && !field.legal(text)) {
            return who + std::string(field.name) + ' ' + engine::must_be(field, text);
        }
    }
    if (peer.name == config.name) {
        return who + "this is this node's own name; names are unique in a cluster";
    }
    const engine::Ipv4Address address = *engine::Ipv4Address::parse(peer.address);
    if (address == network.address) {
        return who + "address " + peer.address + " is this node's own";
    }
    if (!engine::is_unicast(address) || network.is_network_address(address) || network.is_broadcast(address)) {
        return who + "address " + peer.address + " is not one that a node can have";
    }
    if (!network.contains(address) && config.gateway.empty()) {
        return who + "address " + peer.address + " is outside this node's network " + config.address +
               ", and there is no 'gateway'";
    }
    return std::nullopt;
}

Problem check_peers(const Config& config, const engine::Ipv4Network& network) {
    const std::span<const PeerConfig> peers = config.peers;
    for (std::size_t i = 0; i < peers.size(); ++i) {
        if (Problem wrong = check_peer(config, network, peers[i])) {
            return wrong;
        }
        if (Problem wrong = engine::clash(peers.first(i), peers[i])) {
            return wrong;
        }
    }
    return std::nullopt;
}

Problem check_times(const Config& config) {
    const auto must_exceed = [](const char* larger, std::int64_t large, const char* smaller,
                                std::int64_t small) -> Problem {
        if (large >= small) {
            return std::nullopt;
        }
        return std::string("key '") + larger + "': " + duration_text(large) + " is less than '" + smaller + "' (" +
               duration_text(small) + ')';
    };
    if (Problem wrong = must_exceed("rto_max", config.rto_max_ns, "rto_min", config.rto_min_ns)) {
        return wrong;
    }
    if (Problem wrong = must_exceed("give_up", config.give_up_ns, "rto_min", config.rto_min_ns)) {
        return wrong;
    }
    // One lost heartbeat must not look like a dead peer.
    return must_exceed("suspect_after", config.suspect_after_ns, "twice heartbeat", 2 * config.heartbeat_ns);
}

Problem check_swift(const Config& config) {
    if (config.swift_fs_max_cwnd_milli < 2 * config.swift_fs_min_cwnd_milli) {
        return "key 'swift_fs_max_cwnd': " + protocol::format_thousandths(config.swift_fs_max_cwnd_milli) +
               " is less than twice 'swift_fs_min_cwnd' (" +
               protocol::format_thousandths(config.swift_fs_min_cwnd_milli) + ')';
    }
    return std::nullopt;
}

Problem check_config(const Config& config) {
    if (Problem wrong = check_keys(config)) {
        return wrong;
    }
    const engine::Ipv4Network network = *engine::Ipv4Network::parse(config.address);
    if (Problem wrong = check_own_address(config, network)) {
        return wrong;
    }
    if (Problem wrong = check_peers(config, network)) {
        return wrong;
    }
    if (config.mtu > 9216 && !shares_memory(config.device)) {
        return "key 'mtu': " + std::to_string(config.mtu) + " is more than the 9216 that '" + config.device +
               "' can carry; only memif and ring take more";
    }
    if (Problem wrong = check_swift(config)) {
        return wrong;
    }
    return check_times(config);
}

}  // namespace

Result<void> Config::validate() const {
    Problem wrong = check_config(*this);
    return wrong ? Result<void>(Error{Error::Kind::configuration, *std::move(wrong)}) : Result<void>();
}

}  // namespace bowline
