#include "tools/clock.hpp"

#include <ctime>

#include <cpuid.h>

namespace bowline::tools {

namespace {

// "Invariant TSC": Intel SDM vol. 2, CPUID leaf 80000007H, EDX bit 8.
bool has_invariant_counter() {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    return __get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1U << 8U)) != 0;
}

}  // namespace

std::uint64_t CycleClock::monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

CycleClock CycleClock::calibrate() {
    if (!has_invariant_counter()) {
        return {false, 1.0};
    }
    const std::uint64_t start_ns = monotonic_ns();
    const std::uint64_t start_ticks = __rdtsc();
    std::uint64_t end_ns = start_ns;
    while (end_ns - start_ns < 20'000'000U) {
        end_ns = monotonic_ns();
    }
    const std::uint64_t end_ticks = __rdtsc();
    return {true, static_cast<double>(end_ns - start_ns) / static_cast<double>(end_ticks - start_ticks)};
}

}  // namespace bowline::tools
