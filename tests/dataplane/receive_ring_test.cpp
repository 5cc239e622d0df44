#include "dataplane/receive_ring.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace bowline::dataplane {
namespace {

/// A handle that is only compared.
protocol::Packet* packet(std::size_t number) {
    static std::array<std::byte, 4096> places;
    return static_cast<protocol::Packet*>(static_cast<void*>(&places[number % places.size()]));
}

TEST(ReceiveRing, ReadsWhatIsPublishedAndTakesBackWhatIsConsumed) {
    std::array<ReceiveRing::Slot, 4> storage;
    ReceiveRing ring;
    ring.attach(storage);
    ring.store(0, {.packet = packet(0), .bytes = 10});
    ring.store(2, {.packet = packet(2), .bytes = 12});  // out of order: the window has a hole
    EXPECT_EQ(ring.readable(), 0U);
    ring.publish(1);
    EXPECT_EQ(ring.readable(), 1U);
    EXPECT_EQ(ring.slot(0).bytes, 10U);
    std::vector<protocol::Packet*> released;
    const auto release = [&](protocol::Packet* p) { released.push_back(p); };
    EXPECT_FALSE(ring.reclaim(release));
    ring.store(1, {.packet = packet(1)});
    ring.publish(3);
    ring.consume(2);
    EXPECT_TRUE(ring.reclaim(release));
    EXPECT_EQ(released, (std::vector<protocol::Packet*>{packet(0), packet(1)}));
    EXPECT_EQ(ring.reclaimed(), 2U);
    EXPECT_EQ(ring.take(2), packet(2));
}

TEST(ReceiveRing, BehavesLikeAQueueThroughManyRounds) {
    EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& steps) {
        std::array<ReceiveRing::Slot, 8> storage;
        ReceiveRing ring;
        ring.attach(storage);
        std::uint64_t stored = 0;
        std::uint64_t read = 0;
        std::uint64_t released = 0;
        for (const std::uint8_t step : steps) {
            if (step % 4 < 2) {
                if (stored - ring.reclaimed() < 8) {
                    ring.store(stored, {.packet = packet(stored), .bytes = static_cast<std::uint32_t>(stored)});
                    ring.publish(++stored);
                }
            } else if (step % 4 == 2) {
                const std::uint64_t until = read + std::min<std::uint64_t>(step / 4 % 4, ring.readable() - read);
                for (; read < until; ++read) {
                    RC_ASSERT(ring.slot(read).bytes == static_cast<std::uint32_t>(read));
                }
                ring.consume(read);
            } else {
                const bool something = released != read;
                bool in_order = true;
                RC_ASSERT(ring.reclaim([&](protocol::Packet* p) { in_order &= p == packet(released++); }) == something);
                RC_ASSERT(in_order);
                RC_ASSERT(released == read);
            }
            RC_ASSERT(ring.readable() == stored);
        }
    }));
}

}  // namespace
}  // namespace bowline::dataplane
