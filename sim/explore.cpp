#include "sim/explore.hpp"

#include <array>
#include <csignal>
#include <mutex>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <unistd.h>

namespace bowline::sim {

namespace {

/// For the note that a broken assertion leaves: made before the seed runs, since nothing can be made when it breaks.
struct AbortNote {
    std::array<char, 160> text{};
    std::size_t length = 0;
};
thread_local AbortNote abort_note;

void write_abort_note(int signal) {
    // abort() raises it in the thread whose assertion broke.
    if (abort_note.length > 0) {
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, abort_note.text.data(), abort_note.length);
    }
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

class NoteSeed {
public:
    explicit NoteSeed(std::uint64_t seed) {
        const auto end =
            fmt::format_to_n(abort_note.text.data(), abort_note.text.size(),
                             "the run of seed {} broke an assertion; again: {}\n", seed, replay_command(seed));
        abort_note.length = std::min(end.size, abort_note.text.size());
    }
    ~NoteSeed() { abort_note.length = 0; }
    NoteSeed(const NoteSeed&) = delete;
    NoteSeed& operator=(const NoteSeed&) = delete;
};

}  // namespace

std::string replay_command(std::uint64_t seed) { return fmt::format("bowline sim --seeds {0}..{0} --trace", seed); }

SeedResult explore_seed(std::uint64_t seed, Arena& arena, const Simulation::Trace& trace) {
    const NoteSeed note(seed);
    const ExplorePlan plan = make_plan(seed);
    if (trace) {
        trace(describe(plan));
    }
    return run_plan(plan, arena, trace);
}

SeedResult run_plan(const ExplorePlan& plan, Arena& arena, const Simulation::Trace& trace) {
    Simulation simulation(plan.seed, plan.nodes, arena);
    if (trace) {
        simulation.set_trace(trace);
    }
    schedule(plan, simulation);
    simulation.run_until(plan.heal_at);
    if (simulation.run_quiet(plan.quiet)) {
        simulation.finish();
    }
    return {.seed = plan.seed,
            .failure = simulation.failure(),
            .trace_hash = simulation.network().trace_hash(),
            .accepted = simulation.oracle().accepted(),
            .delivered = simulation.oracle().delivered(),
            .reported = simulation.oracle().reported(),
            .events = simulation.events()};
}

ExploreTotals explore(const ExploreOptions& options, const std::function<void(const SeedResult&)>& failed) {
    std::signal(SIGABRT, write_abort_note);
    const std::size_t jobs = options.jobs > 0 ? options.jobs : 1;
    // Else oneTBB starts no more threads than there are processors.
    const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, jobs);
    tbb::task_arena arena(static_cast<int>(jobs));
    tbb::enumerable_thread_specific<Arena> arenas;
    std::mutex mutex;
    ExploreTotals totals;
    arena.execute([&] {
        tbb::parallel_for(tbb::blocked_range<std::uint64_t>(options.first, options.last + 1, 1),
                          [&](const tbb::blocked_range<std::uint64_t>& seeds) {
                              for (std::uint64_t seed = seeds.begin(); seed != seeds.end(); ++seed) {
                                  const SeedResult result = explore_seed(seed, arenas.local());
                                  const std::lock_guard lock(mutex);
                                  ++totals.seeds;
                                  totals.accepted += result.accepted;
                                  totals.delivered += result.delivered;
                                  totals.reported += result.reported;
                                  totals.events += result.events;
                                  if (!result.failure.empty()) {
                                      ++totals.failed;
                                      failed(result);
                                  }
                              }
                          });
    });
    std::signal(SIGABRT, SIG_DFL);
    return totals;
}

}  // namespace bowline::sim
