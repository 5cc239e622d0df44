#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sim/explore_plan.hpp"
#include "sim/simulation.hpp"

namespace bowline::sim {

/// What became of a seed.
struct SeedResult {
    std::uint64_t seed = 0;
    std::string failure;  ///< empty: the contract held
    std::uint64_t trace_hash = 0;
    std::uint64_t accepted = 0;
    std::uint64_t delivered = 0;
    std::uint64_t reported = 0;
    std::uint64_t events = 0;
};

/// Runs one seed: its plan, then until the network falls quiet, then the oracle's last word. `trace`, if not empty, is
/// given each packet and decision.
[[nodiscard]] SeedResult explore_seed(std::uint64_t seed, Arena& arena, const Simulation::Trace& trace = {});
[[nodiscard]] SeedResult run_plan(const ExplorePlan& plan, Arena& arena, const Simulation::Trace& trace = {});

struct ExploreOptions {
    std::uint64_t first = 1;  ///< seeds
    std::uint64_t last = 1;
    unsigned jobs = 1;  ///< seeds at a time, each on a thread of its own
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
/// assertion ends the process: the command that replays it is printed before that.
ExploreTotals explore(const ExploreOptions& options, const std::function<void(const SeedResult&)>& failed);

/// The command that runs this seed again, with its trace.
[[nodiscard]] std::string replay_command(std::uint64_t seed);

}  // namespace bowline::sim
