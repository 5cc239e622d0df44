#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace bowline::bench {

/// Counts of durations in buckets that are at most 1/64 of their value wide: small enough to stay in the cache while it
/// records, fine enough for percentiles. Any unit.
class Histogram {
public:
    void record(std::uint64_t value) {
        ++counts_[index(value)];
        ++count_;
        max_ = value > max_ ? value : max_;
    }

    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] std::uint64_t max() const { return max_; }

    /// The upper edge of the bucket that holds the smallest `percent` of all; 0 when nothing was recorded.
    [[nodiscard]] std::uint64_t percentile(double percent) const {
        const auto wanted = static_cast<std::uint64_t>(static_cast<double>(count_) * percent / 100.0);
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            seen += counts_[i];
            if (seen > wanted) {
                const std::uint64_t edge = upper_edge(i);
                return edge < max_ ? edge : max_;
            }
        }
        return max_;
    }

private:
    static constexpr unsigned kSubBits = 6;
    static constexpr std::uint64_t kSub = 1U << kSubBits;

    static std::size_t index(std::uint64_t value) {
        if (value < kSub) {
            return static_cast<std::size_t>(value);
        }
        const auto shift = static_cast<unsigned>(std::bit_width(value)) - 1U - kSubBits;
        return static_cast<std::size_t>((shift + 1U) * kSub + ((value >> shift) - kSub));
    }
    static std::uint64_t upper_edge(std::size_t i) {
        if (i < kSub) {
            return i;
        }
        const std::uint64_t shift = i / kSub - 1;
        return ((i % kSub + kSub + 1) << shift) - 1;
    }

    std::array<std::uint64_t, (64 - kSubBits + 1) * kSub> counts_{};
    std::uint64_t count_ = 0;
    std::uint64_t max_ = 0;
};

}  // namespace bowline::bench
