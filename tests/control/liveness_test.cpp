#include "control/liveness.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "protocol/random.hpp"

namespace bowline::control {
namespace {

using dataplane::PeerActivity;
using dataplane::PeerIndex;
using protocol::Duration;
using protocol::Time;
using Verdict = Liveness::Verdict;

class LivenessTest : public testing::Test {
protected:
    static protocol::Settings settings() {
        protocol::Settings settings;
        settings.heartbeat = Duration::ms(200);
        settings.suspect_after = Duration::s(1);
        return settings;
    }

    void heard(PeerIndex peer) { activity_[peer].last_heard_ns = now_.ns(); }
    void sent(PeerIndex peer) { activity_[peer].last_sent_ns = now_.ns(); }

    struct Seen {
        Time at;
        PeerIndex peer;
        Verdict verdict;
    };
    /// Runs until `end`; `on_due` is what the worker does about it.
    template <typename OnDue>
    std::vector<Seen> run_until(Time end, OnDue on_due) {
        std::vector<Seen> seen;
        while (liveness_.next_deadline() <= end) {
            now_ = std::max(now_, liveness_.next_deadline());
            Liveness::Due due;
            while (liveness_.poll(now_, due)) {
                seen.push_back({now_, due.peer, due.verdict});
                on_due(due);
            }
        }
        now_ = end;
        return seen;
    }

    static std::size_t count(const std::vector<Seen>& seen, Verdict verdict) {
        std::size_t n = 0;
        for (const Seen& s : seen) n += s.verdict == verdict ? 1U : 0U;
        return n;
    }

