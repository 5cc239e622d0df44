#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "protocol/check.hpp"
#include "protocol/time.hpp"

namespace bowline::sim {

using protocol::Duration;
using protocol::Time;

/// The number of a node in its simulation, from 0.
using NodeId = std::uint16_t;
inline constexpr NodeId kNoNode = 0xFFFF;

/// Something that is to happen.
struct Event {
    enum class Kind : std::uint8_t {
        frame,   ///< a frame arrives; subject: its place in the network's store
        wake,    ///< a node takes a turn; subject: the node
        action,  ///< what a script or an exploration has planned; subject: its place in the simulation's list
    };
    Time at;
    std::uint64_t order = 0;  ///< of being planned: what is due at the same moment happens in this order
    Kind kind = Kind::frame;
    std::uint32_t subject = 0;
};

/// Virtual time: the moment of the latest event, and what is still to happen, in order. Nothing here sleeps or reads a
/// clock, so that a run depends on its seed alone.
///
/// Thread: the one that runs the simulation.
class Clock {
public:
    [[nodiscard]] Time now() const { return now_; }

    /// Plans an event, not before now.
    void plan(Time at, Event::Kind kind, std::uint32_t subject) {
        heap_.push_back({.at = std::max(at, now_), .order = planned_++, .kind = kind, .subject = subject});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
    [[nodiscard]] bool empty() const { return heap_.empty(); }
    /// never() when nothing is planned.
    [[nodiscard]] Time next() const { return heap_.empty() ? Time::never() : heap_.front().at; }
    /// Takes the next event and moves time to it. Only when there is one.
    Event pop() {
        BOWLINE_CHECK(!heap_.empty());
        std::pop_heap(heap_.begin(), heap_.end(), later);
        const Event event = heap_.back();
        heap_.pop_back();
        now_ = event.at;
        return event;
    }
    /// Moves time on to `time`, before which nothing may be planned.
    void advance_to(Time time) {
        BOWLINE_CHECK(next() >= time && time >= now_);
        now_ = time;
    }

private:
    static bool later(const Event& a, const Event& b) { return a.at != b.at ? a.at > b.at : a.order > b.order; }

    std::vector<Event> heap_;
    std::uint64_t planned_ = 0;
    Time now_;
};

}  // namespace bowline::sim
