#include "dataplane/dpdk/eal.hpp"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>
#include <sched.h>

#include "tests/dataplane/dpdk/eal_fixture.hpp"

namespace bowline::dataplane::dpdk {
namespace {

bool has(const std::vector<std::string>& arguments, const std::string& wanted) {
    return std::ranges::find(arguments, wanted) != arguments.end();
}

DeviceSpec spec_of(std::string_view text) { return *parse_device_spec(text); }

TEST(EalArguments, BeginWithAProgramNameSoThatNoneIsLost) {
    EalOptions options;
    options.cpu = 1;
    const auto arguments = eal_arguments(options, {}, true);
    EXPECT_EQ(arguments.at(0), "bowline");
    EXPECT_EQ(arguments.at(1), "--lcores=0@(1)");
}

TEST(EalArguments, LeaveNoFilesBehindWithAndWithoutHugepages) {
    EXPECT_TRUE(has(eal_arguments({}, {}, true), "--in-memory"));
    EXPECT_TRUE(has(eal_arguments({}, {}, false), "--no-shconf"));
    EXPECT_TRUE(has(eal_arguments({}, {}, false), "--no-huge"));
    EXPECT_TRUE(has(eal_arguments({}, {}, false), "--no-telemetry"));
    EXPECT_FALSE(has(eal_arguments({}, {}, false), "--in-memory"));
}

TEST(EalArguments, LookAtThePciBusOnlyForItsDevices) {
    const std::array none{spec_of("memif:/tmp/x")};
    EXPECT_TRUE(has(eal_arguments({}, none, false), "--no-pci"));
    const std::array nic{spec_of("pci:3b:00.0,rx_vec_en=1")};
    const auto arguments = eal_arguments({}, nic, true);
    EXPECT_FALSE(has(arguments, "--no-pci"));
    EXPECT_TRUE(has(arguments, "0000:3b:00.0,rx_vec_en=1"));
    const std::array by_mac{spec_of("02:00:00:00:00:01")};
    EXPECT_FALSE(has(eal_arguments({}, by_mac, true), "-a"));
}

TEST(EalArguments, EndWithTheUsers) {
    EalOptions options;
    options.extra_args = {"--log-level=debug"};
    EXPECT_EQ(eal_arguments(options, {}, false).back(), "--log-level=debug");
}

TEST(Eal, LeavesTheCallersAffinityAlone) {
    cpu_set_t before;
    cpu_set_t after;
    ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    ASSERT_TRUE(test_eal());
    ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(Eal, StartsOnceAndSaysTheSameAgain) {
    ASSERT_TRUE(test_eal());
    const auto again = start_eal({}, {});
    ASSERT_TRUE(again);
    EXPECT_EQ(again->line, test_eal()->line);
    EXPECT_FALSE(again->hugepages);
}

TEST(Eal, GivesAWorkerThreadItsCache) {
    ASSERT_TRUE(test_eal());
    const WorkerThread worker;
    EXPECT_TRUE(worker.cached());
}

}  // namespace
}  // namespace bowline::dataplane::dpdk
