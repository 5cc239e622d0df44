#include "control/deadline_queue.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/random.hpp"

namespace bowline::control {
namespace {

using protocol::Time;

TEST(DeadlineQueue, GivesWhatIsDueInOrderAndNothingElse) {
    DeadlineQueue queue(4);
    queue.set(2, Time::at_ns(30));
    queue.set(0, Time::at_ns(10));
    queue.set(3, Time::at_ns(20));
    EXPECT_EQ(queue.next(), Time::at_ns(10));
    DeadlineQueue::Index thing = 9;
    EXPECT_FALSE(queue.pop_due(Time::at_ns(9), thing));
    ASSERT_TRUE(queue.pop_due(Time::at_ns(20), thing));
    EXPECT_EQ(thing, 0U);
    ASSERT_TRUE(queue.pop_due(Time::at_ns(20), thing));
    EXPECT_EQ(thing, 3U);
    EXPECT_FALSE(queue.pop_due(Time::at_ns(20), thing));
    EXPECT_EQ(queue.next(), Time::at_ns(30));
}

TEST(DeadlineQueue, MovesAndTakesOut) {
    DeadlineQueue queue(2);
    queue.set(0, Time::at_ns(10));
    queue.hasten(0, Time::at_ns(50));
    EXPECT_EQ(queue.deadline_of(0), Time::at_ns(10)) << "hastening makes nothing later";
    queue.hasten(0, Time::at_ns(5));
    EXPECT_EQ(queue.next(), Time::at_ns(5));
    queue.set(0, Time::at_ns(70));
    EXPECT_EQ(queue.next(), Time::at_ns(70));
    queue.set(0, Time::never());
    EXPECT_EQ(queue.size(), 0U);
    EXPECT_TRUE(queue.next().is_never());
    EXPECT_TRUE(queue.deadline_of(1).is_never());
}

TEST(DeadlineQueue, AgreesWithAPlainTableWhateverIsDoneToIt) {
    constexpr std::size_t things = 37;
    protocol::Random random(5);
    DeadlineQueue queue(things);
    std::vector<Time> table(things, Time::never());
    for (int step = 0; step < 20'000; ++step) {
        const auto thing = static_cast<DeadlineQueue::Index>(random.below(things));
        const Time at = Time::at_ns(static_cast<std::int64_t>(random.below(1'000)));
        if (random.below(4) == 0) {
            DeadlineQueue::Index due = 0;
            const Time least = *std::ranges::min_element(table);
            ASSERT_EQ(queue.pop_due(at, due), least <= at);
            if (least <= at) {
                ASSERT_EQ(table[due], least);
                table[due] = Time::never();
            }
        } else if (random.below(4) == 0) {
            queue.remove(thing);
            table[thing] = Time::never();
        } else {
            queue.set(thing, at);
            table[thing] = at;
        }
        queue.check_invariants();
        ASSERT_EQ(queue.next(), *std::ranges::min_element(table));
    }
}

}  // namespace
}  // namespace bowline::control
