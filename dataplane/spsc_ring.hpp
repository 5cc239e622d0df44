#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "protocol/check.hpp"

namespace bowline::dataplane {

inline constexpr std::size_t kCacheLine = 64;

/// A bounded lock-free ring from one producing thread to one consuming thread. Each side keeps a copy of the other's
/// index and reads the shared one only when its copy says full or empty, so that in steady state a crossing costs one
/// cache line for the element and seldom one for an index.
///
/// Elements are written and read in place: `try_claim()` ... `publish()`, `front()` ... `pop()`. Memory is taken in the
/// constructor.
template <typename T>
class SpscRing {
public:
    /// `capacity`: elements, a power of two.
    explicit SpscRing(std::size_t capacity) : mask_(capacity - 1), elements_(std::make_unique<T[]>(capacity)) {
        BOWLINE_CHECK(std::has_single_bit(capacity));
    }

    // — producer —

    /// Where the next element is to be written, or nullptr when the ring is full.
    [[nodiscard]] T* try_claim() {
        const std::uint64_t head = producer_.head.load(std::memory_order_relaxed);
        if (head - producer_.tail_seen > mask_) {
            producer_.tail_seen = consumer_.tail.load(std::memory_order_acquire);
            if (head - producer_.tail_seen > mask_) {
                return nullptr;
            }
        }
        return &elements_[head & mask_];
    }
    /// What was written at try_claim() belongs to the consumer now.
    void publish() {
        producer_.head.store(producer_.head.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    [[nodiscard]] bool try_push(const T& element) {
        T* slot = try_claim();
        if (slot == nullptr) {
            return false;
        }
        *slot = element;
        publish();
        return true;
    }
    /// How many elements fit now, at least.
    [[nodiscard]] std::size_t free() {
        producer_.tail_seen = consumer_.tail.load(std::memory_order_acquire);
        return mask_ + 1 - (producer_.head.load(std::memory_order_relaxed) - producer_.tail_seen);
    }

    // — consumer —

    /// The oldest element, or nullptr when the ring is empty.
    [[nodiscard]] T* front() {
        const std::uint64_t tail = consumer_.tail.load(std::memory_order_relaxed);
        if (tail == consumer_.head_seen) {
            consumer_.head_seen = producer_.head.load(std::memory_order_acquire);
            if (tail == consumer_.head_seen) {
                return nullptr;
            }
        }
        return &elements_[tail & mask_];
    }
    void pop() { consumer_.tail.store(consumer_.tail.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

    // — either —

    [[nodiscard]] bool empty() const {
        return producer_.head.load(std::memory_order_acquire) == consumer_.tail.load(std::memory_order_acquire);
    }
    [[nodiscard]] std::size_t capacity() const { return mask_ + 1; }

private:
    struct alignas(kCacheLine) Producer {
        std::atomic<std::uint64_t> head{0};
        std::uint64_t tail_seen = 0;
    };
    struct alignas(kCacheLine) Consumer {
        std::atomic<std::uint64_t> tail{0};
        std::uint64_t head_seen = 0;
    };

    Producer producer_;
    Consumer consumer_;
    alignas(kCacheLine) const std::uint64_t mask_;
    std::unique_ptr<T[]> elements_;
};

}  // namespace bowline::dataplane
