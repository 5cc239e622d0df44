#include "tools/ctl_text.hpp"

#include <gtest/gtest.h>

#include "tools/control_answer.hpp"

namespace bowline::tools {
namespace {

engine::Report report() {
    engine::Report report;
    report.name = "a";
    report.address = "10.0.0.1/24";
    report.incarnation = 0xA;
    report.external_views = true;
    report.view_id = 3;
    engine::PeerReport b;
    b.name = "b";
    b.address = "10.0.0.2";
    b.incarnation = 0xB;
    b.in_view = b.associated = true;
    b.connection.up = true;
    b.connection.send.open = b.connection.send.opening = true;
    b.connection.send.conn_id = 4;
    b.connection.send.una = 11;
    b.connection.send.nxt = 13;
    b.connection.send.end = 15;
    b.connection.send.limit = 1035;
    b.connection.send.in_flight_pkts = 2;
    b.connection.send.queued_pkts = 2;
    b.connection.send.next_message = 21;
    b.connection.send.acknowledged_message = 16;
    b.connection.send.srtt_ns = 21'300;
    b.connection.send.rto_ns = 1'500'000;
    b.connection.send.cwnd_pkts = 1024;
    b.connection.receive.open = b.connection.receive.known = true;
    b.connection.receive.conn_id = 2;
    b.connection.receive.rcv_nxt = 9;
    b.connection.receive.free_pkts = 1020;
    b.connection.receive.unread_pkts = 4;
    engine::PeerReport c;
    c.name = "c";
    c.address = "10.0.0.3";
    c.connection.receive.known = true;
    c.connection.receive.conn_id = 7;
    report.peers = {b, c};
    return report;
}

TEST(AnswerText, OfPeers) {
    EXPECT_EQ(answer_text("peers", peers_answer(report())),
              "PEER  ADDRESS   UP   IN-VIEW  ASSOCIATED  INCARNATION       SRTT    IN-FLIGHT  QUEUED  ACCEPTED  ACKED  "
              "UNREAD\n"
              "b     10.0.0.2  yes  yes      yes         000000000000000b  21.3us          2       2        20     16  "
              "     4\n"
              "c     10.0.0.3  no   no       no          -                 -               0       0         0      0  "
              "     0\n");
}

TEST(AnswerText, OfConnectionsShowsBothDirectionsAndTombstones) {
    EXPECT_EQ(answer_text("connections", connections_answer(report())),
              "TO  STATE    CONN-ID  SND-UNA  SND-NXT  SND-END  LIMIT  IN-FLIGHT  LOST  QUEUED  ACKED  NEXT  SRTT    "
              "RTO    CWND  RESENT\n"
              "b   opening        4       11       13       15   1035          2     0       2     16    21  21.3us  "
              "1.5ms  1024       0\n"
              "c   closed         0        0        0        0      0          0     0       0      0     1  -       - "
              "        0       0\n"
              "\n"
              "FROM  STATE      CONN-ID  RCV-NXT  OUT-OF-ORDER  FREE  UNREAD  DUPLICATES  NO-WINDOW\n"
              "b     open             2        9             0  1020       4           0          0\n"
              "c     tombstone        7        0             0     0       0           0          0\n");
}

TEST(AnswerText, OfTheViewNamesMembersAndOthers) {
    EXPECT_EQ(answer_text("view", view_answer(report())),
              "view 3 (external)\n"
              "NODE  ADDRESS      IN-VIEW  ASSOCIATED  INCARNATION\n"
              "a     10.0.0.1/24  self     -           000000000000000a\n"
              "b     10.0.0.2     yes      yes         000000000000000b\n"
              "c     10.0.0.3     no       no          -\n");
}

TEST(AnswerText, OfCountersLeavesOutZeros) {
    const std::vector<Counter> counters = {{"rx_packets", 12}, {"tx_packets", 0}, {"turns", 1234}};
    const auto answer = counters_answer(counters);
    EXPECT_EQ(answer["counters"]["tx_packets"], 0) << "JSON has them all";
    EXPECT_EQ(answer_text("counters", answer),
              "COUNTER     VALUE\n"
              "rx_packets     12\n"
              "turns        1234\n");
}

TEST(AnswerText, OfAnotherVersionsAnswerDoesNotFail) {
    const auto odd = nlohmann::ordered_json::parse(R"({"ok":true,"peers":[{"name":7},{}],"view":[],"counters":3})");
    for (const char* command : {"peers", "connections", "view", "counters", "rotate"}) {
        EXPECT_FALSE(answer_text(command, odd).empty()) << command;
    }
    EXPECT_EQ(answer_text("rotate", odd), "done\n");
}

TEST(TimeText, TakesTheUnitThatReads) {
    EXPECT_EQ(time_text(0), "-");
    EXPECT_EQ(time_text(900), "0.9us");
    EXPECT_EQ(time_text(21'345), "21.3us");
    EXPECT_EQ(time_text(1'500'000), "1.5ms");
    EXPECT_EQ(time_text(2'000'000'000), "2.0s");
}

}  // namespace
}  // namespace bowline::tools
