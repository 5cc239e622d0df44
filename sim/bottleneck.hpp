#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/clock.hpp"

namespace bowline::sim {

/// A queue that the frames of several links pass on their way, such as the port of a switch: first come, first served,
/// at a rate. What finds no room is dropped.
///
/// It plans no events: when a frame leaves is known when it comes.
class Bottleneck {
public:
    struct Config {
        std::uint64_t rate_bps = 0;     ///< bit/s on the wire
        std::uint32_t queue_bytes = 0;  ///< that wait or are being sent
    };
    /// What it has seen since it was made, or since reset_figures().
    struct Figures {
        std::uint64_t frames = 0;  ///< passed
        std::uint64_t wire_bytes = 0;
        std::uint64_t dropped = 0;
        Duration wait_sum;  ///< of the passed: until their own first bit left
        Duration wait_max;
        std::vector<std::uint32_t> waits_us;  ///< how many waited so many whole microseconds
    };

    explicit Bottleneck(const Config& config);

    /// When the last bit of a frame that comes `now` has left; nothing when it is dropped.
    [[nodiscard]] std::optional<Time> pass(Time now, std::size_t frame_bytes);

    [[nodiscard]] const Figures& figures() const { return figures_; }
    void reset_figures();
    /// The wait that so many of a thousand passed frames did not exceed, rounded up to a microsecond.
    [[nodiscard]] Duration wait_quantile(std::uint32_t per_mille) const;
    /// The share of `duration` for which it was sending, by what has passed.
    [[nodiscard]] double utilisation(Duration duration) const;

    /// What Ethernet adds to a frame on the wire: preamble, checksum, and the gap between two (IEEE 802.3).
    static constexpr std::size_t kWireOverhead = 8 + 4 + 12;

private:
    [[nodiscard]] Duration time_of(std::uint64_t bytes) const;

    Config config_;
    Time free_at_;  ///< everything taken has left
    Figures figures_;
};

}  // namespace bowline::sim
