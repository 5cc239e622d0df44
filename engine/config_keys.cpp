#include "engine/config_keys.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "engine/config_address.hpp"
#include "protocol/settings_text.hpp"

namespace bowline::engine {

namespace {

using protocol::Duration;
using namespace std::string_view_literals;

constexpr std::int64_t kUs = 1'000;
constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

constexpr std::array kModes = {"inline"sv, "dedicated"sv};
constexpr std::array kIntegrities = {"auto"sv, "always"sv, "never"sv};
constexpr std::array kHugepages = {"auto"sv, "on"sv, "off"sv};
constexpr std::array kViews = {"static"sv, "external"sv};
constexpr std::array kExclusions = {"retain"sv, "discard"sv};
constexpr std::array kOnUncertain = {"report"sv, "resend"sv};
constexpr std::array kCongestions = {"fixed"sv, "swift"sv};
constexpr std::array kLogLevels = {"error"sv, "warning"sv, "info"sv, "debug"sv};

bool is_device(std::string_view text) { return !text.empty() && text.find_first_of(" \t\n") == std::string_view::npos; }
bool is_gateway(std::string_view text) { return text.empty() || Ipv4Address::parse(text).has_value(); }
bool is_control_socket(std::string_view text) {
    const bool is_path = text.find('/') != std::string_view::npos && text.back() != '/' && text.size() <= 107 &&
                         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c != '\x7f'; });
    return text == "auto" || text == "none" || is_path;
}
bool is_network(std::string_view text) { return Ipv4Network::parse(text).has_value(); }

struct Range {
    std::int64_t min;
    std::int64_t max;
};

constexpr Key text(std::string_view name, std::string Config::*field, bool (*legal)(std::string_view),
                   std::string_view shape, std::string_view help) {
    return {.name = name, .kind = ValueKind::text, .field = field, .help = help, .shape = shape, .legal = legal};
}
constexpr Key number(std::string_view name, Field field, Range range, std::string_view help) {
    return {.name = name, .kind = ValueKind::number, .field = field, .help = help, .min = range.min, .max = range.max};
}
constexpr Key size(std::string_view name, std::uint32_t Config::*field, Range range, std::string_view help) {
    return {.name = name, .kind = ValueKind::size, .field = field, .help = help, .min = range.min, .max = range.max};
}
constexpr Key duration(std::string_view name, std::int64_t Config::*field, Range range, std::string_view help) {
    return {
        .name = name, .kind = ValueKind::duration, .field = field, .help = help, .min = range.min, .max = range.max};
}
/// `range` in thousandths, as the field is.
constexpr Key decimal(std::string_view name, std::uint32_t Config::*field, Range range, std::string_view help) {
    return {.name = name, .kind = ValueKind::decimal, .field = field, .help = help, .min = range.min, .max = range.max};
}
constexpr Key choice(std::string_view name, Field field, std::span<const std::string_view> choices,
                     std::string_view help) {
    return {.name = name, .kind = ValueKind::choice, .field = field, .help = help, .choices = choices};
}
constexpr Key or_zero(Key key) {
    key.zero_allowed = true;
    return key;
}
constexpr Key power_of_two(Key key) {
    key.power_of_two = true;
    return key;
}
constexpr Key in_steps_of(std::int64_t unit, Key key) {
    key.unit = unit;
    return key;
}

