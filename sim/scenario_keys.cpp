#include "sim/scenario_keys.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include <fmt/format.h>

#include "protocol/near_word.hpp"
#include "protocol/settings_text.hpp"
#include "sim/scenario.hpp"
#include "sim/scenario_lexer.hpp"

namespace bowline::sim {

namespace {

using protocol::Settings;
using protocol::SwiftSettings;

constexpr std::int64_t kUs = 1'000;
constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kDay = 86'400 * kSecond;
constexpr std::int64_t kMiB = std::int64_t{1} << 20;
/// What a frame of the simulated network holds, less its Ethernet header.
constexpr std::int64_t kMtuMax = 2000;
constexpr std::int64_t kIpAndUdpBytes = 28;

enum class Kind : std::uint8_t { number, size, duration, signed_duration, decimal, choice, share };

constexpr std::array<std::string_view, 2> kExclusions = {"retain", "discard"};
constexpr std::array<std::string_view, 2> kOnUncertain = {"report", "resend"};
constexpr std::array<std::string_view, 2> kCongestions = {"fixed", "swift"};

struct Key {
    SettingKey shown;
    Kind kind;
    std::int64_t min;
    std::int64_t max;
    void (*set)(NodeSettings& settings, std::int64_t value);
    std::span<const std::string_view> choices = {};
    bool zero_allowed = false;  ///< below `min`: decide for me
    bool power_of_two = false;
};

constexpr Key engine_key(std::string_view name, Kind kind, std::int64_t min, std::int64_t max,
                         void (*set)(NodeSettings&, std::int64_t), std::string_view help) {
    return {.shown = {.name = name, .help = help, .of_simulation = false},
            .kind = kind,
            .min = min,
            .max = max,
            .set = set};
}
constexpr Key sim_key(std::string_view name, Kind kind, std::int64_t min, std::int64_t max,
                      void (*set)(NodeSettings&, std::int64_t), std::string_view help) {
    return {
        .shown = {.name = name, .help = help, .of_simulation = true}, .kind = kind, .min = min, .max = max, .set = set};
}
constexpr Key power_of_two(Key key) {
    key.power_of_two = true;
    return key;
}
constexpr Key or_zero(Key key) {
    key.zero_allowed = true;
    return key;
}
constexpr Key choice(std::string_view name, std::span<const std::string_view> choices,
                     void (*set)(NodeSettings&, std::int64_t), std::string_view help) {
    Key key = engine_key(name, Kind::choice, 0, 0, set, help);
    key.choices = choices;
    return key;
}

template <std::uint32_t Settings::*Field>
void set_pkts(NodeSettings& settings, std::int64_t value) {
    settings.config.settings.*Field = static_cast<std::uint32_t>(value);
}
template <Duration Settings::*Field>
void set_duration(NodeSettings& settings, std::int64_t value) {
    settings.config.settings.*Field = Duration::ns(value);
}
template <std::uint32_t SwiftSettings::*Field>
void set_swift(NodeSettings& settings, std::int64_t thousandths) {
    settings.config.settings.swift.*Field = static_cast<std::uint32_t>(thousandths);
}
template <Duration SwiftSettings::*Field>
void set_swift_duration(NodeSettings& settings, std::int64_t ns) {
    settings.config.settings.swift.*Field = Duration::ns(ns);
}
template <std::uint32_t NodeSettings::*Field>
void set_own(NodeSettings& settings, std::int64_t value) {
    settings.*Field = static_cast<std::uint32_t>(value);
}

// Ranges and defaults of the engine's keys are those of engine/config_keys.cpp.
constexpr std::array kKeys = {
    power_of_two(engine_key("window", Kind::number, 2, 16384, set_pkts<&Settings::window_pkts>,
                            "packets in flight to a peer, and places in the ring that receives from it")),
    engine_key("send_queue", Kind::number, 2, 65536, set_pkts<&Settings::send_queue_pkts>,
               "packets to a peer that may wait for the window"),
    engine_key("message_max", Kind::size, 1, 1024 * kMiB, set_pkts<&Settings::message_max>, "the largest message"),
    engine_key("ack_every", Kind::number, 1, 8192, set_pkts<&Settings::ack_every_pkts>,
               "packets after which an acknowledgement is sent at once"),
    engine_key("ack_delay", Kind::duration, 0, kSecond, set_duration<&Settings::ack_delay>,
               "the longest that an acknowledgement waits"),
    engine_key("rto_min", Kind::duration, 10 * kUs, 10 * kSecond, set_duration<&Settings::rto_min>,
               "the shortest retransmission timeout"),
    engine_key("rto_max", Kind::duration, kMs, 120 * kSecond, set_duration<&Settings::rto_max>,
               "the longest retransmission timeout"),
    engine_key("give_up", Kind::duration, 10 * kMs, kDay, set_duration<&Settings::give_up>,
               "how long a message stays unacknowledged before it is reported"),
    engine_key("heartbeat", Kind::duration, kMs, 60 * kSecond, set_duration<&Settings::heartbeat>,
               "silence towards a peer after which it is sent a heartbeat"),
    engine_key("suspect_after", Kind::duration, 2 * kMs, 600 * kSecond, set_duration<&Settings::suspect_after>,
               "silence of a peer after which it is probed"),
    choice(
        "exclusion", kExclusions,
        [](NodeSettings& settings, std::int64_t value) {
            settings.config.settings.exclusion = static_cast<protocol::Exclusion>(value);
        },
        "what becomes of unacknowledged messages to a peer that leaves the view"),
    engine_key("retain_time", Kind::duration, 0, kDay, set_duration<&Settings::retain_time>,
               "how long messages to an excluded peer wait for it"),
    choice(
        "on_uncertain", kOnUncertain,
        [](NodeSettings& settings, std::int64_t value) {
            settings.config.settings.on_uncertain = static_cast<protocol::OnUncertain>(value);
        },
        "what becomes of messages that a peer has perhaps had, and had to forget"),
    engine_key("conn_expiry", Kind::duration, 0, kDay, set_duration<&Settings::conn_expiry>,
               "connections without a message for so long are closed; 0: never"),
    choice(
        "congestion", kCongestions,
        [](NodeSettings& settings, std::int64_t value) {
            settings.config.settings.congestion = static_cast<protocol::CongestionAlgorithm>(value);
        },
        "how many packets may be in flight to a peer"),
    engine_key("swift_base_target", Kind::duration, kUs, 10 * kSecond, set_swift_duration<&SwiftSettings::base_target>,
               "the round trip that swift aims at with many packets in flight"),
    engine_key("swift_fs_range", Kind::duration, 0, 10 * kSecond, set_swift_duration<&SwiftSettings::fs_range>,
               "what is added to that for small windows, at most"),
    engine_key("swift_fs_min_cwnd", Kind::decimal, 10, 8'192'000, set_swift<&SwiftSettings::fs_min_cwnd_milli>,
               "packets in flight at which all of that is added"),
    engine_key("swift_fs_max_cwnd", Kind::decimal, 20, 16'384'000, set_swift<&SwiftSettings::fs_max_cwnd_milli>,
               "packets in flight from which on nothing is added"),
    engine_key("swift_ai", Kind::decimal, 1, 100'000, set_swift<&SwiftSettings::ai_milli>,
               "packets by which the window grows in a round trip"),
    engine_key("swift_beta", Kind::decimal, 1, 1000, set_swift<&SwiftSettings::beta_milli>,
               "by how much of the relative excess of delay the window shrinks"),
    engine_key("swift_max_mdf", Kind::decimal, 1, 999, set_swift<&SwiftSettings::max_mdf_milli>,
               "the largest share by which the window shrinks in a round trip"),
    engine_key("swift_min_cwnd", Kind::decimal, 1, 1000, set_swift<&SwiftSettings::min_cwnd_milli>,
               "the smallest window, packets"),
    or_zero(engine_key("packet_pool", Kind::number, 512, 16'777'216, set_own<&NodeSettings::packet_pool>,
                       "packets in the pool; 0: what windows and peers need")),
    engine_key("held_max", Kind::number, 0, 65536, set_own<&NodeSettings::held_max>,
               "packets that are kept for messages which the application holds"),
    engine_key(
        "mtu", Kind::size, 576, kMtuMax,
        [](NodeSettings& settings, std::int64_t value) {
            settings.config.packet_bytes_max = static_cast<std::uint16_t>(value - kIpAndUdpBytes);
        },
        "the largest IP packet, bytes"),

    sim_key(
        "clock_offset", Kind::signed_duration, -kDay * 36'500, kDay * 36'500,
        [](NodeSettings& settings, std::int64_t value) { settings.config.clock_offset = Duration::ns(value); },
        "the node's clock less the simulation's"),
    sim_key(
        "initial_seqno", Kind::number, 1, INT64_MAX,
        [](NodeSettings& settings, std::int64_t value) {
            settings.config.settings.initial_seqno = static_cast<std::uint64_t>(value);
        },
        "the first seqno of every stream"),
    sim_key(
        "turn", Kind::duration, 1, kSecond,
        [](NodeSettings& settings, std::int64_t value) { settings.config.turn = Duration::ns(value); },
        "between the beginnings of two turns of its loop"),
    sim_key(
        "packet_bytes", Kind::size, 256, kMtuMax - kIpAndUdpBytes,
        [](NodeSettings& settings, std::int64_t value) {
            settings.config.packet_bytes_max = static_cast<std::uint16_t>(value);
        },
        "the largest UDP payload, where an mtu could not say it"),
    sim_key(
        "rx_ring", Kind::number, 1, 65536,
        [](NodeSettings& settings,
           std::int64_t value) { settings.config.port.rx_ring = static_cast<std::uint32_t>(value); },
        "frames that wait at the device; more are lost"),
    sim_key(
        "tx_ring", Kind::number, 1, 65536,
        [](NodeSettings& settings,
           std::int64_t value) { settings.config.port.tx_ring = static_cast<std::uint32_t>(value); },
        "packets that the device owns at once"),
    sim_key(
        "tx_hold", Kind::duration, 0, kSecond,
        [](NodeSettings& settings, std::int64_t value) { settings.config.port.tx_hold = Duration::ns(value); },
        "how long the device owns a packet"),
    sim_key("pool_packets", Kind::number, 1, 16'777'216, set_own<&NodeSettings::pool_packets>,
            "packets in the pool, device rings included, exactly"),
    sim_key("data_packets", Kind::number, 1, 16'777'216, set_own<&NodeSettings::data_packets>,
            "of these, at most so many for what is sent"),
    sim_key(
        "read_limit", Kind::number, 1, 65536,
        [](NodeSettings& settings,
           std::int64_t value) { settings.config.application.read_limit = static_cast<std::size_t>(value); },
        "messages and events that the application takes in a batch"),
    sim_key(
        "offers", Kind::number, 1, 65536,
        [](NodeSettings& settings,
           std::int64_t value) { settings.config.application.offers_max = static_cast<std::uint32_t>(value); },
        "messages that the application offers in a turn"),
    sim_key(
        "claim", Kind::share, 0, kAlways,
        [](NodeSettings& settings,
           std::int64_t value) { settings.config.application.claim_ppm = static_cast<std::uint32_t>(value); },
        "messages that the application writes in place"),
    sim_key(
        "hold", Kind::share, 0, kAlways,
        [](NodeSettings& settings,
           std::int64_t value) { settings.config.application.hold_ppm = static_cast<std::uint32_t>(value); },
        "messages whose packet the application keeps"),
    sim_key(
        "hold_for", Kind::duration, 0, kDay,
        [](NodeSettings& settings, std::int64_t value) { settings.config.application.hold_for = Duration::ns(value); },
        "for how long"),
};

/// Keys of the engine that nothing here answers to, and why.
struct Elsewhere {
    std::string_view name;
    std::string_view why;
};
constexpr std::array kElsewhere = {
    Elsewhere{"name", "a node's name is what `nodes` calls it"},
    Elsewhere{"device", "a simulated node has a simulated device"},
    Elsewhere{"address", "addresses are the simulation's"},
    Elsewhere{"gateway", "all simulated nodes are on one network"},
    Elsewhere{"peer", "all nodes are each other's peers"},
    Elsewhere{"port", "ports are the simulation's"},
    Elsewhere{"vlan", "the simulated network has no VLAN"},
    Elsewhere{"mode", "`stall` shows what a dedicated worker does while its application does not poll"},
    Elsewhere{"cpu", "there is no CPU to choose in a simulation"},
    Elsewhere{"integrity", "simulated devices always have checksums"},
    Elsewhere{"hugepages", "a simulation has no hugepages"},
    Elsewhere{"memory", "a simulation has no memory of DPDK's; `packet_pool` says how many packets there are"},
    Elsewhere{"log_level", "`--trace` prints everything"},
    Elsewhere{"views", "views are the script's, or the heartbeats' with `detector` behind the names of the nodes"},
};

const Key* find(std::string_view name) {
    const auto* const found =
        std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& key) { return key.shown.name == name; });
    return found == kKeys.end() ? nullptr : found;
}

