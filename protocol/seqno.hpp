#pragma once

#include <cstdint>

namespace bowline::protocol {

/// The number of a packet in its stream: 64 bits inside, the low 32 on the wire. It owns wrap-around: there is no
/// operator<, so that a raw comparison of numbers that wrap does not compile.
class Seqno {
public:
    constexpr Seqno() = default;
    explicit constexpr Seqno(std::uint64_t value) : value_(value) {}

    /// The number with these low 32 bits that is nearest to `near` (serial arithmetic, RFC 1982): right as long as the
    /// two are less than 2^31 apart, which the window guarantees.
    static constexpr Seqno expand(std::uint32_t wire, Seqno near) {
        const auto distance = static_cast<std::int32_t>(wire - near.wire());
        return Seqno(near.value_ + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance)));
    }

    [[nodiscard]] constexpr std::uint64_t value() const { return value_; }
    [[nodiscard]] constexpr std::uint32_t wire() const { return static_cast<std::uint32_t>(value_); }

    /// How far this number lies beyond `other`; negative when it lies before it.
    [[nodiscard]] constexpr std::int64_t distance_from(Seqno other) const {
        return static_cast<std::int64_t>(value_ - other.value_);
    }
    [[nodiscard]] constexpr bool before(Seqno other) const { return distance_from(other) < 0; }
    [[nodiscard]] constexpr bool after(Seqno other) const { return distance_from(other) > 0; }

    constexpr bool operator==(const Seqno&) const = default;
    constexpr Seqno operator+(std::uint64_t n) const { return Seqno(value_ + n); }
    constexpr Seqno operator-(std::uint64_t n) const { return Seqno(value_ - n); }
    constexpr Seqno& operator++() {
        ++value_;
        return *this;
    }

private:
    std::uint64_t value_ = 0;
};

constexpr Seqno later(Seqno a, Seqno b) { return a.after(b) ? a : b; }

}  // namespace bowline::protocol
