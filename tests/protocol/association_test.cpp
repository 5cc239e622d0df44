#include "protocol/association.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "association_net.hpp"

namespace bowline::protocol {
namespace {

using test::Net;
using wire::Hello;
using wire::NodeName;
using wire::Type;

constexpr Duration kPatience = Duration::s(20);

/// One end, with the other's packets made by hand.
class HandshakeTest : public testing::Test {
protected:
    static HandshakeIdentity identity(const char* own, const char* peer, std::uint64_t incarnation) {
        return {.own_name = *NodeName::make(own),
                .peer_name = *NodeName::make(peer),
                .own_incarnation = incarnation,
                .slot_base = 6,
                .max_packet = 1472,
                .ack_delay_us = 25};
    }

    static Hello hello_from(const char* from, const char* to, std::uint64_t incarnation, std::uint64_t nonce,
                            std::uint32_t tag) {
        Hello hello;
        hello.incarnation = incarnation;
        hello.nonce = nonce;
        hello.tag = tag;
        hello.slot = 9;
        hello.max_packet = 1400;
        hello.from = *NodeName::make(from);
        hello.to = *NodeName::make(to);
        return hello;
    }

    static Handshake::Outgoing take(Handshake& handshake, Time now) {
        Handshake::Outgoing out;
        EXPECT_TRUE(handshake.poll_transmit(now, out));
        return out;
    }

    static std::vector<Handshake::Action> actions(Handshake& handshake) {
        std::vector<Handshake::Action> all;
        Handshake::Action action;
        while (handshake.poll_action(action)) all.push_back(action);
        handshake.check_invariants();
        return all;
    }

    /// Brings the handshake, named to lose ties, to an association with the peer's incarnation 70 as responder.
    void associate_as_responder() {
        ASSERT_EQ(responder_.on_hello(now_, hello_from("a", "b", 70, nonce(1), 0xA1)), HandshakeRefusal::none);
        const auto out = take(responder_, now_);
        ASSERT_EQ(actions(responder_).size(), 1U);
        ASSERT_EQ(responder_.on_confirmed(now_, out.hello.tag), HandshakeRefusal::none);
        ASSERT_TRUE(responder_.in_use());
    }

    static constexpr std::uint64_t nonce(std::uint64_t count) { return (count << 32U) | 0x1234; }

