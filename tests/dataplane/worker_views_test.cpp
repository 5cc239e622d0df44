// Who is in view, closed connections, rotation, forgotten streams: the rules R2 to R8 at the worker.
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "protocol/random.hpp"
#include "protocol/wire/ethernet.hpp"
#include "worker_pair.hpp"

namespace bowline::dataplane {
namespace {

namespace wire = protocol::wire;

class WorkerViews : public WorkerPair {
protected:
    static Fate drop(std::span<std::byte>) { return Fate::drop; }
    static Fault lose(std::uint64_t seed, std::uint64_t percent) {
        return [random = protocol::Random(seed), percent](std::span<std::byte>) mutable {
            return random.below(100) < percent ? Fate::drop : Fate::pass;
        };
    }
    static Fault drop_type(wire::Type type) {
        return [type](std::span<std::byte> frame) {
            const auto at = wire::kEthernetBytes + wire::kIpv4Bytes + wire::kUdpBytes + wire::offset::kType;
            return frame.size() > at && frame[at] == static_cast<std::byte>(type) ? Fate::drop : Fate::pass;
        };
    }
    static void rotate(Node& node, std::uint64_t conn_id) {
        Command command;
        command.kind = Command::Kind::rotate;
        command.peer = 0;
        command.number = conn_id;
        node.give(command);
    }
    /// Control's part of a rotation: does what the peer's NEED_FIRST asks for.
    static void obey(Node& node) {
        for (Notice notice; node.take_notice(notice);) {
            if (notice.kind == Notice::Kind::need_first) {
                rotate(node, notice.conn_id);
            }
        }
    }
    static bool inject(Wire& wire, const Bytes& frame) {
        WireFrame out;
        out.length = static_cast<std::uint32_t>(frame.size());
        std::copy(frame.begin(), frame.end(), out.bytes.begin());
        return wire.try_push(out);
    }
    void turns_with_control(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            turns(1);
            obey(a());
            obey(b());
        }
    }
    bool settle_with_control() {
        for (int i = 0; i < 100'000; ++i) {
            turns_with_control(1);
            if (a().worker().drained() && b().worker().drained() && ab_.empty() && ba_.empty()) {
                return true;
            }
        }
        return false;
    }
    void send(Node& node, int count, std::size_t size = 800) {
        for (int i = 0; i < count; ++i) {
            ASSERT_TRUE(node.send(now_, size));
            turns(1);
        }
    }
    static std::vector<Handed> messages(std::uint64_t first, std::uint64_t last, std::size_t size = 800) {
        std::vector<Handed> result;
        for (std::uint64_t i = first; i <= last; ++i) {
            result.push_back(message(i, size));
        }
        return result;
    }
};

TEST_F(WorkerViews, WhatIsOwedToAnExcludedPeerGoesOnExactlyOnceWhenItIsBack) {
    associate_and_clear();
    send(a(), 3);
    a().port.fault = drop;
    send(a(), 5);
    a().give(Command::Kind::exclude, DownReason::excluded);
    turns(1);
    EXPECT_EQ(a().take_handed(), std::vector<Handed>{down(DownReason::excluded)});
    a().port.fault = nullptr;
    turns(1000);
    EXPECT_EQ(b().take_handed(), messages(1, 3)) << "nothing is sent to a peer that is out of view";
    std::uint64_t number = 0;
    EXPECT_EQ(a().offer(now_, Bytes(10), number), Offer::excluded);
    a().give(Command::Kind::admit);
    ASSERT_TRUE(settle_with_control());
    EXPECT_EQ(a().take_handed(), std::vector<Handed>{up()});
    EXPECT_EQ(b().take_handed(), messages(4, 8));
    EXPECT_EQ(a().peer().send.conn_id(), 2U);
}

TEST_F(WorkerViews, AfterTheRetainTimeItIsReportedAndThePeerSeesAGap) {
    a_options_.settings.retain_time = Duration::ms(100);
    start();
    associate_and_clear();
    send(a(), 2);
    ASSERT_TRUE(settle_with_control());
    a().port.fault = drop;
    send(a(), 2);
    ASSERT_TRUE(a().send(now_, 800));  // accepted, and the peer leaves before a packet can
    a().give(Command::Kind::exclude, DownReason::silent);
    turns(1);
    a().take_handed();
    now_ = now_ + Duration::ms(101);
    turns(2);
    EXPECT_EQ(a().take_handed(), (std::vector<Handed>{undelivered(3, 4, false), undelivered(5, 5, true)}));
    Notice notice;
    EXPECT_FALSE(a().take_notice(notice)) << "control knows that it is out of view";
    EXPECT_EQ(a().worker().data_packets(), 0U);
    a().port.fault = nullptr;
    a().give(Command::Kind::admit);
    turns(1);
    send(a(), 1);
    ASSERT_TRUE(settle_with_control());
    std::vector<Handed> expected = messages(1, 2);
    expected.push_back(gap(3, 5));
    expected.push_back(message(6, 800));
    EXPECT_EQ(b().take_handed(), expected);
}

TEST_F(WorkerViews, DiscardReportsAtTheExclusionWithTheCertaintyThatThereIs) {
    a_options_.settings.exclusion = protocol::Exclusion::discard;
    start();
    associate_and_clear();
    a().port.fault = drop;
    send(a(), 2);
    ASSERT_TRUE(a().send(now_, 800));
    a().give(Command::Kind::exclude, DownReason::excluded);
    turns(1);
    EXPECT_EQ(a().take_handed(),
              (std::vector<Handed>{down(DownReason::excluded), undelivered(1, 2, false), undelivered(3, 3, true)}));
}

TEST_F(WorkerViews, DataOfAPeerOutOfViewIsNotAdmittedAndAnsweredNowAndThen) {
    associate_and_clear();
    b().give(Command::Kind::exclude, DownReason::excluded);
    turns(1);
    b().take_handed();
    send(a(), 50);
    turns(100);
    EXPECT_TRUE(b().take_handed().empty());
    EXPECT_GE(b().worker().counters().excluded_data, 50U);
    EXPECT_GE(b().worker().counters().closes_sent, 1U);
    EXPECT_LE(b().worker().counters().closes_sent, 5U);
    EXPECT_EQ(a().peer().send.acknowledged_message(), 0U);
    // Control hears of it once.
    Notice notice;
    ASSERT_TRUE(b().take_notice(notice));
    EXPECT_EQ(notice.kind, Notice::Kind::heard);
    EXPECT_FALSE(b().take_notice(notice));
    b().give(Command::Kind::admit);
    ASSERT_TRUE(settle_with_control());
    std::vector<Handed> expected = messages(1, 50);
    expected.insert(expected.begin(), up());
    EXPECT_EQ(b().take_handed(), expected);
    EXPECT_EQ(b().worker().counters().need_first_sent, 0U) << "A had never opened a window here";
}

TEST_F(WorkerViews, ReadmissionAsksForTheFirstSeqnoUnasked) {
    associate_and_clear();
    send(a(), 3);
    ASSERT_TRUE(settle_with_control());
    b().give(Command::Kind::exclude, DownReason::excluded);
    b().give(Command::Kind::admit);
    turns_with_control(20);
    EXPECT_EQ(b().worker().counters().need_first_sent, 1U);
    EXPECT_EQ(a().peer().send.conn_id(), 2U) << "though it had nothing to send";
    send(a(), 1);
    ASSERT_TRUE(settle_with_control());
    EXPECT_EQ(b().worker().counters().need_first_sent, 1U);
    EXPECT_EQ(b().worker().counters().rx_unexpected, 0U);
}

TEST_F(WorkerViews, AWindowThatIsGoneIsAskedForOnceAndOneRotationBringsItBack) {
    associate_and_clear();
    send(a(), 10);
    ASSERT_TRUE(settle_with_control());
    b().port.fault = drop;  // its CLOSE is lost
    b().give(Command::Kind::close_connections);
    turns(1);
    b().port.fault = nullptr;
    b().take_handed();
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(a().send(now_, 1400));
    }
    ASSERT_TRUE(settle_with_control());
    EXPECT_EQ(b().take_handed(), messages(11, 20, 1400));
    EXPECT_EQ(b().worker().counters().need_first_sent, 1U);
    EXPECT_GE(b().worker().counters().asks_suppressed, 9U);
    EXPECT_EQ(a().peer().send.conn_id(), 2U);
    EXPECT_EQ(a().worker().counters().rotations, 1U);
}

