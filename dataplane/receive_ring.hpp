#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/spsc_ring.hpp"
#include "protocol/check.hpp"
#include "protocol/packet.hpp"

namespace bowline::dataplane {

/// The packets of one peer between the worker, which admits them, and the application, which reads their messages. It
/// is the receive window as well: a packet is stored at the position that ReceiveWindow gave it, in order or not,
/// published once nothing before it is missing, and acknowledged only then (R1).
///
/// Single producer (the worker), single consumer (the application's thread). Buffers come and go on the worker's side
/// only: the consumer moves an index, and the worker takes back what lies behind it.
class ReceiveRing {
public:
    struct Slot {
        protocol::Packet* packet = nullptr;
        const std::byte* content = nullptr;  ///< validated frames
        std::uint32_t bytes = 0;
    };

    /// `storage`: a power of two of slots.
    void attach(std::span<Slot> storage) {
        BOWLINE_CHECK(std::has_single_bit(storage.size()));
        slots_ = storage.data();
        mask_ = storage.size() - 1;
    }

    // — owner: worker —

    void store(std::uint64_t position, const Slot& slot) { slots_[position & mask_] = slot; }
    [[nodiscard]] protocol::Packet* take(std::uint64_t position) { return slots_[position & mask_].packet; }
    /// Everything before `position` may be read.
    void publish(std::uint64_t position) { published_.store(position, std::memory_order_release); }
    [[nodiscard]] std::uint64_t published() const { return published_.load(std::memory_order_relaxed); }
    /// Before it the consumer has read everything.
    [[nodiscard]] std::uint64_t consumed() const { return consumed_.load(std::memory_order_acquire); }
    /// Before it every slot is free again: what the window may count on.
    [[nodiscard]] std::uint64_t reclaimed() const { return reclaimed_; }
    /// Hands the packets that the consumer is done with to `release`. True when there were any.
    template <typename Release>
    bool reclaim(Release&& release) {
        const std::uint64_t consumed = this->consumed();
        if (reclaimed_ == consumed) {
            return false;
        }
        for (; reclaimed_ != consumed; ++reclaimed_) {
            release(slots_[reclaimed_ & mask_].packet);
        }
        return true;
    }

    // — owner: application —

    [[nodiscard]] std::uint64_t readable() const { return published_.load(std::memory_order_acquire); }
    [[nodiscard]] const Slot& slot(std::uint64_t position) const { return slots_[position & mask_]; }
    void consume(std::uint64_t position) { consumed_.store(position, std::memory_order_release); }

private:
    Slot* slots_ = nullptr;
    std::uint64_t mask_ = 0;
    alignas(kCacheLine) std::atomic<std::uint64_t> published_{0};
    std::uint64_t reclaimed_ = 0;
    alignas(kCacheLine) std::atomic<std::uint64_t> consumed_{0};
};

}  // namespace bowline::dataplane
