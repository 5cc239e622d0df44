#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#ifdef BOWLINE_MUTANTS
#include "protocol/mutant.hpp"
#endif
#include "sim/abort_note.hpp"
#include "sim/exhaustive.hpp"
#include "sim/explore.hpp"
#include "sim/scenario_files.hpp"
#include "tools/command.hpp"
#include "tools/stop_flag.hpp"

namespace bowline::tools {

namespace {

struct SimOptions {
    std::vector<std::string> files;
    std::string seeds;
    unsigned jobs = std::max(std::thread::hardware_concurrency(), 1U);
    std::string out = ".";
#ifdef BOWLINE_MUTANTS
    std::string mutant = "none";
#endif
    bool trace = false;
    bool exhaustive = false;
    std::string budget = "default";
    std::vector<unsigned> replay;
};

struct SeedRange {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
};

bool parse_number(std::string_view text, std::uint64_t& number) {
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    return error == std::errc{} && stopped == end;
}

Result<SeedRange> parse_seeds(const std::string& text) {
    SeedRange range;
    const std::size_t dots = text.find("..");
    // The last seed of all is left out, since nothing lies behind it.
    if (dots == std::string::npos || !parse_number(std::string_view(text).substr(0, dots), range.first) ||
        !parse_number(std::string_view(text).substr(dots + 2), range.last) || range.last < range.first ||
        range.last == UINT64_MAX) {
        return Error{Error::Kind::configuration,
                     fmt::format("--seeds: must be FIRST..LAST, two numbers such as 1..1000, not '{}'", text)};
    }
    return range;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void print_line(const std::string& line) { fmt::print("{}\n", line); }

Result<void> trace_seeds(const SeedRange& range) {
    sim::Arena arena;
    std::uint64_t failed = 0;
    for (std::uint64_t seed = range.first; seed <= range.last; ++seed) {
        const sim::SeedResult result = sim::explore_seed(seed, arena, print_line);
        fmt::print("seed {}: {}\n", seed, result.ok() ? "ok" : result.run.failure);
        failed += result.ok() ? 0U : 1U;
    }
    if (failed > 0) {
        return Error{Error::Kind::system,
                     fmt::format("{} of {} seeds broke the contract", failed, range.last - range.first + 1)};
    }
    return {};
}

/// One line a file, in order; what is wrong with the first file that is no scenario goes into the error as well.
Result<void> run_scenarios(const SimOptions& options) {
    std::size_t failed = 0;
    std::string unusable;
    const auto done = [&](const sim::FileResult& result) {
        print_line(result.report);
        failed += result.verdict == sim::FileVerdict::failed ? 1U : 0U;
        if (result.verdict == sim::FileVerdict::unusable && unusable.empty()) {
            unusable = result.report;
        }
    };
    if (options.trace) {
        const sim::AbortNotes notes;
        sim::Arena arena;
        for (const std::string& file : options.files) {
            done(sim::run_file(file, arena, print_line));
        }
    } else {
        sim::run_files(options.files, options.jobs, done);
    }
    if (!unusable.empty()) {
        return Error{Error::Kind::configuration, unusable};
    }
    if (failed > 0) {
        return Error{Error::Kind::system, fmt::format("{} of {} scenarios failed", failed, options.files.size())};
    }
    return {};
}

Result<void> interrupted() { return Error{Error::Kind::system, "interrupted; what is above is as far as it came"}; }

/// Makes a failing seed into a short scenario file that fails in the same way, and says where it is.
Result<void> write_shrunk(std::uint64_t seed, const std::string& folder) {
    fmt::print("seed {}: shrinking ...\n", seed);
    std::fflush(stdout);
    const sim::Scenario shrunk = sim::shrink_failure(sim::make_scenario(seed));
    const std::string path = fmt::format("{}/seed-{}.scn", folder, seed);
    std::ofstream file(path);
    file << fmt::format("# Shrunk from `bowline sim --seeds {0}..{0}`: {1}\n", seed,
                        first_line(sim::failure_of(shrunk)))
         << sim::format(shrunk);
    file.close();
    if (!file) {
        return Error{Error::Kind::system, fmt::format("cannot write {}: give a folder with --out", path)};
    }
    fmt::print("seed {}: again: bowline sim --trace {}\n", seed, path);
    return {};
}

/// A single seed runs in a process of its own, so that an assertion that breaks is shrunk like any other failure.
Result<void> explore_one(const SimOptions& options, std::uint64_t seed) {
    const std::string failure = sim::failure_of(sim::make_scenario(seed));
    if (failure.empty()) {
        fmt::print("seed {}: ok\n", seed);
        return {};
    }
    fmt::print("seed {}: {}\n", seed, failure);
    if (const Result<void> written = write_shrunk(seed, options.out); !written) {
        return written;
    }
    return Error{Error::Kind::system, fmt::format("seed {} broke the contract", seed)};
}

Result<void> explore(const SimOptions& options, const SeedRange& range) {
    if (range.first == range.last) {
        return explore_one(options, range.first);
    }
    std::vector<std::uint64_t> failed;
    const auto begun = std::chrono::steady_clock::now();
    const sim::ExploreTotals totals = sim::explore(
        {.first = range.first, .last = range.last, .jobs = options.jobs, .stop = stop_requested},
        [&](const sim::SeedResult& result) {
            failed.push_back(result.seed);
            fmt::print("seed {}: {}\nagain: {}\n", result.seed, result.run.failure, sim::replay_command(result.seed));
        });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    fmt::print(
        "{} seeds in {:.1f} s: {} messages accepted, {} delivered, {} reported as undelivered; {} seeds broke the "
        "contract\n",
        totals.seeds, took.count(), totals.accepted, totals.delivered, totals.reported, totals.failed);
    if (failed.empty()) {
        return stop_requested() ? interrupted() : Result<void>();
    }
    // The others most likely fail for the same reason; each can be had by its command.
    if (const Result<void> written = write_shrunk(failed.front(), options.out); !written) {
        return written;
    }
    return Error{Error::Kind::system, fmt::format("{} of {} seeds broke the contract", totals.failed, totals.seeds)};
}

Result<void> explore_all(const SimOptions& options) {
    sim::ExhaustiveBudget budget;
    std::string wrong;
    if (!sim::parse_budget(options.budget, budget, wrong)) {
        return Error{Error::Kind::configuration, fmt::format("--budget: {}", wrong)};
    }
    std::string violation;
    if (!options.replay.empty()) {
        violation = sim::replay_path(budget, options.replay, print_line);
    } else {
        const auto progress = [](std::uint64_t states) { fmt::print(stderr, "{} states ...\n", states); };
        const sim::ExhaustiveResult result = sim::explore_exhaustively(
            {.budget = budget, .jobs = options.jobs, .stop = stop_requested, .progress = progress});
        fmt::print("{}: {} states, {} transitions, {} of the states are ends, {} steps at most; {:.1f} s\n",
                   sim::format_budget(budget), result.states, result.transitions, result.ends, result.depth,
                   result.seconds);
        violation = result.violation;
        if (!result.ok()) {
            [[maybe_unused]] const std::string again = sim::replay_path(budget, result.path, print_line);
            fmt::print("again: {}\n", sim::replay_command(budget, result.path));
        } else if (!result.complete) {
            return interrupted();
        }
    }
    if (!violation.empty()) {
        return Error{Error::Kind::system, violation};
    }
    fmt::print("no state breaks the contract\n");
    return {};
}

#ifdef BOWLINE_MUTANTS
Result<void> break_rule(const std::string& name) {
    for (auto i = 0; i < static_cast<int>(protocol::Mutant::count); ++i) {
        if (name == protocol::name_of(static_cast<protocol::Mutant>(i))) {
            protocol::active_mutant = static_cast<protocol::Mutant>(i);
            return {};
        }
    }
    return Error{Error::Kind::configuration, fmt::format("--mutant: no rule is broken by '{}'", name)};
}
#endif

Result<void> run(const SimOptions& options) {
#ifdef BOWLINE_MUTANTS
    if (const Result<void> broken = break_rule(options.mutant); !broken) {
        return broken;
    }
#endif
    if (options.exhaustive) {
        return explore_all(options);
    }
    if (!options.files.empty() || options.seeds.empty()) {
        return options.files.empty() ? Error{Error::Kind::configuration,
                                             "nothing to run: name scenario files, or give --seeds FIRST..LAST"}
                                     : run_scenarios(options);
    }
    const Result<SeedRange> range = parse_seeds(options.seeds);
    if (!range) {
        return range.error();
    }
    if (options.trace) {
        return trace_seeds(*range);
    }
    return explore(options, *range);
}

void bind(CLI::App& command, SimOptions& options) {
    CLI::Option* const files =
        command.add_option("FILE", options.files, "scenarios to run; docs/SCENARIOS.md has their language");
    CLI::Option* const seeds =
        command.add_option("--seeds", options.seeds, "runs to explore, each made from its number")
            ->type_name("FIRST..LAST")
            ->excludes(files);
    command.add_option("--jobs", options.jobs, "files or seeds at a time")
        ->type_name("N")
        ->check(CLI::Range(1U, 1024U))
        ->capture_default_str();
    command.add_option("--out", options.out, "folder for the scenario that a failing seed is shrunk to")
        ->type_name("FOLDER")
        ->capture_default_str();
#ifdef BOWLINE_MUTANTS
    command.add_option("--mutant", options.mutant, "break this rule of the protocol (protocol/mutant.hpp)")
        ->type_name("NAME");
#endif
    CLI::Option* const exhaustive =
        command
            .add_flag("--exhaustive", options.exhaustive,
                      "everything that can happen to two nodes within a budget, in every order")
            ->excludes(files, seeds);
    command.add_option("--budget", options.budget, "of --exhaustive; docs/SIMULATION.md has the names and keys")
        ->type_name("NAME|KEY=N,...")
        ->needs(exhaustive)
        ->capture_default_str();
    command.add_option("--replay", options.replay, "one path of --exhaustive, with each of its packets")
        ->type_name("STEP,...")
        ->delimiter(',')
        ->needs(exhaustive);
    command.add_flag("--trace", options.trace, "print every packet and decision, one run after the other");
    command.footer(
        "Runs the shipping worker and control code under a virtual clock, on a network that loses, doubles, delays "
        "and\n"
        "corrupts packets, with stalls, crashes and empty pools, and checks that every message is delivered exactly "
        "once\n"
        "and in order, or reported. A seed is always the same run; one that fails is shrunk to a short scenario file.");
}

}  // namespace

void add_sim(CLI::App& root, Run& chosen) {
    add_command<SimOptions>(root, chosen, "sim",
                            "run scenarios, or explore the protocol at random, under simulated faults", bind, run);
}

}  // namespace bowline::tools
