// What a worker costs a message, without a device: two workers in one thread.
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/micro/worker_pair.hpp"

namespace bowline::bench {
namespace {

/// There and back: two sends, two receptions, everything but the device.
void worker_ping_pong(benchmark::State& state) {
    WorkerPair pair;
    const auto size = static_cast<std::size_t>(state.range(0));
    const std::vector<std::byte> message(size, std::byte{1});
    std::size_t answers = 0;
    for (auto _ : state) {
        pair.send(0, message.data(), size);
        pair.turn(0, [](const std::byte*, std::size_t) {});
        pair.turn(1, [&](const std::byte* bytes, std::size_t n) { pair.send(1, bytes, n); });
        answers += pair.turn(0, [](const std::byte*, std::size_t) {});
    }
    if (answers != static_cast<std::size_t>(state.iterations())) {
        state.SkipWithError("answers are missing");
    }
}
BENCHMARK(worker_ping_pong)->ArgName("message")->Arg(64)->Arg(1344);

/// One way, 64 messages a turn: packing, windows and acks.
void worker_flood(benchmark::State& state) {
    WorkerPair pair;
    const auto size = static_cast<std::size_t>(state.range(0));
    const std::vector<std::byte> message(size, std::byte{1});
    std::size_t received = 0;
    for (auto _ : state) {
        for (int i = 0; i < 64; ++i) {
            pair.send(0, message.data(), size);
        }
        pair.turn(0, [](const std::byte*, std::size_t) {});
        received += pair.turn(1, [](const std::byte* bytes, std::size_t) { benchmark::DoNotOptimize(*bytes); });
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(received));
}
BENCHMARK(worker_flood)->ArgName("message")->Arg(32)->Arg(64)->Arg(1344);

}  // namespace
}  // namespace bowline::bench