TEST_F(WorkerViews, AfterACloseTheNextMessageOpensAnewWithoutAQuestion) {
    associate_and_clear();
    send(a(), 5);
    send(b(), 5);
    ASSERT_TRUE(settle_with_control());
    a().give(Command::Kind::close_connections);
    turns(2);
    EXPECT_FALSE(a().peer().receive.is_open() || a().peer().send.is_open());
    EXPECT_FALSE(b().peer().receive.is_open() || b().peer().send.is_open());
    EXPECT_EQ(b().worker().counters().closes_received, 1U);
    b().take_handed();
    a().take_handed();
    ASSERT_TRUE(a().send(now_, 800));
    ASSERT_TRUE(b().send(now_, 800));
    turns(2);
    EXPECT_EQ(b().take_handed(), messages(6, 6));
    EXPECT_EQ(a().take_handed(), messages(6, 6));
    EXPECT_EQ(a().peer().send.conn_id(), 2U);
    EXPECT_EQ(b().peer().send.conn_id(), 2U);
    EXPECT_EQ(a().worker().counters().need_first_sent + b().worker().counters().need_first_sent, 0U);
    ASSERT_TRUE(settle_with_control());
}

TEST_F(WorkerViews, AClosesWhatIsUnackedIsSentAgainAtOnceAndOnce) {
    associate_and_clear();
    a().port.fault = drop;
    send(a(), 4);
    a().port.fault = nullptr;
    a().give(Command::Kind::close_connections);
    ASSERT_TRUE(settle_with_control());
    EXPECT_EQ(b().take_handed(), messages(1, 4));
}

