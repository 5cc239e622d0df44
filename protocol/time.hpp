#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace bowline::protocol {

/// A span of time in nanoseconds. A strong type, so that a count of packets or bytes is never taken for one.
class Duration {
public:
    constexpr Duration() = default;
    static constexpr Duration ns(std::int64_t n) { return Duration(n); }
    static constexpr Duration us(std::int64_t n) { return Duration(n * 1'000); }
    static constexpr Duration ms(std::int64_t n) { return Duration(n * 1'000'000); }
    static constexpr Duration s(std::int64_t n) { return Duration(n * 1'000'000'000); }
    static constexpr Duration max() { return Duration(std::numeric_limits<std::int64_t>::max()); }

    [[nodiscard]] constexpr std::int64_t ns() const { return ns_; }

    constexpr auto operator<=>(const Duration&) const = default;
    constexpr Duration operator+(Duration d) const { return Duration(ns_ + d.ns_); }
    constexpr Duration operator-(Duration d) const { return Duration(ns_ - d.ns_); }
    constexpr Duration operator*(std::int64_t n) const { return Duration(ns_ * n); }
    constexpr Duration operator/(std::int64_t n) const { return Duration(ns_ / n); }

private:
    explicit constexpr Duration(std::int64_t n) : ns_(n) {}
    std::int64_t ns_ = 0;
};

/// A moment on the clock that the caller injects, in nanoseconds since an origin of its choosing. Read once a turn and
/// handed down; nothing in the protocol reads a clock.
class Time {
public:
    constexpr Time() = default;
    static constexpr Time at_ns(std::int64_t n) { return Time(n); }
    /// Later than every moment: the deadline of what has none.
    static constexpr Time never() { return Time(std::numeric_limits<std::int64_t>::max()); }

    [[nodiscard]] constexpr std::int64_t ns() const { return ns_; }
    [[nodiscard]] constexpr bool is_never() const { return *this == never(); }

    constexpr auto operator<=>(const Time&) const = default;
    /// Saturates at never(), so that an unbounded duration makes a deadline that does not come.
    constexpr Time operator+(Duration d) const {
        std::int64_t sum = 0;
        return __builtin_add_overflow(ns_, d.ns(), &sum) ? never() : Time(sum);
    }
    constexpr Time operator-(Duration d) const { return Time(ns_ - d.ns()); }
    constexpr Duration operator-(Time t) const { return Duration::ns(ns_ - t.ns_); }

private:
    explicit constexpr Time(std::int64_t n) : ns_(n) {}
    std::int64_t ns_ = 0;
};

constexpr Time earlier(Time a, Time b) { return a < b ? a : b; }

}  // namespace bowline::protocol
