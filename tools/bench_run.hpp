#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "bowline/result.hpp"
#include "tools/bench_case.hpp"
#include "tools/bench_report.hpp"

namespace bowline::tools {

/// How much `bowline bench` measures.
struct BenchExtent {
    std::size_t pairs = 5;                ///< valid ones, a case
    std::size_t pairs_max = 10;           ///< the discarded ones included
    std::chrono::milliseconds budget{0};  ///< no pair is begun after so long
};

/// A case and what has been measured of it.
struct BenchSeries {
    BenchCase bench_case;
    std::vector<BenchPair> pairs;
    std::string failure;  ///< of the latest pair that failed; empty: none has

    [[nodiscard]] std::size_t valid() const;
};

/// Measures all cases by turns: a pair of each, then the next of each, so that what changes over time meets all alike.
/// Within a pair the device comes first, then the engine. A pair that fails is not repeated before the next round.
/// Errors: this process was told to stop. `setup.folder` exists.
Result<void> run_bench(std::vector<BenchSeries>& series, const BenchSetup& setup, const BenchExtent& extent);

}  // namespace bowline::tools
