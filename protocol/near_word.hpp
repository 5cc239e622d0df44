#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace bowline::protocol {

/// The word of `known` that `word` may have been meant for: at most two slips away, and less than half of it. For what
/// is said of words that nobody knows, in configurations, on command lines and in scenarios. Pure; any thread.
std::optional<std::string_view> closest(std::string_view word, std::span<const std::string_view> known);

}  // namespace bowline::protocol
