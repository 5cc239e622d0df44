#include "sim/exhaustive_world.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "protocol/check.hpp"
#include "sim/exhaustive_state.hpp"

namespace bowline::sim {

namespace {

constexpr NodeId kA = 0;
constexpr NodeId kB = 1;

/// Between two turns of a node while it has something to do: no time passes in a step, so that states which differ in
/// nothing but the order of steps at one moment are the same to the nanosecond.
constexpr Duration kTurn = Duration();
constexpr int kTurnsMax = 2000;
/// What is due later, such as another look at a neighbour's address, belongs to no run.
constexpr Duration kHorizon = Duration::s(2);
constexpr Duration kNever = Duration::s(1'000'000);

NodeConfig config_of(const char* name) {
    NodeConfig config;
    config.name = name;
    config.settings.window_pkts = 8;
    config.settings.send_queue_pkts = 8;
    config.settings.message_max = 512;
    config.settings.ack_every_pkts = 2;
    // Few timeouts lie within the give-up time, but more than packets can be lost in a row.
    config.settings.rto_min = Duration::ms(4);
    config.settings.rto_max = Duration::ms(100);
    config.settings.give_up = Duration::ms(80);
    config.settings.retain_time = Duration::ms(12);
    config.settings.heartbeat = kNever;
    config.settings.suspect_after = kNever;
    config.settings.views = protocol::ViewSource::external;
    config.port = {.rx_ring = 16, .tx_ring = 16, .tx_hold = Duration()};
    config.pool_packets = 40;
    config.data_packets_max = 16;
    config.turn = kTurn;
    return config;
}

std::array<NodeConfig, 2> both() { return {config_of("A"), config_of("B")}; }

}  // namespace

const char* describe(Choice choice) {
    constexpr std::array<const char*, kChoices> kWords = {"A's oldest packet arrives",
                                                          "B's oldest packet arrives",
                                                          "A's oldest packet is lost",
                                                          "B's oldest packet is lost",
                                                          "A's oldest packet arrives, and is copied",
                                                          "B's oldest packet arrives, and is copied",
                                                          "A's oldest packet is delayed",
                                                          "B's oldest packet is delayed",
                                                          "the copy arrives",
                                                          "the delayed packet arrives",
                                                          "A sends a message",
                                                          "B sends a message",
                                                          "A closes",
                                                          "B closes",
                                                          "A excludes B",
                                                          "B excludes A",
                                                          "A readmits B",
                                                          "B readmits A",
                                                          "A forgets B",
                                                          "B forgets A",
                                                          "A rotates",
                                                          "time passes"};
    return kWords[static_cast<std::size_t>(choice)];
}

ExhaustiveWorld::ExhaustiveWorld(const ExhaustiveBudget& budget) : left_(budget), simulation_(1, both(), arena_) {
    BOWLINE_CHECK(simulation_.run_quiet(Duration::s(1)));
    for (const NodeId from : {kA, kB}) {
        simulation_.network().link(from, from == kA ? kB : kA).delay = Duration();
    }
    simulation_.set_origin(simulation_.clock().now());
    simulation_.network().set_filter([this](const FrameInfo& frame) {
        if (!frame.header.has_value()) {
            return FilterVerdict{};  // ARP
        }
        keep(frame);
        return FilterVerdict{.kind = FilterVerdict::Kind::hold, .by = {}};
    });
}

void ExhaustiveWorld::keep(const FrameInfo& frame) {
    Queue& queue = queues_[frame.from];
    BOWLINE_CHECK(frame.bytes.size() <= sizeof(Frame::bytes));
    if (queue.count == Queue::kMost) {
        failure_ =
            fmt::format("{} sends more packets than fit between two nodes: a storm", frame.from == kA ? 'A' : 'B');
        return;
    }
    Frame& kept = queue.frames[(queue.first + queue.count++) % Queue::kMost];
    kept.length = static_cast<std::uint16_t>(frame.bytes.size());
    kept.from = frame.from;
    std::copy(frame.bytes.begin(), frame.bytes.end(), kept.bytes.begin());
}

void ExhaustiveWorld::pop(NodeId from) {
    ++queues_[from].first;
    --queues_[from].count;
}

void ExhaustiveWorld::arrive(const Frame& frame) {
    simulation_.node(frame.from == kA ? kB : kA).on_frame(frame.view());
}

/// Lets both nodes do what can be done now.
void ExhaustiveWorld::settle() {
    for (int turns = 0; !failed(); ++turns) {
        const Time next = simulation_.clock().next();
        if (next > simulation_.clock().now()) {
            return;
        }
        if (turns == kTurnsMax) {
            failure_ = "the nodes do not come to an end with what can be done at once";
            return;
        }
        simulation_.run_until(next);
    }
}

/// Wakes that have become needless pass with those that come to something.
void ExhaustiveWorld::wait() {
    const std::uint64_t before = hash(false);
    while (!at_end() && !failed()) {
        simulation_.run_until(simulation_.clock().next());
        settle();
        if (hash(false) != before) {
            return;
        }
    }
}

bool ExhaustiveWorld::at_end() const {
    const Clock& clock = simulation_.clock();
    return queues_[kA].count == 0 && queues_[kB].count == 0 && clock.next() > clock.now() + kHorizon;
}

bool ExhaustiveWorld::possible(Choice choice) const {
    const auto waits = [this](NodeId from) { return queues_[from].count > 0; };
    switch (choice) {
        case Choice::deliver_a:
            return waits(kA);
        case Choice::deliver_b:
            return waits(kB);
        case Choice::drop_a:
            return waits(kA) && left_.drops > 0;
        case Choice::drop_b:
            return waits(kB) && left_.drops > 0;
        case Choice::duplicate_a:
            return waits(kA) && left_.duplicates > 0 && late_copy_.length == 0;
        case Choice::duplicate_b:
            return waits(kB) && left_.duplicates > 0 && late_copy_.length == 0;
        case Choice::delay_a:
            return waits(kA) && left_.delays > 0 && late_packet_.length == 0;
        case Choice::delay_b:
            return waits(kB) && left_.delays > 0 && late_packet_.length == 0;
        case Choice::late_copy:
            return late_copy_.length > 0;
        case Choice::late_packet:
            return late_packet_.length > 0;
        case Choice::send_a:
            return left_.messages_a > 0 && !excluded_[kA];
        case Choice::send_b:
            return left_.messages_b > 0 && !excluded_[kB];
        case Choice::close_a:
        case Choice::close_b:
            return may_break(left_.closes);
        case Choice::exclude_a:
            return may_break(left_.exclusions) && !excluded_[kA];
        case Choice::exclude_b:
            return may_break(left_.exclusions) && !excluded_[kB];
        case Choice::readmit_a:
            return excluded_[kA];
        case Choice::readmit_b:
            return excluded_[kB];
        case Choice::forget_a:
        case Choice::forget_b:
            return may_break(left_.forgets);
        case Choice::rotate_a:
            return left_.rotations > 0;
        case Choice::wait:
            return !waits(kA) && !waits(kB) && !at_end();
        case Choice::count:
            break;
    }
    return false;
}

std::size_t ExhaustiveWorld::choices(std::array<Choice, kChoices>& out) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < kChoices; ++i) {
        if (possible(static_cast<Choice>(i))) {
            out[count++] = static_cast<Choice>(i);
        }
    }
    return count;
}

