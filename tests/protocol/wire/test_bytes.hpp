#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/random.hpp"

/// Bytes for the tests of the wire code: golden values as hexadecimal text, and buffers of exact size, so that a read
/// past the end is one past an allocation, which AddressSanitizer sees.
namespace bowline::protocol::wire {

using Bytes = std::vector<std::byte>;

/// "b1 04": blanks are for the reader.
inline Bytes from_hex(std::string_view text) {
    const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
    Bytes bytes;
    std::string digits;
    for (const char c : text) {
        if (c != ' ') digits += c;
    }
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        bytes.push_back(static_cast<std::byte>(digit(digits[i]) * 16 + digit(digits[i + 1])));
    }
    return bytes;
}

inline std::string to_hex(std::span<const std::byte> bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const std::byte b : bytes) {
        text += digits[std::to_integer<std::size_t>(b) >> 4U];
        text += digits[std::to_integer<std::size_t>(b) & 15U];
    }
    return text;
}

/// The same golden text without its blanks, to compare with to_hex().
inline std::string packed(std::string_view text) { return to_hex(from_hex(text)); }

inline Bytes random_bytes(Random& random, std::size_t size) {
    Bytes bytes(size);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random.next());
    return bytes;
}

inline Bytes operator+(Bytes left, const Bytes& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

/// A copy in an allocation of its own that ends with the last byte. Not inlined: at -O3 gcc 12 unrolls loops over sizes
/// and then warns of reads that the length checks exclude.
[[gnu::noinline]] inline Bytes prefix(const Bytes& bytes, std::size_t size) {
    return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

}  // namespace bowline::protocol::wire
