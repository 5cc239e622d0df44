#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/wire/address.hpp"

namespace bowline::engine {

using protocol::wire::Ipv4Address;

/// A node's own address and the network that it stands in. Pure; any thread.
struct Ipv4Network {
    Ipv4Address address;
    std::uint32_t mask = 0;

    /// `10.0.0.1/24`: the prefix from 1 to 32, without leading zeros. Nothing for other text.
    static std::optional<Ipv4Network> parse(std::string_view text);

    [[nodiscard]] constexpr bool contains(Ipv4Address other) const {
        return ((address.value ^ other.value) & mask) == 0;
    }
    /// All bits beyond the mask clear, respectively set. Networks of one or two addresses have neither (RFC 3021).
    [[nodiscard]] constexpr bool is_network_address(Ipv4Address other) const {
        return has_broadcast() && contains(other) && (other.value & ~mask) == 0;
    }
    [[nodiscard]] constexpr bool is_broadcast(Ipv4Address other) const {
        return has_broadcast() && contains(other) && (other.value | mask) == 0xFFFFFFFFU;
    }

private:
    [[nodiscard]] constexpr bool has_broadcast() const { return mask < 0xFFFFFFFEU; }
};

/// False for what no node may have: 0.x, 127.x, multicast and above.
constexpr bool is_unicast(Ipv4Address address) {
    const std::uint32_t first = address.value >> 24U;
    return first != 0 && first != 127 && first < 224;
}

}  // namespace bowline::engine