TEST_F(WorkerViews, ACloseOfConnectionsThatAreOverEndsNothing) {
    associate_and_clear();
    send(a(), 1);
    send(b(), 1);
    ASSERT_TRUE(settle_with_control());
    Bytes close;
    a().port.fault = [&](std::span<std::byte> frame) {
        close.assign(frame.begin(), frame.end());
        return Fate::pass;
    };
    a().give(Command::Kind::close_connections);
    turns(2);
    a().port.fault = nullptr;
    send(a(), 1);
    send(b(), 1);
    ASSERT_TRUE(settle_with_control());
    ASSERT_FALSE(close.empty());
    ASSERT_TRUE(inject(ab_, close));
    turns(1);
    EXPECT_EQ(b().worker().counters().closes_stale, 1U);
    EXPECT_TRUE(b().peer().receive.is_open() && b().peer().send.is_open());
}

TEST_F(WorkerViews, ANeedFirstForAnEarlierConnectionDoesNothing) {
    associate_and_clear();
    send(a(), 1);
    ASSERT_TRUE(settle_with_control());
    Bytes need_first;
    b().port.fault = [&](std::span<std::byte> frame) {
        need_first.assign(frame.begin(), frame.end());
        return Fate::pass;
    };
    b().give(Command::Kind::exclude, DownReason::excluded);
    b().give(Command::Kind::admit);
    turns_with_control(10);
    ASSERT_EQ(a().peer().send.conn_id(), 2U);
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(inject(ba_, need_first));
        turns_with_control(1);
    }
    EXPECT_EQ(a().peer().send.conn_id(), 2U);
    EXPECT_EQ(a().worker().counters().rotations, 1U);
}

// JGRP-1873: an ack from before a close would acknowledge what the new window still lacks.
TEST_F(WorkerViews, AnAckOfAnEarlierConnectionHasNoEffect) {
    associate_and_clear();
    send(a(), 3);
    std::vector<Bytes> acks;
    b().port.fault = [&](std::span<std::byte> frame) {
        acks.emplace_back(frame.begin(), frame.end());
        return Fate::drop;
    };
    send(a(), 4);
    turns(3);
    ASSERT_FALSE(acks.empty());
    b().port.fault = drop_type(wire::Type::close);
    b().give(Command::Kind::close_connections);
    rotate(a(), 0);
    a().port.fault = drop;
    turns(1);
    const std::uint64_t before = a().peer().send.acknowledged_message();
    const std::uint64_t stale = a().peer().send.counters().stale_acks;
    for (const Bytes& ack : acks) {
        ASSERT_TRUE(inject(ba_, ack));
    }
    turns(1);
    EXPECT_EQ(a().peer().send.acknowledged_message(), before);
    EXPECT_GE(a().peer().send.counters().stale_acks, stale + acks.size());
    a().port.fault = nullptr;
    b().port.fault = nullptr;
    ASSERT_TRUE(settle_with_control());
    EXPECT_EQ(b().take_handed(), messages(1, 7));
}

TEST_F(WorkerViews, AStreamForgottenCleanGoesOnWithWhatIsCertainlyUndelivered) {
    associate_and_clear();
    send(a(), 3);
    ASSERT_TRUE(settle_with_control());
    a().give(Command::Kind::heartbeat);  // says that nothing is unacknowledged
    turns(1);
    b().give(Command::Kind::forget);
    turns(1);
    EXPECT_EQ(b().worker().counters().forgotten_clean, 1U);
    EXPECT_FALSE(b().peer().dropped_dirty);
    send(a(), 2);
    b().take_handed();
    associate();
    ASSERT_TRUE(settle_with_control());
    EXPECT_EQ(b().take_handed(), messages(4, 5));
    EXPECT_TRUE(a().take_handed().empty());
}

