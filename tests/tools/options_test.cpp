#include "tools/options.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace bowline::tools {
namespace {

CommonOptions good() {
    CommonOptions options;
    options.name = "a";
    options.device = "null";
    options.address = "10.0.0.1/24";
    options.peers = {"b=10.0.0.2", "c=10.0.0.3,02:00:00:00:00:03"};
    return options;
}

std::string error_of(const CommonOptions& options) {
    const Result<Config> config = options.config();
    EXPECT_FALSE(config);
    return config ? "" : config.error().message;
}

TEST(CommonOptions, MakeAConfigurationWithoutAFile) {
    CommonOptions options = good();
    options.overrides = {"window=64", "gateway=", "message_max=1MiB"};
    const Result<Config> config = options.config();
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->name, "a");
    EXPECT_EQ(config->device, "null");
    EXPECT_EQ(config->window, 64U);
    EXPECT_EQ(config->message_max, 1U << 20U);
    ASSERT_EQ(config->peers.size(), 2U);
    EXPECT_EQ(config->peers[1].mac, "02:00:00:00:00:03");
}

TEST(CommonOptions, WinOverTheFile) {
    const std::string path =
        std::filesystem::temp_directory_path() / ("bowline-options-test-" + std::to_string(getpid()));
    std::ofstream(path) << "name = \"a\"\ndevice = \"null\"\naddress = \"10.0.0.1/24\"\nwindow = 128\nmtu = 9000\n";
    CommonOptions options;
    options.config_file = path;
    options.name = "z";
    options.overrides = {"window=64"};
    const Result<Config> config = options.config();
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->name, "z");
    EXPECT_EQ(config->window, 64U);
    EXPECT_EQ(config->mtu, 9000U);
    options.overrides = {"suspect_after=2ms"};
    EXPECT_EQ(error_of(options).substr(0, path.size() + 2), path + ": ") << "errors of the whole name the file";
    std::filesystem::remove(path);
}

TEST(CommonOptions, ErrorsNameTheOption) {
    CommonOptions options = good();
    options.overrides = {"windw=64"};
    EXPECT_EQ(error_of(options), "-o: key 'windw': unknown key; did you mean 'window'?");
    options.overrides = {"window"};
    EXPECT_EQ(error_of(options), "-o window: must be KEY=VALUE; `bowline keys` lists the keys");
    options = good();
    options.peers = {"b"};
    EXPECT_EQ(error_of(options), "--peer: key 'peer': must be NAME=ADDRESS or NAME=ADDRESS,MAC, not 'b'");
    options = good();
    options.address = "10.0.0.1";
    EXPECT_EQ(error_of(options).substr(0, 25), "--address: key 'address':");
    options = good();
    options.name.clear();
    EXPECT_EQ(error_of(options).substr(0, 21), "key 'name' is missing");
}

TEST(ParseRate, KnowsThousandsAndMillions) {
    EXPECT_EQ(parse_rate("5000"), 5000.0);
    EXPECT_EQ(parse_rate("100k"), 100e3);
    EXPECT_EQ(parse_rate("1.5M"), 1.5e6);
    EXPECT_EQ(parse_rate("2G"), 2e9);
    for (const char* text : {"", "0", "-5", "k", "5K", "5 k", "nan", "inf", "5kk"}) {
        EXPECT_EQ(parse_rate(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace bowline::tools
