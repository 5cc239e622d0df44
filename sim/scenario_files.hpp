#pragma once

#include <functional>
#include <span>
#include <string>

#include "sim/simulation.hpp"

namespace bowline::sim {

/// What became of a file.
enum class FileVerdict : std::uint8_t {
    ok,
    failed,    ///< an expectation, or the contract
    unusable,  ///< it cannot be read, or is no scenario
};
struct FileResult {
    FileVerdict verdict = FileVerdict::ok;
    std::string report;  ///< a line, and for a failure the end of its trace
};

/// Reads and runs one file. `trace`, if not empty, is given each packet and decision.
[[nodiscard]] FileResult run_file(const std::string& path, Arena& arena, const Simulation::Trace& trace = {});

/// Runs files, `jobs` at a time, and hands the result of each to `done`: one after the other in their order, on any
/// thread. A file that breaks an internal assertion ends the process; its name is printed before that.
void run_files(std::span<const std::string> paths, unsigned jobs, const std::function<void(const FileResult&)>& done);

}  // namespace bowline::sim
