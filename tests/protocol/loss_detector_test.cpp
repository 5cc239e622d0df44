#include "protocol/loss_detector.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/random.hpp"

namespace bowline::protocol {
namespace {

using State = SentPacket::State;
using Delivery = LossDetector::Delivery;

constexpr Duration kRtt = Duration::us(20);

/// A send window under a LossDetector, worked by hand.
struct Sender {
    explicit Sender(std::uint64_t capacity, Seqno first_seqno = Seqno(1))
        : packets(capacity), resent(2 * capacity), lost(2 * capacity), first(first_seqno) {
        window.attach(packets, first);
        detector.attach(resent, lost, first);
    }
    Seqno send() {
        const Seqno seqno = window.nxt();
        EXPECT_TRUE(window.push({}));
        SentPacket& packet = window.at(seqno);
        packet.state = State::in_flight;
        packet.sent_at = now;
        packet.transmissions = 1;
        window.sent_one();
        detector.on_sent(seqno, packet, window);
        return seqno;
    }
    void resend(Seqno seqno) {
        SentPacket& packet = window.at(seqno);
        if (packet.state == State::in_flight) {
            detector.take_for_probe(packet);
        }
        detector.on_taken();
        packet.state = State::in_flight;
        packet.sent_at = now;
        packet.count_transmission();
        detector.on_sent(seqno, packet, window);
    }
    /// Acknowledged out of order, on the strength of the transmission at `of`.
    Delivery sack(Seqno seqno, Time of) {
        const Delivery delivery = detector.on_delivered(now, seqno, window.at(seqno), wire_timestamp(of), rtt);
        window.at(seqno).state = State::sacked;
        ++sacked;
        return delivery;
    }
    Delivery sack(Seqno seqno) { return sack(seqno, window.at(seqno).sent_at); }
    void pass_sacked() {
        while (window.una().before(window.nxt()) && window.at(window.una()).state == State::sacked) {
            window.advance(window.una() + 1);
            --sacked;
        }
    }
    std::uint32_t detect() { return detector.detect(now, window, rtt, sacked); }
    [[nodiscard]] std::set<std::uint64_t> lost_set() const {
        std::set<std::uint64_t> result;
        for (Seqno seqno = window.una(); seqno.before(window.nxt()); ++seqno) {
            if (window.at(seqno).state == State::lost) {
                result.insert(seqno.value() - first.value());
            }
        }
        return result;
    }

