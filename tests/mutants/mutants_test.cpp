// A check that cannot fail is a defect: here every rule of the protocol is broken, one way at a time, and a scenario or
// the exploration must notice. Prints who has noticed.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "protocol/mutant.hpp"
#include "sim/explore.hpp"
#include "sim/isolated.hpp"
#include "sim/scenario_files.hpp"

namespace bowline::sim {
namespace {

using protocol::Mutant;

constexpr Duration kPatience = Duration::s(10);  // of real time, for one file or a batch of seeds
constexpr std::uint64_t kSeeds = 600;
constexpr std::uint64_t kSeedsAtOnce = 50;

std::vector<std::string> scenario_files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(BOWLINE_SCENARIOS)) {
        if (entry.path().extension() == ".scn") {
            files.push_back(entry.path().string());
        }
    }
    std::ranges::sort(files);
    return files;
}

/// What `work` finds wrong while the rule is broken, in a process of its own; empty: nothing.
std::string with_mutant(Mutant mutant, const std::function<std::string()>& work) {
    const Isolated run = run_isolated(
        [&] {
            protocol::active_mutant = mutant;
            return work();
        },
        kPatience);
    switch (run.end) {
        case Isolated::End::returned:
            return run.text;
        case Isolated::End::broken:
            return "an assertion broke: " + run.text;
        case Isolated::End::hung:
            return "it did not come to an end";
    }
    return {};
}

std::string check_files(Mutant mutant, const std::vector<std::string>& files) {
    return with_mutant(mutant, [&] {
        Arena arena;
        for (const std::string& file : files) {
            if (const FileResult result = run_file(file, arena); result.verdict != FileVerdict::ok) {
                return std::filesystem::path(file).filename().string() + ": " + result.report.substr(0, 300);
            }
        }
        return std::string();
    });
}

std::string check_seeds(Mutant mutant, std::uint64_t first, std::uint64_t last) {
    return with_mutant(mutant, [&] {
        Arena arena;
        for (std::uint64_t seed = first; seed <= last; ++seed) {
            if (const SeedResult result = explore_seed(seed, arena); !result.ok()) {
                return fmt::format("seed {}: {}", seed, result.run.failure);
            }
        }
        return std::string();
    });
}

/// The first file that notices, by name; an assertion that breaks or a run without end counts for the file.
std::string file_that_notices(Mutant mutant, const std::vector<std::string>& files) {
    for (const std::string& file : files) {
        if (!check_files(mutant, {file}).empty()) {
            return std::filesystem::path(file).filename().string();
        }
    }
    return {};
}

std::string seeds_that_notice(Mutant mutant) {
    for (std::uint64_t first = 1; first <= kSeeds; first += kSeedsAtOnce) {
        const std::uint64_t last = std::min(first + kSeedsAtOnce - 1, kSeeds);
        if (const std::string found = check_seeds(mutant, first, last); !found.empty()) {
            return fmt::format("exploration, seeds {}..{} ({})", first, last, found.substr(0, 160));
        }
    }
    return {};
}

class RuleBroken : public testing::TestWithParam<Mutant> {};

TEST(Mutants, NothingIsNoticedWhereNothingIsBroken) {
    EXPECT_EQ(check_files(Mutant::none, scenario_files()), "");
    EXPECT_EQ(check_seeds(Mutant::none, 1, 100), "");
}

// The three bugs that this engine exists for, as the original protocols had them, each by its own scenario.
TEST(Mutants, TheSeedBugsAreNoticedByTheirOwnScenarios) {
    const std::string folder = BOWLINE_SCENARIOS;
    EXPECT_NE(check_files(Mutant::r1_ack_discarded, {folder + "/jgrp_126.scn"}), "");
    EXPECT_NE(check_files(Mutant::r3_guess_first, {folder + "/jgrp_348.scn"}), "");
    EXPECT_NE(check_files(Mutant::r4_any_conn_ack, {folder + "/jgrp_1873_views_3.scn"}), "");
}

TEST_P(RuleBroken, IsNoticed) {
    const std::string file = file_that_notices(GetParam(), scenario_files());
    const std::string by = file.empty() ? seeds_that_notice(GetParam()) : file;
    fmt::print("{}: {}\n", name_of(GetParam()), by);
    EXPECT_NE(by, "") << name_of(GetParam()) << " survives: no scenario and no seed notices that the rule is broken";
}

std::vector<Mutant> all_mutants() {
    std::vector<Mutant> mutants;
    for (auto i = static_cast<std::uint8_t>(Mutant::none) + 1; i < static_cast<std::uint8_t>(Mutant::count); ++i) {
        mutants.push_back(static_cast<Mutant>(i));
    }
    return mutants;
}

INSTANTIATE_TEST_SUITE_P(Rules, RuleBroken, testing::ValuesIn(all_mutants()),
                         [](const testing::TestParamInfo<Mutant>& mutant) {
                             return std::string(name_of(mutant.param));
                         });

}  // namespace
}  // namespace bowline::sim
