#include "protocol/congestion/fixed.hpp"

#include <gtest/gtest.h>

namespace bowline::protocol {
namespace {

TEST(FixedCongestion, AllowsWhatIsConfigured) {
    FixedCongestion congestion(64);
    EXPECT_EQ(congestion.cwnd_pkts(), 64U);
    congestion.on_acked(10);
    EXPECT_EQ(congestion.cwnd_pkts(), 64U);
}

TEST(FixedCongestion, AfterATimeoutOnePacketMayLeaveWhateverIsStillInFlight) {
    FixedCongestion congestion(64);
    congestion.on_timeout(0);
    EXPECT_EQ(congestion.cwnd_pkts(), 1U);
    congestion.on_timeout(40);
    EXPECT_EQ(congestion.cwnd_pkts(), 41U);
    congestion.on_timeout(64);
    EXPECT_EQ(congestion.cwnd_pkts(), 64U);
}

TEST(FixedCongestion, GrowsByWhatGetsThroughUpToItsSize) {
    FixedCongestion congestion(8);
    congestion.on_timeout(0);
    congestion.on_acked(1);
    EXPECT_EQ(congestion.cwnd_pkts(), 2U);
    congestion.on_acked(2);
    EXPECT_EQ(congestion.cwnd_pkts(), 4U);
    congestion.on_acked(100);
    EXPECT_EQ(congestion.cwnd_pkts(), 8U);
}

TEST(FixedCongestion, RecoveryRestoresTheWholeWindow) {
    FixedCongestion congestion(1024);
    congestion.on_timeout(0);
    congestion.on_recovered();
    EXPECT_EQ(congestion.cwnd_pkts(), 1024U);
}

}  // namespace
}  // namespace bowline::protocol
