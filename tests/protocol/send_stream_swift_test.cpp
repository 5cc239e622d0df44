#include <optional>

#include <gtest/gtest.h>

#include "protocol/send_stream.hpp"
#include "stream_link.hpp"

namespace bowline::protocol {
namespace {

/// Swift beneath a stream.
struct SwiftStream : testing::Test {
    static Settings swift_settings() {
        Settings settings;
        settings.window_pkts = 64;
        settings.send_queue_pkts = 64;
        settings.congestion = CongestionAlgorithm::swift;
        settings.swift.fs_range = Duration();
        return settings;
    }
    void queue(int count) {
        for (int i = 0; i < count; ++i) {
            ASSERT_TRUE(send.queue(now, message_packet(++queued)));
        }
    }
    int send_all() {
        int sent = 0;
        for (; send.may_send_new(); ++sent) {
            send.on_sent_new(now);
        }
        return sent;
    }
    void ack(std::uint64_t through, Duration delay = {}) {
        AckInfo info;
        info.conn_id = send.conn_id();
        info.cum_ack = Seqno(1 + through).wire();
        info.window_pkts = 64;
        info.echo = wire_timestamp(now);
        info.delay = delay;
        ASSERT_EQ(send.on_ack(now, info, [](Packet*) {}), SendStream::AckResult::advanced);
        send.check_invariants();
    }

    Settings settings = swift_settings();
    SendStorage storage{128};
    SendStream send{settings, 7, storage.spans()};
    Time now = Time::at_ns(1'000'000);
    std::uint64_t queued = 0;
};

TEST_F(SwiftStream, SendsAsManyAsTheWindowOfTheAlgorithmHolds) {
    send.open(now, 64, settings.ack_delay);
    queue(60);
    EXPECT_EQ(send_all(), 10);
    now = now + Duration::us(20);
    ack(10);
    EXPECT_EQ(send_all(), 20);
    now = now + Duration::us(100);
    ack(30);
    EXPECT_EQ(send.cwnd_pkts(), 12U);  // an excess of a half, of which beta is 0.8
    EXPECT_EQ(send_all(), 12);
}

TEST_F(SwiftStream, TheDelayIsTheSampleLessWhatThePeerHeldTheAckBack) {
    send.open(now, 64, settings.ack_delay);
    queue(60);
    send_all();
    now = now + Duration::us(70);
    ack(10, Duration::us(24));
    EXPECT_EQ(send.cwnd_pkts(), 20U) << "46 us are below the target of 50";
    EXPECT_EQ(send.rtt().srtt(), Duration::us(70)) << "a timeout waits for the ack, held back or not";
}

TEST_F(SwiftStream, BelowOnePacketTheStreamsDeadlineReleasesTheNext) {
    send.open(now, 64, settings.ack_delay);
    queue(1);
    send_all();
    now = now + Duration::us(200);
    ack(1);
    queue(60);
    // One packet out, and back after four times the target: 10 packets become half of that at most, each time.
    for (std::uint64_t acked = 1; send.cwnd_pkts() > 1; ++acked) {
        send.on_sent_new(now);
        now = now + Duration::us(200);
        ack(acked + 1);
    }
    std::uint64_t acked = send.window().una().value() - 1;
    send.on_sent_new(now);
    const Time left = now;
    now = now + Duration::us(200);
    ack(++acked);
    EXPECT_EQ(send.cwnd_pkts(), 0U);
    EXPECT_FALSE(send.may_send_new());
    // 10 / 2^4 packets: 200 us / 0.625 after the last one left.
    EXPECT_NEAR(static_cast<double>((send.next_deadline() - left).ns()), 320'000, 50);
    now = send.next_deadline();
    const SendStream::Due due = send.on_deadline(now);
    EXPECT_FALSE(due.window_probe);
    EXPECT_FALSE(due.tail_probe.has_value());
    EXPECT_EQ(send_all(), 1);
    send.check_invariants();
}

}  // namespace
}  // namespace bowline::protocol
