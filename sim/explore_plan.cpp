#include "sim/explore_plan.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace bowline::sim {

namespace {

using protocol::Random;
using Kind = PlannedAction::Kind;

constexpr Time kActiveEnd = Time::at_ns(20'000'000);

template <typename T, std::size_t N>
T pick(Random& random, const T (&values)[N]) {
    return values[random.below(N)];
}

std::uint64_t between(Random& random, std::uint64_t least, std::uint64_t most) {
    return least + random.below(most - least + 1);
}

Duration between(Random& random, Duration least, Duration most) {
    return Duration::ns(static_cast<std::int64_t>(
        between(random, static_cast<std::uint64_t>(least.ns()), static_cast<std::uint64_t>(most.ns()))));
}

bool chance(Random& random, std::uint64_t percent) { return random.below(100) < percent; }

Time moment(Random& random, Time end) {
    return Time::at_ns(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(end.ns()))));
}

Link make_link(Random& random) {
    Link link;
    link.delay = chance(random, 80) ? between(random, Duration::us(1), Duration::us(100))
                                    : between(random, Duration::us(100), Duration::ms(3));
    link.jitter = chance(random, 50) ? Duration() : between(random, Duration(), Duration::us(50));
    link.loss = chance(random, 25) ? 0 : static_cast<Ppm>(random.below(200'001));
    link.dup = chance(random, 50) ? 0 : static_cast<Ppm>(random.below(100'001));
    link.reorder = chance(random, 50) ? 0 : static_cast<Ppm>(random.below(150'001));
    link.reorder_by = between(random, Duration::us(5), Duration::ms(1));
    link.corrupt = chance(random, 60) ? 0 : static_cast<Ppm>(random.below(30'001));
    return link;
}

std::uint64_t make_initial_seqno(Random& random) {
    // Near every place where a number of 32 bits, or its sign, wraps.
    constexpr std::uint64_t wrap = std::uint64_t{1} << 32;
    const std::uint64_t near = between(random, 0, 60);
    return pick(random, {std::uint64_t{1}, wrap - near, wrap / 2 - near, 3 * wrap - near, (wrap << 31U) - near});
}

Duration make_clock_offset(Random& random) {
    // The wire's timestamps wrap after 2^40 ns, and change sign in the middle.
    constexpr std::int64_t wrap = std::int64_t{1} << 40;
    const Duration before = between(random, Duration(), Duration::ms(40));
    return pick(random, {Duration(), Duration::ns(wrap) - before, Duration::ns(wrap / 2) - before,
                         Duration::ns(5 * wrap) - before, Duration::s(12'345'678)});
}

NodeConfig make_node(Random& random, const std::string& name) {
    NodeConfig node;
    node.name = name;
    protocol::Settings& settings = node.settings;
    settings.window_pkts = 1U << between(random, 1, chance(random, 70) ? 4 : 8);
    settings.send_queue_pkts =
        static_cast<std::uint32_t>(chance(random, 50) ? between(random, 2, 16) : between(random, 16, 256));
    settings.message_max = 256 * 1024;
    settings.ack_every_pkts = static_cast<std::uint32_t>(between(random, 1, 32));
    settings.ack_delay = between(random, Duration::us(5), Duration::us(500));
    settings.rto_min = between(random, Duration::us(200), Duration::ms(5));
    settings.rto_max = between(random, Duration::ms(20), Duration::ms(500));
    settings.give_up = chance(random, 80) ? Duration::s(60) : between(random, Duration::ms(30), Duration::s(3));
    settings.initial_seqno = make_initial_seqno(random);
    node.packet_bytes_max =
        static_cast<std::uint16_t>(chance(random, 50) ? between(random, 256, 400) : between(random, 400, 1472));
    node.clock_offset = make_clock_offset(random);
    node.turn = between(random, Duration::ns(200), Duration::us(5));
    node.port.tx_hold = chance(random, 50) ? Duration() : between(random, Duration::us(1), Duration::us(300));
    node.port.tx_ring = static_cast<std::uint32_t>(chance(random, 70) ? 256 : between(random, 4, 64));
    node.port.rx_ring = static_cast<std::uint32_t>(chance(random, 70) ? 256 : between(random, 8, 64));
    node.application.read_limit = between(random, 1, chance(random, 50) ? 4 : 64);
    node.application.claim_ppm = chance(random, 50) ? 0 : 300'000;
    node.application.hold_ppm = chance(random, 70) ? 0 : 100'000;
    node.application.hold_for = between(random, Duration::us(10), Duration::ms(2));
    // Room for a full receive ring, what the device holds, and the data to be sent; sometimes less than enough.
    node.data_packets_max = static_cast<std::uint32_t>(between(random, 4, 400));
    node.pool_packets = settings.window_pkts + node.data_packets_max +
                        static_cast<std::uint32_t>(chance(random, 80) ? 400 : between(random, 16, 100));
    return node;
}

/// Messages to send, few when they are large: a run is to be short.
SendJob make_job(Random& random, NodeId to) {
    SendJob job;
    job.to = to;
    job.packed = chance(random, 50);
    job.persistent = true;
    switch (random.below(8)) {
        case 0:
            job.count = between(random, 1, 5);  // lone ones: nothing behind them shows a loss
            job.size_max = 64;
            break;
        case 1:
        case 2:
        case 3:
            job.count = between(random, 5, 60);
            job.size_max = 64;
            break;
        case 4:
        case 5:
            job.count = between(random, 2, 20);
            job.size_max = 1500;
            break;
        case 6:
            job.count = between(random, 1, 4);
            job.size_max = 10'000;
            break;
        default:
            job.count = 1;
            job.size_max = 60'000;
            break;
    }
    job.size_min = chance(random, 50) ? 0 : static_cast<std::uint32_t>(random.below(job.size_max + 1));
    return job;
}

class Planner {
public:
    explicit Planner(std::uint64_t seed) : random_(seed) { plan_.seed = seed; }

    ExplorePlan make() {
        for (const char* name : {"A", "B"}) {
            plan_.nodes.push_back(make_node(random_, name));
        }
        plan_.links.resize(4);
        for (Link& link : plan_.links) {
            link = make_link(random_);
        }
        for (NodeId node = 0; node < 2; ++node) {
            const NodeId peer = node == 0 ? 1 : 0;
            for (std::uint64_t jobs = between(random_, 1, 5); jobs > 0; --jobs) {
                act(moment(random_, kActiveEnd), Kind::send, node, peer).job = make_job(random_, peer);
            }
            disturb(node, peer);
        }
        plan_.heal_at = kActiveEnd;
        for (const PlannedAction& action : plan_.actions) {
            plan_.heal_at = std::max(plan_.heal_at, action.at);
        }
        // Handshakes and retransmissions back off to a second; a peer is silent after one, and greeted again.
        plan_.quiet = Duration::s(60);
        std::stable_sort(plan_.actions.begin(), plan_.actions.end(),
                         [](const PlannedAction& a, const PlannedAction& b) { return a.at < b.at; });
        return plan_;
    }

private:
    PlannedAction& act(Time at, Kind kind, NodeId node, NodeId peer) {
        plan_.actions.push_back({.at = at, .kind = kind, .node = node, .peer = peer, .job = {}});
        return plan_.actions.back();
    }

    void spell(Kind begin, Kind end, NodeId node, NodeId peer, Duration most) {
        const Time at = moment(random_, kActiveEnd);
        act(at, begin, node, peer);
        act(at + between(random_, Duration::us(1), most), end, node, peer);
    }

    void disturb(NodeId node, NodeId peer) {
        if (chance(random_, 30)) {
            spell(Kind::stall, Kind::unstall, node, peer, Duration::ms(chance(random_, 80) ? 20 : 3000));
        }
        if (chance(random_, 15)) {
            spell(Kind::pause, Kind::resume, node, peer, Duration::ms(chance(random_, 80) ? 10 : 2500));
        }
        if (chance(random_, 20)) {
            spell(Kind::exhaust, Kind::restore, node, peer, Duration::ms(20));
        }
        if (chance(random_, 20)) {
            spell(Kind::cut, Kind::heal, node, peer, Duration::ms(chance(random_, 70) ? 20 : 4000));
        }
        if (chance(random_, 20)) {
            spell(Kind::crash, Kind::restart, node, peer, Duration::ms(chance(random_, 70) ? 3 : 2500));
        }
    }

    ExplorePlan plan_;
    Random random_;
};

void apply(const PlannedAction& action, Simulation& simulation) {
    Node& node = simulation.node(action.node);
    switch (action.kind) {
        case Kind::send:
            if (node.alive()) {
                node.send(action.job);
            }
            break;
        case Kind::stall:
        case Kind::unstall:
            node.set_stalled(action.kind == Kind::stall && node.alive());
            break;
        case Kind::pause:
        case Kind::resume:
            node.set_paused(action.kind == Kind::pause);
            break;
        case Kind::exhaust:
        case Kind::restore:
            node.set_exhausted(action.kind == Kind::exhaust);
            break;
        case Kind::crash:
            if (node.alive()) {
                node.crash();
            }
            break;
        case Kind::restart:
            if (!node.alive()) {
                node.start();
            }
            break;
        case Kind::cut:
        case Kind::heal:
            simulation.network().link(action.node, action.peer).cut = action.kind == Kind::cut;
            break;
    }
}

}  // namespace

const char* name_of(Kind kind) {
    static constexpr std::array<const char*, 11> names = {"send",    "stall", "unstall", "pause", "resume", "exhaust",
                                                          "restore", "crash", "restart", "cut",   "heal"};
    return names[static_cast<std::size_t>(kind)];
}

ExplorePlan make_plan(std::uint64_t seed) { return Planner(seed).make(); }

void schedule(const ExplorePlan& plan, Simulation& simulation) {
    const std::size_t nodes = plan.nodes.size();
    for (std::size_t i = 0; i < plan.links.size(); ++i) {
        simulation.network().link(static_cast<NodeId>(i / nodes), static_cast<NodeId>(i % nodes)) = plan.links[i];
    }
    for (const PlannedAction& action : plan.actions) {
        simulation.at(action.at, [&action, &simulation] { apply(action, simulation); });
    }
}

std::string describe(const ExplorePlan& plan) {
    std::string text = fmt::format("seed {}\n", plan.seed);
    for (const NodeConfig& node : plan.nodes) {
        const protocol::Settings& s = node.settings;
        text += fmt::format(
            "node {} window={} queue={} packet={} ack_every={} ack_delay={}ns rto_min={}ns rto_max={}ns give_up={}ns "
            "initial_seqno={} clock={}ns turn={}ns tx_hold={}ns tx_ring={} rx_ring={} data={} pool={} read={} "
            "hold={}\n",
            node.name, s.window_pkts, s.send_queue_pkts, node.packet_bytes_max, s.ack_every_pkts, s.ack_delay.ns(),
            s.rto_min.ns(), s.rto_max.ns(), s.give_up.ns(), s.initial_seqno, node.clock_offset.ns(), node.turn.ns(),
            node.port.tx_hold.ns(), node.port.tx_ring, node.port.rx_ring, node.data_packets_max, node.pool_packets,
            node.application.read_limit, node.application.hold_ppm);
    }
    const std::size_t nodes = plan.nodes.size();
    for (std::size_t i = 0; i < plan.links.size(); ++i) {
        const Link& link = plan.links[i];
        if (i / nodes != i % nodes) {
            text += fmt::format(
                "link {}->{} delay={}ns jitter={}ns loss={}ppm dup={}ppm reorder={}ppm by={}ns "
                "corrupt={}ppm\n",
                plan.nodes[i / nodes].name, plan.nodes[i % nodes].name, link.delay.ns(), link.jitter.ns(), link.loss,
                link.dup, link.reorder, link.reorder_by.ns(), link.corrupt);
        }
    }
    for (const PlannedAction& action : plan.actions) {
        text += fmt::format("at {}ns {} {}", action.at.ns(), name_of(action.kind), plan.nodes[action.node].name);
        if (action.kind == Kind::cut || action.kind == Kind::heal) {
            text += fmt::format(" -> {}", plan.nodes[action.peer].name);
        } else if (action.kind == Kind::send) {
            text +=
                fmt::format(" to {} {} messages of {}..{} bytes{}", plan.nodes[action.job.to].name, action.job.count,
                            action.job.size_min, action.job.size_max, action.job.packed ? ", packed" : "");
        }
        text += '\n';
    }
    return text;
}

}  // namespace bowline::sim