    static constexpr std::size_t kPeers = 4096;
    Time now_ = Time::at_ns(5'000'000'000);
    std::vector<PeerActivity> activity_{kPeers};
    Counters counters_;
    Liveness liveness_{settings(), activity_, counters_};
};

TEST_F(LivenessTest, BeatsOnlyWhenNothingElseWasSent) {
    liveness_.watch(now_, 3);
    const Time begin = now_;
    // The worker sends data all the time for a second, then nothing.
    while (now_ < begin + Duration::s(1)) {
        sent(3);
        heard(3);
        EXPECT_TRUE(run_until(now_ + Duration::ms(50), [](const auto&) {}).empty());
    }
    const auto seen = run_until(now_ + Duration::s(2), [&](const Liveness::Due& due) {
        sent(due.peer);
        heard(due.peer);
    });
    EXPECT_GE(seen.size(), 9U);
    EXPECT_LE(seen.size(), 11U);
    EXPECT_EQ(count(seen, Verdict::heartbeat), seen.size());
}

TEST_F(LivenessTest, NeverExcludesAPeerThatAnswersItsProbes) {
    liveness_.watch(now_, 0);
    // It says nothing of its own accord, and some probes are lost, but never as many as it takes.
    std::uint64_t probes = 0;
    const auto seen = run_until(now_ + Duration::s(120), [&](const Liveness::Due& due) {
        sent(due.peer);
        if (due.verdict == Verdict::probe && ++probes % Liveness::kProbes == 0) heard(due.peer);
    });
    EXPECT_GT(count(seen, Verdict::probe), 100U);
    EXPECT_EQ(count(seen, Verdict::silent), 0U);
    EXPECT_TRUE(liveness_.watches(0));
    EXPECT_GT(counters_.get(Counter::suspicions_refuted), 50U);
}

TEST_F(LivenessTest, DeclaresSilenceOnlyAfterSeveralSpacedProbes) {
    liveness_.watch(now_, 7);
    const Time begin = now_;
    const auto seen = run_until(now_ + Duration::s(10), [&](const Liveness::Due& due) { sent(due.peer); });
    std::vector<Time> probes;
    Time silent = Time::never();
    for (const Seen& s : seen) {
        if (s.verdict == Verdict::probe) probes.push_back(s.at);
        if (s.verdict == Verdict::silent) silent = s.at;
    }
    ASSERT_EQ(probes.size(), Liveness::kProbes);
    static_assert(Liveness::kProbes >= 2);
    EXPECT_EQ(probes[0], begin + Duration::s(1));
    for (std::size_t i = 1; i < probes.size(); ++i) EXPECT_GE(probes[i] - probes[i - 1], Duration::ms(100));
    EXPECT_GE(silent - probes.back(), Duration::ms(100));
    EXPECT_LE(silent - begin, Duration::ms(1'500));
    EXPECT_EQ(count(seen, Verdict::silent), 1U);
    EXPECT_FALSE(liveness_.watches(7));
    EXPECT_TRUE(liveness_.next_deadline().is_never());
}

TEST_F(LivenessTest, DoesNotBlameThePeerForProbesThatTheWorkerHasNotSent) {
    liveness_.watch(now_, 1);
    // The worker stands still for three seconds, and hears the peer as soon as it turns again.
    const Time turns_again = now_ + Duration::s(3);
    auto seen = run_until(turns_again, [](const auto&) {});
    EXPECT_EQ(count(seen, Verdict::silent), 0U);
    EXPECT_EQ(count(seen, Verdict::probe), 1U);
    sent(1);
    heard(1);
    seen = run_until(now_ + Duration::ms(900), [&](const Liveness::Due& due) { sent(due.peer); });
    EXPECT_EQ(count(seen, Verdict::silent), 0U);
}

TEST_F(LivenessTest, DoesNotWaitForEverForAWorkerThatCannotSend) {
    liveness_.watch(now_, 1);
    const auto seen = run_until(now_ + Duration::s(6), [](const auto&) {});
    EXPECT_EQ(count(seen, Verdict::silent), 1U);
    EXPECT_GE(seen.back().at - Time::at_ns(5'000'000'000), Duration::s(1) * Liveness::kUnsentPatience);
}

TEST_F(LivenessTest, ALateLookIsNotTakenForSilence) {
    liveness_.watch(now_, 1);
    sent(1);
    heard(1);
    // The control thread was held up for a minute, in which the peer was heard all along but for the last second.
    now_ = now_ + Duration::s(59);
    heard(1);
    now_ = now_ + Duration::s(1) + Duration::ms(1);
    Liveness::Due due;
    ASSERT_TRUE(liveness_.poll(now_, due));
    EXPECT_EQ(due.verdict, Verdict::probe);
    sent(1);
    heard(1);
    const auto seen = run_until(now_ + Duration::ms(900), [&](const Liveness::Due& d) { sent(d.peer); });
    EXPECT_EQ(count(seen, Verdict::silent), 0U);
}

TEST_F(LivenessTest, IdlePeersCostAHeartbeatEachAndNoMore) {
    protocol::Random random(1);
    for (PeerIndex i = 0; i < kPeers; ++i) {
        now_ = Time::at_ns(5'000'000'000 + static_cast<std::int64_t>(random.below(200'000'000)));
        liveness_.watch(now_, i);
    }
    now_ = Time::at_ns(5'200'000'000);
    const std::uint64_t before = liveness_.looks();
    const auto seen = run_until(now_ + Duration::s(2), [&](const Liveness::Due& due) {
        sent(due.peer);
        heard(due.peer);  // it beats as often
    });
    EXPECT_EQ(count(seen, Verdict::heartbeat), seen.size());
    EXPECT_LE(seen.size(), kPeers * 11);
    EXPECT_LE(liveness_.looks() - before, kPeers * 11) << "a look is a deadline that was due";
}

TEST_F(LivenessTest, NobodyIsLookedAtThatIsNotDue) {
    for (PeerIndex i = 0; i < kPeers; ++i) liveness_.watch(now_, i);
    Liveness::Due due;
    EXPECT_FALSE(liveness_.poll(now_ + Duration::ms(199), due));
    EXPECT_EQ(liveness_.looks(), 0U);
    for (PeerIndex i = 0; i < kPeers; ++i) liveness_.unwatch(i);
    EXPECT_TRUE(liveness_.next_deadline().is_never());
}

}  // namespace
}  // namespace bowline::control
