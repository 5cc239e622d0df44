#include "control/controller.hpp"

#include <set>

#include <gtest/gtest.h>

#include "control_bench.hpp"

namespace bowline::control {
namespace {

using namespace test;
using dataplane::DownReason;
using Kind = Command::Kind;
using wire::Type;

constexpr PeerIndex kA = 0;  // its name is smaller than ours
constexpr PeerIndex kC = 1;  // its name is larger, its MAC configured

class ControllerTest : public testing::Test {
protected:
    static std::vector<PeerSpec> peers() {
        return {{.name = name("a"), .ip = ip("10.0.0.2"), .static_mac = {}},
                {.name = name("c"), .ip = ip("10.0.0.3"), .static_mac = mac(3)}};
    }
    /// And lets it say what it says at first.
    void start() {
        controller_.start(bench_.now);
        bench_.run_for(Duration());
        bench_.clear();
    }

    Bench bench_{node("b", "10.0.0.1", 1), peers()};
    Controller& controller_ = bench_.controller();
};

TEST_F(ControllerTest, AnnouncesItselfResolvesAndGreets) {
    controller_.start(bench_.now);
    bench_.run_for(Duration::us(10));
    ASSERT_GE(bench_.frames.size(), 3U);
    ASSERT_TRUE(bench_.frames[0].arp);
    EXPECT_EQ(bench_.frames[0].arp->sender_ip, bench_.frames[0].arp->target_ip);
    EXPECT_EQ(bench_.frames[0].parsed.dst_mac, wire::MacAddress::broadcast());
    // The configured MAC is greeted at once; the other peer is asked for, and greeted when it has answered.
    ASSERT_EQ(bench_.sent(Type::hello).size(), 1U);
    EXPECT_EQ(bench_.sent(Type::hello)[0]->parsed.dst_mac, mac(3));
    EXPECT_EQ(bench_.sent(Type::hello)[0]->hello->to, name("c"));
    bench_.run_for(Duration::ms(100));
    for (const SentFrame* frame : bench_.sent(Type::hello)) EXPECT_EQ(frame->parsed.dst_mac, mac(3));

    bench_.clear();
    bench_.notice(Notice::Kind::frame, bench_.arp_frame(bench_.arp_reply(kA, 2)));
    bench_.run_for(Duration());
    ASSERT_EQ(bench_.said(Kind::set_endpoints).size(), 1U);
    EXPECT_EQ(bench_.said(Kind::set_endpoints)[0]->endpoints.dst_mac, mac(2));
    ASSERT_EQ(bench_.sent(Type::hello).size(), 1U) << "the newest only, however long it waited";
    EXPECT_EQ(bench_.sent(Type::hello)[0]->parsed.dst_mac, mac(2));
    EXPECT_EQ(bench_.sent(Type::hello)[0]->parsed.dst_ip, ip("10.0.0.2"));
    EXPECT_TRUE(bench_.all_packets_are_back());
}

TEST_F(ControllerTest, LeavesToTheWorkerWhatOnlyItKnows) {
    controller_.start(bench_.now);
    controller_.on_deadline(bench_.now);
    Command command;
    bool seen = false;
    while (controller_.poll_command(command)) {
        if (command.kind != Kind::transmit || command.frame.hello_at == 0) continue;
        seen = true;
        EXPECT_EQ(command.frame.peer, kC);
        EXPECT_EQ(command.frame.hello_at, command.frame.udp_payload_at + wire::kHeaderBytes);
        const Bytes bytes = bytes_of(command.frame);
        const auto hello = wire::decode_hello(Type::hello, std::span(bytes).subspan(command.frame.hello_at));
        ASSERT_TRUE(hello);
        EXPECT_EQ(hello->window, 0U);
        EXPECT_EQ(hello->stream_id, 0U);
        EXPECT_EQ(hello->memory_flags, 0U);
        EXPECT_EQ(hello->max_packet, 1472U);
        EXPECT_EQ(hello->ack_delay_us, 25U);
    }
    EXPECT_TRUE(seen);
}

TEST_F(ControllerTest, AnswersAHelloAtItsSourceAndTellsEndpointsFirst) {
    controller_.start(bench_.now);
    bench_.run_for(Duration::us(10));
    bench_.clear();
    bench_.notice(Notice::Kind::frame,
                  Bench::hello_frame(Type::hello, bench_.hello_of(kA, 70, 1, 0xA1), bench_.from(kA, 2)));
    ASSERT_EQ(bench_.sent(Type::hello_ack).size(), 1U);
    const SentFrame& ack = *bench_.sent(Type::hello_ack)[0];
    EXPECT_EQ(ack.parsed.dst_mac, mac(2));
    EXPECT_EQ(ack.hello->echo_nonce, bench_.hello_of(kA, 70, 1, 0xA1).nonce);
    ASSERT_EQ(bench_.commands.size(), 2U);
    EXPECT_EQ(bench_.commands[0].kind, Kind::set_endpoints);
    EXPECT_EQ(bench_.commands[1].kind, Kind::expect);
    const dataplane::Association& expected = bench_.commands[1].association;
    EXPECT_EQ(expected.local_tag, ack.hello->tag);
    EXPECT_EQ(expected.local_slot, ack.hello->slot);
    EXPECT_EQ(dataplane::peer_of_slot(expected.local_slot), kA);
    EXPECT_EQ(expected.remote_tag, 0xA1U);
    EXPECT_EQ(expected.remote_slot, 5U);
    EXPECT_EQ(expected.packet_bytes_max, 1400U) << "the smaller of both";
    EXPECT_FALSE(controller_.associated(kA));
    bench_.notice(Notice::Kind::associated, kA, expected.local_tag);
    EXPECT_TRUE(controller_.associated(kA));
    EXPECT_EQ(bench_.counter(Counter::associations), 1U);
}

TEST_F(ControllerTest, AssociatesWhenItsOwnGreetingIsAnswered) {
    controller_.start(bench_.now);
    bench_.run_for(Duration());
    const auto hellos = bench_.sent(Type::hello);
    ASSERT_EQ(hellos.size(), 1U);
    wire::Hello ack = bench_.hello_of(kC, 80, 1, 0xC1);
    ack.echo_nonce = hellos[0]->hello->nonce;
    ack.memory_flags = wire::kMemoryPresent | wire::kMemoryDroppedDirty;
    ack.memory_stream_id = 17;
    ack.memory_rcv_nxt = 18;
    ack.window = 512;
    bench_.clear();
    bench_.now = bench_.now + Duration::us(150);
    bench_.notice(Notice::Kind::frame, Bench::hello_frame(Type::hello_ack, ack, bench_.from(kC, 3)));
    ASSERT_EQ(bench_.said(Kind::associate).size(), 1U);
    const dataplane::Association& association = bench_.said(Kind::associate)[0]->association;
    EXPECT_EQ(association.remote_tag, 0xC1U);
    EXPECT_EQ(association.rtt, Duration::us(150));
    EXPECT_TRUE(association.peer_memory.known);
    EXPECT_TRUE(association.peer_dropped_dirty);
    EXPECT_EQ(association.peer_memory.stream_id, 17U);
    EXPECT_EQ(association.peer_memory.rcv_nxt, 18U);
    EXPECT_EQ(association.peer_window_pkts, 512U);
    ASSERT_EQ(bench_.sent(Type::hello_done).size(), 1U);
    EXPECT_EQ(bench_.sent(Type::hello_done)[0]->segment->header.tag, 0xC1U);
    EXPECT_TRUE(controller_.associated(kC));
    // The answer was repeated before our HELLO_DONE came.
    bench_.notice(Notice::Kind::frame, Bench::hello_frame(Type::hello_ack, ack, bench_.from(kC, 3)));
    EXPECT_EQ(bench_.sent(Type::hello_done).size(), 2U);
    EXPECT_EQ(bench_.said(Kind::associate).size(), 1U);
}

TEST_F(ControllerTest, ADoneThatFollowsItsConfirmationShowsWhereThePeerIsNow) {
    start();
    bench_.notice(Notice::Kind::frame, bench_.arp_frame(bench_.arp_reply(kA, 2)));
    const wire::Hello hello = bench_.hello_of(kA, 70, 1, 0xA1);
    const std::uint32_t tag = bench_.associate(kA, 2, 70, 1, 0xA1);
    const std::uint64_t nonce = bench_.sent(Type::hello_ack)[0]->hello->nonce;
    bench_.clear();
    bench_.notice(Notice::Kind::frame, Bench::done_frame(0, tag, {hello.nonce, nonce}, bench_.from(kA, 22)));
    bench_.run_for(Duration());
    EXPECT_EQ(controller_.counters().get(protocol::HandshakeRefusal::duplicate), 0U);
    ASSERT_EQ(bench_.said(Kind::set_endpoints).size(), 1U);
    EXPECT_EQ(bench_.said(Kind::set_endpoints)[0]->endpoints.dst_mac, mac(22));
}

TEST_F(ControllerTest, AnUnverifiedHelloRedirectsNothingAndTearsNothingDown) {
    start();
    const std::uint32_t tag = bench_.associate(kA, 2, 70, 1, 0xA1);
    bench_.clear();
    // Somebody says to be a new incarnation of it, from elsewhere; nothing more comes of it.
    bench_.notice(Notice::Kind::frame,
                  Bench::hello_frame(Type::hello, bench_.hello_of(kA, 71, 1, 0xA2), bench_.from(kA, 66)));
    ASSERT_EQ(bench_.sent(Type::hello_ack).size(), 1U);
    EXPECT_EQ(bench_.sent(Type::hello_ack)[0]->parsed.dst_mac, mac(66));
    for (int i = 0; i < 40; ++i) {
        bench_.activity(kA).last_heard_ns = bench_.now.ns();
        bench_.run_for(Duration::ms(50));
    }
    EXPECT_TRUE(bench_.said(Kind::set_endpoints).empty());
    EXPECT_TRUE(bench_.said(Kind::dissociate).empty());
    ASSERT_EQ(bench_.said(Kind::cancel_expected).size(), 1U);
    EXPECT_EQ(controller_.handshake(kA).agreement().local_tag, tag);
}

TEST_F(ControllerTest, ARestartedPeerMovesItsAddressWithItsNewAssociation) {
    start();
    (void)bench_.associate(kA, 2, 70, 1, 0xA1);
    bench_.clear();
    (void)bench_.associate(kA, 22, 71, 1, 0xA2);
    bench_.run_for(Duration());
    ASSERT_EQ(bench_.said(Kind::set_endpoints).size(), 1U);
    EXPECT_EQ(bench_.said(Kind::set_endpoints)[0]->endpoints.dst_mac, mac(22));
    EXPECT_EQ(bench_.counter(Counter::peers_restarted), 1U);
}

TEST_F(ControllerTest, BothSlotsOfAPeerTakeTurns) {
    controller_.start(bench_.now);
    std::set<std::uint16_t> slots;
    std::uint16_t last = UINT16_MAX;
    for (std::uint64_t i = 1; i <= 6; ++i) {
        (void)bench_.associate(kA, 2, 70, i, static_cast<std::uint32_t>(0xA0 + i));
        const std::uint16_t slot = controller_.handshake(kA).agreement().local_slot;
        EXPECT_NE(slot, last);
        last = slot;
        slots.insert(slot);
    }
    EXPECT_EQ(slots, (std::set<std::uint16_t>{2 * kA, 2 * kA + 1}));
}

TEST_F(ControllerTest, ExcludesASilentPeerAfterProbesAndTakesItInWhenItIsHeard) {
    controller_.start(bench_.now);
    (void)bench_.associate(kA, 2, 70, 1, 0xA1);
    bench_.clear();
    const std::uint64_t view = controller_.view().id;
    // The worker sends what it is told to; nobody answers.
    const Time end = bench_.now + Duration::s(2);
    while (bench_.now < end && bench_.said(Kind::exclude).empty()) {
        bench_.run_for(Duration::ms(10));
        bench_.activity(kA).last_sent_ns = bench_.now.ns();
    }
    EXPECT_GE(bench_.said(Kind::probe).size(), 2U);
    ASSERT_EQ(bench_.said(Kind::exclude).size(), 1U);
    EXPECT_EQ(bench_.said(Kind::exclude)[0]->down_reason, DownReason::silent);
    EXPECT_EQ(bench_.said(Kind::exclude)[0]->peer, kA);
    EXPECT_TRUE(controller_.associated(kA)) << "who is in view is one thing, who has a tag another";
    EXPECT_EQ(controller_.view().id, view + 1);
    ASSERT_EQ(bench_.said(Kind::view_changed).size(), 1U);
    EXPECT_EQ(bench_.said(Kind::view_changed)[0]->number, view + 1);
    bench_.clear();
    for (int i = 0; i < 100; ++i) {
        bench_.run_for(Duration::ms(100));
        bench_.activity(kA).last_sent_ns = bench_.now.ns();
    }
    EXPECT_TRUE(bench_.said(Kind::probe).empty()) << "it has nothing to lose any more";
    EXPECT_TRUE(bench_.said(Kind::exclude).empty());
    bench_.notice(Notice::Kind::heard, kA);
    ASSERT_EQ(bench_.said(Kind::admit).size(), 1U);
    EXPECT_EQ(controller_.view().id, view + 2);
    bench_.notice(Notice::Kind::heard, kA);
    EXPECT_EQ(bench_.said(Kind::admit).size(), 1U);
}

TEST_F(ControllerTest, AnAnsweringPeerIsNeverDissociated) {
    controller_.start(bench_.now);
    (void)bench_.associate(kA, 2, 70, 1, 0xA1);
    bench_.clear();
    std::size_t answered = 0;
    for (int i = 0; i < 3'000; ++i) {
        bench_.run_for(Duration::ms(10));
        bench_.activity(kA).last_sent_ns = bench_.now.ns();
        if (const std::size_t probes = bench_.said(Kind::probe).size(); probes > answered) {
            answered = probes;
            bench_.activity(kA).last_heard_ns = bench_.now.ns();
        }
    }
    EXPECT_GE(answered, 25U);
    EXPECT_TRUE(bench_.said(Kind::dissociate).empty());
}

TEST_F(ControllerTest, HeartbeatsGoOnlyToAssociatedPeers) {
    controller_.start(bench_.now);
    (void)bench_.associate(kA, 2, 70, 1, 0xA1);
    bench_.clear();
    bench_.run_for(Duration::ms(900));
    EXPECT_GE(bench_.said(Kind::heartbeat).size(), 3U);
    for (const Command* command : bench_.said(Kind::heartbeat)) EXPECT_EQ(command->peer, kA);
}

TEST_F(ControllerTest, AStoppingPeerGoesDownAtOnceAndIsWelcomeBack) {
    controller_.start(bench_.now);
    const std::uint32_t tag = bench_.associate(kA, 2, 70, 1, 0xA1);
    bench_.clear();
    const Bytes close = Bench::close_frame(wire::CloseReason::orderly_stop, 0, tag, bench_.from(kA, 2));
    bench_.notice(Notice::Kind::close, close, kA);
    ASSERT_EQ(bench_.said(Kind::dissociate).size(), 1U);
    EXPECT_EQ(bench_.said(Kind::dissociate)[0]->down_reason, DownReason::stopped);
    EXPECT_TRUE(bench_.sent(Type::hello).empty()) << "it has no ear for it now";
    bench_.notice(Notice::Kind::close, close, kA);
    EXPECT_EQ(bench_.counter(Counter::close_stale), 1U);
    EXPECT_EQ(bench_.said(Kind::dissociate).size(), 1U);
    bench_.run_for(Duration::s(3));
    EXPECT_FALSE(bench_.sent(Type::hello).empty());
    (void)bench_.associate(kA, 2, 71, 1, 0xA2);
}

TEST_F(ControllerTest, ACloseOfAnotherAssociationOrReasonChangesNothing) {
    controller_.start(bench_.now);
    const std::uint32_t tag = bench_.associate(kA, 2, 70, 1, 0xA1);
    bench_.clear();
    bench_.notice(Notice::Kind::close,
                  Bench::close_frame(wire::CloseReason::orderly_stop, 0, tag + 1, bench_.from(kA, 2)), kA);
    bench_.notice(Notice::Kind::close, Bench::close_frame(wire::CloseReason::idle, 0, tag, bench_.from(kA, 2)), kA);
    EXPECT_TRUE(bench_.said(Kind::dissociate).empty());
    EXPECT_EQ(bench_.counter(Counter::close_stale), 1U);
    EXPECT_EQ(bench_.counter(Counter::close_unsupported), 1U);
    EXPECT_TRUE(bench_.all_packets_are_back());
}

TEST_F(ControllerTest, GivingUpExcludesUntilThePeerIsHeard) {
    controller_.start(bench_.now);
    (void)bench_.associate(kA, 2, 70, 1, 0xA1);
    bench_.clear();
    bench_.notice(Notice::Kind::gave_up, kA);
    ASSERT_EQ(bench_.said(Kind::exclude).size(), 1U);
    EXPECT_EQ(bench_.said(Kind::exclude)[0]->down_reason, DownReason::gave_up);
    bench_.notice(Notice::Kind::gave_up, kA);
    EXPECT_EQ(bench_.said(Kind::exclude).size(), 1U) << "it is out already";
    bench_.notice(Notice::Kind::heard, kA);
    EXPECT_EQ(bench_.said(Kind::admit).size(), 1U);
}

TEST_F(ControllerTest, AWantedPeerIsGreetedAtOnce) {
    controller_.start(bench_.now);
    bench_.run_for(Duration::s(20));
    while (bench_.sent(Type::hello).empty()) bench_.run_for(Duration::ms(10));
    bench_.run_for(Duration::ms(200));
    bench_.clear();
    bench_.notice(Notice::Kind::wanted, kC);
    EXPECT_EQ(bench_.sent(Type::hello).size(), 1U);
}

TEST_F(ControllerTest, AStopTellsAssociatedPeersAndThenNobodyAnything) {
    start();
    (void)bench_.associate(kA, 2, 70, 1, 0xA1);
    bench_.clear();
    EXPECT_FALSE(controller_.stop_said());
    controller_.begin_stop(bench_.now);
    controller_.begin_stop(bench_.now);
    EXPECT_FALSE(controller_.stop_said());
    bench_.run_for(Duration());
    ASSERT_EQ(bench_.said(Kind::send_close).size(), 1U);
    EXPECT_EQ(bench_.said(Kind::send_close)[0]->peer, kA);
    EXPECT_TRUE(controller_.stop_said());
    bench_.notice(Notice::Kind::frame,
                  Bench::hello_frame(Type::hello, bench_.hello_of(kA, 70, 2, 0xA2), bench_.from(kA, 2)));
    bench_.notice(Notice::Kind::wanted, kC);
    bench_.run_for(Duration::s(5));
    EXPECT_EQ(bench_.commands.size(), 1U) << "no heartbeat either";
    EXPECT_TRUE(bench_.sent(Type::hello).empty());
    EXPECT_TRUE(bench_.sent(Type::hello_ack).empty());
    EXPECT_EQ(controller_.counters().get(protocol::HandshakeRefusal::stopped), 1U);
}

TEST_F(ControllerTest, PeersBehindAGatewayShareItsMac) {
    LocalNode local = node("b", "10.0.0.1", 1);
    local.address.gateway = ip("10.0.0.254");
    Bench bench(local, {{.name = name("far"), .ip = ip("10.9.0.2"), .static_mac = {}},
                        {.name = name("further"), .ip = ip("10.8.0.2"), .static_mac = {}}});
    bench.controller().start(bench.now);
    bench.run_for(Duration());
    EXPECT_TRUE(bench.sent(Type::hello).empty());
    wire::Arp arp = bench.arp_reply(0, 99);
    arp.sender_ip = ip("10.0.0.254");
    bench.clear();
    bench.notice(Notice::Kind::frame, bench.arp_frame(arp));
    bench.run_for(Duration());
    ASSERT_EQ(bench.said(Kind::set_endpoints).size(), 2U);
    ASSERT_EQ(bench.sent(Type::hello).size(), 2U);
    EXPECT_EQ(bench.sent(Type::hello)[0]->parsed.dst_mac, mac(99));
    EXPECT_EQ(bench.sent(Type::hello)[0]->parsed.dst_ip, ip("10.9.0.2"));
    // What comes from behind it tells nothing of where it is.
    bench.clear();
    bench.notice(Notice::Kind::frame,
                 Bench::hello_frame(Type::hello, bench.hello_of(0, 70, 1, 0xA1), bench.from(0, 98)));
    bench.run_for(Duration::ms(10));
    for (const SentFrame& frame : bench.frames) {
        if (frame.segment) {
            EXPECT_EQ(frame.parsed.dst_mac, mac(99));
        }
    }
    EXPECT_TRUE(bench.said(Kind::set_endpoints).empty());
}

TEST_F(ControllerTest, CommandsAreBoundedAndNothingIsLostThatFindsNoRoom) {
    std::vector<PeerSpec> many;
    for (std::uint32_t i = 0; i < 2'000; ++i) {
        many.push_back({.name = name("n" + std::to_string(i)),
                        .ip = {(10U << 24U) + 0x0100 + i},
                        .static_mac = mac(static_cast<std::uint8_t>(2 + i % 200))});
    }
    LocalNode local = node("b", "10.0.0.1", 1);
    local.address.prefix_bits = 8;
    Bench bench(local, many);
    Controller& controller = bench.controller();
    controller.start(bench.now);
    // The worker takes a few commands at a time; control never makes more than there is room for, and never stops
    // taking notices.
    std::set<std::string> greeted;
    std::set<PeerIndex> told;
    std::size_t turns = 0;
    while (controller.next_deadline() <= bench.now || turns == 0) {
        ASSERT_LT(++turns, 1'000U);
        controller.on_deadline(bench.now);
        ASSERT_TRUE(controller.takes_notice());
        Command command;
        for (int i = 0; i < 100 && controller.poll_command(command); ++i) {
            if (command.kind == Kind::set_endpoints) told.insert(command.peer);
            if (command.kind != Kind::transmit) continue;
            const SentFrame frame = take_apart(bytes_of(command.frame));
            if (frame.is(Type::hello)) greeted.insert(std::string(frame.hello->to.view()));
        }
    }
    Command command;
    while (controller.poll_command(command)) {
        if (command.kind == Kind::set_endpoints) told.insert(command.peer);
        if (command.kind != Kind::transmit) continue;
        const SentFrame frame = take_apart(bytes_of(command.frame));
        if (frame.is(Type::hello)) greeted.insert(std::string(frame.hello->to.view()));
    }
    EXPECT_EQ(greeted.size(), many.size());
    EXPECT_EQ(told.size(), many.size());
}

TEST_F(ControllerTest, TakesNoNoticeThatItCouldNotGiveBack) {
    controller_.start(bench_.now);
    // Nobody drains: echo requests fill the queue.
    std::size_t taken = 0;
    std::vector<Bytes> frames(2 * Controller::kCommandsMax, bench_.echo_request("10.0.0.2", 8));
    while (controller_.takes_notice()) {
        ASSERT_LT(taken, frames.size());
        Notice notice;
        notice.packet = reinterpret_cast<protocol::Packet*>(&frames[taken]);
        notice.bytes = frames[taken].data();
        notice.length = static_cast<std::uint32_t>(frames[taken].size());
        controller_.on_notice(bench_.now, notice);
        ++taken;
    }
    EXPECT_LT(taken, Controller::kCommandsMax);
    std::set<protocol::Packet*> back;
    Command command;
    while (controller_.poll_command(command)) {
        if (command.packet != nullptr) {
            EXPECT_TRUE(back.insert(command.packet).second);
        }
    }
    EXPECT_EQ(back.size(), taken);
    EXPECT_TRUE(controller_.takes_notice());
}

TEST(Counters, HaveEachTheirOwnName) {
    const Counters counters;
    std::set<std::string> names;
    std::size_t count = 0;
    counters.for_each([&](const char* group, const char* own_name, std::uint64_t value) {
        names.insert(std::string(group) + "." + own_name);
        ++count;
        EXPECT_EQ(value, 0U);
    });
    EXPECT_EQ(names.size(), count);
    EXPECT_GT(count, kCounters);
}

}  // namespace
}  // namespace bowline::control
