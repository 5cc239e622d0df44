#include "sim/oracle.hpp"

#include <functional>

#include <gtest/gtest.h>

namespace bowline::sim {
namespace {

constexpr NodeId kS = 0;  // sends
constexpr NodeId kR = 1;  // receives
constexpr std::uint64_t kSender = 11;
constexpr std::uint64_t kReceiver = 22;

/// Two processes that have met, and the few things that happen to messages.
class OracleTest : public testing::Test {
protected:
    OracleTest() {
        oracle_.on_start(kS, kSender);
        oracle_.on_start(kR, kReceiver);
        oracle_.on_up(kS, kR, kReceiver);
        oracle_.on_up(kR, kS, kSender);
    }

    void accept(std::uint64_t first, std::uint64_t last, std::uint32_t size = 20) {
        for (std::uint64_t number = first; number <= last; ++number) {
            oracle_.on_accepted(kS, kR, number, size);
        }
    }
    static std::vector<std::byte> content(std::uint64_t number, std::size_t size = 20, std::uint64_t of = kSender) {
        std::vector<std::byte> bytes(size);
        fill_content({.incarnation = of, .to = kR, .number = number}, bytes);
        return bytes;
    }
    void deliver(std::uint64_t number) { oracle_.on_message(kR, kS, number, content(number)); }
    void acknowledge(std::uint64_t through, std::uint64_t una, std::uint64_t rcv_nxt) {
        oracle_.on_state(kS, kR, {.una = una, .acknowledged_message = through, .peer_incarnation = kReceiver},
                         {.known = true, .incarnation = kSender, .rcv_nxt = rcv_nxt}, kReceiver, true);
    }
    void end(bool owed = false) { oracle_.on_end(kS, kR, owed); }

    void expect_fine() const { EXPECT_EQ(oracle_.violation(), ""); }
    void expect_objection(const std::string& part) const {
        EXPECT_NE(oracle_.violation().find(part), std::string::npos) << "it said: '" << oracle_.violation() << "'";
    }

