#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "protocol/random.hpp"
#include "protocol/wire/control_body.hpp"
#include "worker_pair.hpp"

namespace bowline::dataplane {
namespace {

namespace wire = protocol::wire;

class WorkerCommands : public WorkerPair {
protected:
    static Fate drop(std::span<std::byte>) { return Fate::drop; }
    static Fault lose(std::uint64_t seed, std::uint64_t percent) {
        return [random = protocol::Random(seed), percent](std::span<std::byte>) mutable {
            return random.below(100) < percent ? Fate::drop : Fate::pass;
        };
    }
    /// A's side of the latest association only: the responder's, in use once a packet with its tag arrives.
    void expect_at_a() {
        Command command;
        command.kind = Command::Kind::expect;
        command.peer = 0;
        command.association = make_association(a(), round_, b());
        a().give(command);
    }
    void associate_at_b() {
        Command command;
        command.kind = Command::Kind::associate;
        command.peer = 0;
        command.association = make_association(b(), round_, a());
        b().give(command);
    }
    static std::vector<Handed> join(std::vector<Handed> a, const std::vector<Handed>& b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
    }
};

TEST_F(WorkerCommands, AnAssociationIsAnnouncedToTheApplication) {
    associate();
    turns(1);
    EXPECT_EQ(a().take_handed(), std::vector<Handed>{up()});
    EXPECT_EQ(b().take_handed(), std::vector<Handed>{up()});
    EXPECT_TRUE(a().activity[0].settled.load());
}

TEST_F(WorkerCommands, ARestartedPeerIsAnotherOneAndWhatItNeverAcknowledgedIsReportedExactly) {
    associate_and_clear();
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(a().send(now_, 100));
    }
    ASSERT_TRUE(settle());  // 1..5 acknowledged
    a().port.fault = drop;
    for (int i = 0; i < 7; ++i) {
        ASSERT_TRUE(a().send(now_, 1400));
        turns(1);
    }
    ASSERT_TRUE(a().send(now_, 10));  // 13: accepted, in the open packet, and never looked at
    EXPECT_FALSE(a().activity[0].settled.load());
    restart_b();
    a().port.fault = nullptr;
    associate();
    turns(1);
    EXPECT_EQ(a().take_handed(), (std::vector<Handed>{down(DownReason::restarted), undelivered(6, 12, false),
                                                      undelivered(13, 13, true), up()}));
    EXPECT_EQ(b().take_handed(), std::vector<Handed>{up()});
    ASSERT_TRUE(a().send(now_, 50));
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), std::vector<Handed>{message(14, 50)});  // the stream's numbers never go back
}

TEST_F(WorkerCommands, WhatWaitsBehindAClosedWindowIsCertainlyUndeliveredWhenThePeerRestarts) {
    associate_and_clear();
    b().reading = false;
    while (a().send(now_, 1400)) {  // a packet each
        turns(1);
    }
    turns(10);
    const std::uint64_t last = a().sent;
    a().take_handed();
    restart_b();
    associate();
    turns(1);
    // B's ring took 64, which are acknowledged: they would have reached its application had it lived.
    EXPECT_EQ(a().take_handed(), (std::vector<Handed>{down(DownReason::restarted), undelivered(65, last, true), up()}));
}

TEST_F(WorkerCommands, ALargeMessageCutInHalfByARestartIsReportedWhole) {
    associate_and_clear();
    ASSERT_TRUE(a().send(now_, 10));
    ASSERT_TRUE(settle());
    b().reading = false;
    ASSERT_TRUE(a().send(now_, 1U << 20U));
    turns(20);
    std::uint64_t number = 0;
    EXPECT_EQ(a().offer(now_, Bytes(10), number), Offer::back_pressured);
    restart_b();
    associate();
    turns(1);
    // Sent in part only: it cannot have been delivered.
    EXPECT_EQ(a().take_handed(), (std::vector<Handed>{down(DownReason::restarted), undelivered(2, 2, true), up()}));
    ASSERT_TRUE(a().send(now_, 5000));
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), (std::vector<Handed>{up(), message(3, 5000)}));
}

