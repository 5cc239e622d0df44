#include "control/neighbours.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace bowline::control {
namespace {

using protocol::Duration;
using protocol::Random;
using protocol::Time;
using protocol::wire::Arp;
using protocol::wire::ArpOperation;
using protocol::wire::Ipv4Address;
using protocol::wire::MacAddress;

MacAddress mac(std::uint8_t last) { return {{0x02, 0, 0, 0, 0, last}}; }
Ipv4Address ip(const char* text) { return *Ipv4Address::parse(text); }

class NeighboursTest : public testing::Test {
protected:
    static constexpr std::size_t kB = 0;       // on the link
    static constexpr std::size_t kFar = 1;     // behind the gateway
    static constexpr std::size_t kFar2 = 2;    // the same
    static constexpr std::size_t kStatic = 3;  // configured
    static OwnAddress own() {
        return {.mac = mac(1), .ip = ip("10.0.0.1"), .prefix_bits = 24, .gateway = ip("10.0.0.254")};
    }
    static std::vector<Neighbours::Wanted> wanted() {
        return {{.ip = ip("10.0.0.2"), .static_mac = {}},
                {.ip = ip("10.1.0.2"), .static_mac = {}},
                {.ip = ip("10.2.0.2"), .static_mac = {}},
                {.ip = ip("10.0.0.9"), .static_mac = mac(9)}};
    }

    Arp reply(const char* from, std::uint8_t from_mac) const {
        return {.operation = ArpOperation::reply,
                .sender_mac = mac(from_mac),
                .sender_ip = ip(from),
                .target_mac = mac(1),
                .target_ip = ip("10.0.0.1")};
    }
    static Arp request(const char* from, std::uint8_t from_mac, const char* target) {
        return protocol::wire::make_arp_request(mac(from_mac), ip(from), ip(target));
    }

    std::vector<Neighbours::Request> run_until(Time end) {
        std::vector<Neighbours::Request> requests;
        while (neighbours_.next_deadline() <= end) {
            now_ = neighbours_.next_deadline();
            Neighbours::Request request;
            while (neighbours_.poll_request(now_, request)) requests.push_back(request);
        }
        now_ = end;
        return requests;
    }

