#include "tools/bench_run.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/bench_machine.hpp"
#include "tools/child_process.hpp"
#include "tools/stop_flag.hpp"

namespace bowline::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kStartAndStop(30);
constexpr std::chrono::seconds kStop(10);

/// The JSON object in the last line.
Result<Json> figures_in(const std::string& output) {
    const std::size_t end = output.find_last_not_of('\n');
    const std::size_t begin = end == std::string::npos ? end : output.rfind('\n', end) + 1;
    Json figures =
        end == std::string::npos ? Json() : Json::parse(output.substr(begin, end - begin + 1), nullptr, false);
    if (!figures.is_object()) {
        return Error{Error::Kind::system, fmt::format("figures were expected, not '{}'", output)};
    }
    return figures;
}

/// Both ends once: what the client prints.
Result<Json> run_sample(const BenchCommands& commands, const BenchSetup& setup) {
    const std::string file = setup.folder + "/";
    const std::vector<std::string> environment = {"XDG_RUNTIME_DIR=" + setup.folder};
    ::unlink((file + "memif.sock").c_str());
    auto server = ChildProcess::start(commands.server, file + "server.out", file + "server.err", environment);
    if (!server) {
        return server.error();
    }
    auto client = ChildProcess::start(commands.client, file + "client.out", file + "client.err", environment);
    if (!client) {
        return client.error();
    }
    const Result<int> status = client->wait(std::chrono::milliseconds(setup.time_ms) * 2 + kStartAndStop);
    if (!status || *status != 0) {
        client->stop(kStop);
        server->stop(kStop);
        return Error{Error::Kind::system,
                     fmt::format("{}: {}; its other end: {}",
                                 status ? fmt::format("exit status {}", *status) : status.error().message,
                                 read_file(file + "client.err"), read_file(file + "server.err"))};
    }
    server->stop(kStop);
    return figures_in(read_file(file + "client.out"));
}

Result<BenchPair> run_pair(const BenchCase& bench_case, const BenchSetup& setup) {
    BenchPair pair;
    const auto probe = [&] {
        if (bench_case.medium == BenchCase::Medium::memif) {
            pair.core_distance_ns.push_back(core_distance_ns({setup.cpus[0], setup.cpus[1]}));
        }
    };
    probe();
    Result<Json> raw = run_sample(raw_commands(bench_case, setup), setup);
    if (!raw) {
        return Error{Error::Kind::system, "raw device: " + raw.error().message};
    }
    probe();
    Result<Json> engine = run_sample(engine_commands(bench_case, setup), setup);
    if (!engine) {
        return Error{Error::Kind::system, "engine: " + engine.error().message};
    }
    probe();
    pair.raw = std::move(*raw);
    pair.engine = std::move(*engine);
    return pair;
}

}  // namespace

std::size_t BenchSeries::valid() const {
    return static_cast<std::size_t>(
        std::count_if(pairs.begin(), pairs.end(), [](const BenchPair& pair) { return pair.is_valid(); }));
}

Result<void> run_bench(std::vector<BenchSeries>& series, const BenchSetup& setup, const BenchExtent& extent) {
    const auto end = std::chrono::steady_clock::now() + extent.budget;
    for (std::size_t round = 0; round < extent.pairs_max; ++round) {
        for (BenchSeries& one : series) {
            if (one.valid() >= extent.pairs) {
                continue;
            }
            if (std::chrono::steady_clock::now() >= end) {
                return {};
            }
            Result<BenchPair> pair = run_pair(one.bench_case, setup);
            if (stop_requested()) {
                return Error{Error::Kind::system, "interrupted before the end of the measurement"};
            }
            if (pair) {
                one.pairs.push_back(std::move(*pair));
            } else {
                one.failure = pair.error().message;
                fmt::print(stderr, "bowline bench: {}: {}\n", one.bench_case.name(), one.failure);
            }
        }
    }
    return {};
}

}  // namespace bowline::tools
