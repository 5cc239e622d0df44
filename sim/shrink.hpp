#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "sim/scenario.hpp"

namespace bowline::sim {

/// Takes away from a scenario for which `fails` holds what it fails without: actions, settings, faults of links,
/// messages, nodes. `fails` is asked at most `tries_max` times; the result is one for which it held.
///
/// What mends (heal, resume, the last view, ...) is left alone for as long as there is something for it to mend, or the
/// shrunk scenario would fail for another reason.
[[nodiscard]] Scenario shrink(Scenario scenario, const std::function<bool(const Scenario&)>& fails,
                              std::size_t tries_max);

/// What kind of failure a text speaks of, so that one is not shrunk into another: its words up to the first number.
[[nodiscard]] std::string failure_class(const std::string& failure);

}  // namespace bowline::sim
