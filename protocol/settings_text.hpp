#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/time.hpp"

namespace bowline::protocol {

// Durations and sizes as people write them, in configuration files, on command lines and in scenarios. One grammar for
// all three. Pure; any thread; allocates only in the format functions.

/// `10us`, `5ms`, `2s`, `1.5ms`, `250ns`, `2min`, `1h`, `0`: a non-negative decimal number and its unit, without space.
/// Only zero may go without a unit. Nothing when the text is anything else, finer than a nanosecond, or too large.
std::optional<Duration> parse_duration(std::string_view text);

/// `1500`, `64KiB`, `16MiB`, `2GiB`: bytes, or a whole number of a power of 1024; `B` may follow plain bytes (`64B`).
/// Decimal units (`kB`, `MB`) are refused, since half of those who write them mean the other ones.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// `0.8`, `100`, `0.001`: a non-negative decimal number, in thousandths. Nothing when it is finer than that, anything
/// else, or too large.
std::optional<std::int64_t> parse_thousandths(std::string_view text);

/// A whole number, with a sign if it is negative. Nothing when the text is anything else or does not fit.
std::optional<std::int64_t> parse_integer(std::string_view text);

/// The shortest text that parse_duration takes back to exactly `duration` (not negative): `500us`, `1.5ms`, `0`.
std::string format_duration(Duration duration);

/// The same for thousandths: `0.8`, `100`.
std::string format_thousandths(std::int64_t thousandths);

/// The same for sizes: `64KiB`, `1500`.
std::string format_size(std::uint64_t bytes);

}  // namespace bowline::protocol
