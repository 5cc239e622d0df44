#include "sim/explore.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace bowline::sim {
namespace {

TEST(Explore, SameSeedIsTheSameRun) {
    Arena first;
    Arena second;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const SeedResult a = explore_seed(seed, first);
        // An arena that others have used must not show.
        const SeedResult b = explore_seed(seed, seed % 2 == 0 ? second : first);
        EXPECT_EQ(a.trace_hash, b.trace_hash) << seed;
        EXPECT_EQ(a.events, b.events) << seed;
        EXPECT_EQ(a.delivered, b.delivered) << seed;
    }
}

TEST(Explore, TracingDoesNotChangeARun) {
    Arena arena;
    std::size_t lines = 0;
    const SeedResult traced = explore_seed(3, arena, [&lines](const std::string&) { ++lines; });
    EXPECT_EQ(traced.trace_hash, explore_seed(3, arena).trace_hash);
    EXPECT_GT(lines, 20U);
}

TEST(Explore, OtherSeedsAreOtherRuns) {
    Arena arena;
    EXPECT_NE(explore_seed(1, arena).trace_hash, explore_seed(2, arena).trace_hash);
}

TEST(Explore, ThousandSeedsKeepTheContract) {
    const ExploreTotals totals =
        explore({.first = 1, .last = 1000, .jobs = std::thread::hardware_concurrency()}, [](const SeedResult& result) {
            ADD_FAILURE() << "seed " << result.seed << ": " << result.failure
                          << "\nagain: " << replay_command(result.seed);
        });
    EXPECT_EQ(totals.seeds, 1000U);
    EXPECT_EQ(totals.failed, 0U);
    // It is worth something only if messages came through, and if some did not.
    EXPECT_GT(totals.delivered, 50'000U);
    EXPECT_GT(totals.reported, 1'000U);
}

// What was given up before it was packed took no seqno, so that the next message came under its number.
TEST(Explore, SeedsThatFoundMessagesUnderAnotherNumberKeepTheContract) {
    Arena arena;
    for (const std::uint64_t seed : {1277U, 1807U, 2592U, 4064U, 5275U, 5330U, 5599U}) {
        EXPECT_EQ(explore_seed(seed, arena).failure, "") << replay_command(seed);
    }
}

}  // namespace
}  // namespace bowline::sim
