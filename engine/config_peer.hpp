#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bowline/config.hpp"

namespace bowline::engine {

// What a configured peer may be. Pure; any thread.

/// A field of a peer: its key in a [[peer]] table.
struct PeerField {
    std::string_view name;
    std::string PeerConfig::*field;
    bool required;
    bool (*legal)(std::string_view text);
    std::string_view shape;  ///< what it must be, for a person
};

/// name, address, mac: the order of `NAME=ADDRESS,MAC`, too.
std::span<const PeerField> peer_fields();

/// `must be an address such as '10.0.0.2', not 'x'`.
std::string must_be(const PeerField& field, std::string_view text);

/// Reads `NAME=ADDRESS[,MAC]`. The error has no place: the caller knows it.
Result<PeerConfig> parse_peer(std::string_view text);

/// Why `added` cannot stand beside `peers`: the same name or address.
std::optional<std::string> clash(std::span<const PeerConfig> peers, const PeerConfig& added);

}  // namespace bowline::engine