    Random random_{7};
    Handshake initiator_{identity("a", "b", 50), random_};  // its name wins ties
    Handshake responder_{identity("b", "a", 60), random_};
    Time now_ = Time::at_ns(1'000'000'000);
};

TEST_F(HandshakeTest, TakesThreePacketsAndMeasuresTheRoundTrip) {
    initiator_.greet(now_);
    const auto hello = take(initiator_, now_);
    EXPECT_EQ(hello.type, Type::hello);
    EXPECT_EQ(hello.tag, 0U);
    EXPECT_EQ(responder_.on_hello(now_ + Duration::us(40), hello.hello), HandshakeRefusal::none);
    const auto expected = actions(responder_);
    ASSERT_EQ(expected.size(), 1U);
    EXPECT_EQ(expected[0].kind, Handshake::Action::Kind::expect);
    EXPECT_FALSE(responder_.in_use());

    const auto ack = take(responder_, now_ + Duration::us(40));
    EXPECT_EQ(ack.type, Type::hello_ack);
    EXPECT_EQ(ack.hello.echo_nonce, hello.hello.nonce);
    EXPECT_EQ(ack.tag, hello.hello.tag);
    EXPECT_EQ(initiator_.on_hello_ack(now_ + Duration::us(90), ack.hello), HandshakeRefusal::none);
    const auto associated = actions(initiator_);
    ASSERT_EQ(associated.size(), 1U);
    EXPECT_EQ(associated[0].kind, Handshake::Action::Kind::associate);
    EXPECT_EQ(associated[0].agreement.rtt, Duration::us(90));
    EXPECT_EQ(associated[0].agreement.local_tag, expected[0].agreement.peer.tag);
    EXPECT_EQ(associated[0].agreement.peer.tag, expected[0].agreement.local_tag);
    EXPECT_EQ(associated[0].agreement.peer.slot, expected[0].agreement.local_slot);

    const auto done = take(initiator_, now_ + Duration::us(90));
    EXPECT_EQ(done.type, Type::hello_done);
    EXPECT_EQ(responder_.on_hello_done(now_ + Duration::us(120), done.tag, done.done), HandshakeRefusal::none);
    EXPECT_TRUE(responder_.in_use());
    EXPECT_TRUE(actions(responder_).empty());
    EXPECT_FALSE(initiator_.has_transmit() || responder_.has_transmit());
    EXPECT_TRUE(initiator_.next_deadline().is_never());
    EXPECT_TRUE(responder_.next_deadline().is_never());
}

// The HELLO had said that the peer's stream is remembered: an answer to it would go on from there.
TEST_F(HandshakeTest, AnAnswerToAGreetingFromBeforeThePeerWasForgottenMatchesNothing) {
    initiator_.greet(now_);
    ASSERT_EQ(responder_.on_hello(now_, take(initiator_, now_).hello), HandshakeRefusal::none);
    const auto ack = take(responder_, now_);
    initiator_.on_forgotten();
    EXPECT_FALSE(initiator_.greeting());
    EXPECT_EQ(initiator_.on_hello_ack(now_, ack.hello), HandshakeRefusal::wrong_nonce);
    EXPECT_FALSE(initiator_.in_use());
    initiator_.greet(now_);
    const auto again = take(initiator_, now_);
    EXPECT_NE(again.hello.nonce, ack.hello.echo_nonce);
    EXPECT_EQ(initiator_.on_hello_ack(now_, ack.hello), HandshakeRefusal::wrong_nonce);
    ASSERT_EQ(responder_.on_hello(now_, again.hello), HandshakeRefusal::none);
    EXPECT_EQ(initiator_.on_hello_ack(now_, take(responder_, now_).hello), HandshakeRefusal::none);
}

TEST_F(HandshakeTest, MeasuresNoRoundTripOfARepeatedHello) {
    initiator_.greet(now_);
    (void)take(initiator_, now_);
    now_ = initiator_.next_deadline();
    initiator_.on_deadline(now_);
    const auto again = take(initiator_, now_);
    ASSERT_EQ(responder_.on_hello(now_, again.hello), HandshakeRefusal::none);
    ASSERT_EQ(initiator_.on_hello_ack(now_, take(responder_, now_).hello), HandshakeRefusal::none);
    EXPECT_EQ(initiator_.agreement().rtt, Duration());
}

TEST_F(HandshakeTest, GreetsForEverWithBackoffUpToOneASecond) {
    initiator_.greet(now_);
    Time last = now_;
    const auto first = take(initiator_, now_);
    Duration nominal = Handshake::kRetryMin;
    std::set<std::int64_t> intervals;
    for (int i = 0; i < 100; ++i) {
        now_ = initiator_.next_deadline();
        const Duration interval = now_ - last;
        EXPECT_GE(interval, nominal) << i;
        EXPECT_LE(interval, nominal + nominal / 4) << i;
        initiator_.on_deadline(now_);
        EXPECT_EQ(take(initiator_, now_).hello.nonce, first.hello.nonce);
        last = now_;
        nominal = std::min(nominal * 2, Handshake::kRetryMax);
        intervals.insert(interval.ns());
    }
    EXPECT_GT(intervals.size(), 90U) << "by chance, so that many who began together do not go on in step";
}

TEST_F(HandshakeTest, TimeRunsOnlyWhenAFrameHasLeft) {
    initiator_.greet(now_);
    EXPECT_TRUE(initiator_.has_transmit());
    EXPECT_TRUE(initiator_.next_deadline().is_never());
    now_ = now_ + Duration::s(3);  // its neighbour was being resolved
    (void)take(initiator_, now_);
    EXPECT_GE(initiator_.next_deadline(), now_ + Handshake::kRetryMin);
}

TEST_F(HandshakeTest, GreetHurriesABackedOffHelloButNotWithoutBound) {
    initiator_.greet(now_);
    for (int i = 0; i < 20; ++i) {
        (void)take(initiator_, now_);
        now_ = initiator_.next_deadline();
        initiator_.on_deadline(now_);
    }
    (void)take(initiator_, now_);
    int sent = 0;
    const Time end = now_ + Duration::s(1);
    for (; now_ < end; now_ = now_ + Duration::ms(1)) {
        initiator_.greet(now_);
        initiator_.on_deadline(now_);
        Handshake::Outgoing out;
        while (initiator_.poll_transmit(now_, out)) ++sent;
    }
    EXPECT_GE(sent, 8);
    EXPECT_LE(sent, 10);
}

TEST_F(HandshakeTest, AnswersARepeatedHelloWithTheSameAnswer) {
    const Hello hello = hello_from("a", "b", 70, nonce(1), 0xA1);
    ASSERT_EQ(responder_.on_hello(now_, hello), HandshakeRefusal::none);
    const auto first = take(responder_, now_);
    ASSERT_EQ(actions(responder_).size(), 1U);
    for (int i = 0; i < 5; ++i) {
        now_ = now_ + Duration::ms(1);
        EXPECT_EQ(responder_.on_hello(now_, hello), HandshakeRefusal::none);
        EXPECT_EQ(take(responder_, now_).hello, first.hello);
        EXPECT_TRUE(actions(responder_).empty());
    }
}

TEST_F(HandshakeTest, RepeatsAnUnconfirmedAnswerAndThenGivesItUp) {
    ASSERT_EQ(responder_.on_hello(now_, hello_from("a", "b", 70, nonce(1), 0xA1)), HandshakeRefusal::none);
    int sent = 0;
    ASSERT_EQ(actions(responder_).size(), 1U);
    const Time begun = now_;
    while (responder_.half_open()) {
        Handshake::Outgoing out;
        while (responder_.poll_transmit(now_, out)) ++sent;
        now_ = responder_.next_deadline();
        responder_.on_deadline(now_);
    }
    EXPECT_EQ(now_ - begun, Handshake::kHalfOpen);
    EXPECT_GE(sent, 8);
    EXPECT_LE(sent, 10);
    const auto end = actions(responder_);
    ASSERT_EQ(end.size(), 1U);
    EXPECT_EQ(end[0].kind, Handshake::Action::Kind::cancel);
    EXPECT_TRUE(responder_.next_deadline().is_never());
}

TEST_F(HandshakeTest, AnHelloOutOfTheBlueLeavesWhatIsInUse) {
    associate_as_responder();
    const Agreement before = responder_.agreement();
    ASSERT_EQ(responder_.on_hello(now_, hello_from("a", "b", 71, nonce(1), 0xA2)), HandshakeRefusal::none);
    const auto all = actions(responder_);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].kind, Handshake::Action::Kind::expect);
    EXPECT_NE(all[0].agreement.local_slot, before.local_slot);
    EXPECT_NE(all[0].agreement.local_tag, before.local_tag);
    EXPECT_EQ(responder_.agreement().local_tag, before.local_tag);
    // It comes to nothing.
    while (responder_.half_open()) {
        now_ = responder_.next_deadline();
        responder_.on_deadline(now_);
        Handshake::Outgoing out;
        while (responder_.poll_transmit(now_, out)) continue;
    }
    EXPECT_EQ(actions(responder_).size(), 1U);
    EXPECT_TRUE(responder_.in_use());
    EXPECT_EQ(responder_.agreement().local_tag, before.local_tag);
}

TEST_F(HandshakeTest, AVerifiedRestartReplacesAndItsPredecessorStaysDead) {
    associate_as_responder();
    ASSERT_EQ(responder_.on_hello(now_, hello_from("a", "b", 71, nonce(1), 0xA2)), HandshakeRefusal::none);
    const auto answer = take(responder_, now_);
    (void)actions(responder_);
    ASSERT_EQ(responder_.on_confirmed(now_, answer.hello.tag), HandshakeRefusal::none);
    EXPECT_EQ(responder_.agreement().peer.incarnation, 71U);
    EXPECT_EQ(responder_.on_hello(now_, hello_from("a", "b", 70, nonce(9), 0xA3)), HandshakeRefusal::dead_incarnation);
    EXPECT_EQ(responder_.on_hello_ack(now_, hello_from("a", "b", 70, nonce(9), 0xA3)),
              HandshakeRefusal::dead_incarnation);
    EXPECT_TRUE(actions(responder_).empty());
    EXPECT_FALSE(responder_.has_transmit());
}

TEST_F(HandshakeTest, OnlyTheNewestNonceCounts) {
    ASSERT_EQ(responder_.on_hello(now_, hello_from("a", "b", 70, nonce(5), 0xA5)), HandshakeRefusal::none);
    const auto fifth = take(responder_, now_);
    (void)actions(responder_);
    EXPECT_EQ(responder_.on_hello(now_, hello_from("a", "b", 70, nonce(4), 0xA4)), HandshakeRefusal::old_nonce);
    ASSERT_EQ(responder_.on_hello(now_, hello_from("a", "b", 70, nonce(6), 0xA6)), HandshakeRefusal::none);
    const auto sixth = take(responder_, now_);
    EXPECT_NE(fifth.hello.tag, sixth.hello.tag);
    (void)actions(responder_);
    ASSERT_EQ(responder_.on_confirmed(now_, sixth.hello.tag), HandshakeRefusal::none);
    EXPECT_EQ(responder_.on_hello(now_, hello_from("a", "b", 70, nonce(5), 0xA5)), HandshakeRefusal::old_nonce);
    EXPECT_EQ(responder_.on_hello(now_, hello_from("a", "b", 70, nonce(6), 0xA6)), HandshakeRefusal::duplicate);
    EXPECT_EQ(responder_.on_confirmed(now_, fifth.hello.tag), HandshakeRefusal::stale_confirmation);
    EXPECT_EQ(responder_.on_confirmed(now_, sixth.hello.tag), HandshakeRefusal::duplicate);
}

TEST_F(HandshakeTest, AConfirmationThatCrossedASuccessorCounts) {
    ASSERT_EQ(responder_.on_hello(now_, hello_from("a", "b", 70, nonce(5), 0xA5)), HandshakeRefusal::none);
    const auto fifth = take(responder_, now_);
    (void)actions(responder_);
    ASSERT_EQ(responder_.on_hello(now_, hello_from("a", "b", 70, nonce(6), 0xA6)), HandshakeRefusal::none);
    (void)actions(responder_);
    EXPECT_EQ(responder_.on_confirmed(now_, fifth.hello.tag), HandshakeRefusal::none);
    EXPECT_EQ(responder_.agreement().peer.tag, 0xA5U);
    const auto all = actions(responder_);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].kind, Handshake::Action::Kind::cancel);
    EXPECT_FALSE(responder_.half_open());
}

