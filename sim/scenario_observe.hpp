#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario.hpp"
#include "sim/simulation.hpp"

namespace bowline::sim {

/// Compares a simulation with what its scenario expects, and says whether it has come to rest.
///
/// Thread: the one that runs the simulation.
class ScenarioObserver {
public:
    /// Both outlive this.
    ScenarioObserver(const Scenario& scenario, Simulation& simulation);

    /// The script begins: packets, counters and events count from here on.
    void begin();
    /// An application has been told of something.
    void note(NodeId node, NodeId peer, const dataplane::PeerEvent& event);

    /// What is not as expected, or nothing.
    [[nodiscard]] std::optional<std::string> check(const Expectation& expectation) const;

    /// Something is unacknowledged, unread, on its way, offered or being negotiated. What stands still by the script's
    /// word (a stall, a pause, a cut, a crash) is not waited for, what it keeps from being acknowledged is.
    [[nodiscard]] bool unrest_anywhere() const;
    /// In words.
    [[nodiscard]] std::string unrest() const;

private:
    struct Seen {
        NodeId node;
        AppEvent event;
        NodeId peer;
    };
    struct Baseline {
        const Expectation* expectation;
        std::uint64_t incarnation;
        std::uint64_t value;
    };

    [[nodiscard]] std::string seen(const Expectation& expectation, bool& good) const;
    [[nodiscard]] std::string seen_number(const Expectation& expectation, bool& good) const;
    [[nodiscard]] std::string seen_event(const Expectation& expectation, bool& good) const;
    [[nodiscard]] std::uint64_t count(const Expectation& expectation) const;
    [[nodiscard]] std::uint64_t packets(const LinkRef& link, PacketKind kind) const;
    [[nodiscard]] bool reaches(NodeId from, NodeId to) const;
    /// Why the pair is not at rest, as `node` sees it; nullptr: it is.
    [[nodiscard]] const char* pair_unrest(NodeId node, NodeId peer) const;

    const Scenario& scenario_;
    Simulation& simulation_;
    std::vector<Seen> seen_;
    std::vector<Baseline> baselines_;
    std::vector<std::array<std::uint64_t, Network::kTypes>> packets_before_;  ///< from * nodes + to
};

/// The sender's messages of which a DATA packet that it is sending carries (a part of); first 0: they are not known.
[[nodiscard]] NumberRange messages_of(const Node& sender, const FrameInfo& frame);

/// `PeerDown A (silent)`, `Undelivered to A 3..4 (uncertain)`.
[[nodiscard]] std::string describe(const Scenario& scenario, NodeId peer, const dataplane::PeerEvent& event);

}  // namespace bowline::sim
