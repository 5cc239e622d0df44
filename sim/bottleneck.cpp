#include "sim/bottleneck.hpp"

#include <algorithm>

#include "protocol/check.hpp"

namespace bowline::sim {

namespace {

/// Bits of a byte times nanoseconds of a second: bytes times this, divided by bit/s, are nanoseconds.
constexpr std::uint64_t kBitNs = 8'000'000'000;

}  // namespace

Bottleneck::Bottleneck(const Config& config) : config_(config) {
    BOWLINE_CHECK(config.rate_bps >= 1000 && config.queue_bytes > kWireOverhead);
    reset_figures();
}

Duration Bottleneck::time_of(std::uint64_t bytes) const {
    return Duration::ns(static_cast<std::int64_t>((bytes * kBitNs + config_.rate_bps - 1) / config_.rate_bps));
}

std::optional<Time> Bottleneck::pass(Time now, std::size_t frame_bytes) {
    const std::size_t bytes = frame_bytes + kWireOverhead;
    const Duration wait = free_at_ > now ? free_at_ - now : Duration();
    // What is left to be sent takes `wait`. Compared as times, so that nothing is rounded the wrong way.
    if (wait + time_of(bytes) > time_of(config_.queue_bytes)) {
        ++figures_.dropped;
        return std::nullopt;
    }
    free_at_ = now + wait + time_of(bytes);
    ++figures_.frames;
    figures_.wire_bytes += bytes;
    figures_.wait_sum = figures_.wait_sum + wait;
    figures_.wait_max = std::max(figures_.wait_max, wait);
    ++figures_.waits_us[static_cast<std::size_t>(wait.ns() / 1000)];
    return free_at_;
}

void Bottleneck::reset_figures() {
    figures_ = {};
    figures_.waits_us.assign(static_cast<std::size_t>(time_of(config_.queue_bytes).ns() / 1000) + 1, 0);
}

Duration Bottleneck::wait_quantile(std::uint32_t per_mille) const {
    const std::uint64_t wanted = (figures_.frames * per_mille + 999) / 1000;
    std::uint64_t seen = 0;
    for (std::size_t us = 0; us < figures_.waits_us.size(); ++us) {
        seen += figures_.waits_us[us];
        if (seen >= wanted && seen > 0) {
            return Duration::us(static_cast<std::int64_t>(us) + 1);
        }
    }
    return Duration();
}

double Bottleneck::utilisation(Duration duration) const {
    return static_cast<double>(figures_.wire_bytes) * static_cast<double>(kBitNs) /
           (static_cast<double>(config_.rate_bps) * static_cast<double>(duration.ns()));
}

}  // namespace bowline::sim