TEST_F(HandshakeTest, AnotherIncarnationMustWaitALittleButIsNotLockedOut) {
    ASSERT_EQ(responder_.on_hello(now_, hello_from("a", "b", 70, nonce(5), 0xA5)), HandshakeRefusal::none);
    EXPECT_EQ(responder_.on_hello(now_, hello_from("a", "b", 71, nonce(1), 0xB1)), HandshakeRefusal::other_incarnation);
    now_ = now_ + Handshake::kHold;
    EXPECT_EQ(responder_.on_hello(now_, hello_from("a", "b", 71, nonce(1), 0xB1)), HandshakeRefusal::none);
    EXPECT_TRUE(responder_.half_open());
}

TEST_F(HandshakeTest, HalfOpenHandshakesAreBoundedWhateverArrives) {
    associate_as_responder();
    const std::uint32_t tag = responder_.agreement().local_tag;
    Random noise(3);
    int expected = 0;
    for (int i = 0; i < 10'000; ++i) {
        now_ = now_ + Duration::us(100);
        responder_.on_deadline(now_);
        (void)responder_.on_hello(now_, hello_from("a", "b", noise.next(), noise.next() | 1, 0xEE));
        for (const auto& action : actions(responder_)) {
            expected += action.kind == Handshake::Action::Kind::expect ? 1 : 0;
        }
        Handshake::Outgoing out;
        while (responder_.poll_transmit(now_, out)) continue;
        ASSERT_EQ(responder_.agreement().local_tag, tag);
    }
    EXPECT_LE(expected, 1 + 1'000 / 50) << "in a second of one HELLO each 100 us, one each kHold";
}

TEST_F(HandshakeTest, RefusesWhatIsNotForThisPairOrCannotBe) {
    const auto refusal = [&](auto change) {
        Hello hello = hello_from("a", "b", 70, nonce(1), 0xA1);
        change(hello);
        return responder_.on_hello(now_, hello);
    };
    EXPECT_EQ(refusal([](Hello& h) { h.from = *NodeName::make("c"); }), HandshakeRefusal::wrong_name);
    EXPECT_EQ(refusal([](Hello& h) { h.to = *NodeName::make("c"); }), HandshakeRefusal::wrong_name);
    EXPECT_EQ(refusal([](Hello& h) { h.from = *NodeName::make("b"); }), HandshakeRefusal::own_name);
    EXPECT_EQ(refusal([](Hello& h) { h.tag = 0; }), HandshakeRefusal::bad_parameters);
    EXPECT_EQ(refusal([](Hello& h) { h.nonce = 0; }), HandshakeRefusal::bad_parameters);
    EXPECT_EQ(refusal([](Hello& h) { h.max_packet = Handshake::kPacketBytesMin - 1; }),
              HandshakeRefusal::bad_parameters);
    EXPECT_FALSE(responder_.half_open() || responder_.has_transmit());
    EXPECT_TRUE(actions(responder_).empty());
}

TEST_F(HandshakeTest, RefusesAnAnswerToNoGreetingOfItsOwn) {
    Hello ack = hello_from("b", "a", 60, nonce(3), 0xB3);
    ack.echo_nonce = 1;
    EXPECT_EQ(initiator_.on_hello_ack(now_, ack), HandshakeRefusal::wrong_nonce);
    initiator_.greet(now_);
    const auto hello = take(initiator_, now_);
    EXPECT_EQ(initiator_.on_hello_ack(now_, ack), HandshakeRefusal::wrong_nonce);
    ack.echo_nonce = hello.hello.nonce;
    ack.from = *NodeName::make("c");
    EXPECT_EQ(initiator_.on_hello_ack(now_, ack), HandshakeRefusal::wrong_name);
    EXPECT_TRUE(actions(initiator_).empty());
    ack.from = *NodeName::make("b");
    EXPECT_EQ(initiator_.on_hello_ack(now_, ack), HandshakeRefusal::none);
}

TEST_F(HandshakeTest, RefusesAHelloDoneThatDoesNotFit) {
    ASSERT_EQ(responder_.on_hello(now_, hello_from("a", "b", 70, nonce(1), 0xA1)), HandshakeRefusal::none);
    const auto answer = take(responder_, now_);
    const wire::HelloDone done = {.nonce = nonce(1), .echo_nonce = answer.hello.nonce};
    EXPECT_EQ(responder_.on_hello_done(now_, answer.hello.tag + 1, done), HandshakeRefusal::wrong_nonce);
    EXPECT_EQ(responder_.on_hello_done(now_, answer.hello.tag, {done.nonce + 1, done.echo_nonce}),
              HandshakeRefusal::wrong_nonce);
    EXPECT_EQ(responder_.on_hello_done(now_, answer.hello.tag, {done.nonce, done.echo_nonce + 1}),
              HandshakeRefusal::wrong_nonce);
    EXPECT_FALSE(responder_.in_use());
    EXPECT_EQ(responder_.on_hello_done(now_, answer.hello.tag, done), HandshakeRefusal::none);
    EXPECT_EQ(responder_.on_hello_done(now_, answer.hello.tag, done), HandshakeRefusal::duplicate);
}

TEST_F(HandshakeTest, ARepeatedHelloAckGetsAnotherHelloDone) {
    initiator_.greet(now_);
    ASSERT_EQ(responder_.on_hello(now_, take(initiator_, now_).hello), HandshakeRefusal::none);
    const auto ack = take(responder_, now_);
    ASSERT_EQ(initiator_.on_hello_ack(now_, ack.hello), HandshakeRefusal::none);
    const auto done = take(initiator_, now_);
    EXPECT_EQ(initiator_.on_hello_ack(now_, ack.hello), HandshakeRefusal::duplicate);
    EXPECT_EQ(take(initiator_, now_).done, done.done);
    EXPECT_EQ(actions(initiator_).size(), 1U) << "associated once";
}

TEST_F(HandshakeTest, TheSmallerNameKeepsItsGreetingAndRepeatsItAtOnce) {
    initiator_.greet(now_);
    responder_.greet(now_);
    (void)take(initiator_, now_);  // lost
    const auto from_b = take(responder_, now_);
    now_ = now_ + Duration::ms(5);
    EXPECT_EQ(initiator_.on_hello(now_, from_b.hello), HandshakeRefusal::simultaneous);
    EXPECT_FALSE(initiator_.half_open());
    const auto again = take(initiator_, now_);
    EXPECT_EQ(again.type, Type::hello);
    // Not more often than its own first repetition would be.
    EXPECT_EQ(initiator_.on_hello(now_, from_b.hello), HandshakeRefusal::simultaneous);
    EXPECT_FALSE(initiator_.has_transmit());
    EXPECT_EQ(responder_.on_hello(now_, again.hello), HandshakeRefusal::none);
    EXPECT_EQ(take(responder_, now_).type, Type::hello_ack);
    EXPECT_FALSE(responder_.has_transmit()) << "its own greeting yields";
}

TEST_F(HandshakeTest, AGreetingThatYieldedStillTakesAnAnswerAndComesBackAsANewOne) {
    responder_.greet(now_);
    const auto own = take(responder_, now_);
    ASSERT_EQ(responder_.on_hello(now_, hello_from("a", "b", 70, nonce(1), 0xA1)), HandshakeRefusal::none);
    const auto answer = take(responder_, now_);
    EXPECT_GT(answer.hello.nonce, own.hello.nonce);
    Handshake twin = responder_;

    Hello ack = hello_from("a", "b", 71, nonce(2), 0xA2);
    ack.echo_nonce = own.hello.nonce;
    (void)actions(responder_);
    EXPECT_EQ(responder_.on_hello_ack(now_, ack), HandshakeRefusal::none);
    const auto all = actions(responder_);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].kind, Handshake::Action::Kind::cancel);
    EXPECT_EQ(all[1].kind, Handshake::Action::Kind::associate);

    Handshake::Outgoing out;
    do {
        now_ = twin.next_deadline();
        twin.on_deadline(now_);
        ASSERT_TRUE(twin.poll_transmit(now_, out));
    } while (out.type != Type::hello);
    EXPECT_GT(out.hello.nonce, answer.hello.nonce);
}

