// dataplane/spsc_ring: an element from one thread to another.
#include "dataplane/spsc_ring.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

#include <benchmark/benchmark.h>
#include <sched.h>

namespace bowline::bench {
namespace {

using dataplane::SpscRing;

struct Element {
    std::array<std::uint64_t, 4> words{};
};

void spsc_push_pop(benchmark::State& state) {
    SpscRing<Element> ring(1024);
    Element element;
    for (auto _ : state) {
        ++element.words[0];
        benchmark::DoNotOptimize(ring.try_push(element));
        benchmark::DoNotOptimize(ring.front()->words[0]);
        ring.pop();
    }
}
BENCHMARK(spsc_push_pop);

/// The CPUs that this process may run on.
int cpus(cpu_set_t& set) {
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

/// Keeps this thread on the `nth` of the CPUs that the process may run on.
void pin_to(int nth) {
    cpu_set_t all;
    const int count = cpus(all);
    int seen = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(static_cast<std::size_t>(cpu), &all) && seen++ == nth % count) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(static_cast<std::size_t>(cpu), &one);
            sched_setaffinity(0, sizeof(one), &one);
            return;
        }
    }
}

/// The other end of two rings, on a CPU of its own, until it is destroyed. The calling thread gets its old CPUs back.
class Reflector {
public:
    explicit Reflector(bool answers) : answers_(answers) {
        cpus(before_);
        pin_to(0);
        thread_ = std::thread([this] { run(); });
    }
    Reflector(const Reflector&) = delete;
    Reflector& operator=(const Reflector&) = delete;
    ~Reflector() {
        stop_.store(true, std::memory_order_relaxed);
        thread_.join();
        sched_setaffinity(0, sizeof(before_), &before_);
    }

    SpscRing<Element> there{1024};
    SpscRing<Element> back{1024};

private:
    void run() {
        sched_setaffinity(0, sizeof(before_), &before_);  // a thread inherits its maker's
        pin_to(1);
        while (!stop_.load(std::memory_order_relaxed)) {
            if (const Element* element = there.front(); element != nullptr) {
                if (answers_) {
                    static_cast<void>(back.try_push(*element));
                }
                there.pop();
            }
        }
    }

    bool answers_;
    cpu_set_t before_{};
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

/// There and back: two crossings.
void spsc_round_trip_between_threads(benchmark::State& state) {
    Reflector other(true);
    Element element;
    for (auto _ : state) {
        ++element.words[0];
        static_cast<void>(other.there.try_push(element));
        const Element* answer = nullptr;
        while ((answer = other.back.front()) == nullptr) {
        }
        if (answer->words[0] != element.words[0]) {
            state.SkipWithError("another element came back");
            break;
        }
        other.back.pop();
    }
}

void spsc_stream_between_threads(benchmark::State& state) {
    Reflector other(false);
    Element element;
    for (auto _ : state) {
        ++element.words[0];
        while (!other.there.try_push(element)) {
        }
    }
    state.SetItemsProcessed(state.iterations());
}

// Each thread spins: on a single CPU they would measure the scheduler.
[[maybe_unused]] const bool kBetweenThreads = [] {
    cpu_set_t set;
    if (cpus(set) < 2) {
        return false;
    }
    benchmark::RegisterBenchmark("spsc_round_trip_between_threads", spsc_round_trip_between_threads)->UseRealTime();
    benchmark::RegisterBenchmark("spsc_stream_between_threads", spsc_stream_between_threads)->UseRealTime();
    return true;
}();

}  // namespace
}  // namespace bowline::bench
