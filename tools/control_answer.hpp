#pragma once

#include <span>

#include <nlohmann/json.hpp>

#include "engine/report.hpp"

// What a node answers to `bowline ctl`, as JSON; docs/OPERATING.md shows it. Incarnations are text, since they do not
// fit in what most readers of JSON have for numbers.

namespace bowline::tools {

nlohmann::ordered_json peers_answer(const engine::Report& report);
nlohmann::ordered_json connections_answer(const engine::Report& report);
nlohmann::ordered_json view_answer(const engine::Report& report);
nlohmann::ordered_json counters_answer(std::span<const Counter> counters);

}  // namespace bowline::tools
