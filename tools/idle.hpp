#pragma once

#include <chrono>
#include <cstddef>
#include <thread>

namespace bowline::tools {

/// Lets a polling loop that has had nothing to do for a while give its core away, 50 us at a time. For commands whose
/// latency nobody measures.
class IdleBackoff {
public:
    /// Call once a turn with what the turn brought.
    void turn(std::size_t work) {
        if (work != 0) {
            idle_turns_ = 0;
        } else if (++idle_turns_ > kPatience) {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }

private:
    static constexpr std::size_t kPatience = 20'000;  // turns: a few milliseconds
    std::size_t idle_turns_ = 0;
};

}  // namespace bowline::tools
