// A worker takes nothing from the heap once it runs. Proved by counting, with a proof that the counter counts.
#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allocation_counter.hpp"
#include "dataplane/remote_application.hpp"
#include "protocol/random.hpp"
#include "worker_pair.hpp"

namespace bowline::dataplane {
namespace {

/// What the optimizer may not remove.
void* volatile taken;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

TEST(AllocationCounter, SeesWhatTheHeapIsAskedFor) {
    const AllocationCounter counter;
    EXPECT_EQ(counter.count(), 0U);
    taken = ::operator new(10);
    ::operator delete(taken);
    EXPECT_EQ(counter.count(), 1U);
    taken = ::operator new[](10, std::align_val_t{64});
    ::operator delete[](taken, std::align_val_t{64});
    EXPECT_EQ(counter.count(), 2U);
    taken = std::malloc(10);
    std::free(taken);
    EXPECT_EQ(counter.count(), 3U);
    taken = std::calloc(10, 2);
    std::free(taken);
    EXPECT_EQ(counter.count(), 4U);
    std::string text(100, 'x');  // within the standard library
    taken = text.data();
    EXPECT_EQ(counter.count(), 5U);
}

class SteadyState : public WorkerPair {
protected:
    /// Bytes for messages of every size, made before anything is counted.
    const Bytes bytes_ = make_message(1, 200'000);
    protocol::Random random_{12};
    std::uint64_t received_ = 0;

    std::size_t next_size() {
        const std::uint64_t kind = random_.below(50);
        return static_cast<std::size_t>(kind == 0 ? random_.below(bytes_.size())
                                                  : random_.below(kind < 10 ? 3000 : 100));
    }
    void lose_and_mix_up() {
        const auto fault = [this](std::span<std::byte>) {
            const std::uint64_t fate = random_.below(100);
            return fate < 5 ? Fate::drop : fate < 7 ? Fate::twice : fate < 9 ? Fate::behind_the_next : Fate::pass;
        };
        a().port.fault = fault;
        b().port.fault = fault;
        a().port.device_keeps = 20;
    }
    void inline_turn(Node& node) {
        node.worker().receive(now_);
        node.worker().read(
            64, [this](PeerIndex, const std::byte*, std::uint32_t, std::uint64_t, Packet*) { ++received_; },
            [](PeerIndex, const PeerEvent&) {});
        std::uint64_t number = 0;
        for (int i = 0; i < 3; ++i) {
            static_cast<void>(node.worker().offer(0, now_, bytes_.data(), next_size(), number));
        }
        node.worker().finish_batch();
        node.worker().send(now_);
    }
};

TEST_F(SteadyState, AnInlineWorkerAllocatesNothing) {
    associate();
    lose_and_mix_up();
    const auto run = [this](int turns) {
        for (int i = 0; i < turns; ++i) {
            now_ = now_ + kTurn;
            inline_turn(a());
            inline_turn(b());
        }
    };
    run(200);
    const std::uint64_t before = received_;
    const AllocationCounter counter;
    run(10'000);
    // Control goes on meanwhile: another association, an answer, a probe.
    a().give(Command::Kind::probe);
    a().give(Command::Kind::heartbeat);
    run(100);
    EXPECT_EQ(counter.count(), 0U);
    EXPECT_GT(received_ - before, 10'000U);
    EXPECT_GT(a().peer().send.counters().retransmits, 100U);
}

TEST_F(SteadyState, AWorkerForAnotherThreadAndItsApplicationAllocateNothing) {
    a().worker().open_inboxes(16'384);
    Doorbells to_worker(1);
    Doorbells from_worker(1);
    RemoteApplication application({&a().peer()}, to_worker, from_worker);
    associate();
    lose_and_mix_up();
    const auto run = [&](int turns) {
        for (int i = 0; i < turns; ++i) {
            now_ = now_ + kTurn;
            a().worker().receive(now_);
            to_worker.answer([&](PeerIndex peer) { a().worker().on_doorbell(peer); });
            a().worker().send(now_);
            a().worker().take_ready([&](PeerIndex peer) { from_worker.ring(peer); });
            std::uint64_t number = 0;
            for (int message = 0; message < 3; ++message) {
                static_cast<void>(application.offer(0, bytes_.data(), next_size(), number));
            }
            application.read(
                64, [this](PeerIndex, const std::byte*, std::uint32_t, std::uint64_t, Packet*) { ++received_; },
                [](PeerIndex, const PeerEvent&) {});
            application.finish_batch();
            inline_turn(b());
        }
    };
    run(200);
    const std::uint64_t before = received_;
    const AllocationCounter counter;
    run(10'000);
    EXPECT_EQ(counter.count(), 0U);
    EXPECT_GT(received_ - before, 10'000U);
}

}  // namespace
}  // namespace bowline::dataplane
