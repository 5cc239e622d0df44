#include "engine/view_names.hpp"

#include <gtest/gtest.h>

namespace bowline::engine {
namespace {

Config config() {
    Config config;
    config.name = "a";
    config.views = Config::Views::external;
    config.peers = {{"bee", "10.0.0.2", ""}, {"cat", "10.0.0.3", ""}, {"dog", "10.0.0.4", ""}};
    return config;
}

using Names = std::vector<std::string_view>;
using Peers = std::vector<dataplane::PeerIndex>;

std::string error_of(const Config& config, const Names& names) {
    const auto peers = resolve_view(config, names);
    EXPECT_FALSE(peers);
    return peers ? "" : peers.error().message;
}

TEST(ResolveView, KeepsTheOrderAndLeavesOutTheNodeItself) {
    const auto view = resolve_view(config(), Names{"dog", "a", "bee"});
    ASSERT_TRUE(view) << view.error().message;
    EXPECT_EQ(*view, (Peers{2, 0}));
    const auto alone = resolve_view(config(), Names{});
    ASSERT_TRUE(alone);
    EXPECT_TRUE(alone->empty());
}

TEST(ResolveView, ErrorsNameTheOffenderAndWhatThereIs) {
    EXPECT_EQ(error_of(config(), {"bee", "catt"}),
              "no peer 'catt' is configured (did you mean 'cat'?); there is: bee, cat, dog");
    EXPECT_EQ(error_of(config(), {"bee", "zebra"}), "no peer 'zebra' is configured; there is: bee, cat, dog");
    EXPECT_EQ(error_of(config(), {"bee", "cat", "bee"}), "'bee' is named twice in the view");
    EXPECT_EQ(error_of(config(), {"a", "a"}), "'a' is named twice in the view");
    Config fixed = config();
    fixed.views = Config::Views::static_;
    EXPECT_NE(error_of(fixed, {"bee"}).find("set views = \"external\""), std::string::npos);
}

TEST(ResolvePeer, KnowsThatTheNodeIsNoPeerOfItself) {
    const auto cat = resolve_peer(config(), "cat");
    ASSERT_TRUE(cat);
    EXPECT_EQ(*cat, 1);
    const auto self = resolve_peer(config(), "a");
    ASSERT_FALSE(self);
    EXPECT_EQ(self.error().message, "'a' is this node itself: name a peer");
}

}  // namespace
}  // namespace bowline::engine