    Time now_ = Time::at_ns(1'000'000'000);
    Random random_{1};
    Counters counters_;
    Neighbours neighbours_{own(), wanted(), random_, counters_};
};

TEST_F(NeighboursTest, FindsTheNextHop) {
    EXPECT_EQ(neighbours_.hops(), 3U);
    EXPECT_EQ(neighbours_.ip_of(neighbours_.hop_of(kB)), ip("10.0.0.2"));
    EXPECT_EQ(neighbours_.ip_of(neighbours_.hop_of(kFar)), ip("10.0.0.254"));
    EXPECT_EQ(neighbours_.hop_of(kFar), neighbours_.hop_of(kFar2));
    EXPECT_EQ(neighbours_.find(ip("10.1.0.2")), Neighbours::kNoHop);

    OwnAddress alone = own();
    alone.gateway.reset();
    const Neighbours without(alone, wanted(), random_, counters_);
    EXPECT_EQ(without.hop_of(kFar), Neighbours::kNoHop);
    EXPECT_NE(without.hop_of(kB), Neighbours::kNoHop);
}

TEST_F(NeighboursTest, PrefixesOfAnyLengthCount) {
    for (std::uint8_t bits = 0; bits <= 32; ++bits) {
        OwnAddress address = own();
        address.prefix_bits = bits;
        address.gateway.reset();
        // 10.0.0.1 and 10.0.0.2 differ in their last two bits.
        const Neighbours some(address, std::vector{Neighbours::Wanted{.ip = ip("10.0.0.2"), .static_mac = {}}}, random_,
                              counters_);
        EXPECT_EQ(some.hop_of(0) != Neighbours::kNoHop, bits <= 30) << int{bits};
    }
}

TEST_F(NeighboursTest, AsksNobodyUntilSomethingIsToBeSent) {
    EXPECT_TRUE(neighbours_.next_deadline().is_never());
    const auto hop = neighbours_.hop_of(kB);
    neighbours_.want(now_, hop);
    Neighbours::Request request;
    ASSERT_TRUE(neighbours_.poll_request(now_, request));
    EXPECT_EQ(request.to, MacAddress::broadcast());
    EXPECT_EQ(request.arp.target_ip, ip("10.0.0.2"));
    EXPECT_EQ(request.arp.sender_mac, mac(1));
    EXPECT_FALSE(neighbours_.poll_request(now_, request));
}

TEST_F(NeighboursTest, RepeatsItsQuestionWithBackoffFromOneMillisecondToOneSecond) {
    const auto hop = neighbours_.hop_of(kB);
    neighbours_.want(now_, hop);
    Duration expected = Duration::ms(1);
    Neighbours::Request request;
    for (int i = 0; i < 30; ++i) {
        ASSERT_TRUE(neighbours_.poll_request(now_, request));
        neighbours_.want(now_, hop);  // more frames hurry nothing
        ASSERT_EQ(neighbours_.next_deadline() - now_, expected) << i;
        now_ = neighbours_.next_deadline();
        expected = std::min(expected * 2, Duration::s(1));
    }
}

TEST_F(NeighboursTest, AnAnswerEndsTheQuestionAndIsRefreshedDirectlyBeforeItsEnd) {
    const auto hop = neighbours_.hop_of(kB);
    neighbours_.want(now_, hop);
    Neighbours::Request request;
    ASSERT_TRUE(neighbours_.poll_request(now_, request));
    EXPECT_EQ(neighbours_.on_arp(now_, reply("10.0.0.2", 2)).changed, hop);
    EXPECT_EQ(neighbours_.mac_of(hop), mac(2));
    const Time learned = now_;
    EXPECT_GE(neighbours_.next_deadline() - learned, Duration::s(20));
    EXPECT_LT(neighbours_.next_deadline() - learned, Duration::s(30));
    now_ = neighbours_.next_deadline();
    ASSERT_TRUE(neighbours_.poll_request(now_, request));
    EXPECT_EQ(request.to, mac(2));
    // The same answer again is no change, and good for as long.
    EXPECT_EQ(neighbours_.on_arp(now_, reply("10.0.0.2", 2)).changed, Neighbours::kNoHop);
    EXPECT_GE(neighbours_.next_deadline() - now_, Duration::s(20));
}

TEST_F(NeighboursTest, WhoConfirmsNoMoreIsAskedForFromEverybodyButKeptUntilAnotherAnswers) {
    const auto hop = neighbours_.hop_of(kB);
    (void)neighbours_.on_arp(now_, reply("10.0.0.2", 2));
    const auto requests = run_until(now_ + Duration::s(60));
    std::size_t direct = 0;
    std::size_t broadcast = 0;
    for (const auto& request : requests) ++(request.to == MacAddress::broadcast() ? broadcast : direct);
    EXPECT_GE(direct, 5U);
    EXPECT_LE(direct, 11U);
    EXPECT_GE(broadcast, 30U);
    EXPECT_LE(broadcast, 45U);
    EXPECT_EQ(neighbours_.mac_of(hop), mac(2));
    EXPECT_EQ(neighbours_.on_arp(now_, reply("10.0.0.2", 3)).changed, hop);
    EXPECT_EQ(neighbours_.mac_of(hop), mac(3));
}

TEST_F(NeighboursTest, LearnsFromRequestsRepliesAndAnnouncementsOfKnownAddressesOnly) {
    const auto hop = neighbours_.hop_of(kB);
    EXPECT_EQ(neighbours_.on_arp(now_, request("10.0.0.2", 2, "10.0.0.77")).changed, hop);
    EXPECT_EQ(neighbours_.on_arp(now_, request("10.0.0.2", 4, "10.0.0.2")).changed, hop);
    EXPECT_EQ(neighbours_.mac_of(hop), mac(4));
    EXPECT_EQ(neighbours_.on_arp(now_, reply("10.0.0.254", 5)).changed, neighbours_.hop_of(kFar));
    EXPECT_EQ(neighbours_.on_arp(now_, reply("10.0.0.66", 6)).changed, Neighbours::kNoHop);
    EXPECT_EQ(counters_.get(Counter::arp_unknown_sender), 1U);
    EXPECT_EQ(neighbours_.hops(), 3U);
}

TEST_F(NeighboursTest, AConfiguredMacIsNeverAskedForAndNeverChanges) {
    const auto hop = neighbours_.hop_of(kStatic);
    EXPECT_EQ(neighbours_.mac_of(hop), mac(9));
    neighbours_.want(now_, hop);
    EXPECT_TRUE(neighbours_.next_deadline().is_never());
    EXPECT_EQ(neighbours_.on_arp(now_, reply("10.0.0.9", 66)).changed, Neighbours::kNoHop);
    EXPECT_FALSE(neighbours_.on_verified(now_, hop, mac(66)));
    EXPECT_FALSE(neighbours_.on_heard(now_, hop, mac(66)));
    EXPECT_EQ(neighbours_.mac_of(hop), mac(9));
    EXPECT_EQ(counters_.get(Counter::arp_static_ignored), 1U);
    EXPECT_TRUE(neighbours_.next_deadline().is_never());
}

TEST_F(NeighboursTest, AnswersForItsOwnAddressWhoeverAsks) {
    const auto outcome = neighbours_.on_arp(now_, request("10.0.0.66", 66, "10.0.0.1"));
    ASSERT_TRUE(outcome.reply);
    EXPECT_EQ(outcome.reply->operation, ArpOperation::reply);
    EXPECT_EQ(outcome.reply->sender_mac, mac(1));
    EXPECT_EQ(outcome.reply->sender_ip, ip("10.0.0.1"));
    EXPECT_EQ(outcome.reply->target_mac, mac(66));
    EXPECT_FALSE(neighbours_.on_arp(now_, request("10.0.0.66", 66, "10.0.0.2")).reply);
    EXPECT_FALSE(neighbours_.on_arp(now_, reply("10.0.0.66", 66)).reply) << "a reply is not answered";
    // Somebody looks whether the address is free (RFC 5227): it is not.
    EXPECT_TRUE(neighbours_.on_arp(now_, request("0.0.0.0", 66, "10.0.0.1")).reply);
}

TEST_F(NeighboursTest, NoticesAnotherWithItsAddressAndItsOwnEcho) {
    const auto conflict = neighbours_.on_arp(now_, request("10.0.0.1", 66, "10.0.0.1"));
    EXPECT_TRUE(conflict.conflict);
    EXPECT_FALSE(conflict.reply);
    EXPECT_EQ(counters_.get(Counter::duplicate_address), 1U);
    EXPECT_FALSE(neighbours_.on_arp(now_, neighbours_.announcement()).conflict);
    EXPECT_EQ(counters_.get(Counter::own_frame), 1U);
}

TEST_F(NeighboursTest, RefusesGroupAddressesAsNeighbours) {
    Arp arp = reply("10.0.0.2", 2);
    arp.sender_mac = MacAddress::broadcast();
    EXPECT_EQ(neighbours_.on_arp(now_, arp).changed, Neighbours::kNoHop);
    arp.sender_mac = {};
    EXPECT_EQ(neighbours_.on_arp(now_, arp).changed, Neighbours::kNoHop);
    EXPECT_EQ(counters_.get(Counter::bad_source_mac), 2U);
    EXPECT_FALSE(neighbours_.on_verified(now_, neighbours_.hop_of(kB), MacAddress::broadcast()));
    EXPECT_FALSE(neighbours_.mac_of(neighbours_.hop_of(kB)));
}

TEST_F(NeighboursTest, WhatIsOnlyHeardFillsAGapAndIsAskedAboutAtOnce) {
    const auto hop = neighbours_.hop_of(kB);
    EXPECT_TRUE(neighbours_.on_heard(now_, hop, mac(2)));
    EXPECT_EQ(neighbours_.mac_of(hop), mac(2));
    Neighbours::Request request;
    ASSERT_TRUE(neighbours_.poll_request(now_, request));
    EXPECT_EQ(request.to, mac(2));
    EXPECT_FALSE(neighbours_.on_heard(now_, hop, mac(66))) << "it replaces nothing";
    EXPECT_EQ(neighbours_.mac_of(hop), mac(2));
    EXPECT_TRUE(neighbours_.on_verified(now_, hop, mac(3)));
    EXPECT_EQ(neighbours_.mac_of(hop), mac(3));
}

}  // namespace
}  // namespace bowline::control
