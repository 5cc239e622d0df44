#include "protocol/congestion/fixed.hpp"

#include <gtest/gtest.h>

namespace bowline::protocol {
namespace {

CongestionView in_flight(std::uint64_t pkts) {
    CongestionView view;
    view.in_flight_pkts = pkts;
    return view;
}
CongestionAck acked(std::uint32_t pkts) {
    CongestionAck ack;
    ack.pkts = pkts;
    return ack;
}

TEST(FixedCongestion, AllowsWhatIsConfigured) {
    FixedCongestion congestion(64);
    EXPECT_EQ(congestion.cwnd_pkts(), 64U);
    EXPECT_TRUE(congestion.ignores_acks());
    congestion.on_acked(in_flight(54), acked(10));
    EXPECT_EQ(congestion.cwnd_pkts(), 64U);
    congestion.on_lost(in_flight(53));
    EXPECT_EQ(congestion.cwnd_pkts(), 64U);
    EXPECT_TRUE(congestion.release_at().is_never());
}

TEST(FixedCongestion, AfterATimeoutOnePacketMayLeaveWhateverIsStillInFlight) {
    FixedCongestion congestion(64);
    congestion.on_timeout(in_flight(0));
    EXPECT_EQ(congestion.cwnd_pkts(), 1U);
    EXPECT_FALSE(congestion.ignores_acks());
    congestion.on_timeout(in_flight(40));
    EXPECT_EQ(congestion.cwnd_pkts(), 41U);
    congestion.on_timeout(in_flight(64));
    EXPECT_EQ(congestion.cwnd_pkts(), 64U);
}

TEST(FixedCongestion, GrowsByWhatGetsThroughUpToItsSize) {
    FixedCongestion congestion(8);
    congestion.on_timeout(in_flight(0));
    congestion.on_acked(in_flight(0), acked(1));
    EXPECT_EQ(congestion.cwnd_pkts(), 2U);
    congestion.on_acked(in_flight(0), acked(2));
    EXPECT_EQ(congestion.cwnd_pkts(), 4U);
    congestion.on_acked(in_flight(0), acked(100));
    EXPECT_EQ(congestion.cwnd_pkts(), 8U);
    EXPECT_TRUE(congestion.ignores_acks());
}

TEST(FixedCongestion, RecoveryAndANewConnectionRestoreTheWholeWindow) {
    FixedCongestion congestion(1024);
    congestion.on_timeout(in_flight(0));
    congestion.on_recovered(in_flight(0));
    EXPECT_EQ(congestion.cwnd_pkts(), 1024U);
    congestion.on_timeout(in_flight(0));
    congestion.on_opened(in_flight(0));
    EXPECT_EQ(congestion.cwnd_pkts(), 1024U);
}

}  // namespace
}  // namespace bowline::protocol
