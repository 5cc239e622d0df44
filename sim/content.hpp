#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/clock.hpp"

namespace bowline::sim {

/// What a simulated message says: bytes that follow from who sent it, to whom, and under which number, so that a byte
/// that was changed, lost or taken from another message shows.
struct ContentKey {
    std::uint64_t incarnation = 0;  ///< of the sender
    NodeId to = kNoNode;
    std::uint64_t number = 0;
    bool operator==(const ContentKey&) const = default;
};

void fill_content(const ContentKey& key, std::span<std::byte> bytes);
[[nodiscard]] bool holds_content(const ContentKey& key, std::span<const std::byte> bytes);

}  // namespace bowline::sim
