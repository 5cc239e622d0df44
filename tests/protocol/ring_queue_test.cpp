#include "protocol/ring_queue.hpp"

#include <array>
#include <deque>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace bowline::protocol {
namespace {

TEST(RingQueue, GivesBackInOrderAndIsFullAtItsCapacity) {
    std::array<int, 4> storage{};
    RingQueue<int> queue;
    queue.attach(storage);
    for (int i = 0; i < 4; ++i) {
        EXPECT_FALSE(queue.full());
        queue.push(i);
    }
    EXPECT_TRUE(queue.full());
    EXPECT_EQ(queue.capacity(), 4U);
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(queue.front(), i);
        queue.pop();
    }
    EXPECT_TRUE(queue.empty());
}

TEST(RingQueue, BehavesLikeADequeThroughPushPopAndCompact) {
    EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& steps) {
        std::array<std::uint8_t, 8> storage{};
        RingQueue<std::uint8_t> queue;
        queue.attach(storage);
        std::deque<std::uint8_t> model;
        for (const std::uint8_t step : steps) {
            if (step % 8 == 7) {
                const auto stale = [&](std::uint8_t element) { return element % 3 == step / 8 % 3; };
                queue.compact(stale);
                std::erase_if(model, stale);
            } else if (step % 8 >= 5 && !model.empty()) {
                queue.pop();
                model.pop_front();
            } else if (!queue.full()) {
                queue.push(step);
                model.push_back(step);
            }
            RC_ASSERT(queue.size() == model.size());
            RC_ASSERT(queue.full() == (model.size() == 8));
            RC_ASSERT(model.empty() || queue.front() == model.front());
        }
    }));
}

TEST(RingQueueDeathTest, PushIntoAFullQueueIsCaught) {
    std::array<int, 1> storage{};
    RingQueue<int> queue;
    queue.attach(storage);
    queue.push(1);
    EXPECT_DEATH(queue.push(2), "!full");
}

}  // namespace
}  // namespace bowline::protocol
