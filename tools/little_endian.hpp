#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bowline::tools {

static_assert(std::endian::native == std::endian::little, "the commands' frames are little-endian, as x86 is");

/// Unaligned 64-bit loads and stores, for the frames that the commands exchange.
inline std::uint64_t load_u64(const std::byte* from) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, sizeof(value));
    return value;
}
inline void store_u64(std::byte* to, std::uint64_t value) { std::memcpy(to, &value, sizeof(value)); }

}  // namespace bowline::tools