std::optional<std::int64_t> read(const Key& key, std::string_view text) {
    switch (key.kind) {
        case Kind::number:
            return protocol::parse_integer(text);
        case Kind::size: {
            const auto size = protocol::parse_size(text);
            return size ? std::optional(static_cast<std::int64_t>(*size)) : std::nullopt;
        }
        case Kind::duration: {
            const auto duration = protocol::parse_duration(text);
            return duration ? std::optional(duration->ns()) : std::nullopt;
        }
        case Kind::signed_duration: {
            const bool negative = text.starts_with('-');
            const auto duration = protocol::parse_duration(negative ? text.substr(1) : text);
            return duration ? std::optional(negative ? -duration->ns() : duration->ns()) : std::nullopt;
        }
        case Kind::decimal:
            return protocol::parse_thousandths(text);
        case Kind::choice: {
            const auto found = std::find(key.choices.begin(), key.choices.end(), text);
            return found == key.choices.end() ? std::nullopt : std::optional(found - key.choices.begin());
        }
        case Kind::share: {
            const auto share = parse_share(text);
            return share ? std::optional(std::int64_t{*share}) : std::nullopt;
        }
    }
    return std::nullopt;
}

bool is_in_range(const Key& key, std::int64_t value) {
    if (key.kind == Kind::choice || (key.zero_allowed && value == 0)) {
        return true;
    }
    return value >= key.min && value <= key.max && (!key.power_of_two || (value & (value - 1)) == 0);
}

