// Views, an operator's word and idle expiry, as the controller tells them to the worker.
#include <vector>

#include <gtest/gtest.h>

#include "control/controller.hpp"
#include "control_bench.hpp"

namespace bowline::control {
namespace {

using namespace test;
using dataplane::DownReason;
using Kind = Command::Kind;
using wire::Type;

constexpr PeerIndex kA = 0;
constexpr PeerIndex kC = 1;

std::vector<PeerSpec> two_peers() {
    return {{.name = name("a"), .ip = ip("10.0.0.2"), .static_mac = mac(2)},
            {.name = name("c"), .ip = ip("10.0.0.3"), .static_mac = mac(3)}};
}

protocol::Settings external() {
    protocol::Settings settings;
    settings.views = protocol::ViewSource::external;
    return settings;
}

class ExternalViews : public testing::Test {
protected:
    void install(std::vector<PeerIndex> peers) {
        controller_.install_view(bench_.now, peers);
        bench_.run_for(Duration());
    }
    Bench bench_{node("b", "10.0.0.1", 1), two_peers(), external()};
    Controller& controller_ = bench_.controller();
};

TEST_F(ExternalViews, NobodyIsInViewOrGreetedBeforeAViewSaysSo) {
    controller_.start(bench_.now);
    bench_.run_for(Duration::s(1));
    EXPECT_TRUE(bench_.sent(Type::hello).empty());
    EXPECT_EQ(controller_.view().id, 0U);
    install({kC});
    ASSERT_EQ(bench_.said(Kind::admit).size(), 1U);
    EXPECT_EQ(bench_.said(Kind::admit)[0]->peer, kC);
    ASSERT_FALSE(bench_.sent(Type::hello).empty()) << "a new member is greeted at once";
    EXPECT_EQ(bench_.sent(Type::hello)[0]->hello->to, name("c"));
    ASSERT_EQ(bench_.said(Kind::view_changed).size(), 1U);
    EXPECT_EQ(bench_.said(Kind::view_changed)[0]->number, 1U);
}

TEST_F(ExternalViews, OnlyWhatHasChangedIsSaidAndThenTheView) {
    controller_.start(bench_.now);
    install({kA, kC});
    bench_.clear();
    install({kC, kA});
    EXPECT_TRUE(bench_.said(Kind::admit).empty());
    EXPECT_TRUE(bench_.said(Kind::exclude).empty());
    EXPECT_EQ(bench_.said(Kind::view_changed).size(), 1U);
    EXPECT_EQ(controller_.view().peers, (std::vector<PeerIndex>{kC, kA}));
    bench_.clear();
    install({});
    EXPECT_EQ(bench_.said(Kind::exclude).size(), 2U);
    for (const Command* command : bench_.said(Kind::exclude)) EXPECT_EQ(command->down_reason, DownReason::excluded);
    ASSERT_EQ(bench_.said(Kind::view_changed).size(), 1U);
    EXPECT_EQ(bench_.said(Kind::view_changed)[0]->number, 3U);
    controller_.exclude(bench_.now, kA);
    EXPECT_EQ(controller_.view().id, 3U) << "it is out already";
}

TEST_F(ExternalViews, AnAssociationSaysWhetherThePeerIsInView) {
    controller_.start(bench_.now);
    install({kA});
    (void)bench_.associate(kA, 2, 70, 1, 0xA1);
    (void)bench_.associate(kC, 3, 71, 1, 0xA2);
    const std::vector<const Command*> expected = bench_.said(Kind::expect);
    ASSERT_EQ(expected.size(), 2U);
    EXPECT_TRUE(expected[0]->association.admit);
    EXPECT_FALSE(expected[1]->association.admit) << "who has a tag is one thing, who is in view another";
    EXPECT_EQ(controller_.view().peers, std::vector<PeerIndex>{kA});
}

TEST_F(ExternalViews, SilenceAndGivingUpExcludeNobody) {
    controller_.start(bench_.now);
    install({kA});
    (void)bench_.associate(kA, 2, 70, 1, 0xA1);
    for (int i = 0; i < 500; ++i) {
        bench_.run_for(Duration::ms(10));
        bench_.activity(kA).last_sent_ns = bench_.now.ns();
    }
    bench_.notice(Notice::Kind::gave_up, kA);
    bench_.notice(Notice::Kind::heard, kA);
    EXPECT_GE(bench_.said(Kind::probe).size(), 6U) << "it is watched on";
    EXPECT_TRUE(bench_.said(Kind::exclude).empty());
    EXPECT_EQ(controller_.view().id, 1U);
}

class OperatorsWord : public testing::Test {
protected:
    Bench bench_{node("b", "10.0.0.1", 1), two_peers()};
    Controller& controller_ = bench_.controller();
};

TEST_F(OperatorsWord, IsPassedOnToTheWorkerOnce) {
    controller_.start(bench_.now);
    (void)bench_.associate(kA, 2, 70, 1, 0xA1);
    bench_.clear();
    controller_.close(bench_.now, kA);
    controller_.rotate(bench_.now, kA);
    bench_.run_for(Duration::ms(1));
    ASSERT_EQ(bench_.said(Kind::close_connections).size(), 1U);
    ASSERT_EQ(bench_.said(Kind::rotate).size(), 1U);
    EXPECT_EQ(bench_.said(Kind::rotate)[0]->number, 0U) << "whichever conn-id it is";
}

TEST_F(OperatorsWord, ForgettingEndsTheAssociationAndWaitsForWhoeverWantsAnother) {
    controller_.start(bench_.now);
    (void)bench_.associate(kA, 2, 70, 1, 0xA1);
    bench_.clear();
    controller_.forget(bench_.now, kA);
    bench_.run_for(Duration::s(3));
    EXPECT_EQ(bench_.said(Kind::forget).size(), 1U);
    EXPECT_FALSE(controller_.associated(kA));
    EXPECT_EQ(bench_.counter(Counter::peers_forgotten), 1U);
    for (const SentFrame* frame : bench_.sent(Type::hello)) EXPECT_FALSE(frame->hello->to == name("a"));
    bench_.notice(Notice::Kind::wanted, kA);
    EXPECT_EQ(bench_.sent(Type::hello).back()->hello->to, name("a"));
    (void)bench_.associate(kA, 2, 70, 9, 0xA2);
    EXPECT_TRUE(controller_.associated(kA));
}

TEST_F(OperatorsWord, ANeedFirstRotatesTheConnectionThatItIsAbout) {
    controller_.start(bench_.now);
    (void)bench_.associate(kA, 2, 70, 1, 0xA1);
    bench_.clear();
    bench_.notice_need_first(kA, 17);
    ASSERT_EQ(bench_.said(Kind::rotate).size(), 1U);
    EXPECT_EQ(bench_.said(Kind::rotate)[0]->peer, kA);
    EXPECT_EQ(bench_.said(Kind::rotate)[0]->number, 17U);
    EXPECT_EQ(bench_.counter(Counter::rotations_asked), 1U);
}

TEST(IdleExpiry, ClosesWhatHasCarriedNothingForLong) {
    protocol::Settings settings;
    settings.conn_expiry = Duration::s(4);
    Bench bench(node("b", "10.0.0.1", 1), two_peers(), settings);
    Controller& controller = bench.controller();
    controller.start(bench.now);
    (void)bench.associate(kA, 2, 70, 1, 0xA1);
    const auto live_for = [&](Duration duration, std::uint64_t packets_each) {
        for (const Time end = bench.now + duration; bench.now < end;) {
            bench.run_for(Duration::ms(100));
            bench.activity(kA).last_heard_ns = bench.now.ns();
            bench.activity(kA).data_packets += packets_each;
        }
    };
    live_for(Duration::s(20), 1);
    EXPECT_TRUE(bench.said(Kind::close_connections).empty());
    bench.activity(kA).settled = false;
    live_for(Duration::s(10), 0);
    EXPECT_TRUE(bench.said(Kind::close_connections).empty()) << "something is not acknowledged";
    bench.activity(kA).settled = true;
    live_for(Duration::s(2), 0);
    EXPECT_FALSE(bench.said(Kind::close_connections).empty());
    for (const Command* command : bench.said(Kind::close_connections)) EXPECT_EQ(command->peer, kA);
}

}  // namespace
}  // namespace bowline::control
