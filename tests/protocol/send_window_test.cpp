#include "protocol/send_window.hpp"

#include <array>

#include <gtest/gtest.h>

namespace bowline::protocol {
namespace {

SentPacket packet(std::uint64_t next_message) {
    SentPacket result;
    result.next_message = next_message;
    return result;
}

struct SendWindowTest : testing::TestWithParam<std::uint64_t> {
    std::array<SentPacket, 4> storage{};
    SendWindow window;
    Seqno first{GetParam()};

    SendWindowTest() { window.attach(storage, first); }
};

TEST_P(SendWindowTest, QueuesUpToItsCapacityAndRefusesMore) {
    for (std::uint64_t i = 0; i < 4; ++i) {
        EXPECT_FALSE(window.full());
        EXPECT_TRUE(window.push(packet(i)));
    }
    EXPECT_TRUE(window.full());
    EXPECT_FALSE(window.push(packet(99)));
    EXPECT_EQ(window.queued_pkts(), 4U);
    EXPECT_EQ(window.unacked_pkts(), 0U);
    EXPECT_EQ(window.at(first + 3).next_message, 3U);
}

TEST_P(SendWindowTest, AdvancingMakesRoomAndKeepsWhatFollows) {
    for (std::uint64_t i = 0; i < 4; ++i) {
        ASSERT_TRUE(window.push(packet(i)));
    }
    window.sent_one();
    window.sent_one();
    window.sent_one();
    EXPECT_EQ(window.unacked_pkts(), 3U);
    window.advance(first + 2);
    EXPECT_EQ(window.una(), first + 2);
    EXPECT_EQ(window.nxt(), first + 3);
    EXPECT_EQ(window.size(), 2U);
    EXPECT_TRUE(window.push(packet(4)));
    EXPECT_TRUE(window.push(packet(5)));
    EXPECT_TRUE(window.full());
    for (std::uint64_t i = 2; i < 6; ++i) {
        EXPECT_EQ(window.at(first + i).next_message, i);
    }
}

TEST_P(SendWindowTest, AdvancingPastWhatWasSentTakesTheQueueAlong) {
    ASSERT_TRUE(window.push({}));
    ASSERT_TRUE(window.push({}));
    window.advance(window.end());
    EXPECT_EQ(window.size(), 0U);
    EXPECT_EQ(window.nxt(), first + 2);
}

INSTANTIATE_TEST_SUITE_P(Numbers, SendWindowTest, testing::Values(1, 0xFFFF'FFFEULL, 0xFFFF'FFFF'FFFF'FFFDULL));

TEST(SentPacket, TransmissionsNeverLookLikeTheFirstAgain) {
    SentPacket sent;
    sent.transmissions = 0xFFFF;
    sent.count_transmission();
    EXPECT_EQ(sent.transmissions, 2);
}

}  // namespace
}  // namespace bowline::protocol
