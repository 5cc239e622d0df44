// dataplane/worker_pack: small messages into packets. One item is a message.
#include <chrono>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/micro/worker_pair.hpp"

namespace bowline::bench {
namespace {

void packing(benchmark::State& state) {
    constexpr int messages = 256;
    WorkerPair pair;
    const auto size = static_cast<std::size_t>(state.range(0));
    const std::vector<std::byte> message(size, std::byte{1});
    const auto ignore = [](const std::byte*, std::size_t) {};
    for (auto _ : state) {
        const auto begin = std::chrono::steady_clock::now();
        bool accepted = true;
        for (int i = 0; i < messages; ++i) {
            accepted &= pair.send(0, message.data(), size);
        }
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        state.SetIterationTime(taken.count());
        if (!accepted) {
            state.SkipWithError("a message was refused");
            break;
        }
        // Not timed: there, and the acknowledgement back. More than one wire of the bench port takes at once.
        for (int turn = 0; turn < 4; ++turn) {
            pair.turn(0, ignore);
            pair.turn(1, ignore);
        }
    }
    state.SetItemsProcessed(state.iterations() * messages);
}
BENCHMARK(packing)->ArgName("message")->Arg(32)->Arg(64)->Arg(288)->UseManualTime();

}  // namespace
}  // namespace bowline::bench
