#include <array>

#include <gtest/gtest.h>

#include "control/controller.hpp"
#include "control_bench.hpp"

// Bytes of every kind that nobody should have sent: none is read past its end, none disturbs what is in use, each
// packet comes back exactly once.
namespace bowline::control {
namespace {

using namespace test;
using Kind = Command::Kind;
using wire::Type;

constexpr PeerIndex kA = 0;
constexpr std::array kWithPacket = {Notice::Kind::frame, Notice::Kind::unknown_tag, Notice::Kind::reset,
                                    Notice::Kind::close};

class ControllerHostileTest : public testing::Test {
protected:
    static std::vector<PeerSpec> peers() { return {{.name = name("a"), .ip = ip("10.0.0.2"), .static_mac = {}}}; }
    void SetUp() override {
        bench_.controller().start(bench_.now);
        tag_ = bench_.associate(kA, 2, 70, 5, 0xA1);
    }

    [[nodiscard]] std::vector<Bytes> frames() const {
        const wire::Endpoints endpoints = bench_.from(kA, 2);
        wire::Hello ack = bench_.hello_of(kA, 70, 6, 0xA2);
        ack.echo_nonce = 1;
        return {
            Bench::hello_frame(Type::hello, bench_.hello_of(kA, 70, 6, 0xA2), endpoints),
            Bench::hello_frame(Type::hello_ack, ack, endpoints),
            Bench::done_frame(0, tag_, {1, 2}, endpoints),
            Bench::packet_frame(Type::heartbeat, 0, 0xBAD, {}, endpoints),
            Bench::packet_frame(Type::reset, 5, 0xA0, {}, endpoints),
            Bench::close_frame(wire::CloseReason::orderly_stop, 0, ~tag_, endpoints),
            bench_.arp_frame(bench_.arp_reply(kA, 2)),
            bench_.arp_frame(wire::make_arp_request(mac(2), ip("10.0.0.2"), ip("10.0.0.1"))),
            bench_.echo_request("10.0.0.2", 40),
        };
    }

    void expect_undisturbed() {
        ASSERT_EQ(bench_.packets_back(), bench_.packets_given());
        ASSERT_TRUE(bench_.all_packets_are_back());
        ASSERT_TRUE(bench_.controller().associated(kA));
        ASSERT_EQ(bench_.controller().handshake(kA).agreement().local_tag, tag_);
        ASSERT_TRUE(bench_.said(Kind::dissociate).empty());
        ASSERT_TRUE(bench_.said(Kind::associate).empty());
        bench_.clear();
    }

    Bench bench_{node("b", "10.0.0.1", 1), peers()};
    std::uint32_t tag_ = 0;
};

TEST_F(ControllerHostileTest, TruncatedAnywhere) {
    for (const Bytes& whole : frames()) {
        for (std::size_t size = 0; size <= whole.size(); ++size) {
            const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
            for (const Notice::Kind kind : kWithPacket) bench_.notice(kind, cut, kA);
            bench_.now = bench_.now + Duration::us(100);
        }
        expect_undisturbed();
    }
}

TEST_F(ControllerHostileTest, CorruptedAnywhere) {
    for (const Bytes& whole : frames()) {
        for (std::size_t at = 0; at < whole.size(); ++at) {
            for (const unsigned flip : {0x01U, 0x80U, 0xFFU}) {
                Bytes bad = whole;
                bad[at] ^= static_cast<std::byte>(flip);
                for (const Notice::Kind kind : kWithPacket) bench_.notice(kind, bad, kA);
            }
            bench_.now = bench_.now + Duration::us(100);
        }
        expect_undisturbed();
    }
}

TEST_F(ControllerHostileTest, Noise) {
    protocol::Random random(9);
    for (int i = 0; i < 20'000; ++i) {
        Bytes noise(random.below(400));
        for (std::byte& b : noise) b = static_cast<std::byte>(random.next());
        // Half of it gets as far as the IP header, where most noise ends otherwise.
        if (random.below(2) == 0 && noise.size() >= 14) wire::store_be16(noise.data() + 12, 0x0800);
        bench_.notice(kWithPacket[random.below(kWithPacket.size())], noise, kA);
    }
    expect_undisturbed();
}

TEST_F(ControllerHostileTest, NoisyBodiesInGoodPackets) {
    protocol::Random random(10);
    for (int i = 0; i < 20'000; ++i) {
        constexpr std::array<std::size_t, 6> right_sizes = {0, 8, 16, 20, 101, 110};
        Bytes body(random.below(2) == 0 ? right_sizes[random.below(right_sizes.size())] : random.below(240));
        for (std::byte& b : body) b = static_cast<std::byte>(random.next());
        // Never what could be meant: a tag of ours would be, and names and nonces by chance will not be.
        const auto type = static_cast<Type>(1 + random.below(10));
        const std::uint32_t tag = static_cast<std::uint32_t>(random.next()) | 1U;
        if (tag == tag_ || tag == 0xA1) continue;
        bench_.notice(
            kWithPacket[random.below(kWithPacket.size())],
            Bench::packet_frame(type, static_cast<std::uint16_t>(random.below(12)), tag, body, bench_.from(kA, 2)), kA);
    }
    expect_undisturbed();
}

}  // namespace
}  // namespace bowline::control
