// The rings and bells with their two (or more) threads: what passes, passes once, in order and whole. Nothing sleeps;
// who has to wait lets others run. Meant for ThreadSanitizer as well, which sees what the checks here cannot.
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/doorbells.hpp"
#include "dataplane/receive_ring.hpp"
#include "dataplane/send_ring.hpp"
#include "dataplane/spsc_ring.hpp"

namespace bowline::dataplane {
namespace {

constexpr std::uint64_t kElements = 30'000;

/// For who finds nothing to do: the other thread may be running on another processor, or waiting for this one.
class Patience {
public:
    void wait() {
        if (++spins_ % 256 == 0) {
            std::this_thread::yield();
        }
    }

private:
    unsigned spins_ = 0;
};

TEST(SpscRingThreads, EveryElementCrossesOnceAndInOrder) {
    struct Element {
        std::uint64_t number;
        std::uint64_t check;
    };
    SpscRing<Element> ring(256);
    std::thread producer([&] {
        Patience patience;
        for (std::uint64_t number = 0; number < kElements;) {
            if (ring.try_push({number, ~number})) {
                ++number;
            } else {
                patience.wait();
            }
        }
    });
    std::uint64_t wrong = 0;
    Patience patience;
    for (std::uint64_t number = 0; number < kElements;) {
        if (const Element* element = ring.front()) {
            wrong += element->number != number || element->check != ~number ? 1U : 0U;
            ring.pop();
            ++number;
        } else {
            patience.wait();
        }
    }
    producer.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_TRUE(ring.empty());
}

TEST(SendRingThreads, EveryMessageCrossesOnceInOrderAndWhole) {
    SendRing ring(8192);
    const auto size_of = [&](std::uint64_t number) { return static_cast<std::size_t>(number * 31 % 129); };
    const auto is_large = [](std::uint64_t number) { return number % 97 == 5; };
    std::thread producer([&] {
        Patience patience;
        for (std::uint64_t number = 0; number < kElements;) {
            if (number % 7 == 3) {
                static_cast<void>(ring.try_claim(number % 100));  // abandoned
            }
            std::byte* const at = ring.try_claim(is_large(number) ? 0 : size_of(number));
            if (at == nullptr) {
                patience.wait();
                continue;
            }
            if (is_large(number)) {
                ring.commit_large();
            } else {
                std::memset(at, static_cast<int>(number & 0xFF), size_of(number));
                ring.commit(size_of(number));
            }
            ++number;
        }
    });
    std::uint64_t wrong = 0;
    Patience patience;
    for (std::uint64_t number = 0; number < kElements;) {
        SendRing::Record record;
        if (!ring.front(record)) {
            patience.wait();
            continue;
        }
        wrong += record.large != is_large(number) || record.size != (is_large(number) ? 0 : size_of(number)) ? 1U : 0U;
        for (std::uint32_t i = 0; i < record.size; ++i) {
            wrong += record.bytes[i] != static_cast<std::byte>(number) ? 1U : 0U;
        }
        ring.pop(record);
        ++number;
    }
    producer.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_TRUE(ring.empty());
}

TEST(ReceiveRingThreads, PacketsComeBackOnceAfterTheyHaveBeenRead) {
    std::array<ReceiveRing::Slot, 256> storage;
    ReceiveRing ring;
    ring.attach(storage);
    // Each buffer is written by the worker, read by the application, and written again only once it has come back.
    std::array<std::uint64_t, 256> buffers{};
    std::uint64_t wrong_packets = 0;
    std::thread worker([&] {
        Patience patience;
        std::vector<std::uint64_t*> pool;
        for (std::uint64_t& buffer : buffers) {
            pool.push_back(&buffer);
        }
        std::uint64_t next = 0;
        std::uint64_t returned = 0;
        while (returned < kElements) {
            const bool any = ring.reclaim([&](protocol::Packet* packet) {
                auto* const buffer = static_cast<std::uint64_t*>(static_cast<void*>(packet));
                wrong_packets += *buffer != returned ? 1U : 0U;
                pool.push_back(buffer);
                ++returned;
            });
            if (next < kElements && !pool.empty()) {
                std::uint64_t* const buffer = pool.back();
                pool.pop_back();
                *buffer = next;
                ring.store(next, {.packet = static_cast<protocol::Packet*>(static_cast<void*>(buffer)),
                                  .content = static_cast<const std::byte*>(static_cast<const void*>(buffer)),
                                  .bytes = sizeof(*buffer)});
                ring.publish(++next);
            } else if (!any) {
                patience.wait();
            }
        }
    });
    std::uint64_t wrong = 0;
    Patience patience;
    for (std::uint64_t position = 0; position < kElements;) {
        const std::uint64_t readable = ring.readable();
        if (position == readable) {
            patience.wait();
            continue;
        }
        for (; position < readable; ++position) {
            std::uint64_t number = 0;
            std::memcpy(&number, ring.slot(position).content, sizeof(number));
            wrong += number != position ? 1U : 0U;
        }
        ring.consume(position);
    }
    worker.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(wrong_packets, 0U);
}

TEST(DoorbellsThreads, NoBellIsLostHoweverManyRing) {
    // Ringers write and ring; the listener looks only at peers whose bell rang. Should one bell get lost, the last
    // value of that peer would never be seen, and the listener would wait until the test runs out of rounds.
    constexpr std::size_t peers = 200;
    constexpr std::size_t ringers = 3;
    constexpr std::uint32_t rounds = 20'000;
    Doorbells bells(peers);
    struct Written {
        std::array<std::atomic<std::uint32_t>, ringers> values{};  // relaxed: the bell is what makes them visible
    };
    std::vector<Written> written(peers);
    std::atomic<std::size_t> finished{0};
    std::vector<std::thread> threads;
    for (std::size_t ringer = 0; ringer < ringers; ++ringer) {
        threads.emplace_back([&, ringer] {
            Patience patience;
            for (std::uint32_t round = 1; round <= rounds; ++round) {
                const std::size_t peer = (round * 7 + ringer * 3) % peers;
                written[peer].values[ringer].store(round, std::memory_order_relaxed);
                bells.ring(static_cast<PeerIndex>(peer));
                if (round % 64 == 0) {
                    patience.wait();
                }
            }
            finished.fetch_add(1, std::memory_order_release);
        });
    }
    std::vector<std::array<std::uint32_t, ringers>> seen(peers);
    std::uint64_t backwards = 0;
    const auto listen = [&] {
        return bells.answer([&](PeerIndex peer) {
            for (std::size_t ringer = 0; ringer < ringers; ++ringer) {
                const std::uint32_t value = written[peer].values[ringer].load(std::memory_order_relaxed);
                backwards += value < seen[peer][ringer] ? 1U : 0U;
                seen[peer][ringer] = value;
            }
        });
    };
    Patience patience;
    while (finished.load(std::memory_order_acquire) < ringers) {
        if (listen() == 0) {
            patience.wait();
        }
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    listen();
    EXPECT_EQ(backwards, 0U);
    for (std::size_t peer = 0; peer < peers; ++peer) {
        for (std::size_t ringer = 0; ringer < ringers; ++ringer) {
            EXPECT_EQ(seen[peer][ringer], written[peer].values[ringer].load()) << peer << " of " << ringer;
        }
    }
}

TEST(DoorbellsThreads, EachSingleRingIsHeardAmongOthersInTheSameWord) {
    // Each ringer rings once and waits until it has been heard: whatever is lost stays lost, and is found.
    constexpr std::size_t ringers = 3;
    constexpr std::uint32_t rounds = 100;
    Doorbells bells(ringers);
    std::array<std::atomic<std::uint32_t>, ringers> heard{};
    std::atomic<std::size_t> finished{0};
    std::atomic<bool> gave_up{false};
    std::vector<std::thread> threads;
    for (std::size_t ringer = 0; ringer < ringers; ++ringer) {
        threads.emplace_back([&, ringer] {
            Patience patience;
            for (std::uint32_t round = 1; round <= rounds && !gave_up.load(); ++round) {
                bells.ring(static_cast<PeerIndex>(ringer));
                while (heard[ringer].load(std::memory_order_relaxed) != round && !gave_up.load()) {
                    patience.wait();
                }
            }
            finished.fetch_add(1);
        });
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    Patience patience;
    while (finished.load() < ringers) {
        if (bells.answer([&](PeerIndex peer) { heard[peer].fetch_add(1, std::memory_order_relaxed); }) == 0) {
            patience.wait();
            if (std::chrono::steady_clock::now() > deadline) {
                gave_up.store(true);
            }
        }
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_FALSE(gave_up.load());
    for (const std::atomic<std::uint32_t>& count : heard) {
        EXPECT_EQ(count.load(), rounds);  // once each, too
    }
}

TEST(DoorbellsThreads, WhatWasWrittenBeforeARingIsVisibleToWhoAnswersIt) {
    // Plain data, which nothing but the bells orders: two ringers, whose peers share words and summary.
    constexpr std::size_t peers = 20'000;
    Doorbells bells(peers);
    std::vector<std::uint64_t> plain(peers);
    std::vector<std::thread> ringers;
    for (std::size_t first = 0; first < 2; ++first) {
        ringers.emplace_back([&, first] {
            Patience patience;
            for (std::size_t peer = first; peer < peers; peer += 2) {
                plain[peer] = peer * 3;
                bells.ring(static_cast<PeerIndex>(peer));
                if (peer % 512 < 2) {
                    patience.wait();
                }
            }
        });
    }
    std::uint64_t wrong = 0;
    Patience patience;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::size_t answered = 0;
    while (answered < peers && std::chrono::steady_clock::now() < deadline) {
        const std::size_t heard = bells.answer([&](PeerIndex peer) { wrong += plain[peer] != peer * 3U ? 1U : 0U; });
        answered += heard;
        if (heard == 0) {
            patience.wait();
        }
    }
    for (std::thread& ringer : ringers) {
        ringer.join();
    }
    EXPECT_EQ(answered, peers);
    EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace bowline::dataplane
