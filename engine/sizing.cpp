#include "engine/sizing.hpp"

#include <algorithm>
#include <bit>

namespace bowline::engine {

namespace {

/// Acks, control packets and copies of what the device still owns never wait for data to be acknowledged.
constexpr std::uint32_t kReservePkts = 1024;
/// A window of two packets each way, one that waits and one that is being filled.
constexpr std::uint32_t kPeerMin = 6;
/// What an engine takes at most when it may decide: 96 Ki packets are about 230 MB at an MTU of 1500.
constexpr std::uint32_t kPoolAutoMax = 96U << 10U;
/// The device's rings, on both sides, and bursts under way.
constexpr std::uint32_t kDevicePkts = 8192;

}  // namespace

Result<Sizing> size_engine(const Config& config) {
    const auto peers = static_cast<std::uint32_t>(std::max<std::size_t>(config.peers.size(), 1));
    // What the application holds is taken from receiving, so it is kept apart as well.
    const std::uint32_t reserve = kReservePkts + config.held_max;
    Sizing sizing;
    sizing.window_pkts = config.window;
    sizing.send_queue_pkts = config.send_queue;
    const std::uint64_t wanted =
        reserve + std::uint64_t{peers} * (2 * std::uint64_t{config.window} + config.send_queue + 1);
    sizing.pool_pkts = config.packet_pool != 0
                           ? config.packet_pool
                           : static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, kPoolAutoMax));
    if (sizing.pool_pkts < reserve + kPeerMin * peers) {
        return Error{Error::Kind::configuration,
                     "packet_pool = " + std::to_string(sizing.pool_pkts) + " is too small for " +
                         std::to_string(peers) + " peers: at least " + std::to_string(reserve + kPeerMin * peers) +
                         " packets are needed; raise packet_pool, or leave it out to have it chosen"};
    }
    // A third of a peer's part is for receiving, which leaves two windows for sending: one in flight, one that waits.
    const std::uint32_t share = (sizing.pool_pkts - reserve) / 3 / peers;
    if (share < config.window) {
        sizing.window_pkts = std::bit_floor(share);
        sizing.warning = "window = " + std::to_string(config.window) + " packets for each of " + std::to_string(peers) +
                         " peers does not fit in a pool of " + std::to_string(sizing.pool_pkts) +
                         " packets: using a window of " + std::to_string(sizing.window_pkts) +
                         "; raise packet_pool to have it all";
    }
    sizing.data_pkts_max = sizing.pool_pkts - reserve - peers * sizing.window_pkts;
    // No peer may take what another is to send with, dead peers whose packets wait for the give-up time least of all:
    // each has its share, of which one packet is the one being filled.
    sizing.send_queue_pkts = std::min(sizing.data_pkts_max / peers - sizing.window_pkts - 1, config.send_queue);
    const std::uint64_t packet_bytes = std::max<std::uint64_t>(config.mtu + 18, 2048) + 512;
    const std::uint64_t bytes = (sizing.pool_pkts + kDevicePkts) * packet_bytes;
    sizing.memory_mb =
        config.memory_mb != 0 ? config.memory_mb : static_cast<std::uint32_t>((bytes + bytes / 8) >> 20U) + 48;
    return sizing;
}

protocol::Settings protocol_settings(const Config& config, const Sizing& sizing) {
    using protocol::Duration;
    protocol::Settings settings;
    settings.window_pkts = sizing.window_pkts;
    settings.send_queue_pkts = sizing.send_queue_pkts;
    settings.message_max = config.message_max;
    settings.ack_every_pkts = config.ack_every;
    settings.ack_delay = Duration::ns(config.ack_delay_ns);
    settings.rto_min = Duration::ns(config.rto_min_ns);
    settings.rto_max = Duration::ns(config.rto_max_ns);
    settings.give_up = Duration::ns(config.give_up_ns);
    settings.heartbeat = Duration::ns(config.heartbeat_ns);
    settings.suspect_after = Duration::ns(config.suspect_after_ns);
    settings.views =
        config.views == Config::Views::static_ ? protocol::ViewSource::fixed : protocol::ViewSource::external;
    settings.exclusion =
        config.exclusion == Config::Exclusion::retain ? protocol::Exclusion::retain : protocol::Exclusion::discard;
    settings.retain_time = Duration::ns(config.retain_time_ns);
    settings.on_uncertain = config.on_uncertain == Config::OnUncertain::report ? protocol::OnUncertain::report
                                                                               : protocol::OnUncertain::resend;
    settings.conn_expiry = Duration::ns(config.conn_expiry_ns);
    settings.congestion = config.congestion == Config::Congestion::swift ? protocol::CongestionAlgorithm::swift
                                                                         : protocol::CongestionAlgorithm::fixed;
    settings.swift = {.base_target = Duration::ns(config.swift_base_target_ns),
                      .fs_range = Duration::ns(config.swift_fs_range_ns),
                      .fs_min_cwnd_milli = config.swift_fs_min_cwnd_milli,
                      .fs_max_cwnd_milli = config.swift_fs_max_cwnd_milli,
                      .ai_milli = config.swift_ai_milli,
                      .beta_milli = config.swift_beta_milli,
                      .max_mdf_milli = config.swift_max_mdf_milli,
                      .min_cwnd_milli = config.swift_min_cwnd_milli};
    return settings;
}

}  // namespace bowline::engine