TEST_F(WorkerViews, EachForgettingAsksForTheNextGreeting) {
    associate_and_clear();
    Notice notice;
    while (a().take_notice(notice)) {
    }
    a().port.fault = drop;
    send(a(), 2);
    for (int time = 0; time < 2; ++time) {
        // Control has dropped what it had agreed upon meanwhile, of which nothing has come here.
        a().give(Command::Kind::forget);
        turns(1);
        ASSERT_TRUE(a().take_notice(notice)) << time;
        EXPECT_EQ(notice.kind, Notice::Kind::wanted);
        EXPECT_FALSE(a().take_notice(notice));
    }
}

class WorkerViewsForget : public WorkerViews {
protected:
    /// B has delivered 1..5, A knows it of 1..3 only; 6 has not been sent. B forgets A and they meet again.
    void forget_dirty() {
        start();
        associate_and_clear();
        send(a(), 3);
        ASSERT_TRUE(settle_with_control());
        b().port.fault = drop;
        send(a(), 2);
        turns(2);
        EXPECT_EQ(b().take_handed(), messages(1, 5));
        b().give(Command::Kind::forget);
        turns(1);
        EXPECT_EQ(b().worker().counters().forgotten_dirty, 1U);
        EXPECT_TRUE(b().peer().dropped_dirty);
        ASSERT_TRUE(a().send(now_, 800));
        ++round_;
        for (auto [self, other] : {std::pair(a_.get(), b_.get()), std::pair(b_.get(), a_.get())}) {
            Command command;
            command.kind = Command::Kind::associate;
            command.peer = 0;
            command.association = make_association(*self, round_, *other);
            command.association.peer_dropped_dirty = self == a_.get();
            self->give(command);
        }
        b().port.fault = nullptr;
    }
};

TEST_F(WorkerViewsForget, WhatNobodyCanKnowIsReportedAndTheRestGoesOn) {
    forget_dirty();
    ASSERT_TRUE(settle_with_control());
    EXPECT_EQ(a().take_handed(), std::vector<Handed>{undelivered(4, 5, false)});
    EXPECT_EQ(b().take_handed(), messages(6, 6));
}

TEST_F(WorkerViewsForget, OrIsSentAgainWhereThatIsWanted) {
    a_options_.settings.on_uncertain = protocol::OnUncertain::resend;
    forget_dirty();
    ASSERT_TRUE(settle_with_control());
    EXPECT_TRUE(a().take_handed().empty());
    EXPECT_EQ(b().take_handed(), messages(4, 6));
}

TEST_F(WorkerViews, ViewsAreToldInOrderAndTheLatestIsEnoughForAnApplicationThatDoesNotRead) {
    associate_and_clear();
    const auto tell = [&](std::uint64_t id) {
        Command command;
        command.kind = Command::Kind::view_changed;
        command.number = id;
        a().give(command);
        turns(1);
    };
    tell(1);
    tell(2);
    EXPECT_EQ(a().take_handed(), (std::vector<Handed>{{.kind = Handed::Kind::view, .first = 1},
                                                      {.kind = Handed::Kind::view, .first = 2}}));
    a().reading = false;
    for (std::uint64_t id = 3; id <= 103; ++id) {
        tell(id);
    }
    a().reading = true;
    turns(2);
    const std::vector<Handed> handed = a().take_handed();
    ASSERT_FALSE(handed.empty());
    EXPECT_EQ(handed.back().first, 103U);
    EXPECT_LE(handed.size(), kPeerEvents);
}

TEST_F(WorkerViews, AnyNumberOfViewsFitsAnApplicationThatDoesNotRead) {
    associate_and_clear();
    a().reading = false;
    for (int i = 0; i < 100; ++i) {
        a().give(Command::Kind::exclude, DownReason::excluded);
        turns_with_control(1);
        a().give(Command::Kind::admit);
        turns_with_control(1);
    }
    EXPECT_FALSE(a().peer().in_view) << "it waits for its application";
    EXPECT_GT(a().worker().counters().events_full, 0U);
    a().reading = true;
    turns_with_control(2);
    EXPECT_TRUE(a().peer().in_view);
    EXPECT_EQ(a().take_handed().back(), up());
    send(a(), 1);
    send(b(), 1);
    ASSERT_TRUE(settle_with_control());
    EXPECT_EQ(a().take_handed(), messages(1, 1));
}

