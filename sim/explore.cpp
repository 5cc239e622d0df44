#include "sim/explore.hpp"

#include <mutex>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "sim/abort_note.hpp"

namespace bowline::sim {

std::string replay_command(std::uint64_t seed) { return fmt::format("bowline sim --seeds {0}..{0} --trace", seed); }

SeedResult explore_seed(std::uint64_t seed, Arena& arena, const Simulation::Trace& trace) {
    const AbortNote note(fmt::format("the run of seed {} broke an assertion; again: {}\n", seed, replay_command(seed)));
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
    const AbortNotes notes;
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
    return totals;
}

}  // namespace bowline::sim