Choice ExhaustiveWorld::onward() const {
    return queues_[kA].count > 0 ? Choice::deliver_a : queues_[kB].count > 0 ? Choice::deliver_b : Choice::wait;
}

void ExhaustiveWorld::take(Choice choice) {
    // Each choice of A stands before that of B.
    const auto side = [choice](Choice of_a) {
        return static_cast<NodeId>(static_cast<unsigned>(choice) - static_cast<unsigned>(of_a));
    };
    const auto other = [](NodeId node) { return node == kA ? kB : kA; };
    switch (choice) {
        case Choice::deliver_a:
        case Choice::deliver_b: {
            const Frame frame = queues_[side(Choice::deliver_a)].front();
            pop(frame.from);
            arrive(frame);
            break;
        }
        case Choice::drop_a:
        case Choice::drop_b:
            --left_.drops;
            pop(side(Choice::drop_a));
            break;
        case Choice::duplicate_a:
        case Choice::duplicate_b:
            --left_.duplicates;
            late_copy_ = queues_[side(Choice::duplicate_a)].front();
            pop(late_copy_.from);
            arrive(late_copy_);
            break;
        case Choice::delay_a:
        case Choice::delay_b:
            --left_.delays;
            late_packet_ = queues_[side(Choice::delay_a)].front();
            pop(late_packet_.from);
            break;
        case Choice::late_copy:
            arrive(late_copy_);
            late_copy_.length = 0;
            break;
        case Choice::late_packet:
            arrive(late_packet_);
            late_packet_.length = 0;
            break;
        case Choice::send_a:
        case Choice::send_b: {
            const NodeId from = side(Choice::send_a);
            --(from == kA ? left_.messages_a : left_.messages_b);
            simulation_.node(from).send({.to = other(from), .count = 1, .size_min = 8, .size_max = 8});
            break;
        }
        case Choice::close_a:
        case Choice::close_b: {
            --left_.closes;
            --left_.breaks;
            const NodeId node = side(Choice::close_a);
            simulation_.node(node).close(other(node));
            break;
        }
        case Choice::exclude_a:
        case Choice::exclude_b: {
            --left_.exclusions;
            --left_.breaks;
            may_report_ = true;
            const NodeId node = side(Choice::exclude_a);
            excluded_[node] = true;
            simulation_.node(node).install_view(std::array{node});
            break;
        }
        case Choice::readmit_a:
        case Choice::readmit_b: {
            const NodeId node = side(Choice::readmit_a);
            excluded_[node] = false;
            simulation_.node(node).install_view(std::array{kA, kB});
            break;
        }
        case Choice::forget_a:
        case Choice::forget_b: {
            --left_.forgets;
            --left_.breaks;
            may_report_ = true;
            const NodeId node = side(Choice::forget_a);
            simulation_.node(node).forget(other(node));
            break;
        }
        case Choice::rotate_a:
            --left_.rotations;
            simulation_.node(kA).rotate(kB);
            break;
        case Choice::wait:
            return wait();
        case Choice::count:
            BOWLINE_CHECK(choice != Choice::count);
    }
    settle();
}

