#include "engine/config_address.hpp"

#include <gtest/gtest.h>

namespace bowline::engine {
namespace {

TEST(ConfigAddress, ReadsANetwork) {
    const auto network = Ipv4Network::parse("10.1.2.3/20");
    ASSERT_TRUE(network);
    EXPECT_EQ(network->address.value, 0x0A010203U);
    EXPECT_EQ(network->mask, 0xFFFFF000U);
    EXPECT_TRUE(network->contains(Ipv4Address{0x0A010FFFU}));
    EXPECT_FALSE(network->contains(Ipv4Address{0x0A011000U}));
    EXPECT_EQ(Ipv4Network::parse("10.1.2.3/32")->mask, 0xFFFFFFFFU);
    EXPECT_EQ(Ipv4Network::parse("10.1.2.3/1")->mask, 0x80000000U);
    for (const char* text : {"10.1.2.3", "10.1.2.3/", "10.1.2.3/0", "10.1.2.3/33", "10.1.2.3/08", "10.1.2/24", "/24"}) {
        EXPECT_EQ(Ipv4Network::parse(text), std::nullopt) << text;
    }
}

TEST(ConfigAddress, KnowsWhichAddressesOfANetworkAreNoNodes) {
    const Ipv4Network wide{{0x0A000001U}, 0xFFFFFF00U};
    EXPECT_TRUE(wide.is_network_address(Ipv4Address{0x0A000000U}));
    EXPECT_TRUE(wide.is_broadcast(Ipv4Address{0x0A0000FFU}));
    EXPECT_FALSE(wide.is_network_address(Ipv4Address{0x0A000001U}));
    EXPECT_FALSE(wide.is_broadcast(Ipv4Address{0x0B0000FFU})) << "another network's";
    const Ipv4Network pair{{0x0A000000U}, 0xFFFFFFFEU};
    EXPECT_FALSE(pair.is_network_address(Ipv4Address{0x0A000000U})) << "RFC 3021";
    EXPECT_FALSE(pair.is_broadcast(Ipv4Address{0x0A000001U}));
    EXPECT_TRUE(is_unicast(Ipv4Address{0x0A000001U}));
    EXPECT_FALSE(is_unicast(Ipv4Address{0x7F000001U}));
    EXPECT_FALSE(is_unicast(Ipv4Address{0xE0000001U}));
    EXPECT_FALSE(is_unicast(Ipv4Address{1U}));
}

}  // namespace
}  // namespace bowline::engine
