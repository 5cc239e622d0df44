#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/random.hpp"
#include "sim/network.hpp"
#include "sim/node.hpp"
#include "sim/simulation.hpp"

namespace bowline::sim {

/// Something that an exploration does to a simulation, at a moment.
struct PlannedAction {
    enum class Kind : std::uint8_t {
        send,   ///< node, job
        stall,  ///< node: its application stops reading; unstall: it reads again
        unstall,
        pause,  ///< node: the process stands still; resume: it goes on
        resume,
        exhaust,  ///< node: its packet pool is empty; restore: it is back
        restore,
        crash,    ///< node
        restart,  ///< node: as a new incarnation
        cut,      ///< from node to peer nothing passes; heal: it passes again
        heal,
    };
    Time at;
    Kind kind = Kind::send;
    NodeId node = 0;
    NodeId peer = 0;
    SendJob job;
};
[[nodiscard]] const char* name_of(PlannedAction::Kind kind);

/// A run of an exploration as data: what a seed stands for.
struct ExplorePlan {
    std::uint64_t seed = 0;
    std::vector<NodeConfig> nodes;
    std::vector<Link> links;  ///< from * nodes + to
    std::vector<PlannedAction> actions;
    Time heal_at;    ///< from then on nothing is cut, stalled, paused, exhausted or crashed; losses stay as they are
    Duration quiet;  ///< within which the network must fall quiet after that
};

/// What is varied: window sizes from 2 packets up, message sizes from nothing to more than the send queue takes, loss
/// up to 20% each way, duplication, reordering, jitter, corruption, seqnos and clocks near their wraps, stalls of
/// application and process, exhausted pools, one-way cuts, and crashes and restarts of either node.
[[nodiscard]] ExplorePlan make_plan(std::uint64_t seed);

/// Lets the actions of a plan happen in a simulation that was made from it.
void schedule(const ExplorePlan& plan, Simulation& simulation);

/// Node settings, links and actions, a line each.
[[nodiscard]] std::string describe(const ExplorePlan& plan);

}  // namespace bowline::sim
