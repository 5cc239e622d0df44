#include "dataplane/spsc_ring.hpp"

#include <deque>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace bowline::dataplane {
namespace {

TEST(SpscRing, TakesItsCapacityAndNotOneMore) {
    SpscRing<int> ring(4);
    EXPECT_EQ(ring.capacity(), 4U);
    EXPECT_TRUE(ring.empty());
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(ring.free(), static_cast<std::size_t>(4 - i));
        EXPECT_TRUE(ring.try_push(i));
    }
    EXPECT_FALSE(ring.try_push(4));
    EXPECT_EQ(ring.try_claim(), nullptr);
    EXPECT_EQ(*ring.front(), 0);
    ring.pop();
    EXPECT_TRUE(ring.try_push(4));
    EXPECT_FALSE(ring.try_push(5));
}

TEST(SpscRing, WhatIsClaimedIsNotSeenBeforeItIsPublished) {
    SpscRing<int> ring(2);
    int* const slot = ring.try_claim();
    ASSERT_NE(slot, nullptr);
    *slot = 7;
    EXPECT_EQ(ring.front(), nullptr);
    EXPECT_TRUE(ring.empty());
    EXPECT_EQ(ring.try_claim(), slot);  // dropped unless published: the next claim is the same place
    ring.publish();
    ASSERT_NE(ring.front(), nullptr);
    EXPECT_EQ(*ring.front(), 7);
    EXPECT_EQ(ring.front(), ring.front());
}

TEST(SpscRing, BehavesLikeAQueue) {
    EXPECT_TRUE(rc::check([](const std::vector<bool>& pushes) {
        SpscRing<std::size_t> ring(8);
        std::deque<std::size_t> model;
        std::size_t next = 0;
        for (const bool push : pushes) {
            if (push) {
                const bool fits = model.size() < 8;
                RC_ASSERT(ring.try_push(next) == fits);
                if (fits) {
                    model.push_back(next);
                }
                ++next;
            } else if (model.empty()) {
                RC_ASSERT(ring.front() == nullptr);
            } else {
                RC_ASSERT(ring.front() != nullptr);
                RC_ASSERT(*ring.front() == model.front());
                ring.pop();
                model.pop_front();
            }
            RC_ASSERT(ring.empty() == model.empty());
            RC_ASSERT(ring.free() == 8 - model.size());
        }
    }));
}

TEST(SpscRingDeathTest, RefusesACapacityThatIsNoPowerOfTwo) { EXPECT_DEATH(SpscRing<int>(6), "has_single_bit"); }

}  // namespace
}  // namespace bowline::dataplane
