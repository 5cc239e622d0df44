#include "tools/cpu.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sched.h>

namespace bowline::tools {

std::vector<int> allowed_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) {
            cpus.push_back(cpu);
        }
    }
    return cpus;
}

Result<void> check_cpu(int cpu) {
    std::string list;
    for (const int candidate : allowed_cpus()) {
        if (candidate == cpu) {
            return {};
        }
        list += (list.empty() ? "" : ", ") + std::to_string(candidate);
    }
    return Error{Error::Kind::configuration, fmt::format("--cpu {}: this process may use the CPUs {}", cpu, list)};
}

Result<void> pin_this_thread(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        return Error{Error::Kind::system, fmt::format("--cpu {}: {}", cpu, std::strerror(errno))};
    }
    return {};
}

}  // namespace bowline::tools
