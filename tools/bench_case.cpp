#include "tools/bench_case.hpp"

#include <array>

#include <fmt/format.h>

#include "protocol/settings_text.hpp"
#include "protocol/wire/frame.hpp"
#include "protocol/wire/header.hpp"
#include "tools/progress.hpp"

namespace bowline::tools {

namespace {

constexpr std::uint32_t kEthernetBytes = 14;
constexpr std::uint32_t kMtu = 1500;
// IPv4, UDP, Bowline's header, the header of one frame.
constexpr std::uint32_t kHeaderBytes = 20 + 8 + protocol::wire::kHeaderBytes + protocol::wire::kFrameHeaderBytes;

using Kind = BenchCase::Kind;
using Medium = BenchCase::Medium;

/// `words` behind `command`.
void append(CommandLine& command, const CommandLine& words) {
    command.insert(command.end(), words.begin(), words.end());
}

/// The beginning of a command at this end (0: a, the client's; 1: b, the server's): namespace, program, device, CPU.
CommandLine at_end(int end, const BenchCase& bench_case, const BenchSetup& setup, const CommandLine& what) {
    CommandLine command;
    const bool is_veth = bench_case.medium == Medium::veth;
    if (is_veth) {
        command = {"ip", "netns", "exec", setup.namespaces + (end == 0 ? "-a" : "-b")};
    }
    append(command, what);
    append(command, {"--device", is_veth ? "af_packet:eth0" : fmt::format("memif:{}/memif.sock", setup.folder), "--cpu",
                     std::to_string(setup.cpus[end])});
    return command;
}

CommandLine node_options(int end) {
    return end == 0 ? CommandLine{"--name", "a", "--address", "10.77.0.1/24", "--peer", "b=10.77.0.2"}
                    : CommandLine{"--name", "b", "--address", "10.77.0.2/24", "--peer", "a=10.77.0.1"};
}

}  // namespace

bool BenchCase::is_one_packet() const { return kHeaderBytes + size <= kMtu; }

std::uint32_t BenchCase::raw_frame_bytes() const {
    return kEthernetBytes + (is_one_packet() ? kHeaderBytes + static_cast<std::uint32_t>(size) : kMtu);
}

const char* name_of(Kind kind) {
    switch (kind) {
        case Kind::round_trip:
            return "round trip";
        case Kind::one_way:
            return "one way";
        case Kind::offered_rate:
            return "offered rate";
    }
    return "unknown";
}

const char* name_of(Medium medium) { return medium == Medium::memif ? "memif" : "veth"; }

std::string BenchCase::name() const {
    const std::string at = kind == Kind::offered_rate ? fmt::format(" {}/s", human_count(rate)) : "";
    const std::string bytes = size < 1024 || size % 1024 != 0 ? fmt::format("{} B", size) : protocol::format_size(size);
    return fmt::format("{} {}{} {}", name_of(medium), name_of(kind), at, bytes);
}

std::vector<BenchCase> bench_cases(bool quick, bool with_veth) {
    static constexpr std::array<std::uint64_t, 7> kSizes = {32, 64, 288, 1344, 8U << 10U, 64U << 10U, 1U << 20U};
    if (quick) {
        std::vector<BenchCase> cases = {
            {Kind::round_trip, Medium::memif, 64},    {Kind::round_trip, Medium::memif, 1344},
            {Kind::one_way, Medium::memif, 64},       {Kind::one_way, Medium::memif, 1344},
            {Kind::one_way, Medium::memif, 64 << 10}, {Kind::offered_rate, Medium::memif, 64, 100'000},
        };
        if (with_veth) {
            cases.push_back({Kind::round_trip, Medium::veth, 64});
            cases.push_back({Kind::one_way, Medium::veth, 64});
        }
        return cases;
    }
    std::vector<BenchCase> cases;
    for (const Medium medium : {Medium::memif, Medium::veth}) {
        if (medium == Medium::veth && !with_veth) {
            continue;
        }
        for (const Kind kind : {Kind::round_trip, Kind::one_way}) {
            for (const std::uint64_t size : kSizes) {
                cases.push_back({kind, medium, size});
            }
        }
        const double unit = medium == Medium::memif ? 1.0 : 0.1;  // a kernel interface carries a tenth
        for (const double rate : {10'000.0, 100'000.0, 300'000.0}) {
            cases.push_back({Kind::offered_rate, medium, 64, rate * unit});
        }
    }
    return cases;
}

BenchCommands raw_commands(const BenchCase& bench_case, const BenchSetup& setup) {
    const bool one_way = bench_case.kind == Kind::one_way;
    const auto command = [&](int end, const char* role, std::int64_t ms) {
        CommandLine line = at_end(end, bench_case, setup, {setup.limit, role});
        append(line, {"--size", std::to_string(bench_case.raw_frame_bytes()), "--time", fmt::format("{}ms", ms)});
        return line;
    };
    // The server is stopped when the client is done; the time is in case nobody does.
    const std::int64_t long_ms = setup.time_ms + 60'000;
    return one_way ? BenchCommands{command(0, "flood", long_ms), command(1, "sink", setup.time_ms)}
                   : BenchCommands{command(1, "pong", long_ms), command(0, "ping", setup.time_ms)};
}

BenchCommands engine_commands(const BenchCase& bench_case, const BenchSetup& setup) {
    const bool one_way = bench_case.kind == Kind::one_way;
    CommandLine server = at_end(1, bench_case, setup, {setup.bowline, one_way ? "sink" : "echo"});
    append(server, node_options(1));
    CommandLine client = at_end(0, bench_case, setup, {setup.bowline, one_way ? "flood" : "ping", "b"});
    append(client, node_options(0));
    append(client, {"--size", std::to_string(bench_case.size), "--time", fmt::format("{}ms", setup.time_ms), "--json"});
    if (bench_case.kind == Kind::offered_rate) {
        append(client, {"--rate", fmt::format("{:.0f}", bench_case.rate)});
    }
    return {server, client};
}

}  // namespace bowline::tools
