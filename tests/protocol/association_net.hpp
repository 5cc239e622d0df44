#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "protocol/association.hpp"

/// Two nodes that shake hands over a bad link, on virtual time. Beside the Handshake each has as little of a worker as
/// the handshake needs: one association in use, one expected, a heartbeat, RESET for what it does not know, and an end
/// of patience with a peer that is silent.
namespace bowline::protocol::test {

struct Weather {
    std::uint64_t loss_percent = 0;
    std::uint64_t copies_percent = 0;
    Duration delay_max = Duration::us(50);
};

struct Packet {
    wire::Type type = wire::Type::heartbeat;
    std::uint16_t slot = 0;
    std::uint32_t tag = 0;
    wire::Hello hello;
    wire::HelloDone done;
};

class Net {
public:
    static constexpr Duration kHeartbeat = Duration::ms(50);
    static constexpr Duration kSilence = Duration::s(1);

    Net(std::uint64_t seed, const Weather& weather) : random_(seed), weather_(weather) {
        start(0);
        start(1);
    }

    void greet(std::size_t node) {
        nodes_[node].handshake->greet(now_);
        settle(node);
    }
    /// A new process of the same name, which knows nothing.
    void restart(std::size_t node) {
        start(node);
        greet(node);
    }
    void drop_first_hello_of(std::size_t node, bool drop) { nodes_[node].drops_hello = drop; }
    /// From now on nothing is lost, doubled or late.
    void clear_up() { weather_ = {}; }

    void record() { recording_ = true; }
    /// What has been recorded follows each packet that arrives from now on.
    void replay_after_each_delivery() {
        recording_ = false;
        replaying_ = true;
    }
    void replay_all() {
        provoked_ = true;
        for (const Flight& flight : recorded_) deliver(flight.to, flight.packet);
        provoked_ = false;
    }

    void run_for(Duration duration) {
        const Time end = now_ + duration;
        while (step(end)) continue;
        now_ = end;
    }
    [[nodiscard]] bool run_until_matched(Duration patience) {
        const Time end = now_ + patience;
        while (!matched() && step(end)) continue;
        return matched();
    }

    /// Both use the same association, with each other's living incarnation.
    [[nodiscard]] bool matched() const {
        const Node& a = nodes_[0];
        const Node& b = nodes_[1];
        return a.in_use && b.in_use && fits(a, b) && fits(b, a) && agrees(a) && agrees(b);
    }
    /// How often one of the two has taken one into use.
    [[nodiscard]] std::uint64_t associations() const { return associations_; }
    [[nodiscard]] std::uint64_t handshake_packets() const { return handshake_packets_; }

private:
    struct Node {
        std::unique_ptr<Handshake> handshake;
        std::uint64_t incarnation = 0;
        std::optional<Agreement> in_use;
        std::optional<Agreement> expected;
        Time heartbeat_at;
        Time heard_at;
        Time reset_at;
        bool drops_hello = false;
    };
    struct Flight {
        Time at;
        std::uint64_t order = 0;
        std::size_t to = 0;
        Packet packet;
        bool provoked = false;
        bool operator<(const Flight& other) const {
            return at != other.at ? at > other.at : order > other.order;  // the queue's top is its largest
        }
    };

    static bool fits(const Node& a, const Node& b) {
        return a.in_use->local_tag == b.in_use->peer.tag && a.in_use->local_slot == b.in_use->peer.slot &&
               b.in_use->peer.incarnation == a.incarnation;
    }
    static bool agrees(const Node& node) {
        return node.handshake->in_use() && node.handshake->agreement().local_tag == node.in_use->local_tag;
    }

    void start(std::size_t node) {
        const std::array names = {*wire::NodeName::make("alpha"), *wire::NodeName::make("beta")};
        nodes_[node] = Node{};
        nodes_[node].incarnation = random_.next();
        nodes_[node].reset_at = now_;
        const HandshakeIdentity identity = {.own_name = names[node],
                                            .peer_name = names[1 - node],
                                            .own_incarnation = nodes_[node].incarnation,
                                            .slot_base = static_cast<std::uint16_t>(4 + 2 * node),
                                            .max_packet = 1472,
                                            .ack_delay_us = 25};
        nodes_[node].handshake = std::make_unique<Handshake>(identity, random_);
    }

    /// What happens next, if it happens before `end`.
    bool step(Time end) {
        Time next = flights_.empty() ? Time::never() : flights_.top().at;
        for (const Node& node : nodes_) {
            next = earlier(next, node.handshake->next_deadline());
            if (node.in_use) next = earlier(next, earlier(node.heartbeat_at, node.heard_at + kSilence));
        }
        if (next > end) return false;
        now_ = std::max(now_, next);
        if (!flights_.empty() && flights_.top().at <= now_) {
            const Flight flight = flights_.top();
            flights_.pop();
            deliver(flight.to, flight.packet);
            // But not after what a replay has brought about: that would have no end.
            if (replaying_ && !flight.provoked) replay_all();
        }
        for (std::size_t i = 0; i < nodes_.size(); ++i) on_time(i);
        return true;
    }