TEST_F(HandshakeTest, ADelayedGreetingDoesNotKeepThePeerWaiting) {
    initiator_.greet_after(now_, Duration::s(1));
    EXPECT_EQ(initiator_.on_hello(now_, hello_from("b", "a", 60, nonce(1), 0xB1)), HandshakeRefusal::none);
    EXPECT_EQ(take(initiator_, now_).type, Type::hello_ack);
}

TEST_F(HandshakeTest, ANeedlessHandshakeChangesTagsAndSlotOnly) {
    associate_as_responder();
    const Agreement before = responder_.agreement();
    responder_.greet(now_);
    const auto hello = take(responder_, now_);
    EXPECT_NE(hello.hello.slot, before.local_slot);
    EXPECT_EQ(responder_.agreement().local_tag, before.local_tag);
    Hello ack = hello_from("a", "b", 70, nonce(2), 0xA2);
    ack.echo_nonce = hello.hello.nonce;
    ASSERT_EQ(responder_.on_hello_ack(now_, ack), HandshakeRefusal::none);
    EXPECT_NE(responder_.agreement().local_slot, before.local_slot);
    EXPECT_NE(responder_.agreement().local_tag, before.local_tag);
    EXPECT_EQ(responder_.agreement().peer.incarnation, before.peer.incarnation);
}

