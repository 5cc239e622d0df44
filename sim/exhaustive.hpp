#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bowline::sim {

/// How much of each kind may happen in a run of two nodes, A and B, in whatever order.
struct ExhaustiveBudget {
    unsigned messages_a = 3;  ///< from A to B
    unsigned messages_b = 0;  ///< from B to A
    unsigned drops = 2;
    unsigned duplicates = 1;  ///< the copy arrives at any later moment, or never
    unsigned delays = 1;      ///< of a packet that is overtaken by whatever comes, and arrives at any moment, or never
    unsigned closes = 1;      ///< on either side
    unsigned exclusions = 1;  ///< on either side; the view that takes the peer in again comes at any moment, or never
    unsigned forgets = 0;     ///< on either side
    unsigned breaks = 1;      ///< closes, exclusions and forgets together
    unsigned rotations = 1;   ///< of A's connection
};

/// A name of a budget, or `key=value,...` with the fields' names, which count from the budget "none"; a name may stand
/// first. False: `text` is neither, and `error` says why.
[[nodiscard]] bool parse_budget(std::string_view text, ExhaustiveBudget& budget, std::string& error);
[[nodiscard]] std::string format_budget(const ExhaustiveBudget& budget);

struct ExhaustiveOptions {
    ExhaustiveBudget budget;
    unsigned jobs = 1;
    std::uint64_t states_max = UINT64_MAX;  ///< stops there, incomplete
    /// Each order of events by itself, without recognising states that have been seen: for tiny budgets, to compare.
    bool every_path = false;
    /// Whether two ways to what is held to be one state go on alike, step by step: what is left out of a state's hash
    /// must not matter. What does is a violation. Several times the work.
    bool check_alike = false;
    /// Asked at each new state, on any thread; true: it ends there, incomplete.
    std::function<bool()> stop = {};
    /// Now and then, on the calling thread or another: states so far.
    std::function<void(std::uint64_t states)> progress = {};
};

struct ExhaustiveResult {
    std::uint64_t states = 0;  ///< different ones, or, with every_path, all
    std::uint64_t transitions = 0;
    std::uint64_t ends = 0;               ///< states from which nothing more happens by itself
    std::uint64_t depth = 0;              ///< of the longest path
    std::vector<std::uint64_t> outcomes;  ///< what became of messages at ends: different ones, sorted
    bool complete = false;
    double seconds = 0;
    std::string violation;       ///< the first that was found, or nothing
    std::vector<unsigned> path;  ///< that leads to it, shortened
    [[nodiscard]] bool ok() const { return violation.empty(); }
};

/// Everything that two nodes that know each other can get into within the budget: the shipping worker and control code,
/// the network under the explorer's hand. docs/SIMULATION.md says what a step is and what is left out.
[[nodiscard]] ExhaustiveResult explore_exhaustively(const ExhaustiveOptions& options);

/// Runs one path, and on to its end; each step and packet goes to `line`. Empty: no violation. A choice that is not
/// possible where it stands ends the run, with a word.
[[nodiscard]] std::string replay_path(const ExhaustiveBudget& budget, const std::vector<unsigned>& path,
                                      const std::function<void(const std::string&)>& line);
[[nodiscard]] std::string replay_command(const ExhaustiveBudget& budget, const std::vector<unsigned>& path);

}  // namespace bowline::sim
