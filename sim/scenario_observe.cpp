#include "sim/scenario_observe.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "protocol/wire/decoded.hpp"
#include "protocol/wire/frame.hpp"
#include "sim/node_counters.hpp"

namespace bowline::sim {

namespace {

namespace wire = protocol::wire;
using dataplane::DownReason;
using dataplane::PeerEvent;

AppEvent event_of(PeerEvent::Kind kind) {
    switch (kind) {
        case PeerEvent::Kind::up:
            return AppEvent::peer_up;
        case PeerEvent::Kind::down:
            return AppEvent::peer_down;
        case PeerEvent::Kind::undelivered:
            return AppEvent::undelivered;
        case PeerEvent::Kind::view_changed:
            return AppEvent::view_changed;
        case PeerEvent::Kind::opened:
        case PeerEvent::Kind::restarted:
        case PeerEvent::Kind::forgotten:
            return AppEvent::gap;  // the reader keeps `restarted` for itself, and an opening that is no gap
    }
    return AppEvent::gap;
}

const char* name_of(DownReason reason) {
    switch (reason) {
        case DownReason::none:
            return "none";
        case DownReason::stopped:
            return "stopped";
        case DownReason::silent:
            return "silent";
        case DownReason::restarted:
            return "restarted";
        case DownReason::gave_up:
            return "gave_up";
        case DownReason::excluded:
            return "excluded";
    }
    return "unknown";
}

/// Where the frames of a DATA packet begin.
std::span<const std::byte> frames_of(const FrameInfo& frame) {
    const std::size_t header =
        kBowlineAt + wire::kHeaderBytes + (frame.header->has(wire::kFlagFirst) ? wire::kFirstExtensionBytes : 0);
    return frame.bytes.subspan(std::min(header, frame.bytes.size()));
}

}  // namespace

NumberRange messages_of(const Node& sender, const FrameInfo& frame) {
    // The numbers are not in the packet: the sender knows where it begins, the frames say how far it goes.
    const protocol::SendStream& stream = sender.worker().peer(sender.peer_of(frame.to)).send;
    const protocol::SendWindow& window = stream.window();
    const protocol::Seqno seqno = protocol::Seqno::expand(frame.header->seqno, window.una());
    if (seqno.before(window.una()) || !seqno.before(window.end())) {
        return {};  // acknowledged while it waited for the device
    }
    NumberRange messages;
    messages.first = seqno == window.una() ? stream.acknowledged_message() + 1
                                           : window.at(protocol::Seqno(seqno.value() - 1)).next_message;
    std::uint64_t number = messages.first;
    for (wire::FrameReader frames(frames_of(frame)); !frames.done();) {
        const wire::FrameKind kind = frames.next().kind;
        messages.last = number;
        number += kind == wire::FrameKind::whole || kind == wire::FrameKind::last ? 1 : 0;
    }
    return messages;
}

std::string describe(const Scenario& scenario, NodeId peer, const PeerEvent& event) {
    const std::string text = fmt::format("{} {}", name_of(event_of(event.kind)), scenario.nodes[peer]);
    switch (event.kind) {
        case PeerEvent::Kind::down:
            return fmt::format("{} ({})", text, name_of(event.down));
        case PeerEvent::Kind::undelivered:
            return fmt::format("{} {}..{}{}", text, event.first, event.last, event.certain ? "" : " (uncertain)");
        case PeerEvent::Kind::opened:
            return fmt::format("{} {}..{}", text, event.first, event.last);
        case PeerEvent::Kind::view_changed:
            return fmt::format("{} {}", name_of(AppEvent::view_changed), event.first);
        default:
            return text;
    }
}

ScenarioObserver::ScenarioObserver(const Scenario& scenario, Simulation& simulation)
    : scenario_(scenario), simulation_(simulation), packets_before_(simulation.size() * simulation.size()) {}

void ScenarioObserver::begin() {
    const std::size_t nodes = simulation_.size();
    for (NodeId from = 0; from < nodes; ++from) {
        for (NodeId to = 0; to < nodes; ++to) {
            for (std::size_t type = 0; type < Network::kTypes; ++type) {
                packets_before_[from * nodes + to][type] = simulation_.network().sent(from, to, type);
            }
        }
    }
    for (const Statement& statement : scenario_.statements) {
        const auto* expectation = std::get_if<Expectation>(&statement.what);
        if (expectation != nullptr && expectation->kind == Expectation::Kind::count &&
            simulation_.node(expectation->node).alive()) {
            baselines_.push_back({.expectation = expectation,
                                  .incarnation = simulation_.node(expectation->node).incarnation(),
                                  .value = count(*expectation)});
        }
    }
}

void ScenarioObserver::note(NodeId node, NodeId peer, const PeerEvent& event) {
    seen_.push_back({.node = node, .event = event_of(event.kind), .peer = peer});
}

// — expectations —

std::optional<std::string> ScenarioObserver::check(const Expectation& expectation) const {
    bool good = false;
    const std::string what = seen(expectation, good);
    return good ? std::nullopt
                : std::optional(fmt::format("expected {}, seen {}", format(scenario_, expectation), what));
}

/// What is seen in its place, and whether that is as expected.
std::string ScenarioObserver::seen(const Expectation& expectation, bool& good) const {
    using Kind = Expectation::Kind;
    const NodeId node = expectation.node;
    const NodeId peer = expectation.peer;
    const Oracle& oracle = simulation_.oracle();
    switch (expectation.kind) {
        case Kind::delivered: {
            const std::vector<NumberRange>& delivered = oracle.delivered_to(node, peer);
            good = delivered == expectation.ranges;
            return format(delivered);
        }
        case Kind::undelivered:
        case Kind::uncertain: {
            const Oracle::Told& told = oracle.told(node, peer);
            const auto ranges = union_of(expectation.kind == Kind::undelivered ? told.undelivered : told.uncertain);
            good = ranges == union_of(expectation.ranges);
            return format(ranges);
        }
        case Kind::event:
            return seen_event(expectation, good);
        case Kind::packets: {
            const std::uint64_t number = packets(expectation.link, expectation.packet);
            good = holds(number, expectation.comparison, expectation.number);
            return std::to_string(number);
        }
        case Kind::refused: {
            const std::uint64_t number = oracle.told(node, peer).refused;
            good = holds(number, expectation.comparison, expectation.number);
            return std::to_string(number);
        }
        default:
            break;
    }
    if (!simulation_.node(node).alive()) {
        good = false;
        return fmt::format("nothing, since {} does not run", scenario_.nodes[node]);
    }
    return seen_number(expectation, good);
}

/// Of a live node's worker and controller.
std::string ScenarioObserver::seen_number(const Expectation& expectation, bool& good) const {
    using Kind = Expectation::Kind;
    const Node& node = simulation_.node(expectation.node);
    std::uint64_t number = 0;
    if (expectation.kind == Kind::count) {
        number = count(expectation);
        for (const Baseline& baseline : baselines_) {
            if (baseline.expectation == &expectation && baseline.incarnation == node.incarnation()) {
                number -= baseline.value;
            }
        }
    } else {
        const dataplane::Peer& peer = node.worker().peer(node.peer_of(expectation.peer));
        if (expectation.kind == Kind::window) {
            good = peer.receive.is_open() == expectation.is;
            return peer.receive.is_open() ? "open" : "none";
        }
        number = expectation.kind == Kind::conn ? peer.send.conn_id()
                                                : peer.next_message - 1 - peer.send.acknowledged_message();
    }
    good = holds(number, expectation.comparison, expectation.number);
    return std::to_string(number);
}

std::string ScenarioObserver::seen_event(const Expectation& expectation, bool& good) const {
    bool found = false;
    std::string told;
    for (const Seen& seen : seen_) {
        if (seen.node == expectation.node) {
            found = found || (seen.event == expectation.event && seen.peer == expectation.peer);
            told += fmt::format("{}{} {}", told.empty() ? "" : ", ", name_of(seen.event), scenario_.nodes[seen.peer]);
        }
    }
    good = found == expectation.is;
    return told.empty() ? "no event" : told;
}

std::uint64_t ScenarioObserver::count(const Expectation& expectation) const {
    const Node& node = simulation_.node(expectation.node);
    return counter_of(node, expectation.name,
                      expectation.peer == kNoNode ? std::nullopt : std::optional(node.peer_of(expectation.peer)));
}

std::uint64_t ScenarioObserver::packets(const LinkRef& link, PacketKind kind) const {
    const std::size_t nodes = simulation_.size();
    std::uint64_t sum = 0;
    for (NodeId from = 0; from < nodes; ++from) {
        for (NodeId to = 0; to < nodes; ++to) {
            for (std::size_t type = 1; link.covers(from, to) && type < Network::kTypes; ++type) {
                if (kind == kAnyPacket || kind == type) {
                    sum += simulation_.network().sent(from, to, type) - packets_before_[from * nodes + to][type];
                }
            }
        }
    }
    return sum;
}

// — rest —

bool ScenarioObserver::reaches(NodeId from, NodeId to) const {
    const Node& sender = simulation_.node(from);
    return sender.alive() && !sender.paused() && !simulation_.network().link(from, to).cut;
}

const char* ScenarioObserver::pair_unrest(NodeId node, NodeId peer) const {
    const bool hears = reaches(peer, node);
    const bool both_ways = hears && reaches(node, peer);
    if (both_ways && simulation_.node(node).greets(peer)) {
        return "a handshake";
    }
    if (!scenario_.detector || simulation_.node(node).paused()) {
        return nullptr;
    }
    // Views follow heartbeats: whoever falls silent or is back will be noticed in time.
    const bool in_view = simulation_.node(node).worker().peer(simulation_.node(node).peer_of(peer)).in_view;
    if (in_view && !hears) {
        return "a silence to notice";
    }
    return !in_view && both_ways ? "a return to notice" : nullptr;
}

bool ScenarioObserver::unrest_anywhere() const {
    if (simulation_.network().in_flight_beside_heartbeats() != 0) {
        return true;
    }
    for (NodeId node = 0; node < simulation_.size(); ++node) {
        if (!simulation_.node(node).alive()) {
            continue;
        }
        if (simulation_.node(node).owes() != nullptr) {
            return true;
        }
        for (NodeId peer = 0; peer < simulation_.size(); ++peer) {
            if (peer != node && pair_unrest(node, peer) != nullptr) {
                return true;
            }
        }
    }
    return false;
}

std::string ScenarioObserver::unrest() const {
    std::string text;
    const auto add = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
    for (NodeId node = 0; node < simulation_.size(); ++node) {
        const std::string& name = scenario_.nodes[node];
        if (!simulation_.node(node).alive()) {
            continue;
        }
        if (const char* owes = simulation_.node(node).owes()) {
            add(fmt::format("{} is busy with {}", name, owes));
        }
        for (NodeId peer = 0; peer < simulation_.size(); ++peer) {
            const char* const pair = peer == node ? nullptr : pair_unrest(node, peer);
            if (pair != nullptr) {
                add(fmt::format("{} is busy with {} of {}", name, pair, scenario_.nodes[peer]));
            }
        }
    }
    const std::size_t under_way = simulation_.network().in_flight_beside_heartbeats();
    if (text.empty() && under_way > 0) {
        add(fmt::format("{} packets are under way", under_way));
    }
    return text.empty() ? "nothing is left to be done" : text;
}

}  // namespace bowline::sim
