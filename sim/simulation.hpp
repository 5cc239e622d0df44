#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "protocol/random.hpp"
#include "sim/clock.hpp"
#include "sim/network.hpp"
#include "sim/node.hpp"
#include "sim/oracle.hpp"
#include "sim/packet_pool.hpp"
#include "sim/trace.hpp"

namespace bowline::sim {

/// Memory that one simulation after the other uses; one at a time.
struct Arena {
    std::vector<std::unique_ptr<PacketPool>> pools;
};

/// Nodes on a network under a virtual clock, with an oracle that watches: everything that a test, an exploration or a
/// script of what happens needs. Deterministic: the same seed, configuration and calls give the same run.
///
/// Thread: one.
class Simulation {
public:
    /// All nodes run, and greet each other, from the first event on.
    Simulation(std::uint64_t seed, std::span<const NodeConfig> nodes, Arena& arena);
    Simulation(const Simulation&) = delete;
    Simulation& operator=(const Simulation&) = delete;
    ~Simulation() = default;

    [[nodiscard]] Clock& clock() { return clock_; }
    [[nodiscard]] const Clock& clock() const { return clock_; }
    [[nodiscard]] Network& network() { return network_; }
    [[nodiscard]] Oracle& oracle() { return oracle_; }
    [[nodiscard]] const Oracle& oracle() const { return oracle_; }
    [[nodiscard]] Node& node(NodeId id) { return *nodes_[id]; }
    [[nodiscard]] const Node& node(NodeId id) const { return *nodes_[id]; }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    [[nodiscard]] const std::string& name(NodeId id) const { return names_[id]; }
    /// For every ordered pair.
    void set_links(const Link& link);
    /// Observes every frame and every word of the control threads' logs, as lines of text. Before the first event.
    using Trace = std::function<void(const std::string&)>;
    void set_trace(const Trace& trace);
    /// The moment that traces and violations count as 0.
    void set_origin(Time origin);
    /// A moment as traces print it.
    [[nodiscard]] std::string when(Time time) const { return format_time(Time() + (time - origin_)); }

    /// Plans `action` for `at`.
    void at(Time at, std::function<void()> action);
    /// Runs until virtual time is `end`, or the oracle objects.
    void run_until(Time end);
    void run_for(Duration duration) { run_until(clock_.now() + duration); }
    /// Runs until `condition` holds, which is looked at after each event, or for `most`; true when it holds.
    template <typename Condition>
    bool run_while_not(Duration most, Condition&& condition);
    /// Runs until nothing is unacknowledged, unread, owed or under way and every pair of live nodes is associated; then
    /// on for a while, in which nothing but signs of life may be sent. False, with a word in failure(), if that does
    /// not come within `most`.
    bool run_quiet(Duration most);
    /// Tells the oracle that everything has been said, for every pair of live nodes; `owed`: messages may still wait.
    void finish(bool owed = false);
    /// All nodes are associated with each other and no handshake is under way.
    [[nodiscard]] bool all_associated() const;

    /// What went wrong first, or nothing.
    [[nodiscard]] const std::string& failure() const { return oracle_.violated() ? oracle_.violation() : failure_; }
    [[nodiscard]] bool failed() const { return !failure().empty(); }
    [[nodiscard]] std::uint64_t events() const { return events_; }

private:
    void step();
    void observe(NodeId node);
    void note_unrest(Duration waited);
    [[nodiscard]] bool at_rest() const;

    Clock clock_;
    Time origin_;
    Network network_;
    Oracle oracle_;
    std::vector<std::string> names_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::vector<std::function<void()>> actions_;
    std::vector<std::uint32_t> free_actions_;
    std::string failure_;
    std::uint64_t events_ = 0;
};

template <typename Condition>
bool Simulation::run_while_not(Duration most, Condition&& condition) {
    const Time end = clock_.now() + most;
    while (!failed()) {
        if (condition()) {
            return true;
        }
        if (clock_.next() > end) {
            clock_.advance_to(end);
            break;
        }
        step();
    }
    return false;
}

}  // namespace bowline::sim
