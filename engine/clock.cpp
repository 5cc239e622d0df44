#include "engine/clock.hpp"

#include <ctime>

#include <cpuid.h>

namespace bowline::engine {

namespace {

// "Invariant TSC": Intel SDM vol. 2, CPUID leaf 80000007H, EDX bit 8; AMD's manuals agree.
bool has_invariant_counter() {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    return __get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1U << 8U)) != 0;
}

}  // namespace

std::int64_t Clock::monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Clock::Clock(protocol::Duration calibration) : counter_(has_invariant_counter()) {
    const std::int64_t start_ns = monotonic_ns();
    if (!counter_) {
        origin_ = start_ns;
        return;
    }
    const std::uint64_t start = __rdtsc();
    std::int64_t end_ns = start_ns;
    while (end_ns - start_ns < calibration.ns()) {
        end_ns = monotonic_ns();
    }
    const std::uint64_t end = __rdtsc();
    ns_per_tick_ = static_cast<std::uint64_t>(static_cast<double>(end_ns - start_ns) /
                                              static_cast<double>(end - start) * 4294967296.0);
    origin_ = static_cast<std::int64_t>(start);
}

}  // namespace bowline::engine
