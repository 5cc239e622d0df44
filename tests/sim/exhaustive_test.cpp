#include "sim/exhaustive.hpp"

#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

#include "protocol/mutant.hpp"
#include "sim/snapshot.hpp"

namespace bowline::sim {
namespace {

unsigned jobs() { return std::max(std::thread::hardware_concurrency(), 1U); }

ExhaustiveBudget budget_of(const char* text) {
    ExhaustiveBudget budget;
    std::string error;
    EXPECT_TRUE(parse_budget(text, budget, error)) << error;
    return budget;
}

struct Bounded {
    const char* budget;
    std::uint64_t states_min;
};

class ExhaustiveTest : public testing::TestWithParam<Bounded> {};

TEST_P(ExhaustiveTest, NoStateBreaksTheContract) {
    const ExhaustiveBudget budget = budget_of(GetParam().budget);
    const ExhaustiveResult result = explore_exhaustively({.budget = budget, .jobs = jobs()});
    EXPECT_EQ(result.violation, "") << replay_command(budget, result.path);
    EXPECT_TRUE(result.complete);
    EXPECT_GE(result.states, GetParam().states_min);
    EXPECT_GT(result.transitions, result.states);
}

// Together they pair each kind of fault with each other; `bowline sim --exhaustive` has all of them at once.
INSTANTIATE_TEST_SUITE_P(
    Budgets, ExhaustiveTest,
    testing::Values(Bounded{"messages_a=3,drops=2,duplicates=1,delays=1", 50'000},
                    Bounded{"messages_a=3,drops=1,delays=1,rotations=1", 20'000},
                    Bounded{"messages_a=2,drops=1,duplicates=1,delays=1,closes=1,breaks=1", 50'000},
                    Bounded{"messages_a=3,drops=1,closes=1,breaks=1,rotations=1", 15'000},
                    Bounded{"messages_a=2,drops=1,duplicates=1,exclusions=1,breaks=1", 10'000},
                    Bounded{"messages_a=2,delays=1,exclusions=1,breaks=1,rotations=1", 50'000},
                    Bounded{"messages_a=1,messages_b=1,drops=1,delays=1,closes=1,breaks=1", 15'000},
                    Bounded{"messages_a=2,drops=1,duplicates=1,forgets=1,breaks=1", 5'000},
                    Bounded{"messages_a=2,drops=1,delays=1,closes=1,exclusions=1,breaks=1,rotations=1", 500'000}));

TEST(Exhaustive, WithoutBudgetForFaultsEverythingArrives) {
    const ExhaustiveResult result = explore_exhaustively({.budget = budget_of("messages_a=1")});
    EXPECT_EQ(result.violation, "");
    EXPECT_EQ(result.states, 4U);  // sent, arrived, an ack due, the ack arrived
    EXPECT_EQ(result.outcomes.size(), 1U);
}

TEST(Exhaustive, RecognisingStatesHidesNoOutcome) {
    for (const char* const text :
         {"messages_a=2,drops=1", "messages_a=1,drops=1,duplicates=1", "messages_a=1,delays=1,rotations=1",
          "messages_a=1,drops=1,exclusions=1,breaks=1", "messages_a=1,closes=1,breaks=1,rotations=1",
          "messages_a=1,delays=1,forgets=1,breaks=1"}) {
        const ExhaustiveBudget budget = budget_of(text);
        const ExhaustiveResult merged = explore_exhaustively({.budget = budget, .jobs = jobs()});
        const ExhaustiveResult every = explore_exhaustively({.budget = budget, .jobs = jobs(), .every_path = true});
        EXPECT_EQ(merged.violation, "") << text;
        EXPECT_EQ(every.violation, "") << text;
        EXPECT_TRUE(every.complete);
        EXPECT_GT(every.states, merged.states) << text;
        EXPECT_EQ(merged.outcomes, every.outcomes) << text;
    }
}

// What is left out of a state's hash is left out rightly: else states would be merged that differ, and what only one of
// them leads to would not be seen.
TEST(Exhaustive, WhatIsHeldToBeOneStateGoesOnAlike) {
    for (const char* const text :
         {"messages_a=2,drops=2,duplicates=1,delays=1", "messages_a=3,drops=1,delays=1,rotations=1",
          "messages_a=3,drops=1,closes=1,breaks=1,rotations=1",
          "messages_a=2,drops=1,duplicates=1,exclusions=1,breaks=1",
          "messages_a=1,messages_b=1,drops=1,delays=1,closes=1,breaks=1",
          "messages_a=2,drops=1,duplicates=1,forgets=1,breaks=1"}) {
        const ExhaustiveResult result =
            explore_exhaustively({.budget = budget_of(text), .jobs = jobs(), .check_alike = true});
        EXPECT_EQ(result.violation, "") << text;
        EXPECT_TRUE(result.complete);
    }
}

TEST(Exhaustive, HowManyLanesExploreDoesNotMatter) {
    const ExhaustiveBudget budget = budget_of("messages_a=2,drops=1,closes=1,breaks=1");
    const ExhaustiveResult one = explore_exhaustively({.budget = budget, .jobs = 1});
    const ExhaustiveResult three = explore_exhaustively({.budget = budget, .jobs = 3});
    EXPECT_EQ(one.states, three.states);
    EXPECT_EQ(one.transitions, three.transitions);
    EXPECT_EQ(one.ends, three.ends);
    EXPECT_EQ(one.outcomes, three.outcomes);
}

TEST(Exhaustive, StopsAtItsBound) {
    const ExhaustiveResult result =
        explore_exhaustively({.budget = budget_of("messages_a=2,drops=1,delays=1"), .states_max = 100});
    EXPECT_EQ(result.states, 100U);
    EXPECT_FALSE(result.complete);
    EXPECT_EQ(result.violation, "");
}

TEST(Exhaustive, StopsWhenAsked) {
    const ExhaustiveResult result = explore_exhaustively({.budget = budget_of("messages_a=2,drops=1,delays=1"),
                                                          .stop = [asked = 0]() mutable { return ++asked == 50; }});
    EXPECT_EQ(result.states, 50U);
    EXPECT_FALSE(result.complete);
}

TEST(Exhaustive, APathCanBeRunAgain) {
    const ExhaustiveBudget budget = budget_of("messages_a=1,drops=1");
    std::vector<std::string> lines;
    EXPECT_EQ(replay_path(budget, {10, 2}, [&](const std::string& line) { lines.push_back(line); }), "");
    ASSERT_GT(lines.size(), 4U);
    EXPECT_EQ(lines[0], "step 1: A sends a message");
    EXPECT_NE(lines[1].find("DATA"), std::string::npos);
    EXPECT_EQ(lines[2], "step 2: A's oldest packet is lost");
    EXPECT_EQ(lines[3], "step 3: time passes");
    EXPECT_NE(replay_path(budget, {2}, [](const std::string&) {}).find("not possible"), std::string::npos);
    EXPECT_EQ(replay_command(budget, {10, 2}), "bowline sim --exhaustive --budget messages_a=1,drops=1 --replay 10,2");
}

TEST(Exhaustive, BudgetsAreNamesOrNumbers) {
    ExhaustiveBudget budget;
    std::string error;
    ASSERT_TRUE(parse_budget("default,messages_b=2", budget, error));
    EXPECT_EQ(budget.messages_a, 3U);
    EXPECT_EQ(budget.messages_b, 2U);
    EXPECT_EQ(budget.drops, 2U);
    ASSERT_TRUE(parse_budget("drops=1", budget, error));
    EXPECT_EQ(format_budget(budget), "drops=1");
    for (const char* const text : {"", "much", "drops", "drops=x", "drops=9", "drops=1,default", "drops=1,,"}) {
        EXPECT_FALSE(parse_budget(text, budget, error)) << text;
        EXPECT_NE(error.find("is no part of a budget"), std::string::npos) << text;
    }
}

// A vector of many pages in the memory, and a number beside it.
class SnapshotMemoryTest : public testing::Test {
protected:
    static constexpr std::size_t kNumbers = 20'000;

    SnapshotMemoryTest() {
        {
            const SnapshotMemory::Use use(memory);
            numbers = new std::vector<int>(kNumbers, 1);
            after = new int(1);
        }
        memory.freeze();
    }

    SnapshotMemory memory;
    std::vector<int>* numbers = nullptr;
    int* after = nullptr;
    SnapshotMemory::Snapshot first;
    SnapshotMemory::Snapshot second;
};

TEST_F(SnapshotMemoryTest, BringsBackWhatWasThereWhereItWas) {
    EXPECT_TRUE(SnapshotMemory::holds(numbers));
    EXPECT_TRUE(SnapshotMemory::holds(numbers->data()));
    memory.save(first);
    const int* const place = numbers->data();
    const std::size_t bytes = memory.bytes();
    {
        const SnapshotMemory::Use use(memory);
        numbers->assign(kNumbers + 1, 7);
    }
    EXPECT_GT(memory.bytes(), bytes);
    memory.restore(first);
    EXPECT_EQ(*numbers, std::vector<int>(kNumbers, 1));
    EXPECT_EQ(numbers->data(), place);
    EXPECT_EQ(memory.bytes(), bytes);
}

TEST_F(SnapshotMemoryTest, WhatIsWrittenOnlyAfterASnapshotIsBroughtBackToo) {
    memory.save(first);
    (*numbers)[10] = 2;
    memory.save(second);
    (*numbers)[11'000] = 3;  // another page
    (*numbers)[200] = 4;     // another block
    *after = 5;
    memory.restore(second);
    EXPECT_EQ((*numbers)[10], 2);
    EXPECT_EQ((*numbers)[11'000], 1);
    EXPECT_EQ((*numbers)[200], 1);
    EXPECT_EQ(*after, 1);
    memory.restore(first);
    EXPECT_EQ(*numbers, std::vector<int>(kNumbers, 1));
    memory.restore(second);
    EXPECT_EQ((*numbers)[10], 2);
}

TEST_F(SnapshotMemoryTest, ASnapshotHoldsWhatHasBeenWrittenAnywhere) {
    for (std::size_t i = 0; i < kNumbers; i += 61) {
        (*numbers)[i] = static_cast<int>(i);
    }
    *after = 2;
    const std::vector<int> written(*numbers);
    memory.save(first);
    memory.reset();
    EXPECT_EQ(*numbers, std::vector<int>(kNumbers, 1));
    EXPECT_EQ(*after, 1);
    memory.restore(first);
    EXPECT_EQ(*numbers, written);
    EXPECT_EQ(*after, 2);
}

TEST_F(SnapshotMemoryTest, WhatIsAllocatedLaterIsInASnapshotToo) {
    std::vector<int>* later = nullptr;
    {
        const SnapshotMemory::Use use(memory);
        later = new std::vector<int>{1, 2, 3};
    }
    memory.save(first);
    later->front() = 7;
    memory.restore(first);
    EXPECT_EQ(*later, (std::vector<int>{1, 2, 3}));
}

TEST_F(SnapshotMemoryTest, AWriteToWhereNothingLiesStillEndsTheProcess) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    volatile std::uintptr_t nowhere = 64;  // unknown to the compiler, which would refuse the write
    EXPECT_DEATH(*reinterpret_cast<volatile int*>(nowhere) = 1, "");
}

#ifdef BOWLINE_MUTANTS

struct Broken {
    protocol::Mutant mutant;
    const char* budget;
};

class ExhaustiveMutants : public testing::TestWithParam<Broken> {
protected:
    ~ExhaustiveMutants() override { protocol::active_mutant = protocol::Mutant::none; }
};

TEST_P(ExhaustiveMutants, AreFoundWithAPathThatShowsThem) {
    const ExhaustiveBudget budget = budget_of(GetParam().budget);
    protocol::active_mutant = GetParam().mutant;
    const ExhaustiveResult result = explore_exhaustively({.budget = budget, .jobs = jobs()});
    ASSERT_NE(result.violation, "");
    EXPECT_EQ(replay_path(budget, result.path, [](const std::string&) {}), result.violation);
    protocol::active_mutant = protocol::Mutant::none;
    EXPECT_EQ(replay_path(budget, result.path, [](const std::string&) {}).find("message"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, ExhaustiveMutants,
    testing::Values(Broken{protocol::Mutant::r3_guess_first, "messages_a=2,drops=1,delays=1"},
                    Broken{protocol::Mutant::r5_no_tombstone, "messages_a=2,drops=1,delays=1,closes=1,breaks=1"},
                    Broken{protocol::Mutant::r4_any_conn_ack,
                           "messages_a=2,drops=1,delays=1,closes=1,breaks=1,rotations=1"},
                    Broken{protocol::Mutant::r5_dirty_taken_clean, "messages_a=2,drops=1,delays=1,forgets=1,breaks=1"}),
    [](const auto& test) { return std::string(protocol::name_of(test.param.mutant)); });

#endif

}  // namespace
}  // namespace bowline::sim
