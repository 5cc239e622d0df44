#include "tools/bench_machine.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <sys/utsname.h>

#include "tools/child_process.hpp"
#include "tools/cpu.hpp"

namespace bowline::tools {

namespace {

/// The first line of a file, without its end; empty when there is none.
std::string first_line(const std::string& path) {
    const std::string text = read_file(path);
    return text.substr(0, text.find('\n'));
}

/// The value of the first `KEY : VALUE` line.
std::string value_of(const std::string& text, const std::string& key) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(':');
        if (line.compare(0, key.size(), key) == 0 && colon != std::string::npos) {
            const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
            return begin == std::string::npos ? "" : line.substr(begin);
        }
    }
    return "";
}

std::string cpu_file(int cpu, const char* name) { return fmt::format("/sys/devices/system/cpu/cpu{}/{}", cpu, name); }
std::string siblings(int cpu) { return first_line(cpu_file(cpu, "topology/thread_siblings_list")); }
std::string governor(int cpu) { return first_line(cpu_file(cpu, "cpufreq/scaling_governor")); }
bool is_virtual() { return read_file("/proc/cpuinfo").find(" hypervisor") != std::string::npos; }

}  // namespace

nlohmann::ordered_json machine_facts() {
    utsname system{};
    uname(&system);
    const std::string memory = read_file("/proc/meminfo");
    const std::string governed = governor(0);
    return {{"cpu", value_of(read_file("/proc/cpuinfo"), "model name")},
            {"cpus", std::thread::hardware_concurrency()},
            {"virtual_machine", is_virtual()},
            {"kernel", fmt::format("{} {}", system.sysname, system.release)},
            {"governor", governed.empty() ? "not to be seen" : governed},
            {"memory", value_of(memory, "MemTotal")},
            {"huge_pages_free", value_of(memory, "HugePages_Free")},
            {"load_average", first_line("/proc/loadavg")}};
}

nlohmann::ordered_json build_facts() {
    return {{"version", BOWLINE_VERSION},
            {"commit", kBuildCommit},
            {"compiler", "g++ " __VERSION__},
            {"instruction_set", BOWLINE_ISA},
            {"build_type", BOWLINE_BUILD_TYPE}};
}

std::pair<int, int> two_cpus(const std::vector<int>& allowed) {
    const int first = allowed.front();
    const std::string core = siblings(first);
    const auto other = std::find_if(allowed.begin() + 1, allowed.end(), [&](int cpu) { return siblings(cpu) != core; });
    return {first, other != allowed.end() ? *other : allowed.back()};
}

std::vector<std::string> machine_warnings(std::pair<int, int> cpus) {
    std::vector<std::string> warnings;
    const std::size_t allowed = allowed_cpus().size();
    if (allowed < 4) {
        warnings.push_back(fmt::format(
            "only {} CPUs may be used: the two polling threads leave none to everything else, which interrupts them",
            allowed));
    }
    if (const std::string core = siblings(cpus.first); !core.empty() && core == siblings(cpus.second)) {
        warnings.push_back(fmt::format("the CPUs {} and {} share one core", cpus.first, cpus.second));
    }
    for (const int cpu : {cpus.first, cpus.second}) {
        const std::string governed = governor(cpu);
        if (!governed.empty() && governed != "performance") {
            warnings.push_back(
                fmt::format("CPU {} changes its frequency (governor '{}'; 'performance' would not)", cpu, governed));
        }
    }
    double load[1] = {0};
    if (getloadavg(load, 1) == 1 && load[0] > 0.5) {
        warnings.push_back(
            fmt::format("other processes were running: the load average was {:.2f} at the start", load[0]));
    }
    if (is_virtual()) {
        warnings.emplace_back("a virtual machine: its host moves and interrupts CPUs; only ratios mean something");
    }
    if (std::string(BOWLINE_BUILD_TYPE) != "release") {
        warnings.emplace_back("not a release build (" BOWLINE_BUILD_TYPE ")");
    }
    return warnings;
}

double core_distance_ns(std::pair<int, int> cpus) {
    using Clock = std::chrono::steady_clock;
    constexpr unsigned batch = 64;
    constexpr std::size_t batches = 64;
    alignas(64) std::atomic<unsigned> there{0};
    alignas(64) std::atomic<unsigned> back{0};
    std::vector<double> times;
    std::thread reflector([&, cpu = cpus.second] {
        static_cast<void>(pin_this_thread(cpu));
        for (unsigned seen = 0; seen != ~0U;) {
            const unsigned now = there.load(std::memory_order_acquire);
            if (now != seen) {
                seen = now;
                back.store(now, std::memory_order_release);
            }
        }
    });
    std::thread caller([&, cpu = cpus.first] {
        static_cast<void>(pin_this_thread(cpu));
        unsigned number = 0;
        // Where another process has a CPU, a round trip takes a time slice.
        const auto deadline = Clock::now() + std::chrono::milliseconds(100);
        while (times.size() < batches && (times.empty() || Clock::now() < deadline)) {
            const auto begin = Clock::now();
            for (unsigned i = 0; i < batch; ++i) {
                there.store(++number, std::memory_order_release);
                while (back.load(std::memory_order_acquire) != number) {
                }
            }
            times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / batch);
        }
        there.store(~0U, std::memory_order_release);
    });
    caller.join();
    reflector.join();
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

}  // namespace bowline::tools
