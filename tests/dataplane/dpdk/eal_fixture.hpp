#pragma once

#include <memory>
#include <string_view>

#include <gtest/gtest.h>

#include "dataplane/dpdk/device.hpp"
#include "dataplane/dpdk/eal.hpp"

namespace bowline::dataplane::dpdk {

/// DPDK for this whole program, started with the first test that asks for it: it can be once a process.
inline const Result<EalInfo>& test_eal() {
    static const Result<EalInfo> eal = [] {
        EalOptions options;
        options.hugepages = EalOptions::Hugepages::off;
        options.memory_mb = 128;
        return start_eal(options, {});
    }();
    return eal;
}

inline DeviceOptions small_device() {
    DeviceOptions options;
    options.rx_descriptors = 256;
    options.tx_descriptors = 256;
    options.pool_packets = 1023;
    return options;
}

inline std::unique_ptr<Device> open_device(std::string_view text, const DeviceOptions& options = small_device()) {
    EXPECT_TRUE(test_eal()) << (test_eal() ? "" : test_eal().error().message);
    auto spec = parse_device_spec(text);
    EXPECT_TRUE(spec) << (spec ? "" : spec.error().message);
    if (!test_eal() || !spec) {
        return nullptr;
    }
    auto device = Device::open(*spec, options);
    EXPECT_TRUE(device) << (device ? "" : device.error().message);
    return device ? std::move(*device) : nullptr;
}

}  // namespace bowline::dataplane::dpdk
