#include "tools/progress.hpp"

#include <array>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace bowline::tools {

namespace {

template <std::size_t N>
std::string scaled(double value, double step, const std::array<const char*, N>& units) {
    std::size_t unit = 0;
    while (value >= step && unit + 1 < N) {
        value /= step;
        ++unit;
    }
    return fmt::format("{:.{}f} {}", value, value >= 100 || unit == 0 ? 0 : value >= 10 ? 1 : 2, units[unit]);
}

}  // namespace

std::string human_bytes(double bytes) { return scaled(bytes, 1024, std::array{"B", "KiB", "MiB", "GiB", "TiB"}); }
std::string human_bits_per_s(double bits_per_s) {
    return scaled(bits_per_s, 1000, std::array{"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"});
}
std::string human_ns(double ns) { return scaled(ns, 1000, std::array{"ns", "us", "ms", "s"}); }
std::string human_count(double count) {
    std::string text = scaled(count, 1000, std::array{"", "k", "M", "G"});
    return text.back() == ' ' ? text.substr(0, text.size() - 1) : text;
}

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO) == 1), last_(std::chrono::steady_clock::now()) {}

void ProgressLine::update(std::uint64_t bytes) {
    if (!terminal_ || ++calls_ % 256 != 0) {
        return;
    }
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> passed = now - last_;
    if (passed.count() < 0.2) {
        return;
    }
    const double rate = static_cast<double>(bytes - last_bytes_) / passed.count();
    fmt::print(stderr, "\r\033[K{}  {}/s", human_bytes(static_cast<double>(bytes)), human_bytes(rate));
    std::fflush(stderr);
    shown_ = true;
    last_ = now;
    last_bytes_ = bytes;
}

void ProgressLine::clear() {
    if (shown_) {
        fmt::print(stderr, "\r\033[K");
        std::fflush(stderr);
        shown_ = false;
    }
}

}  // namespace bowline::tools
