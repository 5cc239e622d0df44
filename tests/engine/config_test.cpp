#include "bowline/config.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace bowline {
namespace {

constexpr const char* kGood = R"(
name = "a"
device = "memif:/tmp/a.sock"
address = "10.0.0.1/24"
window = 256
message_max = "64KiB"
rto_min = "1.5ms"
mode = "dedicated"
hugepages = false
memory = "128MiB"
cpu = 3

[[peer]]
name = "b"
address = "10.0.0.2"

[[peer]]
name = "c"
address = "10.0.0.3"
mac = "02:00:00:00:00:0C"
)";

std::string message_of(const Result<Config>& result) { return result ? "no error" : result.error().message; }
std::string message_of(const Result<void>& result) { return result ? "no error" : result.error().message; }
std::string parse_error(std::string_view text) { return message_of(Config::parse(text, "a.toml")); }

Config good() { return *Config::parse(kGood, "a.toml"); }

std::string validate_error(void (*change)(Config&)) {
    Config config = good();
    change(config);
    return message_of(config.validate());
}

TEST(ConfigParse, FillsEveryKindOfKeyAndLeavesTheRest) {
    const Result<Config> config = Config::parse(kGood, "a.toml");
    ASSERT_TRUE(config) << message_of(config);
    EXPECT_EQ(config->name, "a");
    EXPECT_EQ(config->device, "memif:/tmp/a.sock");
    EXPECT_EQ(config->address, "10.0.0.1/24");
    EXPECT_EQ(config->window, 256U);
    EXPECT_EQ(config->message_max, 65536U);
    EXPECT_EQ(config->rto_min_ns, 1'500'000);
    EXPECT_EQ(config->mode, Config::Mode::dedicated);
    EXPECT_EQ(config->hugepages, Config::Hugepages::off);
    EXPECT_EQ(config->memory_mb, 128U);
    EXPECT_EQ(config->cpu, 3);
    EXPECT_EQ(config->port, 7727);
    ASSERT_EQ(config->peers.size(), 2U);
    EXPECT_EQ(config->peers[1].name, "c");
    EXPECT_EQ(config->peers[1].address, "10.0.0.3");
    EXPECT_EQ(config->peers[1].mac, "02:00:00:00:00:0C");
    EXPECT_EQ(message_of(config->validate()), "no error");
}

TEST(ConfigParse, NamesPlaceAndKeyOfAnUnknownKeyAndGuessesWhatWasMeant) {
    EXPECT_EQ(parse_error("name = \"a\"\n  windw = 12\n"),
              "a.toml:2:3: key 'windw': unknown key; did you mean 'window'?");
    EXPECT_EQ(parse_error("zebra = 1"), "a.toml:1:1: key 'zebra': unknown key");
    EXPECT_EQ(parse_error("[[peers]]\nname = \"b\""), "a.toml:1:3: key 'peers': unknown key; did you mean 'peer'?");
    EXPECT_EQ(parse_error("[[peer]]\nname = \"b\"\nadress = \"10.0.0.2\""),
              "a.toml:3:1: key 'adress': unknown key; did you mean 'address'? (in [[peer]])");
}

TEST(ConfigParse, SaysWhatAKeyMayBeWhenItIsOutOfRange) {
    EXPECT_EQ(parse_error("port = 70000"), "a.toml:1:8: key 'port': must be a whole number, 1 to 65535, not 70000");
    EXPECT_EQ(parse_error("window = 1000"), "a.toml:1:10: key 'window': must be a power of two, 2 to 16384, not 1000");
    EXPECT_EQ(parse_error("window = 32768"),
              "a.toml:1:10: key 'window': must be a power of two, 2 to 16384, not 32768");
    EXPECT_EQ(parse_error("rto_min = \"1us\""),
              "a.toml:1:11: key 'rto_min': must be a duration such as '5ms', 10us to 10s, not '1us'");
    EXPECT_EQ(parse_error("mtu = 100"),
              "a.toml:1:7: key 'mtu': must be a size such as 1500 or '64KiB', 576 to 65535, not 100");
    EXPECT_EQ(parse_error("memory = 256"),
              "a.toml:1:10: key 'memory': must be 0 or a size such as '128MiB', 16MiB to "
              "64GiB in steps of 1MiB, not 256");
    EXPECT_EQ(parse_error("message_max = 0"),
              "a.toml:1:15: key 'message_max': must be a size such as 1500 or '64KiB', 1 to 1GiB, not 0");
    EXPECT_EQ(parse_error("mode = \"dedicatd\""),
              "a.toml:1:8: key 'mode': must be inline or dedicated, not 'dedicatd'; did you mean 'dedicated'?");
    EXPECT_EQ(
        parse_error("address = \"10.0.0.256/24\""),
        "a.toml:1:11: key 'address': must be an address with the length of its network's prefix such as '10.0.0.1/24', "
        "not '10.0.0.256/24'");
    EXPECT_EQ(parse_error("name = \"a b\""),
              "a.toml:1:8: key 'name': must be 1 to 63 printable characters without space, not 'a b'");
}