    std::vector<SentPacket> packets;
    std::vector<LossDetector::Resent> resent;
    std::vector<Seqno> lost;
    Seqno first;
    SendWindow window;
    LossDetector detector;
    Rtt rtt{Duration::us(500), Duration::s(1)};
    Time now = Time::at_ns(1'000'000);
    std::uint64_t sacked = 0;
};

TEST(LossDetector, ThreeDeliveriesBeyondAGapProveTheLossAtOnce) {
    Sender s(8);
    s.rtt.sample(kRtt);
    for (int i = 0; i < 4; ++i) {
        s.send();
    }
    s.now = s.now + kRtt;
    s.sack(Seqno(2));
    s.sack(Seqno(3));
    EXPECT_EQ(s.detect(), 0U);
    s.sack(Seqno(4));
    EXPECT_EQ(s.detect(), 1U);
    EXPECT_EQ(s.detector.next_lost(s.window), Seqno(1));
    s.detector.check_invariants(s.window);
}

TEST(LossDetector, OneDeliveryBeyondAGapProvesItAfterTheReorderingWindow) {
    Sender s(2);
    s.rtt.sample(kRtt);
    s.send();
    s.send();
    const Time sent = s.now;
    s.now = s.now + kRtt;
    s.sack(Seqno(2));
    EXPECT_EQ(s.detect(), 0U);
    const Time deadline = s.detector.reorder_deadline();
    EXPECT_EQ(deadline, sent + kRtt + kRtt / 4);  // RFC 8985 §6.2: min_rtt / 4
    s.now = deadline;
    EXPECT_EQ(s.detect(), 1U);
    EXPECT_TRUE(s.detector.reorder_deadline().is_never());
}

TEST(LossDetector, ManyGapsAreFoundAtOnce) {
    Sender s(256);
    s.rtt.sample(kRtt);
    for (int i = 0; i < 200; ++i) {
        s.send();
    }
    s.now = s.now + kRtt;
    for (std::uint64_t i = 2; i <= 200; i += 2) {
        s.sack(Seqno(i));
    }
    EXPECT_EQ(s.detect(), 100U);
    EXPECT_EQ(s.detector.lost_pkts(), 100U);
    EXPECT_EQ(s.detector.in_flight_pkts(), 0U);
}

TEST(LossDetector, ALostRetransmissionIsFoundByWhatWasSentAfterIt) {
    Sender s(16);
    s.rtt.sample(kRtt);
    for (int i = 0; i < 4; ++i) {
        s.send();
    }
    s.now = s.now + kRtt;
    for (std::uint64_t i = 2; i <= 4; ++i) {
        s.sack(Seqno(i));
    }
    s.detect();
    s.resend(Seqno(1));
    s.now = s.now + Duration::us(1);
    const Seqno later = s.send();
    s.now = s.now + kRtt;
    s.sack(later);
    EXPECT_EQ(s.detect(), 1U);
    EXPECT_EQ(s.detector.next_lost(s.window), Seqno(1));
}

TEST(LossDetector, ARetransmissionThatArrivesProvesOlderOriginalsLost) {
    Sender s(16);
    s.rtt.sample(kRtt);
    s.send();
    s.now = s.now + Duration::us(300);
    s.send();
    s.now = s.now + Duration::us(300);
    s.resend(Seqno(1));
    s.now = s.now + kRtt;
    EXPECT_EQ(s.sack(Seqno(1)), Delivery::sample);
    s.pass_sacked();
    EXPECT_TRUE(s.detector.resent_delivered());
    EXPECT_EQ(s.detect(), 1U);
    EXPECT_FALSE(s.detector.resent_delivered());
}

TEST(LossDetector, AnEarlierTransmissionThatArrivesIsSpuriousAndWidensTheReorderingWindow) {
    Sender s(16);
    s.rtt.sample(kRtt);
    const Time original = s.now;
    s.send();
    s.now = s.now + kRtt;
    s.resend(Seqno(1));
    s.now = s.now + Duration::us(1);
    EXPECT_EQ(s.sack(Seqno(1), original), Delivery::spurious);
    EXPECT_EQ(s.detector.spurious(), 1U);

    s.pass_sacked();
    const Time sent = s.now;
    for (int i = 0; i < 4; ++i) {
        s.send();
    }
    s.now = s.now + kRtt;
    for (std::uint64_t i = 3; i <= 5; ++i) {
        s.sack(Seqno(i));
    }
    EXPECT_EQ(s.detect(), 0U);  // three are no proof on a path that reorders
    EXPECT_EQ(s.detector.reorder_deadline(), sent + kRtt + kRtt / 2);
}

TEST(LossDetector, WithoutAnEchoAResentPacketIsAmbiguous) {
    Sender s(4);
    s.rtt.sample(kRtt);
    s.send();
    s.now = s.now + kRtt;
    s.resend(Seqno(1));
    s.now = s.now + Duration::us(1);
    const SentPacket& packet = s.window.at(Seqno(1));
    EXPECT_EQ(s.detector.on_delivered(s.now, Seqno(1), packet, std::nullopt, s.rtt), Delivery::spurious);
    s.window.at(Seqno(1)).state = State::sacked;
    s.send();
    s.now = s.now + kRtt;
    s.resend(Seqno(2));
    s.now = s.now + kRtt * 2;
    EXPECT_EQ(s.detector.on_delivered(s.now, Seqno(2), s.window.at(Seqno(2)), std::nullopt, s.rtt),
              Delivery::ambiguous);
}

TEST(LossDetector, ExpiryTakesOnlyWhatHasHadItsTime) {
    Sender s(8);
    for (int i = 0; i < 4; ++i) {
        s.send();
        s.now = s.now + Duration::us(100);
    }
    const Duration rto = Duration::us(300);
    EXPECT_EQ(s.detector.expire(s.now, s.window, rto), 2U);  // sent 400 and 300 us ago
    EXPECT_EQ(s.detector.oldest_in_flight(s.window), s.window.at(Seqno(3)).sent_at);
    s.resend(Seqno(1));
    s.now = s.now + rto;
    EXPECT_EQ(s.detector.expire(s.now, s.window, rto), 3U);
    EXPECT_TRUE(s.detector.oldest_in_flight(s.window).is_never());
    s.detector.check_invariants(s.window);
}

TEST(LossDetector, TheFirstUnacknowledgedGoesBeforeLossesFoundEarlier) {
    Sender s(8);
    for (int i = 0; i < 4; ++i) {
        s.send();
    }
    s.now = s.now + Duration::ms(1);
    s.detector.expire(s.now, s.window, Duration::us(500));
    s.resend(Seqno(1));
    s.now = s.now + Duration::ms(1);
    s.detector.expire(s.now, s.window, Duration::us(500));
    EXPECT_EQ(s.detector.next_lost(s.window), Seqno(1));
}

TEST(LossDetector, AnyNumberOfTimeoutsAndUnseenLossesFitItsQueues) {
    Sender s(2);
    s.send();
    s.send();
    for (int i = 0; i < 1000; ++i) {  // one resent each time, the other never: places in the queue stay behind
        s.now = s.now + Duration::ms(1);
        s.detector.expire(s.now, s.window, Duration::us(500));
        s.resend(*s.detector.next_lost(s.window));
        s.detector.check_invariants(s.window);
    }
    for (int i = 0; i < 1000; ++i) {  // lost, then acknowledged before anyone asks what to resend
        s.now = s.now + Duration::ms(1);
        s.detector.expire(s.now, s.window, Duration::us(500));
        s.sack(s.window.una());
        s.pass_sacked();
        s.send();
        s.detector.check_invariants(s.window);
    }
}

TEST(LossDetector, RestartMakesEverythingSentLost) {
    Sender s(8);
    for (int i = 0; i < 5; ++i) {
        s.send();
    }
    s.now = s.now + kRtt;
    s.sack(Seqno(3));
    s.detector.restart(s.window);
    EXPECT_EQ(s.lost_set(), (std::set<std::uint64_t>{0, 1, 2, 3, 4}));
    EXPECT_TRUE(s.detector.reorder_deadline().is_never());
    s.detector.check_invariants(s.window);
    for (std::uint64_t i = 1; i <= 5; ++i) {
        EXPECT_EQ(s.detector.next_lost(s.window), Seqno(i));
        s.resend(Seqno(i));
    }
    EXPECT_EQ(s.detector.next_lost(s.window), std::nullopt);
}

/// RFC 8985 §6.2 with one list that is gone through whole each time.
struct Rack {
    struct Packet {
        Time sent_at;
        bool resent = false;
    };
    std::map<std::uint64_t, Packet> in_flight;  ///< by distance from the first seqno
    std::map<std::uint64_t, Packet> lost;
    std::uint64_t sacked = 0;
    bool any_delivered = false;
    Packet newest;
    std::uint64_t newest_seqno = 0;
    Duration newest_rtt;
    std::int64_t highest = -1;
    bool reordering = false;
    std::int64_t steps = 1;
    Time deadline = Time::never();

