#include <gtest/gtest.h>

#include "control/controller.hpp"
#include "control_bench.hpp"

// What the controller makes of frames that come in: each answered, refused and counted as it should be.
namespace bowline::control {
namespace {

using namespace test;
using Kind = Command::Kind;
using protocol::HandshakeRefusal;
using wire::Type;

constexpr PeerIndex kA = 0;

class ControllerFramesTest : public testing::Test {
protected:
    static std::vector<PeerSpec> peers() { return {{.name = name("a"), .ip = ip("10.0.0.2"), .static_mac = {}}}; }
    void SetUp() override {
        bench_.controller().start(bench_.now);
        bench_.run_for(Duration());
        bench_.clear();
    }
    void hello(const wire::Hello& hello, const wire::Endpoints& endpoints) {
        bench_.notice(Notice::Kind::frame, Bench::hello_frame(Type::hello, hello, endpoints));
    }
    [[nodiscard]] std::uint64_t counter(Counter counter) const { return bench_.counter(counter); }

    Bench bench_{node("b", "10.0.0.1", 1), peers()};
};

TEST_F(ControllerFramesTest, AnswersArpForItsAddress) {
    bench_.notice(Notice::Kind::frame,
                  bench_.arp_frame(wire::make_arp_request(mac(0x77), ip("10.0.0.7"), ip("10.0.0.1"))));
    ASSERT_EQ(bench_.frames.size(), 1U);
    ASSERT_TRUE(bench_.frames[0].arp);
    EXPECT_EQ(bench_.frames[0].arp->operation, wire::ArpOperation::reply);
    EXPECT_EQ(bench_.frames[0].arp->sender_mac, mac(1));
    EXPECT_EQ(bench_.frames[0].parsed.dst_mac, mac(0x77));
    EXPECT_EQ(bench_.frames[0].parsed.src_mac, mac(1));
    EXPECT_TRUE(bench_.all_packets_are_back());
}

TEST_F(ControllerFramesTest, ArpAnswersAreBounded) {
    for (int i = 0; i < 2'000; ++i) {
        bench_.notice(Notice::Kind::frame,
                      bench_.arp_frame(wire::make_arp_request(mac(0x77), ip("10.0.0.7"), ip("10.0.0.1"))));
    }
    EXPECT_LE(counter(Counter::arp_replies_sent), 256U);
    EXPECT_EQ(counter(Counter::arp_replies_sent) + counter(Counter::arp_rate_limited), 2'000U);
}

TEST_F(ControllerFramesTest, WarnsOfAnotherMachineWithItsAddress) {
    for (int i = 0; i < 100; ++i) {
        bench_.notice(Notice::Kind::frame,
                      bench_.arp_frame(wire::make_arp_request(mac(0x77), ip("10.0.0.1"), ip("10.0.0.1"))));
    }
    EXPECT_EQ(counter(Counter::duplicate_address), 100U);
    const std::size_t warnings = bench_.warnings_with("02:00:00:00:00:77");
    EXPECT_GE(warnings, 1U);
    EXPECT_LE(warnings, 5U) << "not a line a frame";
    EXPECT_EQ(warnings + counter(Counter::warnings_suppressed), 100U);
}

TEST_F(ControllerFramesTest, AnswersEchoOfAnySizeInPlace) {
    for (const std::size_t bytes : {0U, 1U, 56U, 1472U, 8'972U}) {
        bench_.clear();
        const Bytes request = bench_.echo_request("10.0.0.7", bytes);
        bench_.notice(Notice::Kind::frame, request);
        ASSERT_EQ(bench_.replies.size(), 1U);
        const Bytes& reply = bench_.replies[0];
        ASSERT_EQ(reply.size(), request.size());
        EXPECT_EQ(wire::MacAddress::load(reply.data()), mac(0x77));
        EXPECT_EQ(wire::MacAddress::load(reply.data() + 6), mac(1));
        EXPECT_EQ(wire::load_be32(reply.data() + 14 + 16), ip("10.0.0.7").value);
        EXPECT_EQ(wire::load_u8(reply.data() + 34), 0U) << "echo reply";
        EXPECT_EQ(wire::internet_checksum(std::span(reply).subspan(34)), 0U);
        EXPECT_EQ(wire::internet_checksum(std::span(reply).subspan(14, 20)), 0U);
    }
}

TEST_F(ControllerFramesTest, EchoIsBounded) {
    for (int i = 0; i < 1'000; ++i) bench_.notice(Notice::Kind::frame, bench_.echo_request("10.0.0.7", 8));
    EXPECT_EQ(counter(Counter::echo_replies_sent), 256U);
    EXPECT_EQ(counter(Counter::echo_rate_limited), 744U);
    EXPECT_TRUE(bench_.all_packets_are_back());
    bench_.run_for(Duration::s(1));
    bench_.notice(Notice::Kind::frame, bench_.echo_request("10.0.0.7", 8));
    EXPECT_EQ(counter(Counter::echo_replies_sent), 257U);
}

TEST_F(ControllerFramesTest, WhatIsForOthersIsCountedOnly) {
    wire::Endpoints endpoints = bench_.from(kA, 2);
    endpoints.dst_ip = ip("10.0.0.99");
    hello(bench_.hello_of(kA, 70, 1, 0xA1), endpoints);
    endpoints = bench_.from(kA, 2);
    endpoints.dst_port = 53;
    hello(bench_.hello_of(kA, 70, 1, 0xA1), endpoints);
    EXPECT_EQ(counter(Counter::not_for_us), 2U);
    endpoints = bench_.from(kA, 2);
    endpoints.vlan = 7;
    hello(bench_.hello_of(kA, 70, 1, 0xA1), endpoints);
    EXPECT_EQ(counter(Counter::wrong_vlan), 1U);
    endpoints = bench_.from(kA, 2);
    endpoints.src_mac = wire::MacAddress::broadcast();
    hello(bench_.hello_of(kA, 70, 1, 0xA1), endpoints);
    EXPECT_EQ(counter(Counter::bad_source_mac), 1U);
    endpoints = bench_.from(kA, 1);
    hello(bench_.hello_of(kA, 70, 1, 0xA1), endpoints);
    EXPECT_EQ(counter(Counter::own_frame), 1U);
    EXPECT_TRUE(bench_.commands.empty());
    EXPECT_TRUE(bench_.frames.empty());
}

TEST_F(ControllerFramesTest, APriorityTagIsNoVlan) {
    wire::Endpoints endpoints = bench_.from(kA, 2);
    endpoints.vlan = 0;
    hello(bench_.hello_of(kA, 70, 1, 0xA1), endpoints);
    EXPECT_EQ(bench_.sent(Type::hello_ack).size(), 1U);
}

TEST_F(ControllerFramesTest, AVlanOfOurOwnIsOnEverythingThatLeaves) {
    LocalNode local = node("b", "10.0.0.1", 1);
    local.vlan = 42;
    Bench bench(local, peers());
    bench.controller().start(bench.now);
    bench.notice(Notice::Kind::frame,
                 Bench::hello_frame(Type::hello, bench.hello_of(kA, 70, 1, 0xA1), bench.from(kA, 2)));
    bench.run_for(Duration::ms(5));
    EXPECT_GE(bench.frames.size(), 3U);
    for (const SentFrame& frame : bench.frames) EXPECT_EQ(frame.parsed.vlan, 42U);
    ASSERT_EQ(bench.said(Kind::set_endpoints).size(), 1U);
    EXPECT_EQ(bench.said(Kind::set_endpoints)[0]->endpoints.vlan, 42U);
}

TEST_F(ControllerFramesTest, HelloFromAStrangersAddressIsRefusedWithItsName) {
    wire::Endpoints endpoints = bench_.from(kA, 2);
    endpoints.src_ip = ip("10.0.0.55");
    for (int i = 0; i < 50; ++i) hello(bench_.hello_of(kA, 70, 1, 0xA1), endpoints);
    EXPECT_EQ(counter(Counter::hello_unknown_address), 50U);
    EXPECT_GE(bench_.warnings_with("'a' greets from 10.0.0.55"), 1U);
    EXPECT_LE(bench_.warnings_with("'a'"), 5U);
    EXPECT_TRUE(bench_.commands.empty());
}

TEST_F(ControllerFramesTest, AWrongNameIsRefusedWithBothNames) {
    wire::Hello wrong = bench_.hello_of(kA, 70, 1, 0xA1);
    wrong.from = name("imposter");
    hello(wrong, bench_.from(kA, 2));
    EXPECT_EQ(counter(Counter::hello_name_mismatch), 1U);
    EXPECT_EQ(bench_.warnings_with("'imposter'"), 1U);
    EXPECT_EQ(bench_.warnings_with("'a'"), 1U);
    wrong = bench_.hello_of(kA, 70, 1, 0xA1);
    wrong.to = name("somebody");
    hello(wrong, bench_.from(kA, 2));
    EXPECT_EQ(counter(Counter::hello_name_mismatch), 2U);
    EXPECT_EQ(bench_.warnings_with("'somebody'"), 1U);
    wrong = bench_.hello_of(kA, 70, 1, 0xA1);
    wrong.from = name("b");
    hello(wrong, bench_.from(kA, 2));
    EXPECT_EQ(bench_.controller().counters().get(HandshakeRefusal::own_name), 1U);
    EXPECT_TRUE(bench_.commands.empty()) << "nor is an address learned from it";
}

TEST_F(ControllerFramesTest, AnUnknownTagIsAnsweredWithAResetThatEchoesIt) {
    const Bytes data = Bench::packet_frame(Type::heartbeat, 3, 0xBAD, {}, bench_.from(kA, 2));
    bench_.notice(Notice::Kind::unknown_tag, data);
    ASSERT_EQ(bench_.sent(Type::reset).size(), 1U);
    const SentFrame& reset = *bench_.sent(Type::reset)[0];
    EXPECT_EQ(reset.segment->header.slot, 3U);
    EXPECT_EQ(reset.segment->header.tag, 0xBADU);
    EXPECT_EQ(reset.parsed.dst_mac, mac(2));
    EXPECT_EQ(reset.parsed.dst_ip, ip("10.0.0.2"));
    for (int i = 0; i < 1'000; ++i) bench_.notice(Notice::Kind::unknown_tag, data);
    EXPECT_EQ(counter(Counter::resets_sent), 16U);
    EXPECT_EQ(counter(Counter::reset_rate_limited), 985U);
    EXPECT_TRUE(bench_.all_packets_are_back());
}

TEST_F(ControllerFramesTest, NobodyButAPeerGetsAResetAndNoResetGetsOne) {
    wire::Endpoints endpoints = bench_.from(kA, 2);
    endpoints.src_ip = ip("10.0.0.55");
    bench_.notice(Notice::Kind::unknown_tag, Bench::packet_frame(Type::heartbeat, 3, 0xBAD, {}, endpoints));
    EXPECT_EQ(counter(Counter::reset_unknown_address), 1U);
    bench_.notice(Notice::Kind::unknown_tag, Bench::packet_frame(Type::reset, 3, 0xBAD, {}, bench_.from(kA, 2)));
    EXPECT_EQ(counter(Counter::unexpected_type), 1U);
    EXPECT_TRUE(bench_.sent(Type::reset).empty());
}

TEST_F(ControllerFramesTest, AResetForTheTagInUseMakesItGreetAndTearsNothingDown) {
    const std::uint32_t tag = bench_.associate(kA, 2, 70, 1, 0xA1);
    bench_.clear();
    const auto reset = [&](std::uint16_t slot, std::uint32_t echoed) {
        bench_.notice(Notice::Kind::reset, Bench::packet_frame(Type::reset, slot, echoed, {}, bench_.from(kA, 2)));
    };
    reset(5, 0xA2);
    reset(6, 0xA1);
    reset(5, tag);
    EXPECT_EQ(counter(Counter::reset_stale), 3U);
    EXPECT_TRUE(bench_.sent(Type::hello).empty());
    reset(5, 0xA1);
    EXPECT_EQ(counter(Counter::reset_obeyed), 1U);
    EXPECT_EQ(bench_.sent(Type::hello).size(), 1U);
    for (int i = 0; i < 100; ++i) reset(5, 0xA1);
    EXPECT_EQ(bench_.sent(Type::hello).size(), 1U) << "however often it is said";
    EXPECT_TRUE(bench_.commands.empty());
    EXPECT_TRUE(bench_.controller().associated(kA));
}

TEST_F(ControllerFramesTest, ACorruptedGreetingIsNotOne) {
    Bytes frame = Bench::hello_frame(Type::hello, bench_.hello_of(kA, 70, 1, 0xA1), bench_.from(kA, 2));
    wire::HeaderTemplate headers(bench_.from(kA, 2));
    std::byte* const payload = frame.data() + headers.size();
    headers.fill_udp_checksum(payload, frame.size() - headers.size());
    Bytes corrupted = frame;
    corrupted[headers.size() + wire::kHeaderBytes + 34] ^= std::byte{0x10};  // its tag
    bench_.notice(Notice::Kind::frame, corrupted);
    EXPECT_EQ(bench_.controller().counters().get(wire::Stray::bad_udp_checksum), 1U);
    EXPECT_TRUE(bench_.commands.empty());
    bench_.notice(Notice::Kind::frame, frame);
    EXPECT_EQ(bench_.said(Kind::expect).size(), 1U);
}

}  // namespace
}  // namespace bowline::control