    void on_time(std::size_t index) {
        Node& node = nodes_[index];
        node.handshake->on_deadline(now_);
        settle(index);
        if (!node.in_use) return;
        if (node.heard_at + kSilence <= now_) {
            node.in_use.reset();
            node.handshake->on_dissociated();
            node.handshake->greet(now_);
            return settle(index);
        }
        if (node.heartbeat_at <= now_) send_heartbeat(index);
    }

    void send_heartbeat(std::size_t index) {
        Node& node = nodes_[index];
        node.heartbeat_at = now_ + kHeartbeat;
        send(index, {.type = wire::Type::heartbeat,
                     .slot = node.in_use->peer.slot,
                     .tag = node.in_use->peer.tag,
                     .hello = {},
                     .done = {}});
    }

    /// Does what the handshake asks for.
    void settle(std::size_t index) {
        Node& node = nodes_[index];
        Handshake::Action action;
        while (node.handshake->poll_action(action)) {
            switch (action.kind) {
                case Handshake::Action::Kind::cancel:
                    node.expected.reset();
                    break;
                case Handshake::Action::Kind::associate:
                    take_into_use(node, action.agreement);
                    break;
                case Handshake::Action::Kind::expect:
                    node.expected = action.agreement;
                    break;
            }
        }
        Handshake::Outgoing out;
        while (node.handshake->poll_transmit(now_, out)) {
            ++handshake_packets_;
            if (out.type == wire::Type::hello && node.drops_hello) {
                node.drops_hello = false;
                continue;
            }
            send(index, {.type = out.type, .slot = out.slot, .tag = out.tag, .hello = out.hello, .done = out.done});
        }
        node.handshake->check_invariants();
    }

    void take_into_use(Node& node, const Agreement& agreement) {
        ++associations_;
        node.in_use = agreement;
        node.heard_at = now_;
        node.heartbeat_at = now_ + kHeartbeat;
    }

    void send(std::size_t from, const Packet& packet) {
        if (recording_)
            recorded_.push_back({.at = now_, .order = 0, .to = 1 - from, .packet = packet, .provoked = false});
        const std::uint64_t copies = random_.below(100) < weather_.copies_percent ? 2 : 1;
        for (std::uint64_t i = 0; i < copies; ++i) {
            if (random_.below(100) < weather_.loss_percent) continue;
            const auto delay = random_.below(static_cast<std::uint64_t>(weather_.delay_max.ns()) + 1);
            flights_.push({.at = now_ + Duration::us(10) + Duration::ns(static_cast<std::int64_t>(delay)),
                           .order = order_++,
                           .to = 1 - from,
                           .packet = packet,
                           .provoked = provoked_});
        }
    }

    void deliver(std::size_t to, const Packet& packet) {
        Node& node = nodes_[to];
        switch (packet.type) {
            case wire::Type::hello:
                (void)node.handshake->on_hello(now_, packet.hello);
                break;
            case wire::Type::hello_ack:
                (void)node.handshake->on_hello_ack(now_, packet.hello);
                break;
            case wire::Type::reset:
                if (node.in_use && node.in_use->peer.tag == packet.tag) node.handshake->greet(now_);
                break;
            default:
                on_tagged(to, packet);
                break;
        }
        settle(to);
    }

    void on_tagged(std::size_t to, const Packet& packet) {
        Node& node = nodes_[to];
        const auto is_of = [&](const std::optional<Agreement>& agreement) {
            return agreement && agreement->local_slot == packet.slot && agreement->local_tag == packet.tag;
        };
        if (is_of(node.expected)) {
            const Agreement agreement = *node.expected;
            node.expected.reset();
            take_into_use(node, agreement);
            (void)node.handshake->on_confirmed(now_, agreement.local_tag);
        }
        if (is_of(node.in_use)) {
            node.heard_at = now_;
        } else if (node.reset_at <= now_) {
            node.reset_at = now_ + Duration::ms(10);
            send(to, {.type = wire::Type::reset, .slot = packet.slot, .tag = packet.tag, .hello = {}, .done = {}});
        }
    }

    Random random_;
    Weather weather_;
    Time now_ = Time::at_ns(1'000'000'000);
    std::array<Node, 2> nodes_;
    std::priority_queue<Flight> flights_;
    std::uint64_t order_ = 0;
    std::vector<Flight> recorded_;
    bool recording_ = false;
    bool replaying_ = false;
    bool provoked_ = false;
    std::uint64_t associations_ = 0;
    std::uint64_t handshake_packets_ = 0;
};

}  // namespace bowline::protocol::test