TEST_F(HandshakeTest, DissociationCancelsWhatWasExpected) {
    associate_as_responder();
    ASSERT_EQ(responder_.on_hello(now_, hello_from("a", "b", 71, nonce(1), 0xA2)), HandshakeRefusal::none);
    const auto answer = take(responder_, now_);
    (void)actions(responder_);
    responder_.on_dissociated();
    const auto all = actions(responder_);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].kind, Handshake::Action::Kind::cancel);
    EXPECT_EQ(responder_.on_confirmed(now_, answer.hello.tag), HandshakeRefusal::stale_confirmation);
    EXPECT_FALSE(responder_.in_use());
}

TEST_F(HandshakeTest, AStoppedOneIsSilent) {
    associate_as_responder();
    responder_.greet(now_);
    responder_.stop();
    EXPECT_EQ(responder_.on_hello(now_, hello_from("a", "b", 70, nonce(2), 0xA2)), HandshakeRefusal::stopped);
    responder_.greet(now_);
    EXPECT_FALSE(responder_.has_transmit());
    EXPECT_TRUE(responder_.next_deadline().is_never());
    responder_.check_invariants();
}

// — pairs over a lossy link —

TEST(HandshakePair, OneAssociationResultsOfSimultaneousGreetingsWhicheverIsLost) {
    for (int lost = 0; lost < 4; ++lost) {
        Net net(11 + static_cast<std::uint64_t>(lost), {});
        net.drop_first_hello_of(0, (lost & 1) != 0);
        net.drop_first_hello_of(1, (lost & 2) != 0);
        net.greet(0);
        net.greet(1);
        ASSERT_TRUE(net.run_until_matched(Duration::ms(20))) << lost;
        net.run_for(Duration::ms(300));
        EXPECT_TRUE(net.matched());
        EXPECT_EQ(net.associations(), 2U) << "each side once; case " << lost;
        EXPECT_LE(net.handshake_packets(), 8U) << lost;
    }
}

