#include "sim/simulation.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "protocol/check.hpp"

namespace bowline::sim {

namespace {

using protocol::wire::Type;

constexpr std::uint32_t bit(Type type) { return 1U << static_cast<unsigned>(type); }
/// What a network that is at rest may not carry.
constexpr std::uint32_t kUnrest = bit(Type::data) | bit(Type::hello) | bit(Type::hello_ack) | bit(Type::hello_done) |
                                  bit(Type::need_first) | bit(Type::close) | bit(Type::reset);
constexpr Duration kRestFor = Duration::ms(30);
constexpr int kRestTries = 3;

std::vector<std::string> names_of(std::span<const NodeConfig> nodes) {
    std::vector<std::string> names;
    for (const NodeConfig& node : nodes) {
        names.push_back(node.name);
    }
    return names;
}

}  // namespace

Simulation::Simulation(std::uint64_t seed, std::span<const NodeConfig> nodes, Arena& arena)
    : network_(clock_, protocol::Random(seed ^ 0x4E6574), nodes.size()),
      oracle_(clock_, nodes.size()),
      names_(names_of(nodes)) {
    protocol::Random random(seed);
    while (arena.pools.size() < nodes.size()) {
        arena.pools.push_back(std::make_unique<PacketPool>());
    }
    for (NodeId id = 0; id < nodes.size(); ++id) {
        nodes_.push_back(std::make_unique<Node>(nodes[id], id, names_, clock_, network_, oracle_, *arena.pools[id],
                                                protocol::Random(random.next())));
        nodes_.back()->set_observer([this](NodeId node) { observe(node); });
        at(Time(), [this, id] { node(id).start(); });
    }
}

void Simulation::set_links(const Link& link) {
    for (NodeId from = 0; from < size(); ++from) {
        for (NodeId to = 0; to < size(); ++to) {
            network_.link(from, to) = link;
        }
    }
}

void Simulation::set_trace(const Trace& trace) {
    network_.set_observer([this, trace](const FrameInfo& frame, Outcome outcome) {
        trace(describe(Time() + (clock_.now() - origin_), frame, outcome, names_));
    });
    for (NodeId id = 0; id < size(); ++id) {
        node(id).set_log([this, trace, id](control::LogLevel, const std::string& text) {
            trace(fmt::format("{:>14} {}: {}", when(clock_.now()), names_[id], text));
        });
    }
}

void Simulation::set_origin(Time origin) {
    origin_ = origin;
    oracle_.set_words(names_, origin);
}

void Simulation::at(Time at, std::function<void()> action) {
    if (free_actions_.empty()) {
        free_actions_.push_back(static_cast<std::uint32_t>(actions_.size()));
        actions_.emplace_back();
    }
    const std::uint32_t subject = free_actions_.back();
    free_actions_.pop_back();
    actions_[subject] = std::move(action);
    clock_.plan(at, Event::Kind::action, subject);
}

void Simulation::step() {
    const Event event = clock_.pop();
    ++events_;
    switch (event.kind) {
        case Event::Kind::frame:
            network_.arrive(event.subject);
            break;
        case Event::Kind::wake:
            nodes_[event.subject]->on_wake(event.at);
            break;
        case Event::Kind::action: {
            const std::function<void()> action = std::move(actions_[event.subject]);
            free_actions_.push_back(event.subject);
            action();
            break;
        }
    }
}

void Simulation::run_until(Time end) {
    while (clock_.next() <= end && !failed()) {
        step();
    }
    if (!failed() && end > clock_.now()) {
        clock_.advance_to(end);
    }
}

void Simulation::observe(NodeId id) {
    // What this node has sent and received can only be judged together with what its peers have.
    for (NodeId other = 0; other < size(); ++other) {
        if (other == id) {
            continue;
        }
        const Node& peer = *nodes_[other];
        oracle_.on_state(id, other, nodes_[id]->sender_view(other),
                         peer.alive() ? peer.receiver_view(id) : ReceiverView(), peer.incarnation(), peer.alive());
    }
}

bool Simulation::all_associated() const {
    for (NodeId from = 0; from < size(); ++from) {
        for (NodeId to = 0; to < size(); ++to) {
            if (from != to && nodes_[from]->alive() && nodes_[to]->alive() && !nodes_[from]->settled_with(to)) {
                return false;
            }
        }
    }
    return true;
}

bool Simulation::at_rest() const {
    return network_.in_flight() == 0 &&
           std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return !node->alive() || node->idle(); }) &&
           all_associated();
}

bool Simulation::run_quiet(Duration most) {
    run_until(clock_.now());  // what is due now, such as the start of a node, counts
    const Time end = clock_.now() + most;
    // A peer that was cut off may be found silent just after all has been said: that is worth another try, not many.
    for (int tries = 0; tries < kRestTries; ++tries) {
        if (!run_while_not(end - clock_.now(), [this] { return at_rest(); })) {
            note_unrest(most);
            return false;
        }
        const std::uint64_t before = network_.sent_in_all(kUnrest);
        run_for(kRestFor);
        if (failed() || network_.sent_in_all(kUnrest) == before) {
            return !failed();
        }
    }
    failure_ = fmt::format("at {}: packets go on though everything was said", format_time(clock_.now()));
    return false;
}

void Simulation::note_unrest(Duration waited) {
    if (failed()) {
        return;
    }
    failure_ = fmt::format("at {}: not at rest after {} ms", format_time(clock_.now()), waited.ns() / 1'000'000);
    for (NodeId id = 0; id < size(); ++id) {
        const char* const busy = nodes_[id]->alive() ? nodes_[id]->busy_with() : nullptr;
        failure_ += busy != nullptr ? fmt::format("; {} is busy with {}", names_[id], busy) : "";
    }
    failure_ += all_associated() ? "" : "; not everybody is associated";
}

void Simulation::finish(bool owed) {
    for (NodeId from = 0; from < size(); ++from) {
        for (NodeId to = 0; to < size(); ++to) {
            if (nodes_[from]->alive()) {
                oracle_.on_end(from, to, owed || !nodes_[to]->alive());
            }
        }
    }
}

}  // namespace bowline::sim
