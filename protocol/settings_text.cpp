#include "protocol/settings_text.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <system_error>

namespace bowline::protocol {

namespace {

struct Unit {
    std::string_view name;
    std::int64_t factor;
};

// Descending, since the format functions take the first that divides.
constexpr std::array<Unit, 6> kDurationUnits = {{
    {"h", 3'600'000'000'000},
    {"min", 60'000'000'000},
    {"s", 1'000'000'000},
    {"ms", 1'000'000},
    {"us", 1'000},
    {"ns", 1},
}};
constexpr std::array<Unit, 4> kSizeUnits = {{
    {"GiB", std::int64_t{1} << 30},
    {"MiB", std::int64_t{1} << 20},
    {"KiB", std::int64_t{1} << 10},
    {"B", 1},
}};

template <std::size_t N>
std::optional<std::int64_t> factor_of(const std::array<Unit, N>& units, std::string_view name) {
    for (const Unit& unit : units) {
        if (unit.name == name) {
            return unit.factor;
        }
    }
    return std::nullopt;
}

// Takes the digits at the front of `text` off it.
std::string_view take_digits(std::string_view& text) {
    std::size_t length = 0;
    while (length < text.size() && text[length] >= '0' && text[length] <= '9') {
        ++length;
    }
    const std::string_view digits = text.substr(0, length);
    text.remove_prefix(length);
    return digits;
}

std::optional<std::int64_t> number(std::string_view digits) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size()) {
        return std::nullopt;
    }
    return value;
}

// What `0.digits` of a unit is in whole nanoseconds, if it is whole.
std::optional<std::int64_t> fraction_of(std::string_view digits, std::int64_t factor) {
    while (!digits.empty() && digits.back() == '0') {
        digits.remove_suffix(1);
    }
    std::int64_t sum = 0;
    // Each factor is a small number times a power of ten: a digit's share stays whole until it is finer than what can
    // be said.
    std::int64_t rest = factor;
    for (const char digit : digits) {
        if (rest % 10 != 0) {
            return std::nullopt;
        }
        rest /= 10;
        sum += rest * (digit - '0');
    }
    return sum;
}

}  // namespace

std::optional<std::int64_t> parse_thousandths(std::string_view text) {
    constexpr std::int64_t one = 1000;
    const std::optional<std::int64_t> whole = number(take_digits(text));
    std::optional<std::int64_t> fraction = 0;
    if (!text.empty()) {
        const bool has_point = text.front() == '.';
        text.remove_prefix(1);
        const std::string_view digits = take_digits(text);
        fraction = has_point && !digits.empty() && text.empty() ? fraction_of(digits, one) : std::nullopt;
    }
    std::int64_t thousandths = 0;
    if (!whole || !fraction || __builtin_mul_overflow(*whole, one, &thousandths) ||
        __builtin_add_overflow(thousandths, *fraction, &thousandths)) {
        return std::nullopt;
    }
    return thousandths;
}

std::optional<Duration> parse_duration(std::string_view text) {
    const std::string_view whole_digits = take_digits(text);
    if (whole_digits.empty()) {
        return std::nullopt;
    }
    std::string_view fraction_digits;
    if (!text.empty() && text.front() == '.') {
        text.remove_prefix(1);
        fraction_digits = take_digits(text);
        if (fraction_digits.empty()) {
            return std::nullopt;
        }
    }
    const std::optional<std::int64_t> whole = number(whole_digits);
    if (!whole) {
        return std::nullopt;
    }
    if (text.empty()) {
        return *whole == 0 && fraction_digits.empty() ? std::optional(Duration()) : std::nullopt;
    }
    const std::optional<std::int64_t> factor = factor_of(kDurationUnits, text);
    if (!factor) {
        return std::nullopt;
    }
    const std::optional<std::int64_t> fraction = fraction_of(fraction_digits, *factor);
    std::int64_t ns = 0;
    if (!fraction || __builtin_mul_overflow(*whole, *factor, &ns) || __builtin_add_overflow(ns, *fraction, &ns)) {
        return std::nullopt;
    }
    return Duration::ns(ns);
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
    const std::optional<std::int64_t> whole = number(take_digits(text));
    const std::optional<std::int64_t> factor =
        text.empty() ? std::optional<std::int64_t>(1) : factor_of(kSizeUnits, text);
    std::int64_t bytes = 0;
    if (!whole || !factor || __builtin_mul_overflow(*whole, *factor, &bytes)) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(bytes);
}

std::optional<std::int64_t> parse_integer(std::string_view text) { return number(text); }

std::string format_duration(Duration duration) {
    const std::int64_t ns = duration.ns();
    if (ns == 0) {
        return "0";
    }
    for (const Unit& unit : kDurationUnits) {
        // Minutes and hours only when whole: 1.5min reads worse than 90s.
        if (ns % unit.factor == 0) {
            return std::to_string(ns / unit.factor) + std::string(unit.name);
        }
        if (unit.factor <= 1'000'000'000 && ns > unit.factor && ns % (unit.factor / 10) == 0) {
            return std::to_string(ns / unit.factor) + '.' + std::to_string(ns % unit.factor / (unit.factor / 10)) +
                   std::string(unit.name);
        }
    }
    return std::to_string(ns) + "ns";
}

std::string format_thousandths(std::int64_t thousandths) {
    std::string text = std::to_string(thousandths / 1000);
    if (std::int64_t rest = thousandths % 1000; rest != 0) {
        text += '.';
        for (std::int64_t place = 100; rest != 0; rest %= place, place /= 10) {
            text += static_cast<char>('0' + rest / place);
        }
    }
    return text;
}

std::string format_size(std::uint64_t bytes) {
    if (bytes == 0) {
        return "0";
    }
    for (const Unit& unit : kSizeUnits) {
        const auto factor = static_cast<std::uint64_t>(unit.factor);
        if (factor > 1 && bytes % factor == 0) {
            return std::to_string(bytes / factor) + std::string(unit.name);
        }
    }
    return std::to_string(bytes);
}

}  // namespace bowline::protocol
