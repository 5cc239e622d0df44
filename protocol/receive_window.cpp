#include "protocol/receive_window.hpp"

#include <algorithm>

namespace bowline::protocol {

std::size_t ReceiveWindow::sack_words(std::span<std::uint64_t> out) const {
    if (out_of_order_pkts_ == 0) {
        return 0;
    }
    const auto span_pkts = static_cast<std::uint64_t>(highest_.distance_from(rcv_nxt_));
    const std::size_t words = std::min<std::size_t>((span_pkts + 63) / 64, out.size());
    for (std::size_t w = 0; w < words; ++w) {
        const std::uint64_t from = next_position_ + 1 + w * 64;
        if (capacity_ >= 128) {
            // Two neighbouring words of the ring, shifted together. Only what is held has its bit set, and the last
            // word ends at most at rcv_nxt's own position, one turn of the ring later.
            const std::uint64_t bit = from & mask_;
            const std::uint64_t low = bits_[bit / 64] >> (bit % 64);
            const std::uint64_t high = bit % 64 == 0 ? 0 : bits_[((bit / 64) + 1) & (mask_ / 64)] << (64 - bit % 64);
            out[w] = low | high;
        } else {
            out[w] = 0;
            for (std::uint64_t i = 0; i < 64 && w * 64 + i < span_pkts; ++i) {
                out[w] |= static_cast<std::uint64_t>(test(from + i)) << i;
            }
        }
    }
    return words;
}

void ReceiveWindow::check_invariants() const {
    std::uint32_t held = 0;
    for (std::uint32_t word = 0; word < (capacity_ + 63) / 64; ++word) {
        held += static_cast<std::uint32_t>(std::popcount(bits_[word]));
    }
    BOWLINE_CHECK(held == out_of_order_pkts_);
    BOWLINE_CHECK(!test(next_position_));
    if (out_of_order_pkts_ > 0) {
        BOWLINE_CHECK(highest_.after(rcv_nxt_) && test(position(highest_)));
        BOWLINE_CHECK(highest_.distance_from(rcv_nxt_) < capacity_);
    }
}

}  // namespace bowline::protocol
