#include <vector>

#include <gtest/gtest.h>

#include "worker_pair.hpp"

namespace bowline::dataplane {
namespace {

class WorkerPack : public WorkerPair {
protected:
    /// Offers messages of these sizes to B, waiting when they are refused, and expects them at B.
    void exchange(Node& from, Node& to, const std::vector<std::size_t>& sizes) {
        std::vector<Handed> expected;
        for (const std::size_t size : sizes) {
            for (int i = 0; !from.send(now_, size); ++i) {
                ASSERT_LT(i, 10'000) << size;
                turns(1);
            }
            expected.push_back(message(from.sent, size));
        }
        ASSERT_TRUE(settle());
        turns(3);
        EXPECT_EQ(to.take_handed(), expected);
    }
};

TEST_F(WorkerPack, MessagesOfEverySizeArriveOnceAndInOrderBothWays) {
    associate_and_clear();
    const std::vector<std::size_t> sizes = {0,
                                            1,
                                            100,
                                            kTestClaimMax - 1,
                                            kTestClaimMax,
                                            kTestClaimMax + 1,
                                            kTestClaimMax + 2,
                                            50,
                                            3000,
                                            7,
                                            65'536,
                                            1U << 20U,
                                            0,
                                            300'000,
                                            12,
                                            1500,
                                            1420,
                                            2 * kTestClaimMax,
                                            40'000};
    exchange(a(), b(), sizes);
    exchange(b(), a(), sizes);
    exchange(a(), b(), sizes);
}

TEST_F(WorkerPack, WhatWaitsWhenTheWorkerLooksTravelsTogether) {
    associate_and_clear();
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(a().send(now_, 50));
    }
    turns(2);
    EXPECT_EQ(a().peer().send.counters().packets, 1U);
    EXPECT_EQ(b().take_handed().size(), 20U);
}

TEST_F(WorkerPack, ASingleMessageDoesNotWaitForMore) {
    associate_and_clear();
    ASSERT_TRUE(a().send(now_, 50));
    turns(1);  // a sends, b receives, within this turn
    EXPECT_EQ(b().take_handed(), std::vector<Handed>{message(1, 50)});
}

TEST_F(WorkerPack, WhatIsRefusedHasNoNumberAndLeavesNoTrace) {
    std::uint64_t number = 77;
    EXPECT_EQ(a().offer(now_, Bytes((1U << 20U) + 1), number), Offer::too_large);
    associate_and_clear();
    EXPECT_EQ(a().offer(now_, Bytes((1U << 20U) + 1), number), Offer::too_large);
    std::byte* at = nullptr;
    EXPECT_EQ(a().worker().claim_max(0), kTestClaimMax);
    EXPECT_EQ(a().worker().try_claim(0, now_, kTestClaimMax + 1, at), Offer::too_large);
    EXPECT_EQ(a().worker().try_claim(0, now_, kTestClaimMax, at), Offer::accepted);
    ASSERT_TRUE(a().send(now_, 3));
    a().worker().begin_stop();
    EXPECT_EQ(a().offer(now_, Bytes(1), number), Offer::closed);
    EXPECT_EQ(number, 77U);
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), std::vector<Handed>{message(1, 3)});
}

TEST_F(WorkerPack, AMessageLargerThanThePeerTakesIsRefused) {
    b_options_.settings.message_max = 5000;
    start();
    associate_and_clear();
    std::uint64_t number = 0;
    EXPECT_EQ(a().offer(now_, Bytes(5001), number), Offer::too_large);
    ASSERT_TRUE(a().send(now_, 5000));
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), std::vector<Handed>{message(1, 5000)});
}