    Clock clock_;
    Oracle oracle_{clock_, 2};
};

TEST_F(OracleTest, AcceptsARunThatKeepsTheContract) {
    accept(1, 5);
    deliver(1);
    deliver(2);
    acknowledge(2, 3, 3);
    oracle_.on_undelivered(kS, kR, 3, 4, false);
    deliver(3);  // uncertain: it may come
    oracle_.on_gap(kR, kS, 4, 4);
    deliver(5);
    end();
    expect_fine();
}

TEST_F(OracleTest, ObjectsToADuplicate) {
    accept(1, 2);
    deliver(1);
    deliver(1);
    expect_objection("delivered twice");
}

TEST_F(OracleTest, ObjectsToReordering) {
    accept(1, 3);
    deliver(1);
    deliver(3);
    expect_objection("message 3 came in place of 2");
}

TEST_F(OracleTest, ObjectsToAChangedByte) {
    accept(1, 1);
    std::vector<std::byte> bytes = content(1);
    bytes[19] ^= std::byte{1};
    oracle_.on_message(kR, kS, 1, bytes);
    expect_objection("other bytes");
}

TEST_F(OracleTest, ObjectsToAnotherLength) {
    accept(1, 1);
    oracle_.on_message(kR, kS, 1, content(1, 19));
    expect_objection("19 bytes, not 20");
}

TEST_F(OracleTest, ObjectsToAMessageUnderAnotherNumber) {
    accept(1, 2);
    oracle_.on_message(kR, kS, 1, content(2));
    expect_objection("other bytes");
}

TEST_F(OracleTest, ObjectsToAMessageOfAnotherIncarnation) {
    accept(1, 1);
    oracle_.on_message(kR, kS, 1, content(1, 20, kSender + 1));
    expect_objection("other bytes");
}

TEST_F(OracleTest, ObjectsToAMessageThatNobodySent) {
    accept(1, 1);
    oracle_.on_message(kR, kS, 2, content(2));
    expect_objection("of 1 that were sent");
}

TEST_F(OracleTest, ObjectsToAMessageOfAPeerThatIsDown) {
    accept(1, 1);
    oracle_.on_down(kR, kS);
    deliver(1);
    expect_objection("not up");
}

TEST_F(OracleTest, ObjectsToASilentLoss) {
    accept(1, 2);
    deliver(1);
    end();
    expect_objection("message 2 was accepted, and neither delivered nor reported");
}

TEST_F(OracleTest, LetsMessagesBeOwedWhereTheyMayBe) {
    accept(1, 2);
    deliver(1);
    end(true);
    expect_fine();
}

TEST_F(OracleTest, ObjectsToAnAckedMessageThatDoesNotCome) {
    accept(1, 2);
    deliver(1);
    acknowledge(2, 3, 3);
    end(true);
    expect_objection("message 2 was acknowledged and has not come");
}

TEST_F(OracleTest, ForgivesAnAckedMessageWhoseReceiverDied) {
    accept(1, 1);
    acknowledge(1, 2, 2);
    oracle_.on_crash(kR);
    oracle_.on_start(kR, kReceiver + 1);
    end();
    expect_fine();
}

TEST_F(OracleTest, ObjectsToAnAckOfWhatTheReceiverLacks) {
    accept(1, 2);
    acknowledge(2, 3, 2);
    expect_objection("taken for acknowledged");
}

TEST_F(OracleTest, AllowsASenderThatGaveUpToBeAhead) {
    accept(1, 2);
    oracle_.on_state(
        kS, kR,
        {.una = 3, .acknowledged_message = 2, .given_up_first = 1, .given_up_last = 2, .peer_incarnation = kReceiver},
        {.known = true, .incarnation = kSender, .rcv_nxt = 1}, kReceiver, true);
    oracle_.on_undelivered(kS, kR, 1, 2, false);
    end();
    expect_fine();
}

TEST_F(OracleTest, ObjectsToAnAckOfMessagesThatNobodySent) {
    accept(1, 2);
    acknowledge(3, 4, 4);
    expect_objection("message 3 is dealt with, of 2");
}

TEST_F(OracleTest, ObjectsToDeliveryAfterACertainReport) {
    accept(1, 1);
    oracle_.on_undelivered(kS, kR, 1, 1, true);
    deliver(1);
    expect_objection("certainly undelivered, and came");
}

TEST_F(OracleTest, ObjectsToACertainReportAfterDelivery) {
    accept(1, 1);
    deliver(1);
    oracle_.on_undelivered(kS, kR, 1, 1, true);
    expect_objection("certainly undelivered, and had come");
}

TEST_F(OracleTest, ObjectsToAReportOfWhatIsAcknowledged) {
    accept(1, 3);
    deliver(1);
    acknowledge(1, 2, 2);
    oracle_.on_undelivered(kS, kR, 1, 3, false);
    expect_objection("1..1 is acknowledged");
}

TEST_F(OracleTest, ObjectsToASecondReport) {
    accept(1, 3);
    oracle_.on_undelivered(kS, kR, 1, 2, false);
    oracle_.on_undelivered(kS, kR, 2, 3, false);
    expect_objection("after one up to 2");
}

TEST_F(OracleTest, ObjectsToAReportOfWhatWasNeverAccepted) {
    accept(1, 3);
    oracle_.on_undelivered(kS, kR, 2, 4, true);
    expect_objection("a report of 2..4, of 3");
}

TEST_F(OracleTest, ObjectsToAGapThatNobodyReported) {
    accept(1, 3);
    deliver(1);
    oracle_.on_gap(kR, kS, 2, 2);
    deliver(3);
    end();
    expect_objection("message 2 is a gap at the receiver and not reported");
}

TEST_F(OracleTest, ObjectsToAGapInTheWrongPlace) {
    accept(1, 4);
    deliver(1);
    oracle_.on_gap(kR, kS, 3, 3);
    expect_objection("a gap 3..3 where 2 comes next");
}

TEST_F(OracleTest, ObjectsToAMessageFromWithinAGap) {
    accept(1, 3);
    deliver(1);
    oracle_.on_gap(kR, kS, 2, 2);
    deliver(2);
    expect_objection("message 2 came in place of 3");
}

TEST_F(OracleTest, ObjectsToNumbersThatWereSkipped) {
    accept(1, 1);
    oracle_.on_accepted(kS, kR, 3, 20);
    expect_objection("message 3 was accepted after 1");
}

TEST_F(OracleTest, ObjectsToEventsThatContradictEachOther) {
    oracle_.on_up(kR, kS, kSender);
    expect_objection("came up twice");
}

TEST_F(OracleTest, ObjectsToDownOfAPeerThatIsNotUp) {
    oracle_.on_down(kR, kS);
    oracle_.on_down(kR, kS);
    expect_objection("was not up");
}

TEST_F(OracleTest, ObjectsToAnIncarnationThatIsGone) {
    oracle_.on_crash(kS);
    oracle_.on_start(kS, kSender + 1);
    oracle_.on_down(kR, kS);
    oracle_.on_up(kR, kS, kSender + 1);
    oracle_.on_down(kR, kS);
    oracle_.on_up(kR, kS, kSender);
    expect_objection("that was gone");
}

TEST_F(OracleTest, ObjectsToAnIncarnationThatNeverWas) {
    oracle_.on_down(kR, kS);
    oracle_.on_up(kR, kS, 99);
    expect_objection("never was");
}

TEST_F(OracleTest, ObjectsToReplayIntoARestartedReceiver) {
    accept(1, 1);
    deliver(1);
    oracle_.on_crash(kR);
    oracle_.on_start(kR, kReceiver + 1);
    oracle_.on_up(kR, kS, kSender);
    deliver(1);
    expect_objection("delivered twice");
}

TEST_F(OracleTest, KeepsTheFirstViolation) {
    accept(1, 2);
    deliver(2);
    deliver(2);
    deliver(9);
    EXPECT_NE(oracle_.violation().find("twice"), std::string::npos);
}

}  // namespace
}  // namespace bowline::sim
