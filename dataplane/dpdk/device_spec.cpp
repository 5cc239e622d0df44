#include "dataplane/dpdk/device_spec.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <filesystem>
#include <optional>

namespace bowline::dataplane::dpdk {
namespace {

struct Prefix {
    std::string_view text;
    DeviceKind kind;
    std::string_view driver;   ///< DPDK's name of it, to which a number is appended
    std::string_view expects;  ///< for messages: what stands after the colon
};

constexpr std::array kPrefixes{
    Prefix{"pci", DeviceKind::pci, "", "a PCI address such as 0000:3b:00.0"},
    Prefix{"af_packet", DeviceKind::af_packet, "net_af_packet", "the name of a kernel interface"},
    Prefix{"af_xdp", DeviceKind::af_xdp, "net_af_xdp", "the name of a kernel interface"},
    Prefix{"tap", DeviceKind::tap, "net_tap", "the name of the interface to create"},
    Prefix{"memif", DeviceKind::memif, "net_memif", "the path of a socket"},
    Prefix{"ring", DeviceKind::ring, "", "a name that both ends use"},
    Prefix{"pcap", DeviceKind::pcap, "net_pcap", "the name of a kernel interface"},
};

constexpr std::string_view kForms =
    "pci:ADDRESS, af_packet:IFACE, af_xdp:IFACE, tap:IFACE, pcap:IFACE, memif:PATH[,role=server|client], ring:NAME, "
    "null, a DPDK device such as net_af_packet0,iface=eth0, a PCI address or a MAC address";

constexpr std::size_t kInterfaceNameMax = 15;  // IFNAMSIZ less the terminator
constexpr std::size_t kSocketPathMax = 107;    // sun_path less the terminator
constexpr std::size_t kRingNameMax = 20;       // what DPDK's ring names leave of 32 characters

Error wrong(std::string_view text, const std::string& what) {
    return {Error::Kind::configuration, "device '" + std::string(text) + "': " + what};
}

bool is_hex(std::string_view s) {
    return !s.empty() && std::ranges::all_of(s, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

/// The full, lower-case form of [DDDD:]BB:DD.F, or nothing.
std::optional<std::string> pci_address(std::string_view s) {
    std::string full = (std::ranges::count(s, ':') == 1 ? "0000:" : "") + std::string(s);
    std::ranges::transform(full, full.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::string_view f = full;
    const bool right = f.size() == 12 && is_hex(f.substr(0, 4)) && f[4] == ':' && is_hex(f.substr(5, 2)) &&
                       f[7] == ':' && is_hex(f.substr(8, 2)) && f[10] == '.' && f[11] >= '0' && f[11] <= '7';
    return right ? std::optional(full) : std::nullopt;
}

bool is_mac(std::string_view s) {
    if (s.size() != 17) {
        return false;
    }
    for (std::size_t i = 0; i < s.size(); ++i) {
        if (i % 3 == 2 ? s[i] != ':' : std::isxdigit(static_cast<unsigned char>(s[i])) == 0) {
            return false;
        }
    }
    return true;
}

bool is_interface_name(std::string_view s) {
    return !s.empty() && s.size() <= kInterfaceNameMax && s != "." && s != ".." &&
           std::ranges::all_of(s, [](unsigned char c) { return std::isgraph(c) != 0 && c != '/' && c != ':'; });
}

std::vector<std::string_view> split(std::string_view s, char at) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t end = s.find(at);
        parts.push_back(s.substr(0, end));
        if (end == std::string_view::npos) {
            return parts;
        }
        s.remove_prefix(end + 1);
    }
}

/// Takes the memif's role out of the options: it is ours to settle, not the driver's.
Result<void> take_role(DeviceSpec& spec) {
    for (auto option = spec.options.begin(); option != spec.options.end(); ++option) {
        if (option->first == "socket" || option->first == "socket-abstract") {
            return wrong(spec.text, "'" + option->first + "' is set by what stands after 'memif:'; leave it out");
        }
    }
    const auto role = std::ranges::find(spec.options, "role", &std::pair<std::string, std::string>::first);
    if (role == spec.options.end()) {
        return {};
    }
    if (role->second == "server") {
        spec.role = MemifRole::server;
    } else if (role->second == "client") {
        spec.role = MemifRole::client;
    } else if (role->second != "auto") {
        return wrong(spec.text, "role is 'server', 'client' or 'auto', not '" + role->second + "'");
    }
    spec.options.erase(role);
    return {};
}

Result<void> check_target(DeviceSpec& spec, const Prefix& prefix) {
    const std::string expected =
        "expected " + std::string(prefix.expects) + " after '" + std::string(prefix.text) + ":'";
    if (spec.target.empty()) {
        return wrong(spec.text, expected);
    }
    switch (spec.kind) {
        case DeviceKind::pci: {
            const auto address = pci_address(spec.target);
            if (!address) {
                return wrong(spec.text, expected + ", not '" + spec.target + "'");
            }
            spec.target = *address;
            return {};
        }
        case DeviceKind::memif: {
            spec.target = std::filesystem::absolute(spec.target).lexically_normal().string();
            if (spec.target.size() > kSocketPathMax) {
                return wrong(spec.text, "the socket's path has " + std::to_string(spec.target.size()) +
                                            " characters and the system takes " + std::to_string(kSocketPathMax));
            }
            return take_role(spec);
        }
        case DeviceKind::ring:
            if (spec.target.size() > kRingNameMax) {
                return wrong(spec.text, "a ring's name has at most " + std::to_string(kRingNameMax) + " characters");
            }
            return {};
        default:
            if (!is_interface_name(spec.target)) {
                return wrong(spec.text, expected + " (1 to 15 characters), not '" + spec.target + "'");
            }
            return {};
    }
}

void add_default(std::vector<std::pair<std::string, std::string>>& args, std::string_view key, std::string value) {
    if (std::ranges::find(args, key, &std::pair<std::string, std::string>::first) == args.end()) {
        args.emplace_back(key, std::move(value));
    }
}

/// The kernel maps af_packet's ring in blocks; the driver walks it as one array of frames, so frames must fill blocks
/// without a rest: powers of two, and a count that is a multiple of the frames in a block. A frame's slot also holds
/// the kernel's header (66 bytes before the Ethernet header on receive).
void add_af_packet_defaults(std::vector<std::pair<std::string, std::string>>& args, const DriverNeeds& needs) {
    constexpr std::uint32_t kKernelHeader = 80;
    constexpr std::uint32_t kBlock = 64U << 10U;
    const auto given = [&args](std::string_view key, std::uint32_t otherwise) {
        const auto it = std::ranges::find(args, key, &std::pair<std::string, std::string>::first);
        std::uint32_t value = 0;
        if (it != args.end()) {
            for (const char c : it->second) {
                value = c >= '0' && c <= '9' ? value * 10 + static_cast<std::uint32_t>(c - '0') : 0;
            }
        }
        return value != 0 ? value : otherwise;
    };
    const std::uint32_t frame = given("framesz", std::max(2048U, std::bit_ceil(needs.frame_bytes + kKernelHeader)));
    const std::uint32_t block = given("blocksz", std::max(kBlock, std::bit_ceil(frame)));
    const std::uint32_t per_block = std::max(1U, block / frame);
    const std::uint32_t frames = std::max<std::uint32_t>(per_block, needs.descriptors / per_block * per_block);
    add_default(args, "blocksz", std::to_string(block));
    add_default(args, "framesz", std::to_string(frame));
    add_default(args, "framecnt", std::to_string(frames));
    add_default(args, "qpairs", std::to_string(needs.queue_pairs));
    add_default(args, "qdisc_bypass", "1");
}

}  // namespace

std::string_view to_string(DeviceKind kind) {
    for (const Prefix& prefix : kPrefixes) {
        if (prefix.kind == kind) {
            return prefix.text;
        }
    }
    return kind == DeviceKind::null ? "null" : kind == DeviceKind::mac ? "mac" : "vdev";
}

const std::string* DeviceSpec::option(std::string_view key) const {
    const auto it = std::ranges::find(options, key, &std::pair<std::string, std::string>::first);
    return it == options.end() ? nullptr : &it->second;
}

std::string DeviceSpec::driver_name(unsigned number) const {
    switch (kind) {
        case DeviceKind::pci:
        case DeviceKind::vdev:
            return target;
        case DeviceKind::null:
            return "net_null" + std::to_string(number);
        case DeviceKind::ring:
        case DeviceKind::mac:
            return {};
        default:
            break;
    }
    for (const Prefix& prefix : kPrefixes) {
        if (prefix.kind == kind) {
            return std::string(prefix.driver) + std::to_string(number);
        }
    }
    return {};
}

std::string DeviceSpec::driver_args(const DriverNeeds& needs) const {
    std::vector<std::pair<std::string, std::string>> args;
    switch (kind) {
        case DeviceKind::af_packet:
        case DeviceKind::af_xdp:
        case DeviceKind::tap:
        case DeviceKind::pcap:
            args.emplace_back("iface", target);
            break;
        case DeviceKind::memif:
            args.emplace_back(
                "role", (role == MemifRole::automatic ? needs.role : role) == MemifRole::client ? "client" : "server");
            args.emplace_back("socket", target);
            args.emplace_back("socket-abstract", "no");
            break;
        default:
            break;
    }
    args.insert(args.end(), options.begin(), options.end());
    if (kind == DeviceKind::af_packet) {
        add_af_packet_defaults(args, needs);
    } else if (kind == DeviceKind::memif) {
        // The driver copies a burst at once only when its buffers and ours are of one size.
        add_default(args, "bsize", std::to_string(needs.buffer_bytes));
        add_default(args, "rsize", std::to_string(std::bit_width(needs.descriptors) - 1));
    } else if (kind == DeviceKind::null && options.empty()) {
        add_default(args, "no-rx", "1");  // else the driver makes packets of zeros up as fast as they are asked for
    }
    std::string joined;
    for (const auto& [key, value] : args) {
        joined += (joined.empty() ? "" : ",") + key + "=" + value;
    }
    return joined;
}

std::string DeviceSpec::vdev(unsigned number, const DriverNeeds& needs) const {
    const std::string args = driver_args(needs);
    return driver_name(number) + (args.empty() ? "" : "," + args);
}

Result<DeviceSpec> parse_device_spec(std::string_view text) {
    DeviceSpec spec;
    spec.text = std::string(text);
    if (text.empty()) {
        return wrong(text, "no device is named; expected " + std::string(kForms));
    }
    const std::vector<std::string_view> parts = split(text, ',');
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const std::size_t equals = parts[i].find('=');
        if (equals == 0 || equals == std::string_view::npos) {
            return wrong(text, "expected key=value after a comma, not '" + std::string(parts[i]) + "'");
        }
        spec.options.emplace_back(parts[i].substr(0, equals), parts[i].substr(equals + 1));
    }
    const std::string_view head = parts[0];
    for (const Prefix& prefix : kPrefixes) {
        if (head.starts_with(prefix.text) && head.substr(prefix.text.size()).starts_with(':')) {
            spec.kind = prefix.kind;
            spec.target = std::string(head.substr(prefix.text.size() + 1));
            if (auto checked = check_target(spec, prefix); !checked) {
                return checked.error();
            }
            return spec;
        }
        if (head == prefix.text) {
            return wrong(text, "expected " + std::string(prefix.text) + ":, then " + std::string(prefix.expects));
        }
    }
    if (head == "null") {
        spec.kind = DeviceKind::null;
    } else if (const auto address = pci_address(head)) {
        spec.kind = DeviceKind::pci;
        spec.target = *address;
    } else if (is_mac(head)) {
        spec.kind = DeviceKind::mac;
        spec.target = std::string(head);
        std::ranges::transform(spec.target, spec.target.begin(),
                               [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    } else if (head.starts_with("net_") && head.size() > 4 &&
               std::isdigit(static_cast<unsigned char>(head.back())) != 0) {
        spec.kind = DeviceKind::vdev;
        spec.target = std::string(head);
    } else if (head.starts_with("net_")) {
        return wrong(text, "a DPDK device's name ends in a number, such as '" + std::string(head) + "0'");
    } else if (head.find(':') == std::string_view::npos && is_interface_name(head)) {
        return wrong(text, "no such kind of device; for the kernel interface of that name write 'af_packet:" +
                               std::string(head) + "', else one of " + std::string(kForms));
    } else {
        return wrong(text, "expected " + std::string(kForms));
    }
    return spec;
}

}  // namespace bowline::dataplane::dpdk
