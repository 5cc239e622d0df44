#include "dataplane/dpdk/device_check.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bowline::dataplane::dpdk {
namespace {

Error failed(Error::Kind kind, const DeviceSpec& spec, const std::string& what) {
    return {kind, "device '" + spec.text + "': " + what};
}

std::string interfaces() {
    std::string names;
    if (struct if_nameindex* list = if_nameindex(); list != nullptr) {
        for (const struct if_nameindex* i = list; i->if_index != 0; ++i) {
            names += (names.empty() ? "" : ", ") + std::string(i->if_name);
        }
        if_freenameindex(list);
    }
    return names.empty() ? "none" : names;
}

bool may_open_packet_socket(std::string& why_not) {
    const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        why_not = std::strerror(errno);
        return false;
    }
    close(fd);
    return true;
}

Result<void> check_interface(const DeviceSpec& spec, std::uint32_t mtu) {
    const InterfaceState state = interface_state(spec.target);
    if (!state.exists) {
        return failed(Error::Kind::configuration, spec,
                      "there is no interface '" + spec.target + "' here; there are: " + interfaces());
    }
    if (state.mtu < mtu) {
        return failed(Error::Kind::configuration, spec,
                      "mtu asked for: " + std::to_string(mtu) + ", of interface '" + spec.target +
                          "': " + std::to_string(state.mtu) + "; set mtu = " + std::to_string(state.mtu) +
                          ", or run 'ip link set dev " + spec.target + " mtu " + std::to_string(mtu) + "'");
    }
    std::string why_not;
    if (!may_open_packet_socket(why_not)) {
        return failed(Error::Kind::system, spec,
                      "raw packets need the privilege CAP_NET_RAW (" + why_not +
                          "): run as root, or once 'sudo setcap cap_net_raw,cap_net_admin+ep PROGRAM'; without it "
                          "memif: and ring: "
                          "devices work");
    }
    return {};
}

Result<void> check_tap(const DeviceSpec& spec) {
    if (interface_state(spec.target).running) {
        return failed(Error::Kind::system, spec,
                      "interface '" + spec.target + "' exists and is in use: choose another name");
    }
    if (access("/dev/net/tun", R_OK | W_OK) != 0) {
        return failed(Error::Kind::system, spec,
                      std::string("cannot use /dev/net/tun (") + std::strerror(errno) +
                          "): run as root, load the module with 'modprobe tun'");
    }
    return {};
}

Result<void> check_pci(const DeviceSpec& spec) {
    namespace fs = std::filesystem;
    const fs::path device = fs::path("/sys/bus/pci/devices") / spec.target;
    std::error_code ignored;
    if (!fs::exists(device, ignored)) {
        return failed(Error::Kind::configuration, spec,
                      "there is no PCI device " + spec.target + "; 'bowline devices' lists those that there are");
    }
    const std::string driver = fs::read_symlink(device / "driver", ignored).filename().string();
    // Mellanox and Microsoft devices are used beside their kernel driver, all others in its place.
    const bool usable =
        driver == "vfio-pci" || driver == "uio_pci_generic" || driver == "igb_uio" || driver.starts_with("mlx");
    if (!usable) {
        std::string interface;
        for (const auto& entry : fs::directory_iterator(device / "net", ignored)) {
            interface = entry.path().filename().string();
        }
        return failed(Error::Kind::system, spec,
                      (driver.empty() ? std::string("it is bound to no driver")
                                      : "it is bound to the kernel's driver " + driver) +
                          ": run 'dpdk-devbind.py --bind=vfio-pci " + spec.target + "'" +
                          (interface.empty() ? ""
                                             : " (this takes interface " + interface +
                                                   " away from the kernel), or use af_packet:" + interface));
    }
    if (driver == "vfio-pci") {
        const std::string group = fs::read_symlink(device / "iommu_group", ignored).filename().string();
        const std::string node = "/dev/vfio/" + group;
        if (!group.empty() && fs::exists(node, ignored) && access(node.c_str(), R_OK | W_OK) != 0) {
            return failed(Error::Kind::system, spec,
                          "no right to " + node + ": run as root, or 'chown' it to this user");
        }
    }
    return {};
}

}  // namespace

InterfaceState interface_state(const std::string& name) {
    InterfaceState state;
    if (name.size() >= IFNAMSIZ) {
        return state;
    }
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return state;
    }
    ifreq request{};
    std::memcpy(request.ifr_name, name.c_str(), name.size() + 1);
    if (ioctl(fd, SIOCGIFFLAGS, &request) == 0) {
        state.exists = true;
        const auto flags = static_cast<unsigned short>(request.ifr_flags);
        state.running = (flags & IFF_UP) != 0 && (flags & IFF_RUNNING) != 0;
    }
    if (ioctl(fd, SIOCGIFMTU, &request) == 0) {
        state.mtu = static_cast<std::uint32_t>(request.ifr_mtu);
    }
    close(fd);
    return state;
}

Result<void> check_device(const DeviceSpec& spec, std::uint32_t mtu) {
    switch (spec.kind) {
        case DeviceKind::af_packet:
        case DeviceKind::af_xdp:
        case DeviceKind::pcap:
            return check_interface(spec, mtu);
        case DeviceKind::tap:
            return check_tap(spec);
        case DeviceKind::pci:
            return check_pci(spec);
        default:
            return {};
    }
}

}  // namespace bowline::dataplane::dpdk