TEST_F(WorkerPack, MessagesBeforeTheHandshakeWaitForItAndAskControlToGreetOnce) {
    for (const std::size_t size : std::initializer_list<std::size_t>{1, 150, 300, 5'000}) {
        ASSERT_TRUE(a().send(now_, size));
    }
    turns(1);
    Notice notice;
    ASSERT_TRUE(a().take_notice(notice));
    EXPECT_EQ(notice.kind, Notice::Kind::wanted);
    EXPECT_EQ(notice.peer, 0);
    EXPECT_FALSE(a().take_notice(notice));
    associate();
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(),
              (std::vector<Handed>{up(), message(1, 1), message(2, 150), message(3, 300), message(4, 5'000)}));
}

TEST_F(WorkerPack, MessagesBeforeAHandshakeThatNeverComesAreReported) {
    ASSERT_TRUE(a().send(now_, 1));
    ASSERT_TRUE(a().send(now_, 5'000));
    turns(1);
    now_ = now_ + Duration::s(3);
    turns(2);
    EXPECT_EQ(a().take_handed(), std::vector<Handed>{undelivered(1, 2, true)});
}

TEST_F(WorkerPack, MessagesLongerThanThePeerTakesAreReportedOnceThatIsKnown) {
    b_options_.settings.message_max = 5000;
    start();
    ASSERT_TRUE(a().send(now_, 10));
    ASSERT_TRUE(a().send(now_, 5001));
    associate();
    ASSERT_TRUE(settle());
    EXPECT_EQ(a().take_handed(), (std::vector<Handed>{undelivered(1, 2, true), up()}));
    ASSERT_TRUE(a().send(now_, 10));
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), (std::vector<Handed>{up(), message(3, 10)}));
}

TEST_F(WorkerPack, WhatANodeSendsToItselfComesOutOfItsOwnRingInOrder) {
    const PeerIndex self = a().worker().self();
    std::uint64_t number = 0;
    for (std::uint64_t i = 1; i <= 200; ++i) {
        const std::size_t size = i % 50 == 0 ? 100'000 : i;
        const Bytes bytes = make_message(i, size);
        while (a().worker().offer(self, now_, bytes.data(), bytes.size(), number) != Offer::accepted) {
            turns(1);
        }
        EXPECT_EQ(number, i);
    }
    turns(300);
    const std::vector<Handed> handed = a().take_handed();
    ASSERT_EQ(handed.size(), 200U);
    for (std::uint64_t i = 1; i <= 200; ++i) {
        EXPECT_EQ(handed[i - 1], message(i, i % 50 == 0 ? 100'000 : i));
    }
    EXPECT_EQ(a().worker().counters().tx_packets, 0U);
    EXPECT_TRUE(a().worker().drained());
}

TEST_F(WorkerPack, ClaimsAreWrittenInPlaceAndAbandonedOnesLeaveNoTrace) {
    associate_and_clear();
    std::byte* at = nullptr;
    ASSERT_EQ(a().worker().try_claim(0, now_, 100, at), Offer::accepted);
    std::memset(at, 0x55, 100);  // and nothing more comes of it
    turns(2);
    EXPECT_TRUE(b().take_handed().empty());
    ASSERT_EQ(a().worker().try_claim(0, now_, 60, at), Offer::accepted);
    const Bytes bytes = make_message(1, 40);
    std::memcpy(at, bytes.data(), bytes.size());
    EXPECT_EQ(a().worker().commit_claim(0, 40), 1U);  // shorter than claimed
    a().sent = 1;
    ASSERT_EQ(a().worker().try_claim(0, now_, 1000, at), Offer::accepted);
    std::memset(at, 0x66, 1000);
    ASSERT_TRUE(a().send(now_, 40));
    ASSERT_EQ(a().worker().try_claim(0, now_, kTestClaimMax, at), Offer::accepted);  // opens a packet that stays empty
    ASSERT_TRUE(settle());
    ASSERT_TRUE(a().send(now_, 3 * kTestClaimMax));  // fragments into the packet that was opened for the claim
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), (std::vector<Handed>{message(1, 40), message(2, 40), message(3, 3 * kTestClaimMax)}));
}

TEST_F(WorkerPack, AFullQueueIsBackPressureAndTakesMoreOnceItHasDrained) {
    associate_and_clear();
    b().reading = false;
    std::vector<Handed> expected;
    std::size_t refused = 0;
    for (int i = 0; i < 400; ++i) {
        const std::size_t size = 1000;
        if (a().send(now_, size)) {
            expected.push_back(message(a().sent, size));
        } else {
            ++refused;
        }
        turns(1);
    }
    EXPECT_GT(refused, 0U);
    // A window in the peer's ring, a queue behind it, and an open packet: not more.
    EXPECT_GE(expected.size(), 64U + 64U);
    EXPECT_LE(expected.size(), 64U + 64U + 1U);
    b().reading = true;
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), expected);
    EXPECT_TRUE(a().send(now_, 1000));
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), std::vector<Handed>{message(a().sent, 1000)});
}

TEST_F(WorkerPack, ALargeMessageIsTakenWholeOrNotAtAllAndGetsThroughASmallQueue) {
    a_options_.data_packets_max = 10;
    start();
    associate_and_clear();
    std::vector<Handed> expected;
    for (const std::size_t size : {std::size_t{1} << 20U, std::size_t{5000}, std::size_t{200'000}, std::size_t{9000}}) {
        for (int i = 0; !a().send(now_, size); ++i) {
            ASSERT_LT(i, 100'000);
            turns(1);
        }
        expected.push_back(message(a().sent, size));
        EXPECT_LE(a().worker().data_packets(), 10U);
    }
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), expected);
}

TEST_F(WorkerPack, ALargeMessageWaitsOutAnEmptyPool) {
    associate_and_clear();
    ASSERT_TRUE(a().send(now_, 10));
    turns(1);
    a().port.starve = true;
    const bool taken = a().send(now_, 1U << 20U);
    turns(50);
    a().port.starve = false;
    if (!taken) {
        ASSERT_TRUE(a().send(now_, 1U << 20U));
    }
    ASSERT_TRUE(a().send(now_, 10) || settle());
    ASSERT_TRUE(settle());
    std::vector<Handed> handed = b().take_handed();
    ASSERT_GE(handed.size(), 2U);
    EXPECT_EQ(handed[0], message(1, 10));
    EXPECT_EQ(handed[1], message(2, 1U << 20U));
    EXPECT_GT(a().worker().counters().no_packet, 0U);
}

}  // namespace
}  // namespace bowline::dataplane