std::string allowed(const Key& key) {
    const auto duration = [](std::int64_t ns) {
        return (ns < 0 ? "-" : "") + protocol::format_duration(Duration::ns(ns < 0 ? -ns : ns));
    };
    const std::string zero = key.zero_allowed ? "0 or " : "";
    switch (key.kind) {
        case Kind::number:
            return fmt::format("{}a {}number, {} to {}", zero, key.power_of_two ? "power of two as a " : "whole ",
                               key.min, key.max);
        case Kind::size:
            return fmt::format("{}a size such as 1500 or 64KiB, {} to {}", zero,
                               protocol::format_size(static_cast<std::uint64_t>(key.min)),
                               protocol::format_size(static_cast<std::uint64_t>(key.max)));
        case Kind::duration:
        case Kind::signed_duration:
            return fmt::format("a duration such as 5ms, {} to {}", duration(key.min), duration(key.max));
        case Kind::decimal:
            return fmt::format("a number such as 0.5, {} to {}", protocol::format_thousandths(key.min),
                               protocol::format_thousandths(key.max));
        case Kind::choice:
            return fmt::format("{} or {}", key.choices[0], key.choices[1]);
        case Kind::share:
            return "a share such as 1.5%, up to 100%";
    }
    return {};
}

std::string unknown(std::string_view name) {
    for (const Elsewhere& elsewhere : kElsewhere) {
        if (elsewhere.name == name) {
            return fmt::format("key '{}' has no meaning in a simulation: {}", name, elsewhere.why);
        }
    }
    std::vector<std::string_view> names;
    for (const Key& key : kKeys) {
        names.push_back(key.shown.name);
    }
    const auto meant = protocol::closest(name, names);
    return fmt::format("unknown key '{}'; {}", name,
                       meant ? fmt::format("did you mean '{}'?", *meant) : fmt::format("known are {}", join(names)));
}

