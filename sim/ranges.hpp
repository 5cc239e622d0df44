#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bowline::sim {

/// Numbers first..last.
struct NumberRange {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    bool operator==(const NumberRange&) const = default;
};

/// `1..5,7`, or `none`.
[[nodiscard]] std::string format(const std::vector<NumberRange>& ranges);
/// Adds `range` behind `ranges`, as part of the last one where it goes on.
void append(std::vector<NumberRange>& ranges, const NumberRange& range);
/// In ascending order, without overlap.
[[nodiscard]] std::vector<NumberRange> union_of(std::vector<NumberRange> ranges);

}  // namespace bowline::sim
