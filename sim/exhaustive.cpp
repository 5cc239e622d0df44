#include "sim/exhaustive.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for_each.h>
#include <tbb/task_arena.h>

#include "protocol/check.hpp"
#include "sim/abort_note.hpp"
#include "sim/exhaustive_world.hpp"
#include "sim/snapshot.hpp"
#include "sim/visited_set.hpp"

namespace bowline::sim {

namespace {

using Path = std::vector<Choice>;

/// A world in memory that can be saved and brought back.
class Lane {
public:
    explicit Lane(const ExhaustiveBudget& budget) {
        {
            const SnapshotMemory::Use use(memory_);
            world_ = new ExhaustiveWorld(budget);
        }
        // What lies apart are the controllers' queues of commands, of which nothing is left between steps.
        BOWLINE_CHECK(memory_.apart() == 2);
        memory_.freeze();
    }
    ~Lane() {
        memory_.reset();
        const SnapshotMemory::Use use(memory_);
        delete world_;
    }
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    void reset() { memory_.reset(); }
    void save(SnapshotMemory::Snapshot& snapshot) { memory_.save(snapshot); }
    void restore(const SnapshotMemory::Snapshot& snapshot) { memory_.restore(snapshot); }
    /// Does something with the world.
    template <typename Work>
    auto with(Work&& work) {
        const SnapshotMemory::Use use(memory_);
        return work(*world_);
    }
    /// A copy outside of the lane's memory.
    [[nodiscard]] std::string failure() const { return world_->failure(); }
    [[nodiscard]] bool failed() const { return world_->failed(); }
    [[nodiscard]] const ExhaustiveWorld& world() const { return *world_; }

private:
    SnapshotMemory memory_;
    ExhaustiveWorld* world_ = nullptr;  ///< in the memory, and ended there
};

/// A state on the way to the present one.
struct Level {
    SnapshotMemory::Snapshot snapshot;
    std::array<Choice, kChoices> choices{};
    std::size_t count = 0;
    std::size_t next = 0;
};

/// What each choice of a state leads to: the hashes, 0 where it is not possible.
using Successors = std::array<std::uint64_t, kChoices>;

/// What all lanes share.
struct Shared {
    explicit Shared(const ExhaustiveOptions& of_run) : options(of_run) {}

    struct Known {
        Successors successors;
        Path path;
    };

    const ExhaustiveOptions& options;
    VisitedSet visited;  ///< with every_path, only the ends
    std::atomic<std::uint64_t> ends = 0;
    VisitedSet outcomes;
    std::atomic<std::uint64_t> states = 0;
    std::atomic<std::uint64_t> transitions = 0;
    std::atomic<std::uint64_t> depth = 0;
    std::atomic<unsigned> pending = 0;  ///< paths handed over and not begun, and those being explored
    std::atomic<bool> stop = false;
    std::mutex mutex;
    std::string violation;
    Path path;
    std::unordered_map<std::uint64_t, Known> known;  ///< by state, under the mutex; with check_alike
};

/// Explores depth first from the end of a path, and hands over parts of that when other lanes have nothing to do.
class Search {
public:
    Search(Shared& shared, Lane& lane) : shared_(shared), lane_(lane) {}

    template <typename HandOver>
    void run(const Path& from, HandOver&& hand_over) {
        path_ = from;
        lane_.reset();
        depth_ = 0;
        // The last step is still to be taken, and may lead to what has been seen.
        lane_.with([&](ExhaustiveWorld& world) {
            for (std::size_t i = 0; i + 1 < path_.size(); ++i) {
                world.take(path_[i]);
            }
        });
        if (path_.empty() || take(path_.back())) {
            descend();
        }
        while (depth_ > 0 && !shared_.stop.load(std::memory_order_relaxed)) {
            if (shared_.pending.load(std::memory_order_relaxed) < shared_.options.jobs) {
                share(from.size(), hand_over);
            }
            step();
        }
        shared_.transitions += transitions_;
        transitions_ = 0;
    }

private:
    void step() {
        Level& level = levels_[depth_ - 1];
        if (level.next == level.count) {
            --depth_;
            if (depth_ > 0) {
                path_.pop_back();
            }
            return;
        }
        if (level.next > 0) {
            lane_.restore(level.snapshot);
        }
        path_.push_back(level.choices[level.next++]);
        const bool is_new = take(path_.back());
        if (is_new) {
            descend();
        } else {
            path_.pop_back();
        }
    }