const std::array kKeys = {
    text("name", &Config::name, is_legal_name, "1 to 63 printable characters without space",
         "This node's name, by which its peers know it."),
    text("device", &Config::device, is_device, "a device such as 'af_packet:eth1' or 'memif:/run/a.sock'",
         "The device to run on: `memif:PATH[,role=server]`, `af_packet:IFACE`, `af_xdp:IFACE`, `tap:IFACE`, "
         "`pcap:IFACE`, `ring:NAME`, `null`, `pci:0000:3b:00.0`, or any DPDK device string. `bowline devices` "
         "lists what this machine has."),
    text("address", &Config::address, is_network,
         "an address with the length of its network's prefix such as '10.0.0.1/24'",
         "This node's IPv4 address and network."),
    text("gateway", &Config::gateway, is_gateway, "empty or an address such as '10.0.0.254'",
         "The router through which peers outside this node's network are reached."),
    number("port", &Config::port, {1, 65535}, "UDP port, the same on all nodes."),
    size("mtu", &Config::mtu, {576, 65535},
         "The largest IP packet in bytes; two peers use the smaller of theirs. Above 9216 only on devices that "
         "share memory (memif, ring)."),
    number("vlan", &Config::vlan, {0, 4094}, "802.1Q id of sent packets, and the only one that is taken. 0: untagged."),
    choice("mode", &Config::mode, kModes,
           "Who runs the worker. `inline`: the thread that polls, for the lowest latency. `dedicated`: a thread "
           "of its own that spins on a core of its own."),
    number("cpu", &Config::cpu, {-1, 1023}, "The CPU of the dedicated worker. -1: where the scheduler puts it."),
    choice("integrity", &Config::integrity, kIntegrities,
           "UDP checksums. `auto`: on every device but those that share memory (memif, ring)."),
    choice("hugepages", &Config::hugepages, kHugepages,
           "Memory from hugepages. `auto`: when there are free ones; `on`: or fail; `off`: ordinary pages, which "
           "need no preparation and cost some speed."),
    or_zero(in_steps_of(kMiB, size("memory", &Config::memory_mb, {16 * kMiB, 65536 * kMiB},
                                   "Memory for packets. 0: what the packet pool needs."))),
    or_zero(number("packet_pool", &Config::packet_pool, {512, 16777216},
                   "Packets in the pool that sends and receives. 0: what windows and peers need.")),
    choice("log_level", &Config::log_level, kLogLevels, "The least that is logged."),
    text(
        "control_socket", &Config::control_socket, is_control_socket,
        "auto, none or the path of a Unix socket, with a '/', 107 bytes at most",
        "Where `bowline ctl` reaches this process. `auto`: `bowline node` listens at NAME.sock in /run/bowline, or, if "
        "that cannot be written, in $XDG_RUNTIME_DIR/bowline or /tmp/bowline-UID; other commands do not listen. A "
        "path: every command that runs an engine listens there. `none`: none does."),
    power_of_two(
        number("window", &Config::window, {2, 16384},
               "Packets in flight to a peer, and places in the ring that receives from it. Bandwidth times round "
               "trip, divided by the packet size, is what keeps a link full.")),
    number("send_queue", &Config::send_queue, {2, 65536},
           "Packets to a peer that may wait for the window; beyond them `send` answers `back_pressured`."),
    size("message_max", &Config::message_max, {1, 1024 * kMiB},
         "The largest message. Larger ones are refused by `send`, and from peers."),
    number("held_max", &Config::held_max, {0, 65536},
           "Messages that the application may hold (`Message::hold`) beyond their handler; packets are kept for them."),
    number("ack_every", &Config::ack_every, {1, 8192}, "Packets after which an acknowledgement is sent at once."),
    duration("ack_delay", &Config::ack_delay_ns, {0, kSecond},
             "The longest that an acknowledgement waits for more packets or for data to ride on."),
    duration("rto_min", &Config::rto_min_ns, {10 * kUs, 10 * kSecond}, "The shortest retransmission timeout."),
    duration("rto_max", &Config::rto_max_ns, {kMs, 2 * kMinute},
             "The longest retransmission timeout: backoff ends there."),
    duration("give_up", &Config::give_up_ns, {10 * kMs, 1440 * kMinute},
             "How long a message stays unacknowledged before it is given up and reported."),
    duration("heartbeat", &Config::heartbeat_ns, {kMs, kMinute},
             "Silence towards a peer after which it is sent a heartbeat."),
    duration("suspect_after", &Config::suspect_after_ns, {2 * kMs, 10 * kMinute},
             "Silence of a peer after which it is probed, and excluded if it does not answer."),
    choice("views", &Config::views, kViews,
           "Who decides which peers are in view. `static`: the configured peers are, while they answer; `external`: "
           "those of the view that the application has installed."),
    choice("exclusion", &Config::exclusion, kExclusions,
           "What becomes of unacknowledged messages to a peer that leaves the view. `retain`: they wait for "
           "`retain_time` for it to come back, and then go on exactly once; `discard`: they are reported at once."),
    duration("retain_time", &Config::retain_time_ns, {0, 1440 * kMinute},
             "How long messages to an excluded peer wait for it before they are reported."),
    choice("on_uncertain", &Config::on_uncertain, kOnUncertain,
           "What becomes of messages of which nobody can know whether the peer has them, since it had to forget this "
           "node: `report` them as uncertain, or `resend` them, perhaps twice."),
    duration("conn_expiry", &Config::conn_expiry_ns, {0, 1440 * kMinute},
             "Connections over which no message has passed for so long are closed; the next message opens a new one "
             "without delay. 0: never."),
    choice("congestion", &Config::congestion, kCongestions,
           "How many packets may be in flight to a peer. `fixed`: as many as `window` says, for links that nobody else "
           "fills; `swift`: as many as keep the measured delay at a target, for networks."),
    duration(
        "swift_base_target", &Config::swift_base_target_ns, {kUs, 10 * kSecond},
        "With `congestion = swift`: the round trip that is aimed at with many packets in flight. It must lie above "
        "that of the path without load: between the two is the queue that is allowed for."),
    duration("swift_fs_range", &Config::swift_fs_range_ns, {0, 10 * kSecond},
             "What is added to that for small windows, at most, so that many flows leave each other room. 0: nothing."),
    decimal("swift_fs_min_cwnd", &Config::swift_fs_min_cwnd_milli, {10, 8'192'000},
            "Packets in flight at which all of `swift_fs_range` is added."),
    decimal("swift_fs_max_cwnd", &Config::swift_fs_max_cwnd_milli, {20, 16'384'000},
            "Packets in flight from which on nothing is added; at least twice `swift_fs_min_cwnd`."),
    decimal("swift_ai", &Config::swift_ai_milli, {1, 100'000},
            "Packets by which the window grows in a round trip while the delay is below the target."),
    decimal("swift_beta", &Config::swift_beta_milli, {1, 1000},
            "By how much of the relative excess over the target the window shrinks: 0.8 of a half is two fifths."),
    decimal("swift_max_mdf", &Config::swift_max_mdf_milli, {1, 999},
            "The largest share by which the window shrinks in a round trip; by so much it does on a loss."),
    decimal("swift_min_cwnd", &Config::swift_min_cwnd_milli, {1, 1000},
            "The smallest window in packets. Less than one: one packet in so many round trips."),
};

// A member of any of the field's types, as one 64-bit number.
std::int64_t number_of(const Config& config, const Key& key) {
    return std::visit(
        [&](auto member) -> std::int64_t {
            if constexpr (std::is_same_v<decltype(member), std::string Config::*>) {
                return 0;
            } else {
                return static_cast<std::int64_t>(config.*member) * key.unit;
            }
        },
        key.field);
}

void set_number(Config& config, const Key& key, std::int64_t value) {
    std::visit(
        [&](auto member) {
            using Member = std::remove_reference_t<decltype(config.*member)>;
            if constexpr (!std::is_same_v<Member, std::string>) {
                config.*member = static_cast<Member>(value / key.unit);
            }
        },
        key.field);
}

std::string number_text(ValueKind kind, std::int64_t value) {
    switch (kind) {
        case ValueKind::duration:
            return protocol::format_duration(Duration::ns(value));
        case ValueKind::size:
            return protocol::format_size(static_cast<std::uint64_t>(value));
        case ValueKind::decimal:
            return protocol::format_thousandths(value);
        default:
            return std::to_string(value);
    }
}

std::string quoted(const Value& value) {
    if (const auto* text = std::get_if<std::string>(&value)) {
        return '\'' + *text + '\'';
    }
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
        return std::to_string(*number);
    }
    return std::get<bool>(value) ? "true" : "false";
}