TEST(ConfigParse, TakesDecimalsAsFloatsAndAsWholeNumbers) {
    const Result<Config> config = Config::parse(
        "congestion = \"swift\"\nswift_beta = 0.75\nswift_ai = 2\nswift_min_cwnd = 0.005\nswift_fs_range = \"1ms\"",
        "a.toml");
    ASSERT_TRUE(config) << message_of(config);
    EXPECT_EQ(config->congestion, Config::Congestion::swift);
    EXPECT_EQ(config->swift_beta_milli, 750U);
    EXPECT_EQ(config->swift_ai_milli, 2000U);
    EXPECT_EQ(config->swift_min_cwnd_milli, 5U);
    EXPECT_EQ(config->swift_fs_range_ns, 1'000'000);
    EXPECT_EQ(parse_error("swift_beta = 1.5"),
              "a.toml:1:14: key 'swift_beta': must be a number such as 0.5, 0.001 to 1, not '1.5'");
    EXPECT_EQ(parse_error("swift_beta = 0.0005"),
              "a.toml:1:14: key 'swift_beta': must be a number such as 0.5, 0.001 to 1, not '0.0005'");
    EXPECT_EQ(parse_error("swift_ai = 1000000"),
              "a.toml:1:12: key 'swift_ai': must be a number such as 0.5, 0.001 to 100, not 1000000");
    EXPECT_EQ(parse_error("congestion = \"swfit\""),
              "a.toml:1:14: key 'congestion': must be fixed or swift, not 'swfit'; did you mean 'swift'?");
}

TEST(ConfigParse, SaysWhatAKeyMayBeWhenItsTypeIsWrong) {
    EXPECT_EQ(parse_error("port = \"80\""), "a.toml:1:8: key 'port': must be a whole number, 1 to 65535, not '80'");
    EXPECT_EQ(parse_error("port = 1.5"),
              "a.toml:1:8: key 'port': must be a whole number, 1 to 65535, not of type floating-point");
    EXPECT_EQ(parse_error("rto_min = 500"),
              "a.toml:1:11: key 'rto_min': must be a duration such as '5ms', 10us to 10s, not 500");
    EXPECT_EQ(parse_error("name = 7"),
              "a.toml:1:8: key 'name': must be 1 to 63 printable characters without space, not 7");
    EXPECT_EQ(parse_error("mode = [1]"), "a.toml:1:8: key 'mode': must be inline or dedicated, not of type array");
    EXPECT_EQ(parse_error("peer = 3"), "a.toml:1:1: key 'peer': peers are written as [[peer]], with double brackets");
    EXPECT_EQ(parse_error("[peer]\nname = \"b\""),
              "a.toml:1:2: key 'peer': peers are written as [[peer]], with double brackets");
    EXPECT_EQ(parse_error("[[peer]]\nname = 3\naddress = \"10.0.0.2\""),
              "a.toml:2:8: key 'name': must be 1 to 63 printable characters without space, not of type integer");
}

TEST(ConfigParse, RefusesPeersThatAreIncompleteOrThereTwice) {
    EXPECT_EQ(parse_error("[[peer]]\naddress = \"10.0.0.2\""), "a.toml:1:1: [[peer]] has no 'name'");
    EXPECT_EQ(parse_error("[[peer]]\nname = \"b\""), "a.toml:1:1: [[peer]] has no 'address'");
    EXPECT_EQ(
        parse_error("[[peer]]\nname = \"b\"\naddress = \"10.0.0.2\"\n[[peer]]\nname = \"b\"\naddress = \"10.0.0.3\""),
        "a.toml:4:1: peer 'b' is configured twice");
    EXPECT_EQ(
        parse_error("[[peer]]\nname = \"b\"\naddress = \"10.0.0.2\"\n[[peer]]\nname = \"c\"\naddress = \"10.0.0.2\""),
        "a.toml:4:1: peers 'b' and 'c' have the same address 10.0.0.2");
    EXPECT_EQ(parse_error("[[peer]]\nname = \"b\"\naddress = \"10.0.0.2\"\nmac = \"ff:ff:ff:ff:ff:ff\""),
              "a.toml:4:7: key 'mac': must be the MAC address of a node such as '02:00:00:00:00:02', not "
              "'ff:ff:ff:ff:ff:ff'");
}

