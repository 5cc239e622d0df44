#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario.hpp"
#include "sim/simulation.hpp"

namespace bowline::sim {

/// What became of a scenario.
struct ScenarioResult {
    std::string failure;                  ///< the first thing that was not as it should be; empty: everything was
    std::uint32_t line = 0;               ///< of the statement where that showed; 0: of none
    std::vector<std::string> last_trace;  ///< what happened last before it
    std::uint64_t trace_hash = 0;         ///< of every packet: two runs with the same one were the same
    std::uint64_t events = 0;
    std::uint64_t accepted = 0;  ///< messages, of all nodes
    std::uint64_t delivered = 0;
    std::uint64_t reported = 0;  ///< as undelivered, certainly or perhaps
    [[nodiscard]] bool ok() const { return failure.empty(); }
};

struct ScenarioOptions {
    Simulation::Trace trace;      ///< is given each packet and decision
    std::size_t last_lines = 20;  ///< of the trace of a run that fails, which is run again for it, without heartbeats
};

/// Runs a scenario on the shipping worker and controller, with the oracle beside it: what breaks the contract fails it
/// whatever it expects. Deterministic. `arena` is for one run at a time.
[[nodiscard]] ScenarioResult run_scenario(const Scenario& scenario, Arena& arena, const ScenarioOptions& options = {});

/// `FILE: ok`, or `FILE:LINE: what was wrong`, and behind it the end of the trace, line by line.
[[nodiscard]] std::string report(const std::string& file, const ScenarioResult& result);

}  // namespace bowline::sim
