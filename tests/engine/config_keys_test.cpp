#include "engine/config_keys.hpp"

#include <array>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "protocol/settings_text.hpp"

namespace bowline::engine {
namespace {

TEST(ConfigKeys, DefaultsAreLegalAndSurviveBeingWritten) {
    const Config defaults;
    std::set<std::string_view> names;
    for (const Key& key : config_keys()) {
        EXPECT_TRUE(names.insert(key.name).second) << key.name;
        EXPECT_FALSE(key.help.empty()) << key.name;
        const std::string text = value_text(defaults, key);
        if (text.empty()) {
            continue;
        }
        Config config;
        EXPECT_EQ(assign(config, key, text, false), std::nullopt) << key.name;
        EXPECT_EQ(value_text(config, key), text) << key.name;
    }
}

TEST(ConfigKeys, TakesBothEndsOfEveryRangeAndNothingBeyond) {
    for (const Key& key : config_keys()) {
        if (key.kind == ValueKind::text || key.kind == ValueKind::choice) {
            continue;
        }
        const auto text = [&](std::int64_t value) {
            if (key.kind == ValueKind::decimal) {
                return protocol::format_thousandths(value);
            }
            return std::to_string(value) + (key.kind == ValueKind::duration && value != 0 ? "ns" : "");
        };
        for (const std::int64_t legal : {key.min, key.max}) {
            Config config;
            EXPECT_EQ(assign(config, key, text(legal), false), std::nullopt) << key.name << ' ' << legal;
        }
        for (const std::int64_t illegal : {key.min - 1, key.max + 1}) {
            Config config;
            EXPECT_NE(assign(config, key, text(illegal), false), std::nullopt) << key.name << ' ' << illegal;
        }
    }
}

TEST(ConfigKeys, GuessesOnlyWhatIsNear) {
    const std::array<std::string_view, 3> known = {"window", "mode", "port"};
    EXPECT_EQ(closest("windw", known), "window");
    EXPECT_EQ(closest("widnow", known), "window") << "swapped letters are one slip";
    EXPECT_EQ(closest("Port", known), "port");
    EXPECT_EQ(closest("door", known), std::nullopt) << "half of the word is no slip";
    EXPECT_EQ(closest("", known), std::nullopt);
}

TEST(ConfigKeys, ReferencePageIsTheOneInDocs) {
    std::ifstream file(BOWLINE_SOURCE_DIR "/docs/CONFIGURATION.md");
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_EQ(text.str(), configuration_reference())
        << "write it anew: bowline keys --markdown > docs/CONFIGURATION.md";
}

}  // namespace
}  // namespace bowline::engine
