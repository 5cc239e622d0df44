#include "sim/ranges.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace bowline::sim {

std::string format(const std::vector<NumberRange>& ranges) {
    std::string text;
    for (const NumberRange& range : ranges) {
        text += text.empty() ? "" : ",";
        text +=
            range.first == range.last ? std::to_string(range.first) : fmt::format("{}..{}", range.first, range.last);
    }
    return text.empty() ? "none" : text;
}

void append(std::vector<NumberRange>& ranges, const NumberRange& range) {
    if (!ranges.empty() && ranges.back().last + 1 == range.first) {
        ranges.back().last = range.last;
    } else {
        ranges.push_back(range);
    }
}

std::vector<NumberRange> union_of(std::vector<NumberRange> ranges) {
    std::sort(ranges.begin(), ranges.end(),
              [](const NumberRange& a, const NumberRange& b) { return a.first < b.first; });
    std::vector<NumberRange> sum;
    for (const NumberRange& range : ranges) {
        if (!sum.empty() && range.first <= sum.back().last + 1) {
            sum.back().last = std::max(sum.back().last, range.last);
        } else {
            sum.push_back(range);
        }
    }
    return sum;
}

}  // namespace bowline::sim
