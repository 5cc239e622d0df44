#include "dataplane/remote_application.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "worker_pair.hpp"

namespace bowline::dataplane {
namespace {

/// A's application on the far side of the rings, though on one thread here; B's is inline.
class RemoteApplicationTest : public WorkerPair {
protected:
    static constexpr std::size_t kRingBytes = 4096;  // messages of more than 1 KiB are large

    void SetUp() override {
        start();
        make_remote();
    }
    void make_remote() {
        a().reading = false;
        a().worker().open_inboxes(kRingBytes);
        remote_ = std::make_unique<RemoteApplication>(std::vector<Peer*>{&a().peer()}, to_worker_, from_worker_);
    }
    /// What the loop of a worker with its own thread does.
    void worker_turn() {
        now_ = now_ + kTurn;
        a().worker().receive(now_);
        to_worker_.answer([this](PeerIndex peer) { a().worker().on_doorbell(peer); });
        a().worker().send(now_);
        a().worker().take_ready([this](PeerIndex peer) { from_worker_.ring(peer); });
        a().worker().check_invariants();
        b().turn(now_);
    }
    void worker_turns(int count) {
        for (int i = 0; i < count; ++i) {
            worker_turn();
        }
    }
    Offer offer(std::size_t size) {
        std::uint64_t number = 0;
        const Bytes bytes = make_message(remote_->last_message(0) + 1, size);
        const Offer offer = remote_->offer(0, bytes.data(), bytes.size(), number);
        EXPECT_TRUE(offer != Offer::accepted || number == remote_->last_message(0));
        return offer;
    }
    std::vector<Handed> read(std::size_t limit = 1000) {
        std::vector<Handed> handed;
        remote_->read(
            limit,
            [&](PeerIndex, const std::byte* bytes, std::uint32_t size, std::uint64_t number, Packet*) {
                handed.push_back({.kind = Handed::Kind::message,
                                  .first = number,
                                  .last = number,
                                  .bytes = Bytes(bytes, bytes + size)});
            },
            [&](PeerIndex, const PeerEvent& event) { handed.push_back(as_handed(event)); });
        remote_->finish_batch();
        return handed;
    }

