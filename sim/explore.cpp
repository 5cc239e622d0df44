#include "sim/explore.hpp"

#include <mutex>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "sim/abort_note.hpp"
#include "sim/isolated.hpp"
#include "sim/shrink.hpp"

namespace bowline::sim {

namespace {

/// Of real time: what takes so long has no end.
constexpr Duration kPatience = Duration::s(20);

}  // namespace

std::string replay_command(std::uint64_t seed) { return fmt::format("bowline sim --seeds {0}..{0}", seed); }

SeedResult explore_seed(std::uint64_t seed, Arena& arena, const Simulation::Trace& trace) {
    const AbortNote note(fmt::format("the run of seed {} broke an assertion; again: {}\n", seed, replay_command(seed)));
    const Scenario scenario = make_scenario(seed);
    if (trace) {
        trace(format(scenario));
    }
    return {.seed = seed, .run = run_scenario(scenario, arena, {.trace = trace, .last_lines = 0})};
}

std::string failure_of(const Scenario& scenario) {
    const Isolated run = run_isolated(
        [&] {
            Arena arena;
            return run_scenario(scenario, arena, {.trace = {}, .last_lines = 0}).failure;
        },
        kPatience);
    switch (run.end) {
        case Isolated::End::returned:
            return run.text;
        case Isolated::End::broken:
            return run.text.empty() ? "the process ended" : run.text;
        case Isolated::End::hung:
            return "it does not come to an end";
    }
    return {};
}

Scenario shrink_failure(const Scenario& scenario, std::size_t tries_max) {
    const std::string failure = failure_class(failure_of(scenario));
    return shrink(
        scenario, [&](const Scenario& candidate) { return failure_class(failure_of(candidate)) == failure; },
        tries_max);
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
                                  if (options.stop && options.stop()) {
                                      return;
                                  }
                                  const SeedResult result = explore_seed(seed, arenas.local());
                                  const std::lock_guard lock(mutex);
                                  ++totals.seeds;
                                  totals.accepted += result.run.accepted;
                                  totals.delivered += result.run.delivered;
                                  totals.reported += result.run.reported;
                                  totals.events += result.run.events;
                                  if (!result.ok()) {
                                      ++totals.failed;
                                      failed(result);
                                  }
                              }
                          });
    });
    return totals;
}

}  // namespace bowline::sim
