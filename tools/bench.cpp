#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include "protocol/settings_text.hpp"
#include "tools/bench_machine.hpp"
#include "tools/bench_net.hpp"
#include "tools/bench_run.hpp"
#include "tools/command.hpp"
#include "tools/cpu.hpp"
#include "tools/session.hpp"

namespace bowline::tools {

namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::size_t kPairsAdvised = 5;

struct BenchOptions {
    bool quick = false;
    std::size_t pairs = kPairsAdvised;
    Duration time;  ///< of a sample; 0: by --quick
    std::string output = "bench-report";
    std::string limit;  ///< empty: where the build has it
    std::vector<int> cpus;
    bool memif_only = false;
};

/// A folder that is gone with its object.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string pattern = (fs::temp_directory_path() / "bowline-bench.XXXXXX").string();
        if (mkdtemp(pattern.data()) != nullptr) {
            path_ = pattern;
        }
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        if (!path_.empty()) {
            fs::remove_all(path_, ignored);
        }
    }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

Result<std::string> find_limit(const BenchOptions& options, const fs::path& bowline) {
    const fs::path limit = options.limit.empty() ? bowline.parent_path().parent_path() / "bench" / "limit" / "limit"
                                                 : fs::path(options.limit);
    if (access(limit.c_str(), X_OK) != 0) {
        return usage_error(fmt::format(
            "the raw device is measured by the program 'limit', which is not at {}: `./run build` makes it as "
            "build/bench/limit/limit; name its place with --limit",
            limit.string()));
    }
    return fs::absolute(limit).string();
}

Result<std::pair<int, int>> choose_cpus(const BenchOptions& options) {
    const std::vector<int> allowed = allowed_cpus();
    if (options.cpus.empty()) {
        if (allowed.size() < 2) {
            return usage_error("two CPUs are needed, since each end spins on one of its own; this process may use one");
        }
        return two_cpus(allowed);
    }
    for (const int cpu : options.cpus) {
        if (Result<void> usable = check_cpu(cpu); !usable) {
            return usable.error();
        }
    }
    if (options.cpus.size() != 2 || options.cpus[0] == options.cpus[1]) {
        return usage_error("--cpus: must be two different CPUs, such as 0,1");
    }
    return std::pair(options.cpus[0], options.cpus[1]);
}

/// What is to be said of the figures beside them.
std::vector<std::string> warnings_about(const std::vector<BenchSeries>& series) {
    std::vector<std::string> warnings;
    std::size_t too_few = 0;
    for (const BenchSeries& one : series) {
        if (!one.failure.empty()) {
            warnings.push_back(fmt::format("{}: a sample failed: {}", one.bench_case.name(), one.failure));
        }
        if (one.valid() < kPairsAdvised) {
            ++too_few;
        }
    }
    if (too_few != 0) {
        warnings.push_back(
            fmt::format("{} of {} results have fewer than {} valid pairs", too_few, series.size(), kPairsAdvised));
    }
    return warnings;
}

Json core_distances(const std::vector<BenchSeries>& series) {
    std::vector<double> distances;
    std::size_t discarded = 0;
    for (const BenchSeries& one : series) {
        discarded += one.pairs.size() - one.valid();
        for (const BenchPair& pair : one.pairs) {
            distances.insert(distances.end(), pair.core_distance_ns.begin(), pair.core_distance_ns.end());
        }
    }
    return {{"ns", summary_of(distances)},
            {"min_ns", kCoreDistanceMinNs},
            {"max_ns", kCoreDistanceMaxNs},
            {"discarded_pairs", discarded}};
}

Result<void> write_file(const fs::path& path, const std::string& text) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    out.close();
    return out ? Result<void>() : system_error(fmt::format("cannot write '{}'", path.string()));
}

Result<void> write_report(const Json& report, const fs::path& folder) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (failed) {
        return system_error(fmt::format("cannot make the folder '{}': {}", folder.string(), failed.message()));
    }
    // What a process printed may be no UTF-8; the report is.
    const std::string text = report.dump(2, ' ', false, Json::error_handler_t::replace);
    if (Result<void> done = write_file(folder / "report.json", text + "\n"); !done) {
        return done;
    }
    return write_file(folder / "index.html", html_page(Json::parse(text)));
}

