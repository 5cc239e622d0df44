#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "dataplane/spsc_ring.hpp"
#include "protocol/check.hpp"

namespace bowline::dataplane {

/// Messages of one peer on their way from the application to the worker (dedicated mode): a lock-free ring of bytes,
/// one producer, one consumer. A record is a 4-byte length and the message, contiguous, so that it can be written and
/// read in place; where the rest of the ring is too short for one, a skip mark sends the reader back to its start.
///
/// A message that is larger than what the ring takes lies in a buffer of its own and passes as a mark.
class SendRing {
public:
    /// `bytes`: a power of two.
    explicit SendRing(std::size_t bytes) : storage_(bytes), mask_(bytes - 1) {
        BOWLINE_CHECK(std::has_single_bit(bytes));
    }

    /// The longest message that fits, in bytes.
    [[nodiscard]] std::size_t message_max() const { return storage_.size() / 4; }

    // — producer —

    /// Room for a message, or nullptr while there is none. Dropped unless committed; one at a time.
    [[nodiscard]] std::byte* try_claim(std::size_t size) {
        BOWLINE_DCHECK(size <= message_max());
        const std::uint64_t need = record_bytes(size);
        const std::uint64_t to_end = storage_.size() - (producer_.head.load(std::memory_order_relaxed) & mask_);
        const std::uint64_t skip = to_end < need ? to_end : 0;
        const std::uint64_t head = producer_.head.load(std::memory_order_relaxed);
        if (head + skip + need - producer_.tail_seen > storage_.size()) {
            producer_.tail_seen = consumer_.tail.load(std::memory_order_acquire);
            if (head + skip + need - producer_.tail_seen > storage_.size()) {
                return nullptr;
            }
        }
        producer_.skip = skip;
        return &storage_[((head + skip) & mask_) + kLengthBytes];
    }
    void commit(std::size_t size) { publish(static_cast<std::uint32_t>(size), size); }
    /// The claimed record (of size 0) stands for the message in the buffer for large ones.
    void commit_large() { publish(kLarge, 0); }

    // — consumer —

    struct Record {
        const std::byte* bytes = nullptr;
        std::uint32_t size = 0;
        bool large = false;
    };
    /// The oldest message; false when there is none.
    [[nodiscard]] bool front(Record& record) {
        std::uint64_t tail = consumer_.tail.load(std::memory_order_relaxed);
        if (tail == consumer_.head_seen) {
            consumer_.head_seen = producer_.head.load(std::memory_order_acquire);
            if (tail == consumer_.head_seen) {
                return false;
            }
        }
        std::uint32_t length = load(tail);
        if (length == kSkip) {
            tail += storage_.size() - (tail & mask_);
            consumer_.tail.store(tail, std::memory_order_release);
            length = load(tail);
        }
        record.large = length == kLarge;
        record.size = record.large ? 0 : length;
        record.bytes = &storage_[(tail & mask_) + kLengthBytes];
        return true;
    }
    void pop(const Record& record) {
        consumer_.tail.store(consumer_.tail.load(std::memory_order_relaxed) + record_bytes(record.size),
                             std::memory_order_release);
    }

    [[nodiscard]] bool empty() const {
        return producer_.head.load(std::memory_order_acquire) == consumer_.tail.load(std::memory_order_acquire);
    }

private:
    static constexpr std::size_t kLengthBytes = 4;
    static constexpr std::uint32_t kSkip = 0xFFFF'FFFF;
    static constexpr std::uint32_t kLarge = 0xFFFF'FFFE;

    /// Records lie on multiples of 8, so that a length never wraps and a skip mark always fits.
    static std::uint64_t record_bytes(std::size_t size) { return (kLengthBytes + size + 7) & ~std::uint64_t{7}; }
    [[nodiscard]] std::uint32_t load(std::uint64_t at) const {
        std::uint32_t length = 0;
        std::memcpy(&length, &storage_[at & mask_], kLengthBytes);
        return length;
    }
    void publish(std::uint32_t length, std::size_t size) {
        const std::uint64_t head = producer_.head.load(std::memory_order_relaxed);
        if (producer_.skip != 0) {
            std::memcpy(&storage_[head & mask_], &kSkip, kLengthBytes);
        }
        const std::uint64_t at = head + producer_.skip;
        std::memcpy(&storage_[at & mask_], &length, kLengthBytes);
        producer_.skip = 0;
        producer_.head.store(at + record_bytes(size), std::memory_order_release);
    }

    struct alignas(kCacheLine) Producer {
        std::atomic<std::uint64_t> head{0};
        std::uint64_t tail_seen = 0;
        std::uint64_t skip = 0;
    };
    struct alignas(kCacheLine) Consumer {
        std::atomic<std::uint64_t> tail{0};
        std::uint64_t head_seen = 0;
    };

    std::vector<std::byte> storage_;
    std::uint64_t mask_;
    Producer producer_;
    Consumer consumer_;
};

}  // namespace bowline::dataplane