TEST_F(WorkerCommands, EventsComeInOrderWithTheMessagesOfBothIncarnations) {
    associate_and_clear();
    a().reading = false;
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(b().send(now_, 20));
    }
    ASSERT_TRUE(settle());
    restart_b();
    associate();
    turns(1);
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(b().send(now_, 30));
    }
    ASSERT_TRUE(settle());
    b().give(Command::Kind::dissociate, DownReason::silent);
    a().give(Command::Kind::dissociate, DownReason::silent);
    turns(1);
    a().read();
    EXPECT_EQ(a().take_handed(),
              (std::vector<Handed>{message(1, 20), message(2, 20), message(3, 20), down(DownReason::restarted), up(),
                                   message(1, 30), message(2, 30), down(DownReason::silent)}));
}

TEST_F(WorkerCommands, ANeedlessAssociationChangesTagsAndNothingElse) {
    associate_and_clear();
    std::vector<Handed> expected;
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(a().send(now_, 3000));
        expected.push_back(message(a().sent, 3000));
        turns(1);
        if (i % 10 == 5) {
            associate();
        }
    }
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), expected);
    EXPECT_TRUE(a().take_handed().empty());
}

TEST_F(WorkerCommands, AnyNumberOfAssociationsAndSilencesInLossLeavesExactlyOnceAndInOrder) {
    EXPECT_TRUE(rc::check([this] {
        start();
        associate_and_clear();
        const auto seed = *rc::gen::inRange<std::uint64_t>(1, 1'000'000);
        a().port.fault = lose(seed, 20);
        b().port.fault = lose(seed + 1, 20);
        protocol::Random random(seed);
        std::uint64_t numbered_a = 0;
        std::uint64_t numbered_b = 0;
        const auto check = [&](Node& node, std::uint64_t& numbered) {
            for (const Handed& handed : node.take_handed()) {
                if (handed.kind == Handed::Kind::message) {
                    RC_ASSERT(handed.first == numbered + 1);
                    RC_ASSERT(handed.bytes == make_message(handed.first, handed.bytes.size()));
                    ++numbered;
                } else {
                    RC_ASSERT(handed.kind == Handed::Kind::up || handed.kind == Handed::Kind::down);
                }
            }
        };
        const auto steps = *rc::gen::inRange(1, 300);
        for (int step = 0; step < steps; ++step) {
            a().send(now_, random.below(10) == 0 ? random.below(30'000) : random.below(500));
            b().send(now_, random.below(10) == 0 ? random.below(30'000) : random.below(500));
            const std::uint64_t what = random.below(40);
            a().reading = random.below(4) != 0;
            if (what == 0) {
                associate();
            } else if (what == 1) {
                a().give(Command::Kind::dissociate, DownReason::silent);
            } else if (what == 2) {
                b().give(Command::Kind::dissociate, DownReason::silent);
            }
            turns(random.below(5));
            check(a(), numbered_a);
            check(b(), numbered_b);
        }
        a().reading = true;
        associate();
        RC_ASSERT(settle());
        turns(50);  // a message of fragments a batch
        check(a(), numbered_a);
        check(b(), numbered_b);
        RC_ASSERT(numbered_b == a().sent);
        RC_ASSERT(numbered_a == b().sent);
    }));
}

TEST_F(WorkerCommands, ASilentPeerIsExcludedAndGoesOnWhereItWasWhenItIsBack) {
    associate_and_clear();
    a().port.fault = drop;
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(a().send(now_, 800));
        turns(1);
    }
    a().give(Command::Kind::exclude, DownReason::silent);
    turns(1);
    EXPECT_EQ(a().take_handed(), std::vector<Handed>{down(DownReason::silent)});
    std::uint64_t number = 0;
    EXPECT_EQ(a().offer(now_, Bytes(10), number), Offer::excluded);
    turns(1000);
    a().port.fault = nullptr;
    a().give(Command::Kind::admit);
    ASSERT_TRUE(settle());
    EXPECT_EQ(a().take_handed(), std::vector<Handed>{up()});
    EXPECT_EQ(a().worker().peer(0).send.conn_id(), 2U);
    std::vector<Handed> expected;
    for (std::uint64_t i = 1; i <= 10; ++i) {
        expected.push_back(message(i, 800));
    }
    EXPECT_EQ(b().take_handed(), expected);
}

TEST_F(WorkerCommands, WhatASilentPeerIsOwedIsReportedAfterTheGiveUpTime) {
    associate_and_clear();
    ASSERT_TRUE(a().send(now_, 100));
    ASSERT_TRUE(settle());
    a().port.fault = drop;
    ASSERT_TRUE(a().send(now_, 100));
    turns(1);
    a().give(Command::Kind::dissociate, DownReason::silent);
    turns(1);
    a().take_handed();
    now_ = now_ + Duration::s(3);
    turns(2);
    EXPECT_EQ(a().take_handed(), std::vector<Handed>{undelivered(2, 2, false)});
    Notice notice;
    ASSERT_TRUE(a().take_notice(notice));
    EXPECT_EQ(notice.kind, Notice::Kind::gave_up);
    EXPECT_FALSE(a().take_notice(notice));
    // B is told of what A has given up.
    a().port.fault = nullptr;
    associate();
    turns(1);
    ASSERT_TRUE(a().send(now_, 100));
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), (std::vector<Handed>{message(1, 100), gap(2, 2), message(3, 100)}));
}

TEST_F(WorkerCommands, WhatHasNotEvenBeenPackedWhenThePeerGoesSilentIsReportedAfterTheGiveUpTime) {
    associate_and_clear();
    ASSERT_TRUE(a().send(now_, 100));
    a().give(Command::Kind::dissociate, DownReason::silent);  // before the next send()
    turns(1);
    EXPECT_EQ(a().take_handed(), std::vector<Handed>{down(DownReason::silent)});
    EXPECT_FALSE(a().worker().next_deadline().is_never());
    now_ = now_ + Duration::s(3);
    turns(2);
    EXPECT_EQ(a().take_handed(), std::vector<Handed>{undelivered(1, 1, true)});
}

TEST_F(WorkerCommands, ThePeerLearnsOfMessagesGivenUpThatNeverHadAPacket) {
    associate_and_clear();
    ASSERT_TRUE(a().send(now_, 100));
    ASSERT_TRUE(settle());
    b().port.fault = drop;
    ASSERT_TRUE(a().send(now_, 100));
    turns(2);  // arrives, though A never hears of it
    ASSERT_TRUE(a().send(now_, 100));
    a().give(Command::Kind::dissociate, DownReason::silent);  // before it is packed
    turns(1);
    now_ = now_ + Duration::s(3);
    turns(2);
    EXPECT_EQ(a().take_handed(),
              (std::vector<Handed>{down(DownReason::silent), undelivered(2, 2, false), undelivered(3, 3, true)}));
    b().port.fault = nullptr;
    associate();
    turns(1);
    ASSERT_TRUE(a().send(now_, 100));
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), (std::vector<Handed>{message(1, 100), message(2, 100), gap(3, 3), message(4, 100)}));
}

