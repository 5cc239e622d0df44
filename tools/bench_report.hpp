#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/bench_case.hpp"

namespace bowline::tools {

/// One pair: the raw device and the engine, one right after the other, as their commands printed it.
struct BenchPair {
    nlohmann::ordered_json raw;
    nlohmann::ordered_json engine;
    std::vector<double> core_distance_ns;  ///< before, between and after; shared memory only
    [[nodiscard]] bool is_valid() const;   ///< no distance was out of bounds
};

/// Median, least and largest; null without values.
[[nodiscard]] nlohmann::ordered_json summary_of(std::vector<double> values);

/// What report.json has of a case: medians of both sides, ratios within each pair, and the pairs. Pairs that are not
/// valid count as discarded and nowhere else.
[[nodiscard]] nlohmann::ordered_json case_report(const BenchCase& bench_case, const std::vector<BenchPair>& pairs);

/// A line about a case_report() for the terminal.
[[nodiscard]] std::string case_line(const nlohmann::ordered_json& report);

/// The whole report as one HTML page that needs no other file.
[[nodiscard]] std::string html_page(const nlohmann::ordered_json& report);

}  // namespace bowline::tools