    /// True when that has come to a state where there is more to be done.
    bool take(Choice choice) {
        ++transitions_;
        struct Seen {
            std::uint64_t hash;
            std::uint64_t outcome;
            bool at_end;
        };
        const AbortNote note(note_text());
        const Seen seen = lane_.with([&](ExhaustiveWorld& world) {
            world.take(choice);
            Seen it{.hash = 0, .outcome = 0, .at_end = world.at_end()};
            if (!world.failed() && (!shared_.options.every_path || it.at_end)) {
                it.hash = world.hash();
            }
            if (!world.failed() && it.at_end) {
                world.judge_end();
                it.outcome = world.outcome();
            }
            return it;
        });
        if (lane_.failed()) {
            note_violation();
            return false;
        }
        if (seen.at_end) {
            shared_.outcomes.insert(seen.outcome);
        }
        if (shared_.options.check_alike && !is_alike(seen.hash)) {
            return false;
        }
        if (shared_.options.every_path) {
            if (seen.at_end && shared_.visited.insert(seen.hash)) {
                ++shared_.ends;
            }
        } else if (!shared_.visited.insert(seen.hash)) {
            return false;
        } else if (seen.at_end) {
            ++shared_.ends;
        }
        count_state();
        return true;
    }

    /// The present state goes on as it did when it was first seen.
    bool is_alike(std::uint64_t hash) {
        const Successors successors = look_ahead();
        const std::lock_guard lock(shared_.mutex);
        const auto [at, is_new] = shared_.known.try_emplace(hash, Shared::Known{successors, path_});
        if (is_new || at->second.successors == successors) {
            return true;
        }
        const auto differs = std::mismatch(successors.begin(), successors.end(), at->second.successors.begin()).first -
                             successors.begin();
        if (!shared_.stop.exchange(true)) {
            shared_.violation = fmt::format("two ways to one state go on differently where {}: {} and {}",
                                            describe(static_cast<Choice>(differs)), text(at->second.path), text(path_));
            shared_.path = path_;
        }
        return false;
    }
    Successors look_ahead() {
        lane_.save(ahead_);
        std::array<Choice, kChoices> choices{};
        const std::size_t count = lane_.world().choices(choices);
        Successors successors{};
        const std::uint64_t present = lane_.world().hash(false);
        for (std::size_t i = 0; i < count; ++i) {
            successors[static_cast<std::size_t>(choices[i])] = lane_.with([&](ExhaustiveWorld& world) {
                world.take(choices[i]);
                // A wake that is no longer needed may be planned or not: at the end, that is all that there is.
                return choices[i] == Choice::wait && world.hash(false) == present ? 0
                       : world.failed()                                           ? 1
                                                                                  : world.hash();
            });
            lane_.restore(ahead_);
        }
        return successors;
    }
    static std::string text(const Path& path) {
        std::string numbers;
        for (const Choice choice : path) {
            numbers += (numbers.empty() ? "" : ",") + std::to_string(static_cast<unsigned>(choice));
        }
        return numbers;
    }

    void count_state() {
        const std::uint64_t states = ++shared_.states;
        std::uint64_t depth = shared_.depth.load(std::memory_order_relaxed);
        while (path_.size() > depth && !shared_.depth.compare_exchange_weak(depth, path_.size())) {
        }
        if (states >= shared_.options.states_max || (shared_.options.stop && shared_.options.stop())) {
            shared_.stop = true;
        }
        if (states % 65'536 == 0 && shared_.options.progress) {
            shared_.options.progress(states);
        }
    }

    void descend() {
        if (depth_ == levels_.size()) {
            levels_.emplace_back();
        }
        Level& level = levels_[depth_++];
        level.next = 0;
        level.count = lane_.world().choices(level.choices);
        if (level.count > 1) {
            lane_.save(level.snapshot);
        }
    }

    /// The last choice of the state furthest up that has one left.
    template <typename HandOver>
    void share(std::size_t base, HandOver&& hand_over) {
        for (std::size_t i = 0; i < depth_; ++i) {
            Level& level = levels_[i];
            if (level.count - level.next < 2) {
                continue;
            }
            Path path(path_.begin(), path_.begin() + static_cast<std::ptrdiff_t>(base + i));
            path.push_back(level.choices[--level.count]);
            hand_over(std::move(path));
            return;
        }
    }

    void note_violation() {
        const std::lock_guard lock(shared_.mutex);
        shared_.stop = true;
        if (shared_.violation.empty()) {
            shared_.violation = lane_.failure();
            shared_.path = path_;
        }
    }

    const std::string& note_text() {
        note_ = "the exploration broke an assertion; path: ";
        for (const Choice choice : path_) {
            const unsigned number = static_cast<unsigned>(choice);
            note_ += static_cast<char>('0' + number / 10);
            note_ += static_cast<char>('0' + number % 10);
            note_ += ',';
        }
        note_ += '\n';
        return note_;
    }

