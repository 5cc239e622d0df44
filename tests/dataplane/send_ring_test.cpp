#include "dataplane/send_ring.hpp"

#include <deque>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace bowline::dataplane {
namespace {

/// Byte `at` of the message that was the `number`th to be offered.
std::byte pattern(std::size_t number, std::size_t at) { return static_cast<std::byte>(number * 37 + at); }

bool push(SendRing& ring, std::size_t number, std::size_t size) {
    std::byte* const at = ring.try_claim(size);
    if (at == nullptr) {
        return false;
    }
    for (std::size_t i = 0; i < size; ++i) {
        at[i] = pattern(number, i);
    }
    ring.commit(size);
    return true;
}

TEST(SendRing, GivesBackMessagesOfEverySizeInOrder) {
    SendRing ring(256);
    EXPECT_EQ(ring.message_max(), 64U);
    SendRing::Record record;
    EXPECT_FALSE(ring.front(record));
    for (std::size_t size = 0; size <= ring.message_max(); ++size) {
        ASSERT_TRUE(push(ring, size, size));
        ASSERT_TRUE(ring.front(record));
        ASSERT_EQ(record.size, size);
        ASSERT_FALSE(record.large);
        for (std::size_t i = 0; i < size; ++i) {
            ASSERT_EQ(record.bytes[i], pattern(size, i));
        }
        ring.pop(record);
        ASSERT_TRUE(ring.empty());
    }
}

TEST(SendRing, AnAbandonedClaimLeavesNoTrace) {
    SendRing ring(128);
    ASSERT_TRUE(push(ring, 1, 32));
    ASSERT_TRUE(push(ring, 2, 32));
    SendRing::Record record;
    ASSERT_TRUE(ring.front(record));
    ring.pop(record);
    // This one would begin at the ring's start, behind a skip mark; the next one fits before its end.
    ASSERT_NE(ring.try_claim(32), nullptr);
    ASSERT_TRUE(push(ring, 3, 8));
    ASSERT_TRUE(ring.front(record));
    EXPECT_EQ(record.bytes[0], pattern(2, 0));
    ring.pop(record);
    ASSERT_TRUE(ring.front(record));
    EXPECT_EQ(record.size, 8U);
    EXPECT_EQ(record.bytes[0], pattern(3, 0));
    ring.pop(record);
    EXPECT_FALSE(ring.front(record));
}

TEST(SendRing, AMarkStandsForALargeMessage) {
    SendRing ring(64);
    ASSERT_NE(ring.try_claim(0), nullptr);
    ring.commit_large();
    ASSERT_TRUE(push(ring, 5, 3));
    SendRing::Record record;
    ASSERT_TRUE(ring.front(record));
    EXPECT_TRUE(record.large);
    ring.pop(record);
    ASSERT_TRUE(ring.front(record));
    EXPECT_FALSE(record.large);
    EXPECT_EQ(record.size, 3U);
}

TEST(SendRing, BehavesLikeAQueueOfMessages) {
    EXPECT_TRUE(rc::check([] {
        const std::size_t bytes = std::size_t{1} << *rc::gen::inRange(6, 11);
        SendRing ring(bytes);
        struct Message {
            std::size_t number;
            std::size_t size;
            bool large;
        };
        std::deque<Message> model;
        const auto steps = *rc::gen::inRange<std::size_t>(0, 400);
        for (std::size_t step = 0; step < steps; ++step) {
            const auto what = *rc::gen::inRange(0, 8);
            const auto size = *rc::gen::inRange<std::size_t>(0, ring.message_max() + 1);
            if (what < 3) {
                if (push(ring, step, size)) {
                    model.push_back({step, size, false});
                } else {
                    RC_ASSERT(!model.empty());  // an empty ring takes whatever it may be asked to
                }
            } else if (what == 3) {
                static_cast<void>(ring.try_claim(size));  // and abandoned
            } else if (what == 4) {
                if (ring.try_claim(0) != nullptr) {
                    ring.commit_large();
                    model.push_back({step, 0, true});
                }
            } else {
                SendRing::Record record;
                RC_ASSERT(ring.front(record) == !model.empty());
                if (!model.empty()) {
                    RC_ASSERT(record.large == model.front().large);
                    RC_ASSERT(record.size == model.front().size);
                    for (std::size_t i = 0; i < record.size; ++i) {
                        RC_ASSERT(record.bytes[i] == pattern(model.front().number, i));
                    }
                    ring.pop(record);
                    model.pop_front();
                }
            }
            RC_ASSERT(ring.empty() == model.empty());
        }
    }));
}

}  // namespace
}  // namespace bowline::dataplane
