#include "dataplane/dpdk/device_list.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

namespace bowline::dataplane::dpdk {
namespace {

namespace fs = std::filesystem;

std::string read_word(const fs::path& path) {
    std::ifstream in(path);
    std::string word;
    in >> word;
    return word;
}

int read_int(const fs::path& path, int otherwise) {
    std::ifstream in(path);
    int value = 0;
    return in >> value ? value : otherwise;
}

std::string link_name(const fs::path& path) {
    std::error_code ignored;
    return fs::read_symlink(path, ignored).filename().string();
}

/// Names in a directory, in order; none when there is no such directory.
std::vector<std::string> names_in(const fs::path& directory) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
        names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
}

/// CAP_NET_RAW in the effective set, as the kernel prints it.
bool may_use_raw_packets() {
    constexpr unsigned kCapNetRaw = 13;
    std::ifstream in("/proc/self/status");
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("CapEff:")) {
            return ((std::stoull(line.substr(7), nullptr, 16) >> kCapNetRaw) & 1U) != 0;
        }
    }
    return false;
}

void list_interfaces(const fs::path& root, std::vector<DeviceListing>& out) {
    constexpr int kEthernet = 1;  // ARPHRD_ETHER
    const bool privileged = may_use_raw_packets();
    for (const std::string& name : names_in(root / "class/net")) {
        const fs::path net = root / "class/net" / name;
        if (read_int(net / "type", 0) != kEthernet) {
            continue;
        }
        DeviceListing listing;
        listing.device = "af_packet:" + name;
        listing.driver = link_name(net / "device/driver");
        if (listing.driver.empty()) {
            listing.driver = "virtual";
        }
        const std::string state = read_word(net / "operstate");
        listing.link = state == "up" || state == "down" ? state : "unknown";
        listing.mtu = static_cast<std::uint32_t>(std::max(0, read_int(net / "mtu", 0)));
        listing.numa_node = read_int(net / "device/numa_node", -1);
        listing.mac = read_word(net / "address");
        listing.offloads = "none";  // net_af_packet hands on none of the interface's own
        listing.usable = privileged && listing.link != "down";
        listing.note = !privileged              ? "needs CAP_NET_RAW: run as root"
                       : listing.link == "down" ? "is down: ip link set dev " + name + " up"
                                                : "through the kernel";
        out.push_back(std::move(listing));
    }
}

void list_pci(const fs::path& root, std::vector<DeviceListing>& out) {
    for (const std::string& address : names_in(root / "bus/pci/devices")) {
        const fs::path device = root / "bus/pci/devices" / address;
        if (!read_word(device / "class").starts_with("0x02")) {  // network controllers
            continue;
        }
        DeviceListing listing;
        listing.device = "pci:" + address;
        listing.driver = link_name(device / "driver");
        listing.link = "-";
        listing.offloads = "probed";
        listing.numa_node = read_int(device / "numa_node", -1);
        const std::vector<std::string> nets = names_in(device / "net");
        // A bifurcated driver (mlx) stays with the kernel and serves both; everything else is taken from it.
        listing.usable = listing.driver == "vfio-pci" || listing.driver == "uio_pci_generic" ||
                         listing.driver == "igb_uio" || listing.driver.starts_with("mlx");
        if (listing.usable) {
            listing.note = "bound for DPDK";
        } else {
            listing.note = "dpdk-devbind.py --bind=vfio-pci " + address;
            if (!nets.empty()) {
                listing.note += " (takes " + nets.front() + " from the kernel)";
            }
        }
        if (listing.driver.empty()) {
            listing.driver = "none";
        }
        out.push_back(std::move(listing));
    }
}

DeviceListing always(std::string device, std::string driver, bool usable, std::string note,
                     std::string offloads = "none") {
    DeviceListing listing;
    listing.device = std::move(device);
    listing.driver = std::move(driver);
    listing.link = "-";
    listing.usable = usable;
    listing.note = std::move(note);
    listing.offloads = std::move(offloads);
    return listing;
}

}  // namespace

std::vector<DeviceListing> list_devices(const std::string& root) {
    std::vector<DeviceListing> listings;
    list_interfaces(root, listings);
    list_pci(root, listings);
    listings.push_back(
        always("memif:PATH", "net_memif", true, "shared memory between two processes; needs no privilege"));
    listings.push_back(always("ring:NAME", "net_ring", true, "between two engines in one process"));
    const bool tun = access("/dev/net/tun", R_OK | W_OK) == 0 && may_use_raw_packets();
    listings.push_back(always("tap:IFACE", "net_tap", tun,
                              tun ? "makes a kernel interface" : "needs /dev/net/tun and CAP_NET_ADMIN: run as root",
                              "checksums"));
    listings.push_back(always("null", "net_null", true, "takes everything, receives nothing"));
    return listings;
}

}  // namespace bowline::dataplane::dpdk
