#include "protocol/wire/address.hpp"

#include <cstdio>

namespace bowline::protocol::wire {

namespace {

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace

std::optional<MacAddress> MacAddress::parse(std::string_view text) {
    if (text.size() != 17) return std::nullopt;
    const char separator = text[2];
    if (separator != ':' && separator != '-') return std::nullopt;
    MacAddress address;
    for (std::size_t i = 0; i < address.bytes.size(); ++i) {
        const int high = hex_digit(text[3 * i]);
        const int low = hex_digit(text[3 * i + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        if (i != 0 && text[3 * i - 1] != separator) return std::nullopt;
        address.bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
    }
    return address;
}

std::string MacAddress::to_string() const {
    std::array<char, 18> text{};
    std::snprintf(text.data(), text.size(), "%02x:%02x:%02x:%02x:%02x:%02x", unsigned{bytes[0]}, unsigned{bytes[1]},
                  unsigned{bytes[2]}, unsigned{bytes[3]}, unsigned{bytes[4]}, unsigned{bytes[5]});
    return text.data();
}

std::optional<Ipv4Address> Ipv4Address::parse(std::string_view text) {
    std::uint32_t value = 0;
    std::size_t at = 0;
    for (int part = 0; part < 4; ++part) {
        if (part != 0) {
            if (at == text.size() || text[at] != '.') return std::nullopt;
            ++at;
        }
        const std::size_t start = at;
        std::uint32_t number = 0;
        while (at < text.size() && at - start < 3 && text[at] >= '0' && text[at] <= '9') {
            number = number * 10 + static_cast<std::uint32_t>(text[at] - '0');
            ++at;
        }
        // A leading zero is octal to some readers (inet_aton), decimal to others: refused rather than guessed.
        if (at == start || number > 255 || (at - start > 1 && text[start] == '0')) return std::nullopt;
        value = value << 8U | number;
    }
    if (at != text.size()) return std::nullopt;
    return Ipv4Address{value};
}

std::string Ipv4Address::to_string() const {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%u.%u.%u.%u", value >> 24U, value >> 16U & 0xFFU, value >> 8U & 0xFFU,
                  value & 0xFFU);
    return text.data();
}

}  // namespace bowline::protocol::wire
