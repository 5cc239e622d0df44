// dataplane/deadline_wheel: the timers of all peers.
#include <benchmark/benchmark.h>

#include "dataplane/deadline_wheel.hpp"
#include "protocol/random.hpp"

namespace bowline::bench {
namespace {

using dataplane::DeadlineWheel;
using dataplane::PeerIndex;
using protocol::Duration;
using protocol::Time;

/// What nearly every packet does: its deadline is later than the one that is scheduled.
void deadlines_move_away(benchmark::State& state) {
    const auto peers = static_cast<PeerIndex>(state.range(0));
    Time now = Time::at_ns(1'000'000);
    DeadlineWheel wheel(peers, now);
    for (PeerIndex peer = 0; peer < peers; ++peer) {
        wheel.schedule(peer, now + Duration::ms(1));
    }
    PeerIndex peer = 0;
    for (auto _ : state) {
        now = now + Duration::ns(1);
        wheel.schedule(peer, now + Duration::ms(2));
        benchmark::DoNotOptimize(wheel.due(now));
        peer = static_cast<PeerIndex>(peer + 1 == peers ? 0 : peer + 1);
    }
}
BENCHMARK(deadlines_move_away)->ArgName("peers")->Arg(1)->Arg(1024);

/// Every deadline comes, at random between 1 us and 2 ms. One item is one that came.
void deadlines_expire(benchmark::State& state) {
    const auto peers = static_cast<PeerIndex>(state.range(0));
    Time now = Time::at_ns(1'000'000);
    DeadlineWheel wheel(peers, now);
    protocol::Random random(1);
    const auto later = [&] { return now + Duration::ns(1'000 + static_cast<std::int64_t>(random.below(2'000'000))); };
    for (PeerIndex peer = 0; peer < peers; ++peer) {
        wheel.schedule(peer, later());
    }
    std::int64_t expired = 0;
    for (auto _ : state) {
        now = wheel.next();
        wheel.expire(now, [&](PeerIndex peer) {
            wheel.schedule(peer, later());
            ++expired;
        });
    }
    state.SetItemsProcessed(expired);
}
BENCHMARK(deadlines_expire)->ArgName("peers")->Arg(1)->Arg(1024);

}  // namespace
}  // namespace bowline::bench
