#include "protocol/wire/address.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "test_bytes.hpp"

namespace bowline::protocol::wire {
namespace {

TEST(MacAddress, ParsesColonsDashesAndEitherCase) {
    const MacAddress expected = {{0x02, 0x00, 0x5E, 0xAA, 0xBB, 0x0C}};
    EXPECT_EQ(MacAddress::parse("02:00:5e:aa:bb:0c"), expected);
    EXPECT_EQ(MacAddress::parse("02-00-5E-AA-BB-0C"), expected);
    EXPECT_EQ(expected.to_string(), "02:00:5e:aa:bb:0c");
}

TEST(MacAddress, RefusesOtherText) {
    for (const char* text : {"", "02:00:5e:aa:bb", "02:00:5e:aa:bb:0", "02:00:5e:aa:bb:0c:", "02:00:5e:aa:bb:0g",
                             "02:00-5e:aa:bb:0c", "0200.5eaa.bb0c....", "02 00 5e aa bb 0c", " 2:00:5e:aa:bb:0c"}) {
        EXPECT_FALSE(MacAddress::parse(text)) << text;
    }
}

TEST(MacAddress, KnowsGroupsAndZero) {
    EXPECT_TRUE(MacAddress::broadcast().is_multicast());
    EXPECT_TRUE(MacAddress::parse("01:00:5e:00:00:01")->is_multicast());
    EXPECT_FALSE(MacAddress::parse("02:00:00:00:00:01")->is_multicast());
    EXPECT_TRUE(MacAddress{}.is_zero());
    EXPECT_FALSE(MacAddress::broadcast().is_zero());
}

TEST(MacAddress, LoadsWhatItStores) {
    const MacAddress address = {{1, 2, 3, 4, 5, 6}};
    Bytes bytes(6);
    address.store(bytes.data());
    EXPECT_EQ(to_hex(bytes), "010203040506");
    EXPECT_EQ(MacAddress::load(bytes.data()), address);
}

TEST(Ipv4Address, ParsesDottedDecimal) {
    EXPECT_EQ(Ipv4Address::parse("10.0.200.1"), Ipv4Address{0x0A00'C801});
    EXPECT_EQ(Ipv4Address::parse("0.0.0.0"), Ipv4Address{0});
    EXPECT_EQ(Ipv4Address::parse("255.255.255.255"), Ipv4Address{0xFFFF'FFFF});
}

TEST(Ipv4Address, RefusesOtherText) {
    for (const char* text :
         {"",          "10",        "10.0.0",      "10.0.0.",     ".10.0.0.1",  "10.0.0.1.", "10.0.0.1.2",
          "10..0.1",   "256.0.0.1", "10.0.0.1000", "010.0.0.1",   "10.0.0.01",  "10.0.0.a",  "10.0.0.1 ",
          " 10.0.0.1", "+1.0.0.1",  "-1.0.0.1",    "10.0.0.1/24", "0x0a.0.0.1", "localhost"}) {
        EXPECT_FALSE(Ipv4Address::parse(text)) << text;
    }
}

TEST(Ipv4Address, RoundTripsThroughText) {
    EXPECT_TRUE(rc::check([](std::uint32_t value) {
        const Ipv4Address address{value};
        RC_ASSERT(Ipv4Address::parse(address.to_string()) == address);
    }));
    EXPECT_EQ(Ipv4Address{0x0A00'C801}.to_string(), "10.0.200.1");
}

TEST(Ipv4Address, KnowsMulticast) {
    EXPECT_TRUE(Ipv4Address::parse("224.0.0.1")->is_multicast());
    EXPECT_TRUE(Ipv4Address::parse("239.255.0.1")->is_multicast());
    EXPECT_FALSE(Ipv4Address::parse("223.255.0.1")->is_multicast());
    EXPECT_FALSE(Ipv4Address::parse("240.0.0.1")->is_multicast());
}

}  // namespace
}  // namespace bowline::protocol::wire
