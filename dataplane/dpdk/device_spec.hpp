#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bowline/result.hpp"

namespace bowline::dataplane::dpdk {

enum class DeviceKind : std::uint8_t { pci, af_packet, af_xdp, tap, memif, ring, pcap, null, vdev, mac };

/// Which end of a memif this process is. The two differ only in who listens and whose memory holds the rings.
enum class MemifRole : std::uint8_t {
    automatic,  ///< server unless somebody listens on the socket already
    server,
    client,
};

/// What a driver needs to know of the ports that it is asked for, beyond the device's own name.
struct DriverNeeds {
    std::uint32_t frame_bytes = 1518;   ///< largest frame, Ethernet header and VLAN tag included, FCS not
    std::uint32_t buffer_bytes = 2048;  ///< room for a frame in one packet buffer
    std::uint16_t queue_pairs = 1;
    std::uint16_t descriptors = 2048;       ///< a ring, a power of two
    MemifRole role = MemifRole::automatic;  ///< what was settled when the specification leaves it open
};

/// A device as a user names it, understood. A plain value; no DPDK is needed to make or read one.
///
///   pci:0000:3b:00.0   af_packet:IFACE   af_xdp:IFACE   tap:IFACE   pcap:IFACE
///   memif:PATH[,role=server|client]      ring:NAME      null
///   net_af_packet0,iface=eth0            0000:3b:00.0   aa:bb:cc:dd:ee:ff
///
/// Each may be followed by `,key=value` pairs, which go to the driver as they are and win over our defaults.
struct DeviceSpec {
    DeviceKind kind = DeviceKind::null;
    std::string text;    ///< as the user wrote it; for messages
    std::string target;  ///< interface, socket path, ring name, PCI address, MAC or DPDK name; empty for null
    MemifRole role = MemifRole::automatic;
    std::vector<std::pair<std::string, std::string>> options;  ///< for the driver, in the user's order

    /// True when packets pass between processes or threads in memory, where nothing can corrupt them on the way:
    /// `integrity = auto` skips checksums there.
    [[nodiscard]] bool shares_memory() const { return kind == DeviceKind::memif || kind == DeviceKind::ring; }
    /// True when EAL must look at the PCI bus.
    [[nodiscard]] bool on_pci() const { return kind == DeviceKind::pci || kind == DeviceKind::mac; }
    /// The driver's instance name: `prefix` and `number` for a device that DPDK creates (net_memif0), the given
    /// name or address else. Empty for a ring, which no driver argument creates, and for a MAC, which is looked up.
    [[nodiscard]] std::string driver_name(unsigned number) const;
    /// The driver's arguments (`iface=eth0,blocksz=...`), defaults filled in for what the user left out.
    [[nodiscard]] std::string driver_args(const DriverNeeds& needs) const;
    /// Both, as `--vdev` would take them.
    [[nodiscard]] std::string vdev(unsigned number, const DriverNeeds& needs) const;
    /// The value of a driver option that the user gave, or nullptr.
    [[nodiscard]] const std::string* option(std::string_view key) const;
};

/// Understands a device's name. The error says what was expected in place of what was found.
Result<DeviceSpec> parse_device_spec(std::string_view text);

/// "af_packet", "memif", ...: the short form's prefix.
std::string_view to_string(DeviceKind kind);

}  // namespace bowline::dataplane::dpdk
