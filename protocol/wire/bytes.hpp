#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// Loads and stores of numbers at any alignment, in the byte order that the name says. Pure functions for any thread;
/// the caller has checked that the bytes are there. Each compiles to one move, or one move and one byte swap.
namespace bowline::protocol::wire {

static_assert(std::endian::native == std::endian::little, "Bowline's wire code assumes a little-endian machine");

namespace detail {

template <typename T>
[[nodiscard]] inline T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

template <typename T>
inline void store(std::byte* to, T value) {
    std::memcpy(to, &value, sizeof(value));
}

}  // namespace detail

[[nodiscard]] inline std::uint8_t load_u8(const std::byte* from) { return std::to_integer<std::uint8_t>(*from); }
[[nodiscard]] inline std::uint16_t load_le16(const std::byte* from) { return detail::load<std::uint16_t>(from); }
[[nodiscard]] inline std::uint32_t load_le32(const std::byte* from) { return detail::load<std::uint32_t>(from); }
[[nodiscard]] inline std::uint64_t load_le64(const std::byte* from) { return detail::load<std::uint64_t>(from); }
[[nodiscard]] inline std::uint16_t load_be16(const std::byte* from) { return __builtin_bswap16(load_le16(from)); }
[[nodiscard]] inline std::uint32_t load_be32(const std::byte* from) { return __builtin_bswap32(load_le32(from)); }

inline void store_u8(std::byte* to, std::uint8_t value) { *to = std::byte{value}; }
inline void store_le16(std::byte* to, std::uint16_t value) { detail::store(to, value); }
inline void store_le32(std::byte* to, std::uint32_t value) { detail::store(to, value); }
inline void store_le64(std::byte* to, std::uint64_t value) { detail::store(to, value); }
inline void store_be16(std::byte* to, std::uint16_t value) { detail::store(to, __builtin_bswap16(value)); }
inline void store_be32(std::byte* to, std::uint32_t value) { detail::store(to, __builtin_bswap32(value)); }

}  // namespace bowline::protocol::wire
