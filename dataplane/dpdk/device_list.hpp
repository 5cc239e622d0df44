#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bowline::dataplane::dpdk {

/// A port that could be used, found without starting DPDK.
struct DeviceListing {
    std::string device;     ///< what to write after --device; "memif:PATH" and the like where the user chooses a name
    std::string driver;     ///< the kernel's driver, or what provides a virtual device
    std::string link;       ///< "up", "down", "unknown" or "-"
    std::uint32_t mtu = 0;  ///< bytes; 0: the user's choice
    int numa_node = -1;     ///< -1: none
    std::string mac;        ///< or empty
    std::string offloads;   ///< that the engine would use: "checksums", "none", or "probed" where opening it will tell
    bool usable = false;    ///< as things stand, by this process
    std::string note;       ///< what it is good for, or what must be done first
};

/// Kernel interfaces (for af_packet), PCI network devices with what they are bound to, and the virtual kinds that are
/// always there. Reads /sys only. `root` is where /sys is mounted.
std::vector<DeviceListing> list_devices(const std::string& root = "/sys");

}  // namespace bowline::dataplane::dpdk
