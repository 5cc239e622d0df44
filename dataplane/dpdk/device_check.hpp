#pragma once

#include <cstdint>
#include <string>

#include "bowline/result.hpp"
#include "dataplane/dpdk/device_spec.hpp"

namespace bowline::dataplane::dpdk {

/// Looks for what would make the driver fail, before it does and in words of our own: no such interface, no
/// privilege, an interface whose MTU is too small, a PCI device that is absent or bound to a kernel driver.
Result<void> check_device(const DeviceSpec& spec, std::uint32_t mtu);

/// What the kernel says of an interface, in the caller's network namespace.
struct InterfaceState {
    bool exists = false;
    bool running = false;   ///< up, with a carrier
    std::uint32_t mtu = 0;  ///< bytes
};
InterfaceState interface_state(const std::string& name);

}  // namespace bowline::dataplane::dpdk