TEST(ConfigParse, PassesOnWhereTomlIsMalformed) {
    EXPECT_EQ(parse_error("name = \"a\"\nwindow = = 3\n").substr(0, 23), "a.toml:2:10: not TOML: ");
    EXPECT_EQ(parse_error("name = \"a").substr(0, 9), "a.toml:1:");
    EXPECT_NE(parse_error("name = \"a\"\nname = \"b\"").find("a.toml:2:"), std::string::npos);
    EXPECT_NE(parse_error("name = \"\xff\xfe\"").find("not TOML"), std::string::npos);
}

TEST(ConfigLoad, NamesTheFileThatItCannotRead) {
    const Result<Config> missing = Config::load("/nonexistent/a.toml");
    EXPECT_EQ(message_of(missing), "/nonexistent/a.toml: cannot read the configuration: No such file or directory");
    EXPECT_EQ(missing.error().kind, Error::Kind::configuration);
    EXPECT_EQ(message_of(Config::load("/")), "/: cannot read the configuration: Is a directory");
    EXPECT_EQ(message_of(Config::load("/dev/zero")), "/dev/zero: cannot read the configuration: not a regular file");
}

TEST(ConfigLoad, ReadsAFileAndNamesItInErrors) {
    const std::string path =
        std::filesystem::temp_directory_path() / ("bowline-config-test-" + std::to_string(getpid()));
    std::ofstream(path) << kGood;
    const Result<Config> config = Config::load(path);
    EXPECT_EQ(message_of(config), "no error");
    std::ofstream(path) << "vlan = 5000\n";
    EXPECT_EQ(message_of(Config::load(path)), path + ":1:8: key 'vlan': must be a whole number, 0 to 4094, not 5000");
    std::ofstream(path, std::ios::trunc).flush();
    EXPECT_EQ(message_of(Config::load(path)), "no error") << "an empty file is all defaults";
    std::filesystem::remove(path);
}

