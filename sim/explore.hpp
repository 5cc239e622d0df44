#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sim/explore_scenario.hpp"
#include "sim/scenario_run.hpp"
#include "sim/simulation.hpp"

namespace bowline::sim {

/// What became of a seed.
struct SeedResult {
    std::uint64_t seed = 0;
    ScenarioResult run;
    [[nodiscard]] bool ok() const { return run.ok(); }
};

/// Runs the scenario of one seed. `trace`, if not empty, is given the scenario, each packet and each decision.
[[nodiscard]] SeedResult explore_seed(std::uint64_t seed, Arena& arena, const Simulation::Trace& trace = {});

struct ExploreOptions {
    std::uint64_t first = 1;  ///< seeds
    std::uint64_t last = 1;
    unsigned jobs = 1;  ///< seeds at a time, each on a thread of its own
    /// Asked before each seed, on any thread; true: none is begun any more.
    std::function<bool()> stop = {};
};
struct ExploreTotals {
    std::uint64_t seeds = 0;
    std::uint64_t failed = 0;
    std::uint64_t accepted = 0;
    std::uint64_t delivered = 0;
    std::uint64_t reported = 0;
    std::uint64_t events = 0;
};

/// Runs all seeds; `failed` hears of each that fails, one at a time, on any thread. A seed that breaks an internal
/// assertion ends the process: the command that runs it again is printed before that.
ExploreTotals explore(const ExploreOptions& options, const std::function<void(const SeedResult&)>& failed);

/// A short scenario that fails as this one does, which fails. Each try is a process of its own, so that an assertion
/// that breaks, or a run without end, is a failure like any other; no other thread may do anything meanwhile.
[[nodiscard]] Scenario shrink_failure(const Scenario& scenario, std::size_t tries_max = 3000);
/// How it fails, in a process of its own; empty: it does not.
[[nodiscard]] std::string failure_of(const Scenario& scenario);

/// The command that runs this seed again: shrinks it and writes the file if it fails.
[[nodiscard]] std::string replay_command(std::uint64_t seed);

}  // namespace bowline::sim