// The engine's own arithmetic (engine/sizing.cpp), with its constants.
constexpr std::uint32_t kReservePkts = 1024;
constexpr std::uint32_t kPeerMinPkts = 6;
constexpr std::uint32_t kPoolAutoMaxPkts = 96U << 10U;

}  // namespace

std::optional<std::string> check_setting(std::string_view key, std::string_view value) {
    const Key* const found = find(key);
    if (found == nullptr) {
        return unknown(key);
    }
    const std::optional<std::int64_t> number = read(*found, value);
    if (!number || !is_in_range(*found, *number)) {
        return fmt::format("key '{}': must be {}, not '{}'", key, allowed(*found), value);
    }
    return std::nullopt;
}

void apply_setting(NodeSettings& settings, std::string_view key, std::string_view value) {
    const Key* const found = find(key);
    BOWLINE_CHECK(found != nullptr);
    const std::optional<std::int64_t> number = read(*found, value);
    BOWLINE_CHECK(number.has_value());
    found->set(settings, *number);
}

std::optional<std::string> size_node(NodeSettings& settings, std::size_t peers) {
    protocol::Settings& own = settings.config.settings;
    const auto count = static_cast<std::uint32_t>(std::max<std::size_t>(peers, 1));
    const std::uint32_t reserve = kReservePkts + settings.held_max;
    const std::uint64_t wanted =
        reserve + std::uint64_t{count} * (2 * std::uint64_t{own.window_pkts} + own.send_queue_pkts + 1);
    const std::uint32_t pool = settings.packet_pool != 0
                                   ? settings.packet_pool
                                   : static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, kPoolAutoMaxPkts));
    const bool exact = settings.pool_packets != 0 && settings.data_packets != 0;
    if (!exact) {
        if (pool < reserve + kPeerMinPkts * count) {
            return fmt::format("packet_pool={} is too small for {} peers: at least {} packets are needed", pool, count,
                               reserve + kPeerMinPkts * count);
        }
        own.window_pkts = std::min(own.window_pkts, std::bit_floor((pool - reserve) / 3 / count));
        const std::uint32_t data = pool - reserve - count * own.window_pkts;
        own.send_queue_pkts = std::min(own.send_queue_pkts, data / count - own.window_pkts - 1);
        settings.config.data_packets_max = data + dataplane::kOwnPackets;
        settings.config.pool_packets = pool + settings.config.port.rx_ring + settings.config.port.tx_ring;
    }
    if (settings.pool_packets != 0) {
        settings.config.pool_packets = settings.pool_packets;
    }
    if (settings.data_packets != 0) {
        settings.config.data_packets_max = settings.data_packets;
    }
    return std::nullopt;
}

std::span<const SettingKey> setting_keys() {
    static const std::vector<SettingKey> shown = [] {
        std::vector<SettingKey> keys;
        for (const Key& key : kKeys) {
            keys.push_back(key.shown);
        }
        return keys;
    }();
    return shown;
}

}  // namespace bowline::sim
