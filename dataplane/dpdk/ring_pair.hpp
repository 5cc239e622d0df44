#pragma once

#include <cstdint>
#include <string>

#include "bowline/result.hpp"

namespace bowline::dataplane::dpdk {

/// One end of a `ring:NAME`: two devices of one process that are each other's other end. What one sends the other
/// receives, the very packet, without a copy. The first to open a name is one end, the second the other; a third is
/// refused. An end whose other is not there yet behaves as a wire that nobody listens to: it fills, then takes no more.
///
/// Thread: any, one at a time.
class RingEnd {
public:
    static Result<RingEnd> open(const std::string& name, std::uint16_t queue_pairs, std::uint16_t depth_packets);
    RingEnd() = default;
    ~RingEnd() { close(); }
    RingEnd(RingEnd&& other) noexcept;
    RingEnd& operator=(RingEnd&& other) noexcept;
    RingEnd(const RingEnd&) = delete;
    RingEnd& operator=(const RingEnd&) = delete;

    [[nodiscard]] bool is_open() const { return !name_.empty(); }
    [[nodiscard]] std::uint16_t port_id() const { return port_id_; }
    /// After the device is closed, before its pools are retired. The last end takes the rings with it and frees what
    /// still stands in them.
    void close();

private:
    std::string name_;
    int end_ = 0;
    std::uint16_t port_id_ = 0;
};

}  // namespace bowline::dataplane::dpdk