TEST(HandshakePair, ConvergesUnderAnyLossDuplicationReorderingAndDelay) {
    for (std::uint64_t seed = 1; seed <= 3'000; ++seed) {
        Random random(seed * 7919);
        const test::Weather weather = {.loss_percent = random.below(61),
                                       .copies_percent = random.below(41),
                                       .delay_max = Duration::us(1 + static_cast<std::int64_t>(random.below(20'000)))};
        Net net(seed, weather);
        net.greet(0);
        if (random.below(2) == 0) net.greet(1);
        net.run_for(Duration::ms(static_cast<std::int64_t>(random.below(400))));
        if (random.below(2) == 0) net.greet(static_cast<std::size_t>(random.below(2)));  // needless
        net.run_for(Duration::ms(100));
        net.clear_up();
        ASSERT_TRUE(net.run_until_matched(kPatience)) << "seed " << seed;
        net.run_for(Duration::s(2));  // half-open remains expire, late copies arrive
        ASSERT_TRUE(net.run_until_matched(kPatience)) << "seed " << seed;
        const std::uint64_t before = net.handshake_packets();
        net.run_for(Duration::s(2));
        ASSERT_TRUE(net.matched()) << "seed " << seed;
        ASSERT_EQ(net.handshake_packets(), before) << "at rest; seed " << seed;
        ASSERT_LE(before, 400U) << "seed " << seed;
    }
}

TEST(HandshakePair, ConvergesOnTheLivingAcrossRestarts) {
    for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
        Random random(seed * 104'729);
        const test::Weather weather = {.loss_percent = random.below(41),
                                       .copies_percent = random.below(41),
                                       .delay_max = Duration::us(1 + static_cast<std::int64_t>(random.below(20'000)))};
        Net net(seed, weather);
        net.greet(0);
        net.greet(1);
        const std::uint64_t restarts = 1 + random.below(5);
        for (std::uint64_t i = 0; i < restarts; ++i) {
            net.run_for(Duration::us(static_cast<std::int64_t>(random.below(150'000))));
            net.restart(static_cast<std::size_t>(random.below(2)));
        }
        net.clear_up();
        ASSERT_TRUE(net.run_until_matched(kPatience)) << "seed " << seed;
        net.run_for(Duration::s(2));
        ASSERT_TRUE(net.run_until_matched(kPatience)) << "seed " << seed;
        net.run_for(Duration::s(1));
        ASSERT_TRUE(net.matched()) << "seed " << seed;
    }
}

TEST(HandshakePair, PacketsOfThePastReplayedAtEveryStepNeverDisturb) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        // A past: three incarnations of each, with needless handshakes between them.
        Net net(seed, {.loss_percent = 10, .copies_percent = 10, .delay_max = Duration::ms(1)});
        net.record();
        net.greet(0);
        net.greet(1);
        for (std::size_t i = 0; i < 4; ++i) {
            ASSERT_TRUE(net.run_until_matched(kPatience));
            net.greet(i % 2);
            net.run_for(Duration::ms(60));
            net.restart(i % 2);
        }
        net.clear_up();
        // A new handshake, with the whole past after each of its packets.
        net.replay_after_each_delivery();
        ASSERT_TRUE(net.run_until_matched(Duration::s(3))) << "seed " << seed;
        net.run_for(Duration::ms(1'500));
        ASSERT_TRUE(net.matched()) << "seed " << seed;
        // And what is in use now stays, whatever arrives of the past.
        const std::uint64_t before = net.associations();
        net.replay_all();
        net.run_for(Duration::s(2));
        ASSERT_TRUE(net.matched()) << "seed " << seed;
        ASSERT_EQ(net.associations(), before) << "seed " << seed;
    }
}

}  // namespace
}  // namespace bowline::protocol
