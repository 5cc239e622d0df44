#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/exhaustive.hpp"
#include "sim/simulation.hpp"

namespace bowline::sim {

/// One step of an exploration. The numbers are those of `--replay`.
enum class Choice : std::uint8_t {
    deliver_a,  ///< the oldest packet of A arrives
    deliver_b,  ///< of B
    drop_a,     ///< it is lost
    drop_b,
    duplicate_a,  ///< it arrives, and a copy of it is kept
    duplicate_b,
    delay_a,  ///< it is kept, and those behind it overtake it
    delay_b,
    late_copy,    ///< the kept copy arrives
    late_packet,  ///< the kept packet arrives
    send_a,       ///< the application sends a message
    send_b,
    close_a,  ///< A closes its connections with B
    close_b,
    exclude_a,  ///< a view of A without B
    exclude_b,
    readmit_a,  ///< a view of A with B again
    readmit_b,
    forget_a,  ///< A forgets B
    forget_b,
    rotate_a,  ///< A rotates its connection to B
    wait,      ///< nothing is under way: time passes until somebody does something
    count
};
[[nodiscard]] const char* describe(Choice choice);
inline constexpr std::size_t kChoices = static_cast<std::size_t>(Choice::count);

/// Two nodes that know each other, the packets between them, and what is left of the budget. Everything that it has
/// lies in the memory in which it was made.
class ExhaustiveWorld {
public:
    explicit ExhaustiveWorld(const ExhaustiveBudget& budget);

    [[nodiscard]] bool possible(Choice choice) const;
    void take(Choice choice);
    /// What is possible, in order.
    std::size_t choices(std::array<Choice, kChoices>& out) const;
    /// Nothing more happens by itself.
    [[nodiscard]] bool at_end() const;
    /// Notes a violation unless what has been said and done is right for an end.
    void judge_end();
    /// The choice by which, without further faults, the end is reached.
    [[nodiscard]] Choice onward() const;
    [[nodiscard]] std::uint64_t hash(bool with_times = true) const;
    [[nodiscard]] std::uint64_t outcome() const;
    [[nodiscard]] const std::string& failure() const { return failure_.empty() ? simulation_.failure() : failure_; }
    [[nodiscard]] bool failed() const { return !failure().empty(); }
    void set_trace(const Simulation::Trace& trace) { simulation_.set_trace(trace); }

private:
    struct Frame {
        std::uint16_t length = 0;
        std::uint16_t from = 0;
        std::array<std::byte, 384> bytes{};
        [[nodiscard]] std::span<const std::byte> view() const { return std::span(bytes).first(length); }
    };
    struct Queue {
        static constexpr std::size_t kMost = 16;
        std::array<Frame, kMost> frames{};
        std::size_t first = 0;
        std::size_t count = 0;
        [[nodiscard]] const Frame& front() const { return frames[first % kMost]; }
    };

    void keep(const FrameInfo& frame);
    void pop(NodeId from);
    void arrive(const Frame& frame);
    void settle();
    void wait();
    [[nodiscard]] Time oldest_reading(NodeId of) const;
    [[nodiscard]] bool may_break(unsigned of_kind) const { return of_kind > 0 && left_.breaks > 0; }

    ExhaustiveBudget left_;
    Arena arena_;
    Simulation simulation_;
    std::array<Queue, 2> queues_;  ///< by sender
    Frame late_packet_;            ///< length 0: none
    Frame late_copy_;
    std::array<bool, 2> excluded_{};  ///< A's view is without B, and the other way
    bool may_report_ = false;         ///< something has happened on which messages may be given up
    std::string failure_;
};

}  // namespace bowline::sim
