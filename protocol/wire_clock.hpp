#pragma once

#include <cstdint>

#include "protocol/time.hpp"

namespace bowline::protocol {

/// A moment as packets carry it: units of 256 ns, low 32 bits. It wraps after 18 minutes, far beyond the life of a
/// packet in a network (2 minutes, RFC 793), and is fine enough to tell a retransmission from its original.
constexpr std::uint32_t wire_timestamp(Time time) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(time.ns()) >> 8U);
}

/// Serial comparison (RFC 1982) of two wire timestamps.
constexpr bool timestamp_before(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) < 0; }

/// How long before `now` a timestamp was taken, for one that was: right up to the whole range, 18 minutes.
constexpr Duration elapsed_since(std::uint32_t timestamp, Time now) {
    return Duration::ns(static_cast<std::int64_t>(wire_timestamp(now) - timestamp) << 8U);
}

/// Half of the timestamps' range: beyond it two of them cannot be compared.
inline constexpr Duration kTimestampHorizon = Duration::ns(std::int64_t{1} << (31 + 8));

}  // namespace bowline::protocol
