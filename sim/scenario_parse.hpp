#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/scenario.hpp"

namespace bowline::sim {

/// What is wrong with a scenario's text, and what was expected in its place.
struct ScenarioError {
    std::uint32_t line = 0;
    std::string text;
};

struct ParsedScenario {
    Scenario scenario;
    std::optional<ScenarioError> error;  ///< the first; then the scenario is of no use
};

/// Reads a file of the scenario language (docs/SCENARIOS.md). Pure.
[[nodiscard]] ParsedScenario parse_scenario(std::string_view text);

}  // namespace bowline::sim
