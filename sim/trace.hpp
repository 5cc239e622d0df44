#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "sim/clock.hpp"
#include "sim/network.hpp"

namespace bowline::sim {

/// `12.345us`, with what is left of a nanosecond's digits: for traces, which are read in columns.
[[nodiscard]] std::string format_time(Time time);

/// A line of the trace: when, which way, what packet, what became of it.
[[nodiscard]] std::string describe(Time now, const FrameInfo& frame, Outcome outcome,
                                   const std::vector<std::string>& names);

/// Writes frames in the classic pcap format with nanoseconds, for Wireshark and tcpdump. `out` outlives it.
class PcapWriter {
public:
    explicit PcapWriter(std::ostream& out);
    void write(Time now, std::span<const std::byte> frame);

private:
    void put32(std::uint32_t value);

    std::ostream& out_;
};

}  // namespace bowline::sim
