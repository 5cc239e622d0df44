#include "engine/control_inbox.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace bowline::engine {
namespace {

using Posted = ControlInbox::Posted;

ControlRequest request(dataplane::PeerIndex peer) {
    ControlRequest request;
    request.kind = ControlRequest::Kind::rotate;
    request.peer = peer;
    return request;
}

TEST(ControlInbox, HandsOutInOrder) {
    ControlInbox inbox;
    EXPECT_FALSE(inbox.check());
    EXPECT_EQ(inbox.post(request(1)), Posted::yes);
    EXPECT_EQ(inbox.post(request(2)), Posted::yes);
    EXPECT_TRUE(inbox.has_posted());
    EXPECT_TRUE(inbox.check());
    EXPECT_FALSE(inbox.check()) << "nothing since";
    ControlRequest out;
    ASSERT_TRUE(inbox.take(out));
    EXPECT_EQ(out.peer, 1);
    ASSERT_TRUE(inbox.take(out));
    EXPECT_EQ(out.peer, 2);
    EXPECT_FALSE(inbox.take(out));
}

TEST(ControlInbox, RefusesAndCountsWhatFindsNoRoom) {
    ControlInbox inbox;
    for (std::size_t i = 0; i < ControlInbox::kCapacity; ++i) {
        ASSERT_EQ(inbox.post(request(0)), Posted::yes);
    }
    EXPECT_EQ(inbox.post(request(0)), Posted::full);
    EXPECT_EQ(inbox.post(request(0)), Posted::full);
    EXPECT_EQ(inbox.refused(), 2U);
    ControlRequest out;
    ASSERT_TRUE(inbox.take(out));
    EXPECT_EQ(inbox.post(request(7)), Posted::yes);
    EXPECT_EQ(inbox.refused(), 2U);
}

TEST(ControlInbox, TakesNothingOnceClosed) {
    ControlInbox inbox;
    EXPECT_EQ(inbox.post(request(1)), Posted::yes);
    inbox.close();
    EXPECT_EQ(inbox.post(request(2)), Posted::closed);
    ControlRequest out;
    EXPECT_TRUE(inbox.take(out)) << "what was posted before is still there";
    EXPECT_FALSE(inbox.take(out));
}

TEST(ControlInbox, LosesNothingOfManyProducers) {
    constexpr int kThreads = 4;
    constexpr int kEach = 5'000;
    ControlInbox inbox;
    std::vector<std::thread> producers;
    for (int producer = 0; producer < kThreads; ++producer) {
        producers.emplace_back([&inbox, producer] {
            for (int i = 0; i < kEach; ++i) {
                while (inbox.post(request(static_cast<dataplane::PeerIndex>(producer))) != Posted::yes) {
                    std::this_thread::yield();
                }
            }
        });
    }
    std::vector<int> taken(kThreads);
    int left = kThreads * kEach;
    while (left > 0) {
        if (!inbox.check()) {
            std::this_thread::yield();
            continue;
        }
        for (ControlRequest out; inbox.take(out); --left) {
            ++taken[out.peer];
        }
    }
    for (std::thread& producer : producers) {
        producer.join();
    }
    EXPECT_EQ(taken, std::vector<int>(kThreads, kEach));
}

}  // namespace
}  // namespace bowline::engine
