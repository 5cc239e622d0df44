#pragma once

#include <cstdint>
#include <string>

namespace bowline::bench {

/// What `limit` was asked to do.
struct LimitOptions {
    enum class Role : std::uint8_t { ping, pong, flood, sink };
    Role role = Role::ping;
    std::string device;
    std::string hugepages = "auto";
    std::uint32_t memory_mb = 0;
    std::uint32_t mtu = 1500;
    std::uint32_t size = 144;          ///< bytes of a frame, Ethernet header included
    std::uint32_t burst = 32;          ///< packets handed to the device at once by flood
    std::uint32_t descriptors = 2048;  ///< a ring
    double seconds = 5;                ///< pong and sink: 0 is for ever
    double wait_seconds = 30;          ///< for the link, and for the first packet
    int cpu = -1;                      ///< to pin the polling thread to; -1: none
    bool verbose = false;
};

}  // namespace bowline::bench