TEST(ConfigSet, ConvertsText) {
    Config config;
    EXPECT_EQ(message_of(config.set("window", "64")), "no error");
    EXPECT_EQ(message_of(config.set("cpu", "-1")), "no error");
    EXPECT_EQ(message_of(config.set("ack_delay", "10us")), "no error");
    EXPECT_EQ(message_of(config.set("message_max", "16MiB")), "no error");
    EXPECT_EQ(message_of(config.set("integrity", "never")), "no error");
    EXPECT_EQ(message_of(config.set("gateway", "")), "no error");
    EXPECT_EQ(message_of(config.set("peer", "b=10.0.0.2,02:00:00:00:00:02")), "no error");
    EXPECT_EQ(config.window, 64U);
    EXPECT_EQ(config.cpu, -1);
    EXPECT_EQ(config.ack_delay_ns, 10'000);
    EXPECT_EQ(config.message_max, 16U << 20U);
    EXPECT_EQ(config.integrity, Config::Integrity::never);
    ASSERT_EQ(config.peers.size(), 1U);
    EXPECT_EQ(config.peers[0].mac, "02:00:00:00:00:02");
}

TEST(ConfigSet, NamesTheKeyAndLeavesTheConfigAsItWas) {
    Config config;
    EXPECT_EQ(message_of(config.set("wndow", "64")), "key 'wndow': unknown key; did you mean 'window'?");
    EXPECT_EQ(message_of(config.set("window", "many")), "key 'window': must be a power of two, 2 to 16384, not 'many'");
    EXPECT_EQ(message_of(config.set("window", "")), "key 'window': must be a power of two, 2 to 16384, not ''");
    EXPECT_EQ(message_of(config.set("peer", "b")), "key 'peer': must be NAME=ADDRESS or NAME=ADDRESS,MAC, not 'b'");
    EXPECT_EQ(message_of(config.set("peer", "b=x")),
              "key 'peer': address must be an address such as '10.0.0.2', not 'x'");
    EXPECT_EQ(message_of(config.set("peer", "b=10.0.0.2,zz")),
              "key 'peer': mac must be the MAC address of a node such as '02:00:00:00:00:02', not 'zz'");
    EXPECT_EQ(config.window, Config().window);
    EXPECT_TRUE(config.peers.empty());
    ASSERT_TRUE(config.set("peer", "b=10.0.0.2"));
    EXPECT_EQ(message_of(config.set("peer", "b=10.0.0.3")), "key 'peer': peer 'b' is configured twice");
}

TEST(ConfigValidate, WantsWhatHasNoDefault) {
    EXPECT_EQ(message_of(Config().validate()),
              "key 'name' is missing: it must be 1 to 63 printable characters without space");
    EXPECT_NE(validate_error([](Config& c) { c.device.clear(); }).find("key 'device' is missing"), std::string::npos);
    EXPECT_NE(validate_error([](Config& c) { c.address.clear(); }).find("key 'address' is missing"), std::string::npos);
}

TEST(ConfigValidate, ChecksRangesOfAStructFilledByHand) {
    EXPECT_EQ(validate_error([](Config& c) { c.window = 3; }),
              "key 'window': must be a power of two, 2 to 16384, not '3'");
    EXPECT_EQ(validate_error([](Config& c) { c.rto_min_ns = -1; }).substr(0, 14), "key 'rto_min':");
    EXPECT_EQ(validate_error([](Config& c) { c.log_level = "loud"; }),
              "key 'log_level': must be error, warning, info or debug, not 'loud'");
    EXPECT_EQ(validate_error([](Config& c) { c.peers[0].name = ""; }),
              "peer '': name must be 1 to 63 printable characters without space, not ''");
}

TEST(ConfigValidate, RefusesAddressesThatNoNodeCanHave) {
    EXPECT_EQ(validate_error([](Config& c) { c.address = "10.0.0.0/24"; }),
              "key 'address': 10.0.0.0/24 is the network's own address: take another one of it");
    EXPECT_EQ(validate_error([](Config& c) { c.address = "10.0.0.255/24"; }),
              "key 'address': 10.0.0.255/24 is the network's broadcast address: take another one of it");
    EXPECT_EQ(validate_error([](Config& c) { c.address = "127.0.0.1/8"; }),
              "key 'address': 127.0.0.1/8 is not an address that a node can have");
    EXPECT_EQ(validate_error([](Config& c) { c.peers[0].address = "10.0.0.255"; }),
              "peer 'b': address 10.0.0.255 is not one that a node can have");
    EXPECT_EQ(validate_error([](Config& c) {
                  c.address = "10.0.0.2/31";
                  c.peers = {{"b", "10.0.0.3", ""}};
              }),
              "no error")
        << "a network of two has neither (RFC 3021)";
}

TEST(ConfigValidate, ChecksPeersAgainstThisNodeAndEachOther) {
    EXPECT_EQ(validate_error([](Config& c) { c.peers[0].name = "a"; }),
              "peer 'a': this is this node's own name; names are unique in a cluster");
    EXPECT_EQ(validate_error([](Config& c) { c.peers[0].address = "10.0.0.1"; }),
              "peer 'b': address 10.0.0.1 is this node's own");
    EXPECT_EQ(validate_error([](Config& c) { c.peers[1].name = "b"; }), "peer 'b' is configured twice");
    EXPECT_EQ(validate_error([](Config& c) { c.peers[1].address = "10.0.0.2"; }),
              "peers 'b' and 'c' have the same address 10.0.0.2");
}

TEST(ConfigValidate, WantsAGatewayForPeersOfOtherNetworks) {
    EXPECT_EQ(validate_error([](Config& c) { c.peers[0].address = "10.0.1.2"; }),
              "peer 'b': address 10.0.1.2 is outside this node's network 10.0.0.1/24, and there is no 'gateway'");
    EXPECT_EQ(validate_error([](Config& c) {
                  c.peers[0].address = "10.0.1.2";
                  c.gateway = "10.0.0.254";
              }),
              "no error");
    EXPECT_EQ(validate_error([](Config& c) { c.gateway = "10.0.1.254"; }),
              "key 'gateway': 10.0.1.254 is not a node's address in the network of 10.0.0.1/24");
    EXPECT_EQ(validate_error([](Config& c) { c.gateway = "10.0.0.1"; }),
              "key 'gateway': 10.0.0.1 is this node's own address");
}

TEST(ConfigValidate, KnowsWhichDevicesTakePacketsBeyondJumboFrames) {
    EXPECT_EQ(validate_error([](Config& c) { c.mtu = 16384; }), "no error");
    EXPECT_EQ(validate_error([](Config& c) {
                  c.mtu = 16384;
                  c.device = "af_packet:eth0";
              }),
              "key 'mtu': 16384 is more than the 9216 that 'af_packet:eth0' can carry; only memif and ring take more");
}

TEST(ConfigValidate, ComparesTimes) {
    EXPECT_EQ(validate_error([](Config& c) { c.rto_max_ns = 1'000'000; }),
              "key 'rto_max': 1ms is less than 'rto_min' (1.5ms)");
    EXPECT_EQ(validate_error([](Config& c) { c.suspect_after_ns = 300'000'000; }),
              "key 'suspect_after': 300ms is less than 'twice heartbeat' (400ms)");
}

TEST(ConfigValidate, WantsRoomForFlowBasedScaling) {
    EXPECT_EQ(validate_error([](Config& c) {
                  c.swift_fs_min_cwnd_milli = 50'500;
                  c.swift_fs_max_cwnd_milli = 100'000;
              }),
              "key 'swift_fs_max_cwnd': 100 is less than twice 'swift_fs_min_cwnd' (50.5)");
}

}  // namespace
}  // namespace bowline