std::string must_be(const Key& key, const Value& value) {
    return "must be " + allowed_text(key) + ", not " + quoted(value);
}

// The number that a value stands for, if it is written as its kind wants.
std::optional<std::int64_t> read_number(const Key& key, const Value& value, bool typed) {
    const auto* text = std::get_if<std::string>(&value);
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
        if (key.kind == ValueKind::decimal) {
            return protocol::parse_thousandths(std::to_string(*number));
        }
        // A bare number has no unit, and nobody can tell which one was meant.
        const bool unitless = key.kind != ValueKind::duration || *number == 0;
        return unitless ? std::optional(*number) : std::nullopt;
    }
    if (text == nullptr || (typed && key.kind == ValueKind::number)) {
        return std::nullopt;
    }
    if (key.kind == ValueKind::duration) {
        const std::optional<Duration> duration = protocol::parse_duration(*text);
        return duration ? std::optional(duration->ns()) : std::nullopt;
    }
    if (key.kind == ValueKind::size) {
        const std::optional<std::uint64_t> size = protocol::parse_size(*text);
        return size ? std::optional(static_cast<std::int64_t>(*size)) : std::nullopt;
    }
    if (key.kind == ValueKind::decimal) {
        return protocol::parse_thousandths(*text);
    }
    return protocol::parse_integer(*text);
}

std::optional<std::string> assign_number(Config& config, const Key& key, const Value& value, bool typed) {
    const std::optional<std::int64_t> number = read_number(key, value, typed);
    if (!number) {
        return must_be(key, value);
    }
    const bool automatic = key.zero_allowed && *number == 0;
    const bool in_range = *number >= key.min && *number <= key.max;
    const bool right_shape = (!key.power_of_two || (*number & (*number - 1)) == 0) &&
                             (key.kind == ValueKind::duration || *number % key.unit == 0);
    if (!automatic && !(in_range && right_shape)) {
        return must_be(key, value);
    }
    set_number(config, key, *number);
    return std::nullopt;
}

