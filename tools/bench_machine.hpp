#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace bowline::tools {

/// The commit that this was built from, or "unknown".
extern const char* const kBuildCommit;

/// Processor, kernel, frequency governor, huge pages.
[[nodiscard]] nlohmann::ordered_json machine_facts();
/// Version, commit, compiler, instruction set.
[[nodiscard]] nlohmann::ordered_json build_facts();

/// Two of the CPUs `allowed` for two polling threads: the first, and the first of another core if there is one.
[[nodiscard]] std::pair<int, int> two_cpus(const std::vector<int>& allowed);

/// What spoils figures that are taken here on these two CPUs, a sentence each.
[[nodiscard]] std::vector<std::string> machine_warnings(std::pair<int, int> cpus);

/// How long a word takes from one CPU to another and back, ns: the median of some thousand round trips. Takes a few
/// milliseconds; two threads, one pinned to each.
[[nodiscard]] double core_distance_ns(std::pair<int, int> cpus);
/// Below, both virtual CPUs run on one core; above, somebody else does. Either way shared memory is not what it is.
inline constexpr double kCoreDistanceMinNs = 150;
inline constexpr double kCoreDistanceMaxNs = 600;

}  // namespace bowline::tools
