// Dedicated mode as it runs: two pairs of a worker's thread and an application's thread, joined by wires. Nothing
// sleeps; who has nothing to do lets others run. Meant for ThreadSanitizer as well.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/remote_application.hpp"
#include "worker_pair.hpp"

namespace bowline::dataplane {
namespace {

constexpr std::uint64_t kMessages = 100'000;
constexpr std::size_t kRingBytes = 16'384;  // messages of more than 4 KiB do not fit
constexpr auto kTooLong = std::chrono::seconds(120);

Time clock_now() {
    return Time::at_ns(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
}

/// Mostly small; some of several packets, some larger than the send ring.
std::size_t size_of(std::uint64_t number) {
    if (number % 5000 == 77) {
        return 100'000 + number % 1000;
    }
    if (number % 500 == 3) {
        return 5000 + number % 3000;
    }
    return number % 50 == 9 ? 1400 + number % 200 : number % 100;
}

/// What the numbers of a message's place in its stream make of its first, middle and last bytes: enough to tell any
/// two apart, at a cost that leaves the time to the rings.
void fill(std::byte* at, std::size_t size, std::uint64_t number) {
    for (std::size_t i = 0; i < size; i += i < 16 ? 1 : 509) {
        at[i] = content(number, i);
    }
}
bool holds(const std::byte* at, std::size_t size, std::uint64_t number) {
    for (std::size_t i = 0; i < size; i += i < 16 ? 1 : 509) {
        if (at[i] != content(number, i)) {
            return false;
        }
    }
    return true;
}

/// A worker's thread and what its application sees of it.
class Side {
public:
    Side(const NodeOptions& options, Wire& out, Wire& in) : node(options, out, in, clock_now()) {
        node.worker().open_inboxes(kRingBytes);
        application = std::make_unique<RemoteApplication>(std::vector<Peer*>{&node.peer()}, to_worker_, from_worker_);
    }
    void run_worker(const std::atomic<bool>& stop) {
        while (!stop.load(std::memory_order_relaxed)) {
            const std::uint64_t before = node.worker().counters().rx_packets;
            node.worker().receive(clock_now());
            const std::size_t rang = to_worker_.answer([this](PeerIndex peer) { node.worker().on_doorbell(peer); });
            node.worker().send(clock_now());
            node.worker().take_ready([this](PeerIndex peer) { from_worker_.ring(peer); });
            if (rang == 0 && before == node.worker().counters().rx_packets) {
                std::this_thread::yield();
            }
        }
    }
    /// Sends and reads until both streams are through, the other side has said so, or it takes too long.
    void run_application(std::atomic<int>& unfinished) {
        const auto deadline = std::chrono::steady_clock::now() + kTooLong;
        bool finished = false;
        while (unfinished.load(std::memory_order_acquire) > 0 && std::chrono::steady_clock::now() < deadline) {
            bool idle = true;
            for (int burst = 0; burst < 32 && sent < kMessages; ++burst) {
                const std::uint64_t number = sent + 1;
                std::byte* at = nullptr;
                const Offer offer = application->try_claim(0, size_of(number), at);
                if (offer != Offer::accepted) {
                    wrong += offer != Offer::back_pressured ? 1U : 0U;
                    break;
                }
                if (number % 11 == 0 && !abandoned) {
                    abandoned = true;  // a claim that comes to nothing, now and then
                    break;
                }
                abandoned = false;
                fill(at, size_of(number), number);
                wrong += application->commit_claim(0, size_of(number)) != number ? 1U : 0U;
                sent = number;
                idle = false;
            }
            const std::size_t count = application->read(
                64,
                [&](PeerIndex, const std::byte* bytes, std::uint32_t size, std::uint64_t number, Packet*) {
                    wrong += number != received + 1 || size != size_of(number) || !holds(bytes, size, number) ? 1U : 0U;
                    received = number;
                },
                [&](PeerIndex, const PeerEvent& event) { ups += event.kind == PeerEvent::Kind::up ? 1U : 1000U; });
            application->finish_batch();
            if (!finished && sent == kMessages && received >= kMessages) {
                finished = true;
                unfinished.fetch_sub(1, std::memory_order_release);
            }
            if (idle && count == 0) {
                std::this_thread::yield();
            }
        }
    }

    Node node;
    std::unique_ptr<RemoteApplication> application;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t wrong = 0;
    std::uint64_t ups = 0;
    bool abandoned = false;

private:
    Doorbells to_worker_{1};
    Doorbells from_worker_{1};
};

Association association_of(Side& self, Side& other) {
    Association association;
    association.local_tag = self.node.options().host;
    association.remote_tag = other.node.options().host;
    association.peer_incarnation = other.node.options().incarnation;
    association.peer_stream_id = other.node.peer().send.stream_id();
    association.packet_bytes_max = kTestPacketBytes;
    association.peer_window_pkts = 64;
    association.message_max = test_settings().message_max;
    association.peer_ack_delay = test_settings().ack_delay;
    return association;
}

TEST(Dedicated, AHundredThousandMessagesEachWayOnFourThreadsArriveOnceInOrderAndWhole) {
    Wire ab(256);
    Wire ba(256);
    NodeOptions a_options;
    NodeOptions b_options;
    b_options.host = 2;
    b_options.incarnation = 2;
    // Threads that share two processors pause for milliseconds: that is no sign of a peer that has gone.
    a_options.settings.give_up = b_options.settings.give_up = Duration::s(200);
    Side a(a_options, ab, ba);
    Side b(b_options, ba, ab);
    for (auto [self, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
        Command command;
        command.kind = Command::Kind::associate;
        command.peer = 0;
        command.association = association_of(*self, *other);
        self->node.give(command);
    }
    std::atomic<bool> stop{false};
    std::atomic<int> unfinished{2};
    std::thread a_worker([&] { a.run_worker(stop); });
    std::thread b_worker([&] { b.run_worker(stop); });
    std::thread a_application([&] { a.run_application(unfinished); });
    std::thread b_application([&] { b.run_application(unfinished); });
    a_application.join();
    b_application.join();
    stop.store(true, std::memory_order_relaxed);
    a_worker.join();
    b_worker.join();
    for (const Side* side : {&a, &b}) {
        EXPECT_EQ(side->sent, kMessages);
        EXPECT_EQ(side->received, kMessages);
        EXPECT_EQ(side->wrong, 0U);
        EXPECT_EQ(side->ups, 1U);
    }
    a.node.worker().check_invariants();
    b.node.worker().check_invariants();
}

}  // namespace
}  // namespace bowline::dataplane