Result<void> measure(const BenchOptions& options, BenchSetup& setup, std::pair<int, int> cpus) {
    Json report = {{"when", fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr)))}};
    std::vector<std::string> warnings = machine_warnings(cpus);
    Json machine = machine_facts();
    machine["cpus_used"] = {cpus.first, cpus.second};

    std::optional<BenchNet> net;
    if (!options.memif_only && geteuid() == 0) {
        Result<BenchNet> made = BenchNet::make(setup.folder);
        if (made) {
            net.emplace(std::move(*made));
            setup.namespaces = net->name();
        } else {
            warnings.push_back("left out: veth: " + made.error().message);
        }
    } else if (!options.memif_only) {
        warnings.emplace_back("left out: veth, which needs root for network namespaces and packet sockets");
    }
    std::vector<BenchSeries> series;
    for (const BenchCase& bench_case : bench_cases(options.quick, net.has_value())) {
        series.push_back({bench_case, {}, ""});
    }
    BenchExtent extent;
    extent.pairs = options.pairs;
    extent.pairs_max = 2 * options.pairs;
    extent.budget = options.quick ? std::chrono::seconds(110) : std::chrono::minutes(19);
    const auto begin = std::chrono::steady_clock::now();
    if (Result<void> done = run_bench(series, setup, extent); !done) {
        return done;
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;

    for (std::string& warning : warnings_about(series)) {
        warnings.push_back(std::move(warning));
    }
    report["seconds"] = taken.count();
    report["quick"] = options.quick;
    report["how"] = fmt::format(
        "Raw device and engine alternate, {} ms a sample; figures are medians, a ratio is the median of the ratios "
        "within each pair, with the least and the largest. Only ratios of one report mean something.",
        setup.time_ms);
    report["machine"] = std::move(machine);
    report["build"] = build_facts();
    report["warnings"] = warnings;
    report["core_distance"] = core_distances(series);
    report["results"] = Json::array();
    for (const BenchSeries& one : series) {
        report["results"].push_back(case_report(one.bench_case, one.pairs));
        fmt::print("{}\n", case_line(report["results"].back()));
    }
    for (const std::string& warning : warnings) {
        fmt::print("warning: {}\n", warning);
    }
    fmt::print("{} pairs discarded: the core distance was outside {:.0f} to {:.0f} ns\n",
               report["core_distance"]["discarded_pairs"].get<int>(), kCoreDistanceMinNs, kCoreDistanceMaxNs);
    if (Result<void> written = write_report(report, options.output); !written) {
        return written;
    }
    fmt::print("{0}/report.json and {0}/index.html in {1:.0f} s\n", options.output, taken.count());
    const auto nothing = std::find_if(series.begin(), series.end(), [](const auto& one) { return one.pairs.empty(); });
    return nothing == series.end()
               ? Result<void>()
               : system_error(fmt::format("{}: nothing could be measured{}{}", nothing->bench_case.name(),
                                          nothing->failure.empty() ? " in time" : ": ", nothing->failure));
}

Result<void> run(const BenchOptions& options) {
    const fs::path bowline = fs::read_symlink("/proc/self/exe");
    const Result<std::string> limit = find_limit(options, bowline);
    if (!limit) {
        return limit.error();
    }
    const Result<std::pair<int, int>> cpus = choose_cpus(options);
    if (!cpus) {
        return cpus.error();
    }
    const TemporaryFolder folder;
    if (folder.path().empty()) {
        return system_error("cannot make a temporary folder (TMPDIR says where)");
    }
    BenchSetup setup;
    setup.bowline = bowline.string();
    setup.limit = *limit;
    setup.folder = folder.path();
    setup.cpus[0] = cpus->first;
    setup.cpus[1] = cpus->second;
    setup.time_ms = options.time.ns() / 1'000'000;
    if (setup.time_ms == 0) {
        setup.time_ms = options.quick ? 300 : 1'000;
    }
    return measure(options, setup, *cpus);
}

void bind(CLI::App& command, BenchOptions& options) {
    command.add_flag("--quick", options.quick, "the main cases only, in under 2 minutes; without it: under 20");
    command.add_option("--pairs", options.pairs, "pairs of raw device and engine, a case")
        ->check(CLI::Range(1, 1'000))
        ->type_name("N")
        ->capture_default_str();
    add_duration(command, "--time", options.time, "how long a sample takes; 0s: 1 s, or 300 ms with --quick");
    command.add_option("--output", options.output, "folder for report.json and index.html")
        ->type_name("FOLDER")
        ->capture_default_str();
    command.add_option("--cpus", options.cpus, "the CPUs of the two polling threads, such as 0,1")
        ->delimiter(',')
        ->type_name("N,N");
    command.add_option("--limit", options.limit, "the program that measures the raw device")->type_name("FILE");
    command.add_flag("--memif-only", options.memif_only, "leave out what needs root");
    command.footer(
        "Measures the engine and the device without any protocol alternately, over memif and, as root, over veth in\n"
        "network namespaces of its own. Both CPUs should have nothing else to do.");
}

}  // namespace

void add_bench(CLI::App& root, Run& chosen) {
    add_command<BenchOptions>(root, chosen, "bench", "measure against the raw device, and write a report", bind, run);
}

}  // namespace bowline::tools