TEST_F(WorkerCommands, AMessageOfWhichThePeerHasForgottenTheHeadIsReported) {
    associate_and_clear();
    ASSERT_TRUE(a().send(now_, 1U << 20U));
    turns(10);
    a().port.starve = true;
    turns(200);
    ASSERT_TRUE(a().peer().send.drained());  // what there is of it in packets is acknowledged, the rest is to be cut
    ASSERT_TRUE(a().peer().large.active());
    a().port.starve = false;
    ++round_;
    Command command;
    command.kind = Command::Kind::associate;
    command.peer = 0;
    command.association = make_association(a(), round_, b());
    command.association.peer_memory = {};
    a().give(command);
    a().turn(now_);
    EXPECT_EQ(a().take_handed(), std::vector<Handed>{undelivered(1, 1, true)});
}

TEST_F(WorkerCommands, AGiveUpWaitsForControlAndApplicationToTakeWhatTheyHave) {
    associate_and_clear();
    a().port.fault = drop;
    ASSERT_TRUE(a().send(now_, 100));
    turns(1);
    while (a().notices.try_push(Notice{})) {
    }
    now_ = now_ + Duration::s(3);
    turns(5);
    EXPECT_TRUE(a().take_handed().empty());
    EXPECT_GT(a().worker().counters().notices_refused, 0U);
    ASSERT_NE(a().notices.front(), nullptr);
    a().notices.pop();
    turns(2);
    EXPECT_EQ(a().take_handed(), std::vector<Handed>{undelivered(1, 1, false)});
}