    Doorbells to_worker_{1};
    Doorbells from_worker_{1};
    std::unique_ptr<RemoteApplication> remote_;
};

TEST_F(RemoteApplicationTest, BeforeTheHandshakeAnOfferIsTakenAndAsksForAGreeting) {
    EXPECT_EQ(offer(10), Offer::accepted);
    worker_turn();
    Notice notice;
    ASSERT_TRUE(a().take_notice(notice));
    EXPECT_EQ(notice.kind, Notice::Kind::wanted);
    EXPECT_EQ(remote_->last_message(0), 1U);
    associate();
    worker_turns(10);
    EXPECT_EQ(b().take_handed(), (std::vector<Handed>{up(), message(1, 10)}));
}

TEST_F(RemoteApplicationTest, MessagesOfEverySizePassInOrderAndNumbered) {
    associate();
    worker_turn();
    EXPECT_EQ(read(), std::vector<Handed>{up()});
    b().take_handed();
    std::vector<Handed> expected;
    for (const std::size_t size : {0U, 1U, 1024U, 1025U, 500U, 1U << 20U, 7U, 30'000U, 3000U, 1024U, 1U << 20U, 0U}) {
        for (int i = 0; offer(size) != Offer::accepted; ++i) {
            ASSERT_LT(i, 10'000);
            worker_turn();
        }
        expected.push_back(message(remote_->last_message(0), size));
    }
    for (int i = 0; !a().worker().drained() && i < 10'000; ++i) {
        worker_turn();
    }
    EXPECT_EQ(b().take_handed(), expected);
    // And back.
    expected.clear();
    std::vector<Handed> handed;
    for (const std::size_t size : {5U, 100'000U, 1400U, 2000U, 0U}) {
        ASSERT_TRUE(b().send(now_, size));
        expected.push_back(message(b().sent, size));
        for (int i = 0; i < 40; ++i) {
            worker_turn();
            for (Handed& one : read(2)) {
                handed.push_back(std::move(one));
            }
        }
    }
    worker_turns(100);
    EXPECT_EQ(handed, expected);
}

TEST_F(RemoteApplicationTest, AFullRingIsBackPressureAndWhatIsInItWaits) {
    associate();
    worker_turn();
    b().take_handed();
    b().reading = false;
    std::vector<Handed> expected;
    for (int i = 0; i < 1000; ++i) {
        if (offer(1000) == Offer::accepted) {
            expected.push_back(message(remote_->last_message(0), 1000));
        }
        worker_turn();
    }
    EXPECT_LT(expected.size(), 140U);
    EXPECT_EQ(offer(1000), Offer::back_pressured);
    EXPECT_FALSE(a().worker().drained());
    b().reading = true;
    for (int i = 0; !a().worker().drained() && i < 10'000; ++i) {
        worker_turn();
    }
    EXPECT_EQ(b().take_handed(), expected);
}

TEST_F(RemoteApplicationTest, OnlyOneLargeMessageAtATime) {
    associate();
    worker_turn();
    EXPECT_EQ(offer(1U << 20U), Offer::accepted);
    EXPECT_EQ(offer(1U << 20U), Offer::back_pressured);
    EXPECT_EQ(offer(100), Offer::accepted);
    EXPECT_EQ(offer((1U << 20U) + 1), Offer::too_large);
    for (int i = 0; offer(2000) != Offer::accepted; ++i) {
        ASSERT_LT(i, 10'000);
        worker_turn();
    }
}

TEST_F(RemoteApplicationTest, AnAbandonedClaimLeavesNoTrace) {
    associate();
    worker_turn();
    b().take_handed();
    std::byte* at = nullptr;
    ASSERT_EQ(remote_->try_claim(0, 500, at), Offer::accepted);
    std::memset(at, 0x77, 500);
    ASSERT_EQ(remote_->try_claim(0, 50'000, at), Offer::accepted);
    std::memset(at, 0x77, 50'000);
    ASSERT_EQ(offer(20), Offer::accepted);
    ASSERT_EQ(offer(40'000), Offer::accepted);
    worker_turns(100);
    EXPECT_EQ(b().take_handed(), (std::vector<Handed>{message(1, 20), message(2, 40'000)}));
}

TEST_F(RemoteApplicationTest, WhatLiesInTheRingsWhenThePeerRestartsIsReportedWithTheRest) {
    associate();
    worker_turn();
    read();
    ASSERT_EQ(offer(100), Offer::accepted);
    worker_turns(10);  // 1 acknowledged
    a().port.fault = [](std::span<std::byte>) { return Fate::drop; };
    ASSERT_EQ(offer(100), Offer::accepted);
    worker_turn();  // 2 sent
    ASSERT_EQ(offer(100), Offer::accepted);
    ASSERT_EQ(offer(50'000), Offer::accepted);
    ASSERT_EQ(offer(100), Offer::accepted);  // 3..5 in the rings
    restart_b();
    a().port.fault = nullptr;
    associate();
    worker_turn();
    EXPECT_EQ(read(), (std::vector<Handed>{down(DownReason::restarted), undelivered(2, 2, false),
                                           undelivered(3, 5, true), up()}));
    ASSERT_EQ(offer(60'000), Offer::accepted);  // the buffer for large ones is free again
    worker_turns(200);
    EXPECT_EQ(b().take_handed(), (std::vector<Handed>{up(), message(6, 60'000)}));
}

TEST_F(RemoteApplicationTest, APeerThatIsDownIsExcludedAndOneThatStopsIsClosed) {
    associate();
    worker_turn();
    a().give(Command::Kind::exclude, DownReason::silent);
    worker_turn();
    EXPECT_EQ(offer(10), Offer::excluded);
    remote_->begin_stop();
    EXPECT_EQ(offer(10), Offer::closed);
}

TEST_F(RemoteApplicationTest, WhatWasCommittedAsThePeerWentDownIsReportedAfterTheGiveUpTime) {
    associate();
    worker_turn();
    read();
    std::byte* at = nullptr;
    ASSERT_EQ(remote_->try_claim(0, 10, at), Offer::accepted);
    a().give(Command::Kind::dissociate, DownReason::silent);
    worker_turn();
    EXPECT_EQ(remote_->commit_claim(0, 10), 1U);  // the application had looked just before
    worker_turn();
    now_ = now_ + Duration::s(3);
    worker_turns(2);
    EXPECT_EQ(read(), (std::vector<Handed>{down(DownReason::silent), undelivered(1, 1, true)}));
}

TEST_F(RemoteApplicationTest, ReadingOpensTheWindowAgain) {
    associate();
    worker_turn();
    read();
    for (int i = 0; i < 400; ++i) {
        b().send(now_, 1000);
        worker_turn();
    }
    const std::uint64_t probes = b().peer().send.counters().window_probes;
    std::size_t handed = read().size();
    EXPECT_EQ(handed, 64U);  // the ring's worth
    for (int i = 0; i < 1000; ++i) {
        worker_turn();
        handed += read().size();
    }
    EXPECT_EQ(handed, b().sent);
    EXPECT_EQ(b().peer().send.counters().window_probes, probes);  // it was told
}

}  // namespace
}  // namespace bowline::dataplane