TEST(AskLimiter, AsksAtOnceAndThenEverLessOften) {
    AskLimiter limiter;
    Time now = Time::at_ns(1'000'000'000);
    int asked = 0;
    for (int i = 0; i < 10'000; ++i) {
        asked += limiter.try_ask(now, 7) ? 1 : 0;
        now = now + Duration::us(100);
    }
    EXPECT_GE(asked, 12);
    EXPECT_LE(asked, 25) << "in a second";
    EXPECT_TRUE(limiter.try_ask(now, 8)) << "about something else";
    EXPECT_FALSE(limiter.try_ask(now, 8));
    limiter.reset();
    EXPECT_TRUE(limiter.try_ask(now, 8));
}

// Whatever either side's control does, in loss: each message exactly once and in order, or reported.
TEST_F(WorkerViews, AnySequenceOfDecisionsKeepsTheContract) {
    EXPECT_TRUE(rc::check([this] {
        const auto seed = *rc::gen::inRange<std::uint64_t>(1, 1'000'000);
        protocol::Random random(seed);
        for (NodeOptions* options : {&a_options_, &b_options_}) {
            options->settings.exclusion =
                random.below(3) == 0 ? protocol::Exclusion::discard : protocol::Exclusion::retain;
            options->settings.retain_time = Duration::ms(static_cast<std::int64_t>(random.below(20)));
            options->settings.window_pkts = 1U << (1 + random.below(6));
        }
        start();
        associate_and_clear();
        a().port.fault = lose(seed, 20);
        b().port.fault = lose(seed + 1, 20);
        struct Seen {
            std::uint64_t delivered = 0;       ///< the last one
            std::set<std::uint64_t> messages;  ///< from the peer
            std::set<std::uint64_t> certain;   ///< reported by this node
            std::set<std::uint64_t> reported;
        } seen[2];
        const auto check = [&](Node& node, Seen& its) {
            for (const Handed& handed : node.take_handed()) {
                if (handed.kind == Handed::Kind::message) {
                    RC_ASSERT(handed.first > its.delivered);
                    RC_ASSERT(handed.bytes == make_message(handed.first, handed.bytes.size()));
                    its.delivered = handed.first;
                    its.messages.insert(handed.first);
                } else if (handed.kind == Handed::Kind::undelivered) {
                    for (std::uint64_t i = handed.first; i <= handed.last; ++i) {
                        RC_ASSERT(its.reported.insert(i).second);
                        if (handed.certain) {
                            its.certain.insert(i);
                        }
                    }
                }
            }
        };
        const auto steps = *rc::gen::inRange(1, 200);
        for (int step = 0; step < steps; ++step) {
            Node& node = random.below(2) == 0 ? a() : b();
            a().send(now_, random.below(10) == 0 ? random.below(10'000) : random.below(500));
            b().send(now_, random.below(10) == 0 ? random.below(10'000) : random.below(500));
            node.reading = random.below(4) != 0;
            switch (random.below(20)) {
                case 0:
                    node.give(Command::Kind::exclude, DownReason::excluded);
                    break;
                case 1:
                case 2:
                    node.give(Command::Kind::admit);
                    break;
                case 3:
                    node.give(Command::Kind::close_connections);
                    break;
                case 4:
                    rotate(node, 0);
                    break;
                case 5:
                    associate();
                    break;
                default:
                    break;
            }
            turns_with_control(random.below(5));
            check(a(), seen[0]);
            check(b(), seen[1]);
        }
        a().reading = b().reading = true;
        turns_with_control(5);
        a().give(Command::Kind::admit);
        b().give(Command::Kind::admit);
        associate();
        RC_ASSERT(settle_with_control());
        turns_with_control(50);
        check(a(), seen[0]);
        check(b(), seen[1]);
        for (int i = 0; i < 2; ++i) {
            const Seen& sender = seen[i];
            const Seen& receiver = seen[1 - i];
            const std::uint64_t sent = i == 0 ? a().sent : b().sent;
            for (std::uint64_t number = 1; number <= sent; ++number) {
                RC_ASSERT(receiver.messages.contains(number) || sender.reported.contains(number));
                RC_ASSERT(!(receiver.messages.contains(number) && sender.certain.contains(number)));
            }
        }
    }));
}

}  // namespace
}  // namespace bowline::dataplane
