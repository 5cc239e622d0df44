#include "engine/snapshot_taker.hpp"

#include <memory>

#include <gtest/gtest.h>

namespace bowline::engine {
namespace {

using dataplane::Command;
using dataplane::WorkerSnapshot;
using protocol::Duration;

class SnapshotTakerTest : public testing::Test {
protected:
    /// Plays the worker: obeys a command and answers it.
    static void obey(const Command& command) {
        ASSERT_EQ(command.kind, Command::Kind::snapshot);
        command.snapshot->filled.store(true, std::memory_order_release);
    }
    int collect() {
        int given = 0;
        taker_.collect([&](Answer& answer) {
            answer.give(Report{});
            ++given;
        });
        return given;
    }

    static constexpr std::size_t kPeers = 2 * WorkerSnapshot::kPiece + 1;
    WorkerSnapshot snapshot_{kPeers};
    SnapshotTaker taker_{snapshot_};
    Command command_;
};

TEST_F(SnapshotTakerTest, AsksForAPieceAtATime) {
    EXPECT_FALSE(taker_.poll_command(command_)) << "nobody wants anything";
    const auto answer = std::make_shared<Answer>();
    taker_.want(answer);
    for (std::size_t first = 0; first < kPeers; first += WorkerSnapshot::kPiece) {
        ASSERT_TRUE(taker_.poll_command(command_));
        EXPECT_EQ(snapshot_.first, first);
        EXPECT_FALSE(taker_.poll_command(command_)) << "one is under way";
        EXPECT_EQ(collect(), 0) << "the worker has not answered";
        EXPECT_TRUE(taker_.awaited());
        obey(command_);
        EXPECT_EQ(collect(), first + WorkerSnapshot::kPiece >= kPeers ? 1 : 0);
    }
    EXPECT_TRUE(answer->wait(Duration::ns(0)).has_value());
    EXPECT_FALSE(taker_.awaited());
    EXPECT_FALSE(taker_.poll_command(command_));
}

TEST_F(SnapshotTakerTest, GivesLatecomersACopyThatBeginsAfterThem) {
    taker_.want(std::make_shared<Answer>());
    taker_.want(std::make_shared<Answer>());
    ASSERT_TRUE(taker_.poll_command(command_));
    taker_.want(std::make_shared<Answer>());
    int given = 0;
    for (int piece = 0; piece < 3; ++piece) {
        obey(command_);
        given += collect();
        ASSERT_TRUE(taker_.poll_command(command_));
    }
    EXPECT_EQ(given, 2) << "both who came before it began";
    EXPECT_EQ(snapshot_.first, 0U) << "and the next one has begun";
    EXPECT_EQ(taker_.take_waiting().size(), 1U);
}

TEST_F(SnapshotTakerTest, ForgetsWhoHasGivenUp) {
    const auto gone = std::make_shared<Answer>();
    taker_.want(gone);
    ASSERT_TRUE(taker_.poll_command(command_));
    EXPECT_FALSE(gone->wait(Duration::ns(0)).has_value());
    EXPECT_FALSE(taker_.awaited()) << "nobody waits for the worker any more";
    taker_.want(std::make_shared<Answer>());
    EXPECT_TRUE(taker_.awaited());
    EXPECT_EQ(taker_.take_waiting().size(), 1U);
}

}  // namespace
}  // namespace bowline::engine
