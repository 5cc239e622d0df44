#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace bowline::tools {

/// A log-linear histogram of durations in nanoseconds, as HdrHistogram has it: exact up to 2,047 ns, then 1,024 buckets
/// an octave, so that what it answers is within 0.05% of the sample. Memory is fixed when it is made (256 KiB) and
/// record() is a shift and an add.
class Histogram {
public:
    /// Samples above are counted as this one; max() still tells the largest.
    static constexpr std::uint64_t kLargest = (std::uint64_t{1} << 40) - 1;  // 18 minutes

    Histogram() : counts_(std::make_unique<std::uint64_t[]>(kBuckets)) {}

    void record(std::uint64_t ns) {
        ++counts_[bucket_of(std::min(ns, kLargest))];
        ++count_;
        max_ = std::max(max_, ns);
        min_ = std::min(min_, ns);
    }

    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] std::uint64_t max() const { return max_; }                    ///< exact; 0 without samples
    [[nodiscard]] std::uint64_t min() const { return count_ == 0 ? 0 : min_; }  ///< exact; 0 without samples

    /// The least value that at least `percent` of the samples do not exceed; 0 without samples.
    [[nodiscard]] std::uint64_t percentile(double percent) const {
        // 99.9 is not a binary fraction: a rank that is whole but for rounding is whole.
        const double exact = percent * static_cast<double>(count_) / 100.0 * (1 - 1e-12);
        const std::uint64_t last = std::max<std::uint64_t>(count_, 1);
        const std::uint64_t rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::ceil(exact)), 1, last);
        std::uint64_t seen = 0;
        for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
            seen += counts_[bucket];
            if (seen >= rank) {
                return std::clamp(middle_of(bucket), min(), max_);
            }
        }
        return 0;
    }

private:
    static constexpr unsigned kOctaveBits = 10;
    static constexpr std::uint64_t kOctave = std::uint64_t{1} << kOctaveBits;
    static constexpr std::size_t kBuckets = kOctave * (40 - kOctaveBits + 1);

    // Values are told apart by their highest 11 bits.
    static constexpr std::size_t bucket_of(std::uint64_t ns) {
        if (ns < 2 * kOctave) {
            return ns;
        }
        const auto shift = static_cast<unsigned>(std::bit_width(ns)) - (kOctaveBits + 1);
        return shift * kOctave + (ns >> shift);
    }
    static constexpr std::uint64_t middle_of(std::size_t bucket) {
        if (bucket < 2 * kOctave) {
            return bucket;
        }
        const std::uint64_t shift = bucket / kOctave - 1;
        const std::uint64_t first = (bucket % kOctave + kOctave) << shift;
        return first + (std::uint64_t{1} << shift) / 2;
    }

    std::unique_ptr<std::uint64_t[]> counts_;
    std::uint64_t count_ = 0;
    std::uint64_t max_ = 0;
    std::uint64_t min_ = ~std::uint64_t{0};
};

}  // namespace bowline::tools
