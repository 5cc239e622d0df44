#include "dataplane/doorbells.hpp"

#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace bowline::dataplane {
namespace {

std::vector<PeerIndex> answered(Doorbells& bells) {
    std::vector<PeerIndex> peers;
    const std::size_t count = bells.answer([&](PeerIndex peer) { peers.push_back(peer); });
    EXPECT_EQ(count, peers.size());
    return peers;
}

TEST(Doorbells, AnswersEachPeerOnceHoweverOftenItRang) {
    Doorbells bells(3);
    EXPECT_TRUE(answered(bells).empty());
    bells.ring(2);
    bells.ring(2);
    bells.ring(0);
    EXPECT_EQ(answered(bells), (std::vector<PeerIndex>{0, 2}));
    EXPECT_TRUE(answered(bells).empty());
}

TEST(Doorbells, ABellThatRingsWhileItIsAnsweredRingsAgain) {
    Doorbells bells(100);
    bells.ring(70);
    bells.answer([&](PeerIndex peer) { bells.ring(peer); });
    EXPECT_EQ(answered(bells), std::vector<PeerIndex>{70});
}

TEST(Doorbells, FindEveryPeerOfTheLargestEngine) {
    Doorbells bells(0xFFFF);
    const std::vector<PeerIndex> peers = {0, 63, 64, 4095, 4096, 0xFFFE};
    for (const PeerIndex peer : peers) {
        bells.ring(peer);
    }
    EXPECT_EQ(answered(bells), peers);
}

TEST(Doorbells, BehaveLikeASet) {
    EXPECT_TRUE(rc::check([](const std::vector<std::uint16_t>& steps) {
        Doorbells bells(5000);
        std::set<PeerIndex> model;
        for (const std::uint16_t step : steps) {
            if (step % 5 != 0) {
                const auto peer = static_cast<PeerIndex>(step % 5000);
                bells.ring(peer);
                model.insert(peer);
            } else {
                RC_ASSERT(answered(bells) == std::vector<PeerIndex>(model.begin(), model.end()));
                model.clear();
            }
        }
        RC_ASSERT(answered(bells) == std::vector<PeerIndex>(model.begin(), model.end()));
    }));
}

}  // namespace
}  // namespace bowline::dataplane