TEST_F(WorkerCommands, AnOrderlyStopSaysWhatArrivedAndTheRestIsCertainlyUndelivered) {
    associate_and_clear();
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(a().send(now_, 10));
    }
    b().port.fault = drop;  // no ack of these gets back
    turns(3);
    b().port.fault = nullptr;
    a().port.fault = drop;
    ASSERT_TRUE(a().send(now_, 10));
    turns(1);
    b().give(Command::Kind::send_close);
    turns(2);
    Notice notice;
    ASSERT_TRUE(a().take_notice(notice));
    EXPECT_EQ(notice.kind, Notice::Kind::close);
    EXPECT_EQ(notice.peer, 0);
    while (a().take_notice(notice)) {
        EXPECT_EQ(notice.kind, Notice::Kind::close);
    }
    a().give(Command::Kind::dissociate, DownReason::stopped);
    turns(1);
    EXPECT_EQ(a().take_handed(), (std::vector<Handed>{down(DownReason::stopped), undelivered(4, 4, true)}));
    EXPECT_EQ(b().take_handed().size(), 3U);
    EXPECT_TRUE(a().worker().drained());
}

TEST_F(WorkerCommands, AfterItsCloseANodeAdmitsNothingMore) {
    associate_and_clear();
    b().give(Command::Kind::send_close);
    turns(1);
    ASSERT_TRUE(a().send(now_, 10));
    turns(100);
    EXPECT_TRUE(b().take_handed().empty());
    EXPECT_EQ(a().peer().send.acknowledged_message(), 0U);
}

TEST_F(WorkerCommands, WhatIsLeftAtTheEndIsReported) {
    associate_and_clear();
    a().port.fault = drop;
    ASSERT_TRUE(a().send(now_, 10));
    turns(1);
    ASSERT_TRUE(a().send(now_, 10));
    a().worker().begin_stop();
    EXPECT_FALSE(a().worker().drained());
    a().worker().report_all(now_);
    a().read();
    EXPECT_EQ(a().take_handed(), (std::vector<Handed>{undelivered(1, 1, false), undelivered(2, 2, true)}));
    EXPECT_TRUE(a().worker().drained());
}

TEST_F(WorkerCommands, WhatIsExpectedIsInUseWithItsFirstPacketAndTheOldTagsGo) {
    associate_and_clear();
    const std::uint32_t old_tag = a().peer().association.local_tag;
    ++round_;
    expect_at_a();
    turns(1);
    ASSERT_TRUE(b().send(now_, 10));  // with the old tags, which are good until then
    turns(2);
    EXPECT_EQ(a().take_handed(), std::vector<Handed>{message(1, 10)});
    EXPECT_EQ(a().peer().association.local_tag, old_tag);
    associate_at_b();
    ASSERT_TRUE(b().send(now_, 10));
    ASSERT_TRUE(settle());
    EXPECT_EQ(a().take_handed(), std::vector<Handed>{message(2, 10)});
    EXPECT_NE(a().peer().association.local_tag, old_tag);
    Notice notice;
    ASSERT_TRUE(a().take_notice(notice));
    EXPECT_EQ(notice.kind, Notice::Kind::associated);
    EXPECT_EQ(notice.local_tag, a().peer().association.local_tag);
    EXPECT_FALSE(a().take_notice(notice));
}

TEST_F(WorkerCommands, WhatIsNoLongerExpectedMatchesNothing) {
    associate_and_clear();
    ++round_;
    expect_at_a();
    a().give(Command::Kind::cancel_expected);
    turns(1);
    associate_at_b();
    ASSERT_TRUE(b().send(now_, 10));
    turns(2);
    EXPECT_TRUE(a().take_handed().empty());
    Notice notice;
    ASSERT_TRUE(a().take_notice(notice));
    EXPECT_EQ(notice.kind, Notice::Kind::unknown_tag);
}

