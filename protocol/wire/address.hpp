#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace bowline::protocol::wire {

/// An Ethernet address.
struct MacAddress {
    std::array<std::uint8_t, 6> bytes{};

    /// "02:00:00:aa:bb:0c": six pairs of hexadecimal digits, separated by colons (or all by dashes). Nothing for other
    /// text.
    [[nodiscard]] static std::optional<MacAddress> parse(std::string_view text);
    [[nodiscard]] static constexpr MacAddress broadcast() { return {{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}}; }
    /// The 6 bytes at `from`.
    [[nodiscard]] static MacAddress load(const std::byte* from) {
        MacAddress address;
        std::memcpy(address.bytes.data(), from, address.bytes.size());
        return address;
    }
    void store(std::byte* to) const { std::memcpy(to, bytes.data(), bytes.size()); }

    /// Lower case, with colons.
    [[nodiscard]] std::string to_string() const;
    [[nodiscard]] constexpr bool is_multicast() const { return (bytes[0] & 1U) != 0; }  ///< broadcast is one, too
    [[nodiscard]] constexpr bool is_zero() const { return *this == MacAddress{}; }

    constexpr auto operator<=>(const MacAddress&) const = default;
};

/// An IPv4 address, as a number whose most significant byte is the first of the dotted form.
struct Ipv4Address {
    std::uint32_t value = 0;

    /// "10.0.0.1": four decimal numbers without leading zeros. Nothing for other text.
    [[nodiscard]] static std::optional<Ipv4Address> parse(std::string_view text);
    [[nodiscard]] std::string to_string() const;
    [[nodiscard]] constexpr bool is_multicast() const { return value >> 28U == 0xE; }

    constexpr auto operator<=>(const Ipv4Address&) const = default;
};

}  // namespace bowline::protocol::wire
