#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "protocol/check.hpp"

namespace bowline::protocol {

/// A bounded first-in first-out queue over storage that the owner provides. One thread.
template <typename T>
class RingQueue {
public:
    /// `storage`: a power of two of elements, which outlive the queue.
    void attach(std::span<T> storage) {
        BOWLINE_CHECK(std::has_single_bit(storage.size()));
        elements_ = storage.data();
        mask_ = storage.size() - 1;
        clear();
    }

    [[nodiscard]] bool empty() const { return head_ == tail_; }
    [[nodiscard]] bool full() const { return size() > mask_; }
    [[nodiscard]] std::uint64_t size() const { return tail_ - head_; }
    [[nodiscard]] std::uint64_t capacity() const { return mask_ + 1; }
    [[nodiscard]] T& front() { return elements_[head_ & mask_]; }
    [[nodiscard]] const T& front() const { return elements_[head_ & mask_]; }
    void pop() {
        BOWLINE_DCHECK(!empty());
        ++head_;
    }
    void push(const T& element) {
        BOWLINE_CHECK(!full());
        elements_[tail_ & mask_] = element;
        ++tail_;
    }
    void clear() { head_ = tail_ = 0; }

    /// Drops the elements for which `stale` holds; the others keep their order.
    template <typename Stale>
    void compact(Stale&& stale) {
        std::uint64_t kept = head_;
        for (std::uint64_t i = head_; i != tail_; ++i) {
            if (!stale(elements_[i & mask_])) {
                elements_[kept & mask_] = elements_[i & mask_];
                ++kept;
            }
        }
        tail_ = kept;
    }

private:
    T* elements_ = nullptr;
    std::uint64_t mask_ = 0;
    std::uint64_t head_ = 0;
    std::uint64_t tail_ = 0;
};

}  // namespace bowline::protocol