std::optional<std::string> assign_choice(Config& config, const Key& key, const Value& value) {
    // TOML's own true and false read naturally where the choices are on and off.
    const auto* flag = std::get_if<bool>(&value);
    const auto* text = std::get_if<std::string>(&value);
    const std::string_view word = flag != nullptr   ? (*flag ? "on"sv : "off"sv)
                                  : text != nullptr ? std::string_view(*text)
                                                    : ""sv;
    const auto found = std::find(key.choices.begin(), key.choices.end(), word);
    if (found == key.choices.end()) {
        std::string wrong = must_be(key, value);
        if (const auto meant = closest(word, key.choices)) {
            wrong += "; did you mean '" + std::string(*meant) + "'?";
        }
        return wrong;
    }
    if (const auto* member = std::get_if<std::string Config::*>(&key.field)) {
        config.*(*member) = *found;
    } else {
        set_number(config, key, found - key.choices.begin());
    }
    return std::nullopt;
}

std::optional<std::string> assign_text(Config& config, const Key& key, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || !key.legal(*text)) {
        return must_be(key, value);
    }
    config.*std::get<std::string Config::*>(key.field) = *text;
    return std::nullopt;
}

}  // namespace

std::span<const Key> config_keys() { return kKeys; }

bool is_legal_name(std::string_view name) {
    return !name.empty() && name.size() <= 63 &&
           std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
}

const Key* find_key(std::string_view name) {
    const auto* const found =
        std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& key) { return key.name == name; });
    return found == kKeys.end() ? nullptr : found;
}

std::optional<std::string> assign(Config& config, const Key& key, const Value& value, bool typed) {
    switch (key.kind) {
        case ValueKind::text:
            return assign_text(config, key, value);
        case ValueKind::choice:
            return assign_choice(config, key, value);
        default:
            return assign_number(config, key, value, typed);
    }
}

std::string value_text(const Config& config, const Key& key) {
    if (const auto* member = std::get_if<std::string Config::*>(&key.field)) {
        return config.*(*member);
    }
    const std::int64_t number = number_of(config, key);
    return key.kind == ValueKind::choice ? std::string(key.choices[static_cast<std::size_t>(number)])
                                         : number_text(key.kind, number);
}

std::string allowed_text(const Key& key) {
    if (key.kind == ValueKind::text) {
        return std::string(key.shape);
    }
    if (key.kind == ValueKind::choice) {
        std::string words;
        for (std::size_t i = 0; i < key.choices.size(); ++i) {
            words += i == 0 ? "" : i + 1 == key.choices.size() ? " or " : ", ";
            words += key.choices[i];
        }
        return words;
    }
    std::string text = key.zero_allowed ? "0 or " : "";
    text += key.kind == ValueKind::duration ? "a duration such as '5ms', "
            : key.kind == ValueKind::size
                ? "a size such as " + std::string(key.unit > 1 ? "'128MiB'" : "1500 or '64KiB'") + ", "
            : key.kind == ValueKind::decimal ? "a number such as 0.5, "
            : key.power_of_two               ? "a power of two, "
                                             : "a whole number, ";
    text += number_text(key.kind, key.min) + " to " + number_text(key.kind, key.max);
    if (key.unit > 1) {
        text += " in steps of " + number_text(key.kind, key.unit);
    }
    return text;
}

std::string configuration_reference() {
    std::string page =
        "# Configuration\n\n"
        "<!-- Written by `bowline keys --markdown`; a test compares the two. -->\n\n"
        "An engine is configured by a TOML file of these keys, or by `-o KEY=VALUE` on the command line, which wins.\n"
        "Durations are a number and its unit (`250ns`, `10us`, `1.5ms`, `2s`, `1min`); sizes are bytes or `64KiB`, "
        "`16MiB`, `1GiB`.\n"
        "An unknown key, a value of the wrong type or out of range is an error that names file, line and key.\n\n"
        "```toml\n"
        "name = \"a\"\n"
        "device = \"af_packet:eth1\"\n"
        "address = \"10.0.0.1/24\"\n\n"
        "[[peer]]\n"
        "name = \"b\"\n"
        "address = \"10.0.0.2\"\n"
        "# mac = \"02:00:00:00:00:02\"   # without it the peer is found by ARP\n"
        "```\n\n"
        "| key | default | allowed | meaning |\n"
        "|---|---|---|---|\n";
    const Config defaults;
    for (const Key& key : kKeys) {
        const std::string value = value_text(defaults, key);
        page += "| `" + std::string(key.name) + "` | " + (value.empty() ? "" : '`' + value + '`') + " | " +
                allowed_text(key) + " | " + std::string(key.help) + " |\n";
    }
    page +=
        "\nEach `[[peer]]` table has `name`, `address` (`A.B.C.D`) and, if ARP is not to be asked, `mac`.\n"
        "On the command line a peer is `--peer NAME=ADDRESS[,MAC]` or `-o peer=NAME=ADDRESS[,MAC]`.\n";
    return page;
}

}  // namespace bowline::engine
