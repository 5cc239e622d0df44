#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "protocol/check.hpp"
#include "protocol/inspector.hpp"
#include "protocol/mutant.hpp"
#include "protocol/seqno.hpp"

namespace bowline::protocol {

/// Which packets of a stream stand in the receive ring: everything before rcv_nxt, and single ones beyond it.
///
/// The ring has positions that only ever grow; a packet's position is fixed by its distance from rcv_nxt, whose own
/// position is next_position(). A stream that goes on at a later seqno (a gap that the sender gave up, a new stream)
/// moves rcv_nxt and not the position, so that the ring has no holes. What the consumer has not taken bounds what fits.
///
/// Owner: the worker. It holds one bit a packet; the packets themselves are in the ring.
class ReceiveWindow {
public:
    /// `bits`: one bit for each of `capacity` positions; capacity a power of two, at least 2. Fewer than 64 use one
    /// word.
    void attach(std::span<std::uint64_t> bits, std::uint32_t capacity) {
        BOWLINE_CHECK(std::has_single_bit(capacity) && capacity >= 2 && bits.size() * 64 >= capacity);
        bits_ = bits.data();
        capacity_ = capacity;
        mask_ = capacity - 1;
        for (std::uint64_t& word : bits) {
            word = 0;
        }
    }

    [[nodiscard]] Seqno rcv_nxt() const { return rcv_nxt_; }
    [[nodiscard]] std::uint64_t next_position() const { return next_position_; }
    [[nodiscard]] std::uint32_t capacity() const { return capacity_; }
    [[nodiscard]] std::uint32_t out_of_order_pkts() const { return out_of_order_pkts_; }

    /// The furthest packet held out of order; only while there are any.
    [[nodiscard]] Seqno last_held() const { return highest_; }

    /// How many packets from rcv_nxt on fit, when the consumer has taken everything before position `consumed`.
    [[nodiscard]] std::uint32_t free_pkts(std::uint64_t consumed) const {
        return capacity_ - static_cast<std::uint32_t>(next_position_ - consumed);
    }

    enum class Place : std::uint8_t { in_order, out_of_order, duplicate, beyond };
    [[nodiscard]] Place place(Seqno seqno, std::uint64_t consumed) const {
        const std::int64_t distance = seqno.distance_from(rcv_nxt_);
        if (distance < 0) {
            return Place::duplicate;
        }
        if (distance >= (mutated(Mutant::r10_no_window_bound) ? capacity_ : free_pkts(consumed))) {
            return Place::beyond;
        }
        if (distance == 0) [[likely]] {
            return Place::in_order;
        }
        return test(position(seqno)) ? Place::duplicate : Place::out_of_order;
    }
    [[nodiscard]] std::uint64_t position(Seqno seqno) const {
        return next_position_ + static_cast<std::uint64_t>(seqno.distance_from(rcv_nxt_));
    }

    /// The packet at place out_of_order stands in the ring.
    void hold(Seqno seqno) {
        set(position(seqno));
        ++out_of_order_pkts_;
        highest_ = out_of_order_pkts_ == 1 ? seqno : later(highest_, seqno);
    }
    /// The packet at rcv_nxt stands in the ring: rcv_nxt passes it and all that follow without a hole.
    void advance() {
        step();
        while (out_of_order_pkts_ > 0 && test(next_position_)) {
            clear(next_position_);
            --out_of_order_pkts_;
            step();
        }
    }
    /// Goes on at `seqno`; nothing may be held out of order.
    void jump(Seqno seqno) {
        BOWLINE_CHECK(out_of_order_pkts_ == 0);
        rcv_nxt_ = seqno;
    }

    /// Forgets what is held out of order, handing each position to `drop`.
    template <typename Drop>
    void drop_out_of_order(Drop&& drop) {
        for (std::uint64_t offset = 1; out_of_order_pkts_ > 0; ++offset) {
            BOWLINE_DCHECK(offset < capacity_);
            const std::uint64_t at = next_position_ + offset;
            if (test(at)) {
                clear(at);
                --out_of_order_pkts_;
                drop(at);
            }
        }
    }

    /// The held packets as SACK words: bit i of word w is rcv_nxt + 1 + 64 w + i. Returns how many words it takes, at
    /// most out.size(); 0 when nothing is held.
    std::size_t sack_words(std::span<std::uint64_t> out) const;

    void check_invariants() const;

private:
    friend struct bowline::Inspector;
    void step() {
        ++rcv_nxt_;
        ++next_position_;
    }
    [[nodiscard]] bool test(std::uint64_t position) const {
        const std::uint64_t bit = position & mask_;
        return ((bits_[bit / 64] >> (bit % 64)) & 1U) != 0;
    }
    void set(std::uint64_t position) {
        const std::uint64_t bit = position & mask_;
        bits_[bit / 64] |= std::uint64_t{1} << (bit % 64);
    }
    void clear(std::uint64_t position) {
        const std::uint64_t bit = position & mask_;
        bits_[bit / 64] &= ~(std::uint64_t{1} << (bit % 64));
    }

    std::uint64_t* bits_ = nullptr;
    std::uint32_t capacity_ = 0;
    std::uint32_t out_of_order_pkts_ = 0;
    std::uint64_t mask_ = 0;
    Seqno rcv_nxt_;
    Seqno highest_;  ///< of those held out of order
    std::uint64_t next_position_ = 0;
};

}  // namespace bowline::protocol
