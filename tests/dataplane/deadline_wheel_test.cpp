#include "dataplane/deadline_wheel.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace bowline::dataplane {
namespace {

using protocol::Duration;
using protocol::Time;

constexpr std::int64_t kTick = 4096;

/// The wheel as its contract has it, over a map: each peer's earliest deadline since it was last handed out.
class Model {
public:
    explicit Model(std::size_t peers) : deadline_(peers, Time::never()) {}
    void schedule(PeerIndex peer, Time deadline) {
        if (deadline < deadline_[peer]) {
            remove(peer);
            deadline_[peer] = deadline;
            by_time_.emplace(deadline, peer);
        }
    }
    void remove(PeerIndex peer) {
        for (auto [at, end] = by_time_.equal_range(deadline_[peer]); at != end; ++at) {
            if (at->second == peer) {
                by_time_.erase(at);
                break;
            }
        }
        deadline_[peer] = Time::never();
    }
    [[nodiscard]] Time of(PeerIndex peer) const { return deadline_[peer]; }
    [[nodiscard]] Time first() const { return by_time_.empty() ? Time::never() : by_time_.begin()->first; }

private:
    std::vector<Time> deadline_;
    std::multimap<Time, PeerIndex> by_time_;
};

Time rounded_up(Time time) { return time.is_never() ? time : Time::at_ns((time.ns() + kTick - 1) / kTick * kTick); }

std::vector<PeerIndex> expired(DeadlineWheel& wheel, Time now) {
    std::vector<PeerIndex> peers;
    wheel.expire(now, [&](PeerIndex peer) { peers.push_back(peer); });
    wheel.check_invariants();
    return peers;
}

TEST(DeadlineWheel, HasNothingDueAtFirst) {
    DeadlineWheel wheel(4, Time::at_ns(77));
    EXPECT_TRUE(wheel.next().is_never());
    EXPECT_FALSE(wheel.due(Time::at_ns(INT64_MAX - 1)));
    wheel.schedule(1, Time::never());
    EXPECT_TRUE(wheel.next().is_never());
}

TEST(DeadlineWheel, NeverComesBeforeTheDeadlineAndAtMostATickAfterIt) {
    const std::array<std::int64_t, 12> delays = {1,
                                                 kTick - 1,
                                                 kTick,
                                                 kTick * 255,
                                                 kTick * 256,
                                                 kTick * 257,
                                                 kTick * 65'535,
                                                 kTick * 65'536,
                                                 kTick * 65'537,
                                                 kTick * 16'777'215,
                                                 kTick * 16'777'216,
                                                 kTick * 16'777'217};
    for (const std::int64_t start :
         {std::int64_t{0}, kTick * 255, kTick * 256 + 5, kTick * 65'535, kTick * 16'777'215 + 1}) {
        for (const std::int64_t delay : delays) {
            DeadlineWheel wheel(1, Time::at_ns(start));
            const Time deadline = Time::at_ns(start + delay);
            wheel.schedule(0, deadline);
            EXPECT_TRUE(expired(wheel, deadline + Duration::ns(-1)).empty()) << start << "+" << delay;
            EXPECT_EQ(expired(wheel, rounded_up(deadline)), std::vector<PeerIndex>{0}) << start << "+" << delay;
            EXPECT_TRUE(wheel.next().is_never());
        }
    }
}

TEST(DeadlineWheel, MovesAnEntryOnlyToAnEarlierTime) {
    DeadlineWheel wheel(1, Time());
    wheel.schedule(0, Time::at_ns(100 * kTick));
    wheel.schedule(0, Time::at_ns(200 * kTick));
    EXPECT_TRUE(expired(wheel, Time::at_ns(99 * kTick)).empty());
    wheel.schedule(0, Time::at_ns(100 * kTick - 2 * kTick + kTick + kTick / 2));
    EXPECT_EQ(expired(wheel, Time::at_ns(100 * kTick)), std::vector<PeerIndex>{0});
    EXPECT_TRUE(expired(wheel, Time::at_ns(300 * kTick)).empty());
}

TEST(DeadlineWheel, FindsEverybodyAfterAPauseOfDays) {
    DeadlineWheel wheel(300, Time());
    for (PeerIndex peer = 0; peer < 300; ++peer) {
        wheel.schedule(peer, Time::at_ns(std::int64_t{1} << (peer % 46)));
    }
    const std::vector<PeerIndex> peers = expired(wheel, Time() + Duration::s(7 * 86'400));
    EXPECT_EQ(std::set<PeerIndex>(peers.begin(), peers.end()).size(), 300U);
    EXPECT_EQ(peers.size(), 300U);
    // Also what is due beyond the wheel's horizon of five hours, and what is asked for after an idle day.
    wheel.schedule(7, Time() + Duration::s(9 * 86'400));
    EXPECT_TRUE(expired(wheel, Time() + Duration::s(9 * 86'400) + Duration::ns(-1)).empty());
    EXPECT_EQ(expired(wheel, Time() + Duration::s(9 * 86'400) + Duration::ns(kTick)), std::vector<PeerIndex>{7});
    wheel.schedule(8, Time() + Duration::s(20 * 86'400) + Duration::us(25));
    EXPECT_TRUE(expired(wheel, Time() + Duration::s(20 * 86'400)).empty());
    EXPECT_EQ(expired(wheel, Time() + Duration::s(20 * 86'400) + Duration::us(30)), std::vector<PeerIndex>{8});
}

TEST(DeadlineWheel, ADeadlineJustBeforeNeverIsKept) {
    DeadlineWheel wheel(1, Time::at_ns(kTick));
    wheel.schedule(0, Time::at_ns(INT64_MAX - 1));
    EXPECT_TRUE(expired(wheel, Time() + Duration::s(86'400)).empty());
    wheel.schedule(0, Time() + Duration::s(86'401));
    EXPECT_EQ(expired(wheel, Time() + Duration::s(86'402)), std::vector<PeerIndex>{0});
}

TEST(DeadlineWheel, WhoIsScheduledWhileExpiringComesAgain) {
    DeadlineWheel wheel(2, Time());
    wheel.schedule(0, Time::at_ns(3 * kTick));
    wheel.schedule(1, Time::at_ns(3 * kTick));
    std::vector<PeerIndex> peers;
    const Time now = Time::at_ns(3 * kTick);
    wheel.expire(now, [&](PeerIndex peer) {
        peers.push_back(peer);
        wheel.schedule(peer, now + Duration::ns(kTick));
    });
    EXPECT_EQ(peers.size(), 2U);
    EXPECT_EQ(wheel.next(), Time::at_ns(4 * kTick));
    EXPECT_EQ(expired(wheel, Time::at_ns(4 * kTick)).size(), 2U);
}

TEST(DeadlineWheel, AgreesWithASortedMapThroughRandomSchedulesAndJumps) {
    EXPECT_TRUE(rc::check([] {
        constexpr std::size_t peers = 24;
        // Logarithmic: nanoseconds are as likely as hours.
        const auto span = [] {
            const auto bits = *rc::gen::inRange<unsigned>(0, 46);
            return static_cast<std::int64_t>(*rc::gen::arbitrary<std::uint64_t>() & ((std::uint64_t{2} << bits) - 1));
        };
        Time now = Time::at_ns(span());
        DeadlineWheel wheel(peers, now);
        Model model(peers);
        Time last_set = now;
        const auto steps = *rc::gen::inRange<std::size_t>(1, 200);
        for (std::size_t step = 0; step < steps; ++step) {
            if (*rc::gen::inRange(0, 3) != 0) {
                const auto peer = *rc::gen::inRange<PeerIndex>(0, peers);
                const Time deadline = now + Duration::ns(span()) + Duration::ns(*rc::gen::inRange(-50'000, 1));
                wheel.schedule(peer, deadline);
                model.schedule(peer, deadline);
                last_set = now;
            } else {
                now = now + Duration::ns(span());
                wheel.expire(now, [&](PeerIndex peer) {
                    RC_ASSERT(!model.of(peer).is_never());
                    RC_ASSERT(model.of(peer) <= now);
                    model.remove(peer);
                });
                // Nobody who was due a tick ago has been left out.
                // Nobody is left out; what had passed when it was set may take until the tick after that.
                RC_ASSERT(model.first().is_never() || rounded_up(model.first()) > now ||
                          rounded_up(last_set) + Duration::ns(kTick) > now);
            }
            wheel.check_invariants();
            RC_ASSERT(wheel.next().is_never() == model.first().is_never());
            RC_ASSERT(model.first().is_never() ||
                      wheel.next() <= Time::at_ns(std::max(rounded_up(model.first()).ns(), now.ns() + 2 * kTick)));
        }
    }));
}

}  // namespace
}  // namespace bowline::dataplane
