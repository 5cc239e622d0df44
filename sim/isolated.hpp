#pragma once

#include <functional>
#include <string>

#include "sim/clock.hpp"

namespace bowline::sim {

/// What became of work that was done in a process of its own.
struct Isolated {
    enum class End : std::uint8_t {
        returned,  ///< `text` is what it returned
        broken,    ///< an internal assertion, or worse; `text` is what it said of that
        hung,      ///< it did not come to an end in time
    };
    End end = End::returned;
    std::string text;
};

/// Runs `work` in a copy of this process, which it cannot harm, for at most `patience` of real time. Only while no
/// other thread of this process does anything.
[[nodiscard]] Isolated run_isolated(const std::function<std::string()>& work, Duration patience);

}  // namespace bowline::sim