    void deliver(Time now, std::uint64_t seqno, Time of) {
        auto& from = in_flight.contains(seqno) ? in_flight : lost;
        const Packet packet = from.at(seqno);
        from.erase(seqno);
        ++sacked;
        if (packet.resent && of < packet.sent_at) {
            steps = std::min<std::int64_t>(steps + 1, 16);
            reordering = true;
            return;
        }
        const auto number = static_cast<std::int64_t>(seqno);
        reordering = reordering || (!packet.resent && number < highest);
        highest = std::max(highest, number);
        if (!any_delivered || packet.sent_at > newest.sent_at ||
            (packet.sent_at == newest.sent_at && seqno > newest_seqno)) {
            any_delivered = true;
            newest = packet;
            newest_seqno = seqno;
            newest_rtt = now - packet.sent_at;
        }
    }
    void detect(Time now, const Rtt& rtt) {
        Duration window;
        if (reordering || (lost.empty() && sacked < 3)) {
            window = std::min(rtt.min_rtt() * steps / 4, rtt.srtt());
        }
        deadline = Time::never();
        for (auto it = in_flight.begin(); it != in_flight.end();) {
            const bool before = any_delivered && (it->second.sent_at < newest.sent_at ||
                                                  (it->second.sent_at == newest.sent_at && it->first < newest_seqno));
            const Time due = it->second.sent_at + newest_rtt + window;
            if (before && due <= now) {
                lost.insert(*it);
                it = in_flight.erase(it);
                continue;
            }
            deadline = before ? earlier(deadline, due) : deadline;
            ++it;
        }
    }
    void expire(Time now, Duration rto) {
        for (auto it = in_flight.begin(); it != in_flight.end();) {
            if (it->second.sent_at + rto <= now) {
                lost.insert(*it);
                it = in_flight.erase(it);
            } else {
                ++it;
            }
        }
    }
    [[nodiscard]] Time oldest() const {
        Time result = Time::never();
        for (const auto& [seqno, packet] : in_flight) {
            result = earlier(result, packet.sent_at);
        }
        return result;
    }
};

void walk(std::uint64_t seed) {
    Random random(seed);
    const std::uint64_t capacity = std::uint64_t{2} << random.below(6);
    const std::uint64_t starts[] = {1, 0xFFFF'FFF8ULL, 0xFFFF'FFFF'FFFF'FFF8ULL};
    Sender s(capacity, Seqno(starts[random.below(3)]));
    s.rtt.sample(kRtt);
    Rack rack;
    std::map<std::uint64_t, std::vector<Time>> transmissions;
    const auto number = [&](Seqno seqno) { return seqno.value() - s.first.value(); };

    for (int step = 0; step < 250; ++step) {
        s.now = s.now + Duration::ns(300 + static_cast<std::int64_t>(random.below(6000)));
        const std::uint64_t action = random.below(10);
        if (action < 4 && !s.window.full()) {
            const std::uint64_t n = number(s.send());
            rack.in_flight[n] = {.sent_at = s.now, .resent = false};
            transmissions[n] = {s.now};
        } else if (action < 7 && rack.in_flight.size() + rack.lost.size() > 0) {
            auto at = random.below(rack.in_flight.size() + rack.lost.size());
            auto& from = at < rack.in_flight.size() ? rack.in_flight : rack.lost;
            at = at < rack.in_flight.size() ? at : at - rack.in_flight.size();
            const std::uint64_t n = std::next(from.begin(), static_cast<std::ptrdiff_t>(at))->first;
            const std::vector<Time>& sent = transmissions[n];
            const Time of = random.below(4) == 0 ? sent[random.below(sent.size())] : sent.back();
            s.sack(s.first + n, of);
            rack.deliver(s.now, n, of);
            if (random.below(2) == 0) {
                const std::uint64_t before = s.sacked;
                s.pass_sacked();
                rack.sacked -= before - s.sacked;
            }
        } else if (action < 9) {
            if (const auto seqno = s.detector.next_lost(s.window)) {
                ASSERT_TRUE(rack.lost.contains(number(*seqno)));
                rack.lost.erase(number(*seqno));
                rack.in_flight[number(*seqno)] = {.sent_at = s.now, .resent = true};
                transmissions[number(*seqno)].push_back(s.now);
                s.resend(*seqno);
            }
        } else if (random.below(4) == 0) {
            s.detector.expire(s.now, s.window, kRtt * 3);
            rack.expire(s.now, kRtt * 3);
        }
        if (random.below(3) > 0) {
            s.detect();
            rack.detect(s.now, s.rtt);
            ASSERT_EQ(s.detector.reorder_deadline(), rack.deadline);
            ASSERT_GT(s.detector.reorder_deadline(), s.now);
        }
        std::set<std::uint64_t> lost;
        for (const auto& [n, packet] : rack.lost) {
            lost.insert(n);
        }
        ASSERT_EQ(s.lost_set(), lost);
        ASSERT_EQ(s.detector.next_lost(s.window).has_value(), !lost.empty());
        ASSERT_EQ(s.detector.in_flight_pkts(), rack.in_flight.size());
        ASSERT_EQ(s.detector.oldest_in_flight(s.window), rack.oldest());
        s.detector.check_invariants(s.window);
    }
}

TEST(LossDetector, FindsExactlyWhatOneListByTimeOfTransmissionFinds) {
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
        SCOPED_TRACE(seed);
        walk(seed);
        if (HasFatalFailure()) {
            return;
        }
    }
}

}  // namespace
}  // namespace bowline::protocol
