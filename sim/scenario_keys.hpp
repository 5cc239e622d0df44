#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/node.hpp"

namespace bowline::sim {

/// What a scenario's settings make of a node, before the sizes that follow from them are known.
struct NodeSettings {
    NodeConfig config;
    std::uint32_t packet_pool = 0;   ///< packets, device rings apart; 0: what windows and peers need
    std::uint32_t held_max = 256;    ///< kept for what the application holds
    std::uint32_t pool_packets = 0;  ///< exactly so many in all; 0: as packet_pool says
    std::uint32_t data_packets = 0;  ///< of these for data; 0: as packet_pool says
};

/// What is wrong with setting `key` to `value`, for a person, or nothing.
[[nodiscard]] std::optional<std::string> check_setting(std::string_view key, std::string_view value);

/// Sets `key`, which check_setting() has found nothing wrong with.
void apply_setting(NodeSettings& settings, std::string_view key, std::string_view value);

/// The pool and its parts, as the engine sizes them: every peer's receive window in full, a reserve for acks and
/// control, the rest in equal shares for sending; smaller windows where that does not fit. Says what is wrong when
/// nothing fits.
[[nodiscard]] std::optional<std::string> size_node(NodeSettings& settings, std::size_t peers);

/// A key, for the documentation and for tests.
struct SettingKey {
    std::string_view name;
    std::string_view help;
    bool of_simulation = false;  ///< else it is one of the engine's
};
[[nodiscard]] std::span<const SettingKey> setting_keys();

}  // namespace bowline::sim
