#pragma once

#include <vector>

#include "bowline/result.hpp"

namespace bowline::tools {

/// The CPUs that this process may run on.
[[nodiscard]] std::vector<int> allowed_cpus();
/// Whether this process may run on `cpu`; the error lists the ones that it may.
Result<void> check_cpu(int cpu);

/// Pins the calling thread to one CPU. Call it once the engine has started: threads inherit their maker's CPUs, and the
/// engine's control thread must not compete with a polling one.
Result<void> pin_this_thread(int cpu);

}  // namespace bowline::tools
