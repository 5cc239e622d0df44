#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bowline/result.hpp"
#include "dataplane/dpdk/device_spec.hpp"

namespace bowline::dataplane::dpdk {

/// How DPDK's environment (EAL) is started.
struct EalOptions {
    enum class Hugepages : std::uint8_t {
        automatic,  ///< when there are enough and this process may map them; ordinary pages and one warning else
        on,         ///< or fail
        off,
    };
    enum class LogLevel : std::uint8_t { error, warning, info, debug };

    Hugepages hugepages = Hugepages::automatic;
    std::uint32_t memory_mb = 0;  ///< DPDK's memory; 0: with hugepages what is asked for later, 256 without
    int cpu = -1;                 ///< CPU of EAL's main lcore, which runs nothing of ours; -1: one we may run on
    bool in_memory = true;        ///< no file stays behind, whatever happens; false only for DPDK's own tools
    std::string file_prefix;      ///< with in_memory == false: names the run directory
    std::vector<std::string> extra_args;     ///< appended to EAL's arguments as they are
    LogLevel log_level = LogLevel::warning;  ///< of DPDK's own log on standard error, after start-up
};

/// What start_eal() made of it.
struct EalInfo {
    bool hugepages = false;
    std::string line;                   ///< the effective arguments, as a shell would take them
    std::vector<std::string> warnings;  ///< for the user, each once: what was fallen back to and what it costs
};

/// EAL's arguments, program name first, without starting anything. `use_hugepages` is what `automatic` came to.
std::vector<std::string> eal_arguments(const EalOptions& options, std::span<const DeviceSpec> devices,
                                       bool use_hugepages);

/// Starts EAL for these devices; each is then opened by Device::open().
///
/// Once a process: DPDK cannot be started a second time, so a second call while it runs succeeds and returns what the
/// first did, and a call after stop_eal() is an error. Thread: any; its CPU affinity is left alone. Blocks for some
/// tens of milliseconds. DPDK's own log of a failure is in the error.
Result<EalInfo> start_eal(const EalOptions& options, std::span<const DeviceSpec> devices);

/// Gives everything back to the system. After the last Device is gone. Harmless when EAL does not run.
void stop_eal();

[[nodiscard]] bool eal_running();

/// Makes the calling thread known to DPDK for the life of the object. A thread that DPDK does not know has no cache in
/// front of the packet pools and pays for each packet it allocates or frees, its own or the driver's, at the pool's
/// shared ring. The thread that runs the worker makes one first; a thread that has one already, or is EAL's own, loses
/// nothing. Made and destroyed by the same thread.
class WorkerThread {
public:
    WorkerThread();
    ~WorkerThread();
    WorkerThread(const WorkerThread&) = delete;
    WorkerThread& operator=(const WorkerThread&) = delete;

    /// False when DPDK had no place left: everything works, more slowly.
    [[nodiscard]] bool cached() const { return cached_; }

private:
    bool cached_ = false;
    bool registered_ = false;
};

}  // namespace bowline::dataplane::dpdk
