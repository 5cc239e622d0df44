#include "tools/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace bowline::tools {
namespace {

TEST(Histogram, IsEmptyAtFirst) {
    const Histogram histogram;
    EXPECT_EQ(histogram.count(), 0U);
    EXPECT_EQ(histogram.percentile(50), 0U);
    EXPECT_EQ(histogram.min(), 0U);
    EXPECT_EQ(histogram.max(), 0U);
}

TEST(Histogram, IsExactBelowTwoMicroseconds) {
    Histogram histogram;
    for (std::uint64_t ns = 1; ns <= 2000; ++ns) {
        histogram.record(ns);
    }
    EXPECT_EQ(histogram.percentile(50), 1000U);
    EXPECT_EQ(histogram.percentile(99.9), 1998U);
    EXPECT_EQ(histogram.percentile(100), 2000U);
    EXPECT_EQ(histogram.percentile(0), 1U);
}

TEST(Histogram, TellsASingleSampleExactlyWhateverItsSize) {
    for (const std::uint64_t ns : {std::uint64_t{0}, std::uint64_t{2047}, std::uint64_t{2048},
                                   std::uint64_t{123'456'789}, Histogram::kLargest}) {
        Histogram histogram;
        histogram.record(ns);
        EXPECT_EQ(histogram.percentile(50), ns);
        EXPECT_EQ(histogram.max(), ns);
    }
}

TEST(Histogram, CountsWhatIsBeyondItsRangeAndStillTellsTheMaximum) {
    Histogram histogram;
    histogram.record(5);
    histogram.record(Histogram::kLargest * 2);
    EXPECT_EQ(histogram.count(), 2U);
    EXPECT_EQ(histogram.max(), Histogram::kLargest * 2);
    EXPECT_EQ(histogram.percentile(50), 5U);
    EXPECT_GT(histogram.percentile(100), Histogram::kLargest / 1001 * 1000);
}

// The definition, by sorting.
std::uint64_t exact_percentile(std::vector<std::uint64_t> samples, double percent) {
    std::sort(samples.begin(), samples.end());
    const double rank = std::ceil(percent * static_cast<double>(samples.size()) / 100.0 - 1e-9);
    return samples[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

RC_GTEST_PROP(Histogram, IsWithinAThousandthOfTheSample, ()) {
    Histogram histogram;
    const auto bits = *rc::gen::inRange(1, 40);
    const auto samples = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << bits)));
    for (const std::uint64_t sample : samples) {
        histogram.record(sample);
    }
    for (const double percent : {0.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
        const auto exact = static_cast<double>(exact_percentile(samples, percent));
        RC_ASSERT(std::abs(static_cast<double>(histogram.percentile(percent)) - exact) <= exact / 1000);
    }
}

}  // namespace
}  // namespace bowline::tools
