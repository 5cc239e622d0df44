#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace bowline::tools {

/// `1.2 MiB`, for people.
std::string human_bytes(double bytes);
/// `1.2 Gbit/s`.
std::string human_bits_per_s(double bits_per_s);
/// `1.2 us`.
std::string human_ns(double ns);
/// `1.2 M`.
std::string human_count(double count);

/// A line on standard error that says how far a transfer is, when that is a terminal: five times a second.
class ProgressLine {
public:
    ProgressLine();
    ~ProgressLine() { clear(); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    /// Call as often as you like; looks at the clock once in 256 calls.
    void update(std::uint64_t bytes);
    /// Wipes the line, before something else is printed.
    void clear();

private:
    bool terminal_;
    bool shown_ = false;
    unsigned calls_ = 0;
    std::chrono::steady_clock::time_point last_;
    std::uint64_t last_bytes_ = 0;
};

}  // namespace bowline::tools