TEST_F(WorkerCommands, APeerComesUpAgainOnlyOnceItsApplicationHasTakenItsEvents) {
    a().reading = false;
    // Forty lives of B, none of which A's application looks at, with something to report of each.
    std::size_t waited = 0;
    for (int life = 0; life < 40; ++life) {
        restart_b();
        associate();
        turns(1);
        if (a().worker().peer(0).associated) {
            ASSERT_TRUE(a().send(now_, 10));
        }
        a().port.fault = drop;
        turns(1);
        a().port.fault = nullptr;
        a().give(Command::Kind::dissociate, life % 2 == 0 ? DownReason::silent : DownReason::stopped);
        turns(1);
        waited += a().worker().counters().events_full > 0 ? 1U : 0U;
    }
    EXPECT_GT(waited, 30U);
    std::size_t ups = 0;
    std::uint64_t reported = 0;
    const auto take = [&] {
        for (const Handed& handed : a().take_handed()) {
            ups += handed.kind == Handed::Kind::up ? 1U : 0U;
            if (handed.kind == Handed::Kind::undelivered) {
                EXPECT_EQ(handed.first, reported + 1);
                reported = handed.last;
            }
        }
    };
    a().read();
    take();
    EXPECT_EQ(ups, a().sent);
    // Now there is room. The last life's message is reported when another one begins.
    a().reading = true;
    restart_b();
    associate();
    turns(1);
    take();
    EXPECT_EQ(ups, a().sent + 1);
    EXPECT_EQ(reported, a().sent);
    ASSERT_TRUE(a().send(now_, 10));
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed().size(), 2U);
}

TEST_F(WorkerCommands, AnAssociationThatHadToWaitIsInUseOnceThePeerIsHeardAgain) {
    a().reading = false;
    while (a().worker().counters().events_full == 0) {
        restart_b();
        associate();
        turns(1);
    }
    EXPECT_NE(a().peer().incarnation, b().options().incarnation);
    a().reading = true;
    turns(1);
    ASSERT_TRUE(b().send(now_, 10));
    ASSERT_TRUE(settle());
    EXPECT_EQ(a().handed.back(), message(1, 10));
    EXPECT_EQ(a().peer().incarnation, b().options().incarnation);
}

TEST_F(WorkerCommands, AGreetingLeavesWithTheStateThatOnlyTheWorkerKnows) {
    associate_and_clear();
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(b().send(now_, 1400));
    }
    ASSERT_TRUE(settle());
    const wire::HeaderTemplate headers(a().endpoints());
    const auto bowline_at = static_cast<std::uint16_t>(headers.size());
    std::array<std::byte, ControlFrame::kBytesMax + 64> scratch{};
    wire::Hello hello;
    hello.nonce = 5;
    hello.tag = 9;
    hello.max_packet = kTestPacketBytes;
    hello.from = *wire::NodeName::make("a");
    hello.to = *wire::NodeName::make("b");
    std::byte* const bowline = scratch.data() + 64;
    wire::Header header;
    header.type = wire::Type::hello;
    wire::encode(header, bowline);
    const std::size_t bytes = wire::kHeaderBytes + wire::encode_hello(hello, bowline + wire::kHeaderBytes);
    const std::byte* const start = headers.write(bowline, bytes);
    Command command;
    command.kind = Command::Kind::transmit;
    command.frame.length = static_cast<std::uint16_t>(headers.size() + bytes);
    command.frame.udp_payload_at = bowline_at;
    command.frame.hello_at = static_cast<std::uint16_t>(bowline_at + wire::kHeaderBytes);
    command.frame.peer = 0;
    std::memcpy(command.frame.bytes.data(), start, command.frame.length);
    a().give(command);
    a().turn(now_);
    b().worker().receive(now_);
    Notice* const notice = b().notices.front();
    ASSERT_NE(notice, nullptr);  // so its checksums are right, too
    EXPECT_EQ(notice->kind, Notice::Kind::frame);
    const auto decoded = wire::decode_hello(
        wire::Type::hello, {notice->bytes + bowline_at + wire::kHeaderBytes, bytes - wire::kHeaderBytes});
    ASSERT_TRUE(static_cast<bool>(decoded));
    EXPECT_EQ(decoded->stream_id, a().peer().send.stream_id());
    EXPECT_EQ(decoded->memory_incarnation, b().options().incarnation);
    EXPECT_EQ(decoded->memory_stream_id, b().peer().send.stream_id());
    EXPECT_EQ(decoded->memory_rcv_nxt, 4U);
    EXPECT_EQ(decoded->memory_flags, wire::kMemoryPresent);
    EXPECT_EQ(decoded->window, 64U);
}

}  // namespace
}  // namespace bowline::dataplane
