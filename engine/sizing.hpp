#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bowline/config.hpp"
#include "bowline/result.hpp"
#include "protocol/settings.hpp"

namespace bowline::engine {

/// How many packets and how much memory an engine takes, from its configuration.
struct Sizing {
    std::uint32_t window_pkts = 0;  ///< a peer's; smaller than configured where the pool asks for it
    std::uint32_t send_queue_pkts = 0;
    std::uint32_t pool_pkts = 0;         ///< without the device's rings
    std::uint32_t data_pkts_max = 0;     ///< of the pool, for what is sent
    std::uint32_t memory_mb = 0;         ///< that DPDK needs for it
    std::optional<std::string> warning;  ///< when the configured window does not fit
};

/// An admitted packet is never dropped for want of room, and no peer may take what another was promised: so the pool
/// holds every peer's receive window in full, a reserve for acks and control, and what is left is for sending, in equal
/// shares.
/// The error names the keys.
Result<Sizing> size_engine(const Config& config);

/// The protocol's part of the configuration.
protocol::Settings protocol_settings(const Config& config, const Sizing& sizing);

}  // namespace bowline::engine