    Shared& shared_;
    Lane& lane_;
    Path path_;
    std::vector<Level> levels_;
    std::size_t depth_ = 0;
    std::uint64_t transitions_ = 0;
    std::string note_;
    SnapshotMemory::Snapshot ahead_;
};

/// What goes wrong on this path, or on from there without further faults; empty: nothing, or the path is none.
std::string failure_on(Lane& lane, const Path& path) {
    lane.reset();
    lane.with([&](ExhaustiveWorld& world) {
        for (const Choice choice : path) {
            if (world.failed() || !world.possible(choice)) {
                return;
            }
            world.take(choice);
        }
        while (!world.failed() && !world.at_end()) {
            world.take(world.onward());
        }
        if (!world.failed()) {
            world.judge_end();
        }
    });
    return lane.failure();
}

/// Leaves out every step without which it still goes wrong.
Path shorten(Lane& lane, Path path) {
    for (std::size_t length = path.size() + 1; length > path.size();) {
        length = path.size();
        for (std::size_t at = path.size(); at-- > 0;) {
            Path shorter = path;
            shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(at));
            if (!failure_on(lane, shorter).empty()) {
                path = std::move(shorter);
            }
        }
    }
    return path;
}

void explore_all(Shared& shared, unsigned jobs) {
    const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, jobs);
    tbb::task_arena arena(static_cast<int>(jobs));
    struct Worker {
        explicit Worker(Shared& shared) : lane(shared.options.budget), search(shared, lane) {}
        Lane lane;
        Search search;
    };
    tbb::enumerable_thread_specific<std::unique_ptr<Worker>> workers;
    const std::array<Path, 1> root{};
    arena.execute([&] {
        shared.pending = 1;
        tbb::parallel_for_each(root.begin(), root.end(), [&](const Path& path, tbb::feeder<Path>& feeder) {
            std::unique_ptr<Worker>& worker = workers.local();
            if (worker == nullptr) {
                worker = std::make_unique<Worker>(shared);
            }
            worker->search.run(path, [&](Path&& more) {
                ++shared.pending;
                feeder.add(std::move(more));
            });
            --shared.pending;
        });
    });
}

}  // namespace

ExhaustiveResult explore_exhaustively(const ExhaustiveOptions& options) {
    const AbortNotes notes;
    const auto begun = std::chrono::steady_clock::now();
    Shared shared(options);
    explore_all(shared, std::max(options.jobs, 1U));
    ExhaustiveResult result{.states = shared.states,
                            .transitions = shared.transitions,
                            .ends = shared.ends,
                            .depth = shared.depth,
                            .outcomes = shared.outcomes.all(),
                            .complete = !shared.stop,
                            .violation = shared.violation,
                            .path = {}};
    if (!result.ok() && !options.check_alike) {
        Lane lane(options.budget);
        const Path path = shorten(lane, shared.path);
        const std::string shortest = failure_on(lane, path);
        result.violation = shortest.empty() ? result.violation : shortest;
        for (const Choice choice : path) {
            result.path.push_back(static_cast<unsigned>(choice));
        }
    }
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    return result;
}

std::string replay_path(const ExhaustiveBudget& budget, const std::vector<unsigned>& path,
                        const std::function<void(const std::string&)>& line) {
    const AbortNotes notes;
    ExhaustiveWorld world(budget);
    world.set_trace(line);
    std::size_t steps = 0;
    const auto take = [&](Choice choice) {
        line(fmt::format("step {}: {}", ++steps, describe(choice)));
        world.take(choice);
    };
    for (const unsigned number : path) {
        if (world.failed()) {
            return world.failure();
        }
        if (number >= kChoices || !world.possible(static_cast<Choice>(number))) {
            return fmt::format("step {} cannot be {}: that is not possible there, or spent", steps + 1, number);
        }
        take(static_cast<Choice>(number));
    }
    while (!world.failed() && !world.at_end()) {
        take(world.onward());
    }
    if (!world.failed()) {
        world.judge_end();
    }
    return world.failure();
}

std::string replay_command(const ExhaustiveBudget& budget, const std::vector<unsigned>& path) {
    std::string command = "bowline sim --exhaustive --budget " + format_budget(budget) + " --replay ";
    for (std::size_t i = 0; i < path.size(); ++i) {
        command += (i == 0 ? "" : ",") + std::to_string(path[i]);
    }
    return command;
}

}  // namespace bowline::sim
