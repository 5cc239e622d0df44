#include "engine/config_peer.hpp"

#include <array>

#include "engine/config_address.hpp"
#include "engine/config_keys.hpp"

namespace bowline::engine {

namespace {

bool is_address(std::string_view text) { return Ipv4Address::parse(text).has_value(); }

bool is_unicast_mac(std::string_view text) {
    const auto mac = protocol::wire::MacAddress::parse(text);
    return mac && !mac->is_multicast() && !mac->is_zero();
}

constexpr std::array<PeerField, 3> kPeerFields = {{
    {"name", &PeerConfig::name, true, is_legal_name, "1 to 63 printable characters without space"},
    {"address", &PeerConfig::address, true, is_address, "an address such as '10.0.0.2'"},
    {"mac", &PeerConfig::mac, false, is_unicast_mac, "the MAC address of a node such as '02:00:00:00:00:02'"},
}};

}  // namespace

std::span<const PeerField> peer_fields() { return kPeerFields; }

std::string must_be(const PeerField& field, std::string_view text) {
    return "must be " + std::string(field.shape) + ", not '" + std::string(text) + '\'';
}

Result<PeerConfig> parse_peer(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) {
        return Error{Error::Kind::configuration,
                     "must be NAME=ADDRESS or NAME=ADDRESS,MAC, not '" + std::string(text) + '\''};
    }
    const std::size_t comma = text.find(',', equals);
    const bool has_mac = comma != std::string_view::npos;
    const std::array<std::string_view, 3> parts = {
        text.substr(0, equals),
        text.substr(equals + 1, has_mac ? comma - equals - 1 : std::string_view::npos),
        has_mac ? text.substr(comma + 1) : std::string_view(),
    };
    PeerConfig peer;
    for (std::size_t i = 0; i < kPeerFields.size(); ++i) {
        const PeerField& field = kPeerFields[i];
        if (!field.required && !has_mac) {
            continue;
        }
        if (!field.legal(parts[i])) {
            return Error{Error::Kind::configuration, std::string(field.name) + ' ' + must_be(field, parts[i])};
        }
        peer.*field.field = parts[i];
    }
    return peer;
}

std::optional<std::string> clash(std::span<const PeerConfig> peers, const PeerConfig& added) {
    for (const PeerConfig& peer : peers) {
        if (peer.name == added.name) {
            return "peer '" + added.name + "' is configured twice";
        }
        if (peer.address == added.address) {
            return "peers '" + peer.name + "' and '" + added.name + "' have the same address " + added.address;
        }
    }
    return std::nullopt;
}

}  // namespace bowline::engine