void ExhaustiveWorld::judge_end() {
    simulation_.finish();
    for (const NodeId node : {kA, kB}) {
        const char* const busy = simulation_.node(node).busy_with();
        if (!failed() && busy != nullptr) {
            failure_ = fmt::format("nothing more happens, and {} is busy with {}", node == kA ? 'A' : 'B', busy);
        }
    }
    if (!failed() && !may_report_ && simulation_.oracle().reported() > 0) {
        failure_ = "a message was given up though nobody was excluded or forgotten";
    }
}

std::uint64_t ExhaustiveWorld::outcome() const { return outcome_of(simulation_.oracle()); }

Time ExhaustiveWorld::oldest_reading(NodeId of) const {
    const Time now = simulation_.clock().now();
    Time oldest = reading_held_by(simulation_.node(of == kA ? kB : kA), of, now);
    const auto look = [&](const Frame& frame) {
        oldest = protocol::earlier(oldest, reading_in(frame.view(), frame.from == of, now));
    };
    for (const Queue& queue : queues_) {
        for (std::size_t i = 0; i < queue.count; ++i) {
            look(queue.frames[(queue.first + i) % Queue::kMost]);
        }
    }
    for (const Frame* const late : {&late_packet_, &late_copy_}) {
        if (late->length != 0) {
            look(*late);
        }
    }
    return oldest;
}

std::uint64_t ExhaustiveWorld::hash(bool with_times) const {
    StateHash hash(simulation_.clock().now(), with_times);
    for (const unsigned left : {left_.messages_a, left_.messages_b, left_.drops, left_.duplicates, left_.delays,
                                left_.closes, left_.exclusions, left_.forgets, left_.breaks, left_.rotations}) {
        hash.add(left);
    }
    hash.add((excluded_[kA] ? 1U : 0U) | (excluded_[kB] ? 2U : 0U) | (may_report_ ? 4U : 0U));
    add_node(hash, simulation_.node(kA), kB, oldest_reading(kA));
    add_node(hash, simulation_.node(kB), kA, oldest_reading(kB));
    add_oracle(hash, simulation_.oracle());
    for (const Queue& queue : queues_) {
        hash.add(queue.count);
        for (std::size_t i = 0; i < queue.count; ++i) {
            add_frame(hash, queue.frames[(queue.first + i) % Queue::kMost].view());
        }
    }
    for (const Frame* const late : {&late_packet_, &late_copy_}) {
        hash.add(late->length == 0 ? 0U : 1U + late->from);
        if (late->length != 0) {
            add_frame(hash, late->view());
        }
    }
    return hash.value();
}

}  // namespace bowline::sim
