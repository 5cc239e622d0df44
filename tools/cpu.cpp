#include "tools/cpu.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sched.h>

namespace bowline::tools {

Result<void> check_cpu(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    std::string list;
    for (int candidate = 0; candidate < CPU_SETSIZE; ++candidate) {
        if (!CPU_ISSET(static_cast<std::size_t>(candidate), &set)) {
            continue;
        }
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
