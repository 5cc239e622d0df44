#include "tools/bench_case.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace bowline::tools {
namespace {

using Kind = BenchCase::Kind;
using Medium = BenchCase::Medium;

bool has(const CommandLine& command, const std::string& option, const std::string& value) {
    const auto at = std::find(command.begin(), command.end(), option);
    return at != command.end() && at + 1 != command.end() && *(at + 1) == value;
}

TEST(BenchCase, ARawFrameIsAsLongAsThePacketOfOneMessageOrFull) {
    EXPECT_EQ((BenchCase{Kind::one_way, Medium::memif, 64}.raw_frame_bytes()), 144U);
    const BenchCase longest{Kind::one_way, Medium::memif, 1434};
    EXPECT_TRUE(longest.is_one_packet());
    EXPECT_EQ(longest.raw_frame_bytes(), 1514U);
    const BenchCase longer{Kind::one_way, Medium::memif, 1435};
    EXPECT_FALSE(longer.is_one_packet());
    EXPECT_EQ(longer.raw_frame_bytes(), 1514U);
}

TEST(BenchCase, NamesAreUniqueAndWithoutRootThereIsNoVeth) {
    for (const bool quick : {false, true}) {
        std::set<std::string> names;
        const auto all = bench_cases(quick, true);
        for (const BenchCase& one : all) {
            names.insert(one.name());
        }
        EXPECT_EQ(names.size(), all.size());
        for (const BenchCase& one : bench_cases(quick, false)) {
            EXPECT_EQ(one.medium, Medium::memif) << one.name();
        }
    }
}

TEST(BenchCase, BothSidesRunOnTheSameDeviceCpusAndTime) {
    BenchSetup setup;
    setup.folder = "/f";
    setup.namespaces = "ns";
    setup.cpus[0] = 2;
    setup.cpus[1] = 5;
    setup.time_ms = 70;
    for (const BenchCase& one : bench_cases(false, true)) {
        const BenchCommands raw = raw_commands(one, setup);
        const BenchCommands engine = engine_commands(one, setup);
        const std::string device = one.medium == Medium::veth ? "af_packet:eth0" : "memif:/f/memif.sock";
        for (const CommandLine& command : {raw.server, raw.client, engine.server, engine.client}) {
            EXPECT_TRUE(has(command, "--device", device)) << one.name();
            EXPECT_EQ(has(command, "ip", "netns"), one.medium == Medium::veth) << one.name();
        }
        EXPECT_TRUE(has(raw.client, "--time", "70ms")) << one.name();
        EXPECT_TRUE(has(engine.client, "--time", "70ms")) << one.name();
        EXPECT_TRUE(has(engine.client, "--cpu", "2") && has(engine.server, "--cpu", "5")) << one.name();
        EXPECT_EQ(has(engine.client, "--rate", "10000") || has(engine.client, "--rate", "100000") ||
                      has(engine.client, "--rate", "300000") || has(engine.client, "--rate", "1000") ||
                      has(engine.client, "--rate", "30000"),
                  one.kind == Kind::offered_rate)
            << one.name();
    }
}

}  // namespace
}  // namespace bowline::tools
