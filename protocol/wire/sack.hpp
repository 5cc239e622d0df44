#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/check.hpp"
#include "protocol/wire/bytes.hpp"

/// The SACK extension of an ACK packet: words u16 (1..128), reserved u16 (0), then so many u64. Bit i of word w set
/// says that packet cum_ack + 1 + 64 * w + i stands out of order in the receiver's window (cum_ack itself is missing,
/// or it would not be the cumulative ack).
namespace bowline::protocol::wire {

inline constexpr std::size_t kSackWordsMax = 128;
inline constexpr std::size_t kSackFixedBytes = 4;

[[nodiscard]] constexpr std::size_t sack_bytes(std::size_t words) { return kSackFixedBytes + 8 * words; }

/// The words of a decoded SACK extension, where they lie in the packet: valid as long as the packet is. Empty by
/// default.
class SackView {
public:
    constexpr SackView() = default;
    /// `words` points at count * 8 bytes that decode() has checked.
    constexpr SackView(const std::byte* words, std::size_t count)
        : words_(words), count_(static_cast<std::uint32_t>(count)) {}

    [[nodiscard]] constexpr std::size_t count() const { return count_; }
    [[nodiscard]] constexpr bool empty() const { return count_ == 0; }
    [[nodiscard]] std::uint64_t word(std::size_t i) const {
        BOWLINE_DCHECK(i < count_);
        return load_le64(words_ + 8 * i);
    }

private:
    const std::byte* words_ = nullptr;
    std::uint32_t count_ = 0;
};

/// Writes sack_bytes(words.size()) bytes at `out` and returns how many. 1 to kSackWordsMax words.
inline std::size_t encode_sack(std::span<const std::uint64_t> words, std::byte* out) {
    BOWLINE_DCHECK(!words.empty() && words.size() <= kSackWordsMax);
    store_le16(out, static_cast<std::uint16_t>(words.size()));
    store_le16(out + 2, 0);
    for (std::size_t i = 0; i < words.size(); ++i) store_le64(out + kSackFixedBytes + 8 * i, words[i]);
    return sack_bytes(words.size());
}

}  // namespace bowline::protocol::wire
