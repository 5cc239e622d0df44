#include "sim/explore_scenario.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "protocol/random.hpp"
#include "protocol/settings_text.hpp"

namespace bowline::sim {

namespace {

using protocol::format_duration;
using protocol::Random;
using Kind = Action::Kind;

/// What is disturbed is disturbed within so long.
constexpr Duration kActive = Duration::ms(20);
/// Handshakes and retransmissions back off to a second, and a peer that was silent is heard again with its heartbeat.
constexpr Duration kQuietWithin = Duration::s(100);
/// Well below the give-up time of most runs: a stream that is wedged shows.
constexpr Duration kLastQuietWithin = Duration::s(30);

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

class Planner {
public:
    explicit Planner(std::uint64_t seed) : random_(seed) { scenario_.seed = seed; }

    Scenario make() {
        const std::uint64_t size = chance(random_, 60) ? 2 : between(random_, 3, 5);
        for (std::uint64_t i = 0; i < size; ++i) {
            scenario_.nodes.emplace_back(1, static_cast<char>('A' + i));
        }
        scenario_.apart = chance(random_, 20);
        scenario_.detector = chance(random_, 35);
        for (NodeId node = 0; node < size; ++node) {
            set_node(node);
        }
        set_congestion();
        for (NodeId from = 0; from < size; ++from) {
            for (NodeId to = 0; to < size; ++to) {
                if (from != to) {
                    scenario_.links.push_back({.line = {}, .change = make_link(from, to)});
                }
            }
        }
        for (NodeId node = 0; node < size; ++node) {
            send_from(node);
            disturb_process(node);
            disturb_peers(node);
        }
        mend();
        return std::move(scenario_);
    }

private:
    // — nodes and links —

    void set(NodeId node, const char* key, std::string value) {
        scenario_.settings.push_back({.line = {}, .node = node, .key = key, .value = std::move(value)});
    }
    void set(NodeId node, const char* key, std::uint64_t value) { set(node, key, std::to_string(value)); }
    void set_thousandths(NodeId node, const char* key, std::uint64_t value) {
        set(node, key, protocol::format_thousandths(static_cast<std::int64_t>(value)));
    }
    void set(NodeId node, const char* key, Duration value) { set(node, key, format_duration(value)); }

    void set_node(NodeId node) {
        const std::uint64_t window = std::uint64_t{1} << between(random_, 1, chance(random_, 70) ? 4 : 8);
        set(node, "window", window);
        set(node, "send_queue", chance(random_, 50) ? between(random_, 2, 16) : between(random_, 16, 256));
        set(node, "message_max", std::uint64_t{256 * 1024});
        set(node, "ack_every", between(random_, 1, 32));
        set(node, "ack_delay", between(random_, Duration::us(5), Duration::us(500)));
        set(node, "rto_min", between(random_, Duration::us(200), Duration::ms(5)));
        set(node, "rto_max", between(random_, Duration::ms(20), Duration::ms(500)));
        set(node, "give_up",
            chance(random_, 80) ? Duration::s(60) : between(random_, Duration::ms(30), Duration::s(3)));
        set(node, "exclusion", chance(random_, 70) ? "retain" : "discard");
        set(node, "retain_time",
            chance(random_, 60) ? Duration::s(10) : between(random_, Duration(), Duration::ms(20)));
        if (chance(random_, 25)) {
            set(node, "on_uncertain", "resend");
        }
        if (chance(random_, 30)) {
            set(node, "conn_expiry", between(random_, Duration::ms(1), Duration::ms(30)));
        }
        set(node, "initial_seqno", make_initial_seqno());
        set(node, "packet_bytes", chance(random_, 50) ? between(random_, 256, 400) : between(random_, 400, 1472));
        set(node, "clock_offset", make_clock_offset());
        set(node, "turn", between(random_, Duration::ns(200), Duration::us(5)));
        if (chance(random_, 50)) {
            set(node, "tx_hold", between(random_, Duration::us(1), Duration::us(300)));
        }
        set(node, "tx_ring", chance(random_, 70) ? 256 : between(random_, 4, 64));
        set(node, "rx_ring", chance(random_, 70) ? 256 : between(random_, 8, 64));
        set(node, "read_limit", between(random_, 1, chance(random_, 50) ? 4 : 64));
        if (chance(random_, 50)) {
            set(node, "claim", "30%");
        }
        if (chance(random_, 30)) {
            set(node, "hold", "10%");
            set(node, "hold_for", between(random_, Duration::us(10), Duration::ms(2)));
        }
        // Room for full receive rings, what the device holds, and the data to be sent; sometimes less than enough.
        const std::uint64_t data = between(random_, 4, 400);
        set(node, "data_packets", data);
        set(node, "pool_packets",
            window * (scenario_.nodes.size() - 1) + 130 + data +
                (chance(random_, 80) ? 400 : between(random_, 16, 100)));
    }

    /// From a generator of its own, so that whatever else a seed says stays as it was without this.
    void set_congestion() {
        Random random(scenario_.seed ^ 0x5377696674);  // "Swift"
        if (!chance(random, 40)) {
            return;
        }
        for (NodeId node = 0; node < scenario_.nodes.size(); ++node) {
            if (!chance(random, 70)) {
                continue;
            }
            set(node, "congestion", "swift");
            // Also targets that no window can meet, with which the smallest one must do.
            set(node, "swift_base_target",
                chance(random, 50) ? between(random, Duration::us(5), Duration::us(200))
                                   : between(random, Duration::us(200), Duration::ms(20)));
            set(node, "swift_fs_range", chance(random, 20) ? Duration() : between(random, Duration(), Duration::ms(2)));
            const std::uint64_t fs_min_cwnd = between(random, 50, 2000);
            set_thousandths(node, "swift_fs_min_cwnd", fs_min_cwnd);
            set_thousandths(node, "swift_fs_max_cwnd", fs_min_cwnd * between(random, 2, 100));
            set_thousandths(node, "swift_ai", between(random, 50, 4000));
            set_thousandths(node, "swift_beta", between(random, 100, 1000));
            set_thousandths(node, "swift_max_mdf", between(random, 100, 900));
            set_thousandths(node, "swift_min_cwnd", between(random, 100, 1000));
        }
    }

    std::uint64_t make_initial_seqno() {
        // Near every place where a number of 32 bits, or its sign, wraps.
        constexpr std::uint64_t wrap = std::uint64_t{1} << 32;
        const std::uint64_t near = between(random_, 0, 60);
        return pick(random_, {std::uint64_t{1}, wrap - near, wrap / 2 - near, 3 * wrap - near, (wrap << 30U) - near});
    }

    Duration make_clock_offset() {
        // The wire's timestamps wrap after 2^40 ns, and change sign in the middle.
        constexpr std::int64_t wrap = std::int64_t{1} << 40;
        const Duration before = between(random_, Duration(), Duration::ms(40));
        return pick(random_, {Duration(), Duration::ns(wrap) - before, Duration::ns(wrap / 2) - before,
                              Duration::ns(5 * wrap) - before, Duration::s(12'345'678)});
    }

    LinkChange make_link(NodeId from, NodeId to) {
        LinkChange change;
        change.link = {.from = from, .to = to, .both = false};
        change.delay = chance(random_, 80) ? between(random_, Duration::us(1), Duration::us(100))
                                           : between(random_, Duration::us(100), Duration::ms(3));
        if (chance(random_, 50)) {
            change.jitter = between(random_, Duration(), Duration::us(50));
        }
        if (chance(random_, 75)) {
            change.loss = static_cast<Ppm>(random_.below(200'001));
        }
        if (chance(random_, 50)) {
            change.dup = static_cast<Ppm>(random_.below(100'001));
        }
        if (chance(random_, 50)) {
            change.reorder = static_cast<Ppm>(random_.below(150'001));
        }
        change.reorder_by = between(random_, Duration::us(5), Duration::ms(1));
        if (chance(random_, 40)) {
            change.corrupt = static_cast<Ppm>(random_.below(30'001));
        }
        return change;
    }

    // — what happens —

    [[nodiscard]] Duration moment() {
        return Duration::ns(static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(kActive.ns()))));
    }
    Action& act(Duration at, Kind kind, NodeId node, NodeId peer = kNoNode) {
        Action action;
        action.when = Action::When::at;
        action.time = at;
        action.kind = kind;
        action.node = node;
        action.peer = peer;
        planned_.push_back(std::move(action));
        end_ = std::max(end_, at);
        return planned_.back();
    }
    [[nodiscard]] NodeId other_than(NodeId node) {
        const auto other = static_cast<NodeId>(random_.below(scenario_.nodes.size() - 1));
        return other < node ? other : static_cast<NodeId>(other + 1);
    }

    void send_from(NodeId node) {
        const std::uint64_t jobs = between(random_, 1, 5);
        for (std::uint64_t i = 0; i < jobs; ++i) {
            const NodeId to = chance(random_, 3) ? node : other_than(node);
            Action& job = act(moment(), Kind::send, node, to);
            job.packed = chance(random_, 50);
            switch (random_.below(8)) {
                case 0:
                    job.count = between(random_, 1, 5);  // lone ones: nothing behind them shows a loss
                    break;
                case 1:
                case 2:
                case 3:
                    job.count = between(random_, 5, 60);
                    break;
                case 4:
                case 5:
                    job.count = between(random_, 2, 20);
                    job.size = static_cast<std::uint32_t>(random_.below(1500));
                    break;
                case 6:
                    job.count = between(random_, 1, 4);
                    job.size = static_cast<std::uint32_t>(random_.below(10'000));
                    break;
                default:
                    job.count = 1;
                    job.size = static_cast<std::uint32_t>(random_.below(60'000));
                    break;
            }
        }
    }

    void spell(Kind begin, Kind end, NodeId node, Duration most) {
        const Duration at = moment();
        act(at, begin, node);
        act(at + between(random_, Duration::us(1), most), end, node);
    }

    void disturb_process(NodeId node) {
        if (chance(random_, 25)) {
            spell(Kind::stall, Kind::unstall, node, Duration::ms(chance(random_, 80) ? 20 : 3000));
        }
        if (chance(random_, 15)) {
            spell(Kind::pause, Kind::resume, node, Duration::ms(chance(random_, 80) ? 10 : 2500));
        }
        if (chance(random_, 20)) {
            spell(Kind::exhaust, Kind::restore, node, Duration::ms(20));
        }
        if (chance(random_, 20)) {
            spell(Kind::crash, Kind::restart, node, Duration::ms(chance(random_, 70) ? 3 : 2500));
        }
    }

    void disturb_peers(NodeId node) {
        const NodeId peer = other_than(node);
        if (chance(random_, 25)) {
            const Duration at = moment();
            const LinkRef link{.from = node, .to = peer, .both = chance(random_, 30)};
            act(at, Kind::cut, kNoNode).link = link;
            act(at + between(random_, Duration::us(1), Duration::ms(chance(random_, 70) ? 20 : 4000)), Kind::heal,
                kNoNode)
                .link = link;
        }
        if (!scenario_.detector && chance(random_, 45)) {
            for (std::uint64_t views = between(random_, 1, 4); views > 0; --views) {
                Action& view = act(moment(), Kind::view, node);
                for (NodeId member = 0; member < scenario_.nodes.size(); ++member) {
                    if (member == node || chance(random_, 60)) {
                        view.members.push_back(member);
                    }
                }
            }
        }
        for (const auto& [kind, percent] :
             {std::pair(Kind::close, 30), std::pair(Kind::rotate, 25), std::pair(Kind::forget, 20)}) {
            if (chance(random_, static_cast<std::uint64_t>(percent))) {
                for (std::uint64_t times = between(random_, 1, 3); times > 0; --times) {
                    act(moment(), kind, node, other_than(node));
                }
            }
        }
        if (chance(random_, 50)) {
            arm(node, peer);
        }
    }

    /// A fault that is aimed at one kind of packet.
    void arm(NodeId node, NodeId peer) {
        const Duration at = moment();
        Action& fault =
            act(at, pick(random_, {Kind::drop, Kind::dup, Kind::corrupt, Kind::delay, Kind::hold}), kNoNode);
        fault.link = {.from = node, .to = peer, .both = chance(random_, 30)};
        // Every kind of packet, and any.
        fault.packet = static_cast<PacketKind>(random_.below(11));
        fault.nth = between(random_, 1, 3);
        fault.count = chance(random_, 20) ? kEvery : between(random_, 1, 12);
        if (fault.kind == Kind::delay) {
            fault.time_by = between(random_, Duration::us(10), Duration::ms(30));
        }
        if (fault.kind == Kind::hold) {
            fault.name = fmt::format("h{}", held_++);
            const std::string name = fault.name;
            for (std::uint64_t times = between(random_, 1, 2); times > 0; --times) {
                Action& release =
                    act(at + between(random_, Duration::us(20), Duration::ms(chance(random_, 80) ? 20 : 2500)),
                        Kind::release, kNoNode);
                release.name = name;
                release.count = between(random_, 1, 2);
            }
        }
    }

    // — the end —

    template <typename What>
    void add(What what) {
        Statement& statement = scenario_.statements.emplace_back();
        statement.what = std::move(what);
    }
    void add_quiet(Duration within) {
        Run run;
        run.quiet = true;
        run.time = within;
        add(run);
    }
    void mend() {
        std::ranges::stable_sort(planned_, {}, &Action::time);
        std::ranges::for_each(planned_, [this](Action& action) { add(std::move(action)); });
        // What a crash has ended is restarted by then, and what else lasts for a time is over, but for these.
        Action healing;
        healing.when = Action::When::at;
        healing.time = end_;
        healing.kind = Kind::clear;
        add(healing);
        Action view;
        view.when = Action::When::after;
        view.kind = Kind::view;
        for (NodeId member = 0; member < scenario_.nodes.size(); ++member) {
            view.members.push_back(member);
        }
        if (!scenario_.detector) {
            add(view);
        }
        add_quiet(kQuietWithin);
        for (NodeId node = 0; node < scenario_.nodes.size(); ++node) {
            for (NodeId peer = 0; peer < scenario_.nodes.size(); ++peer) {
                if (node != peer) {
                    Action job;
                    job.when = Action::When::after;
                    job.kind = Kind::send;
                    job.node = node;
                    job.peer = peer;
                    job.count = between(random_, 1, 3);
                    add(std::move(job));
                }
            }
        }
        add_quiet(kLastQuietWithin);
    }

    Random random_;
    Scenario scenario_;
    std::vector<Action> planned_;
    Duration end_;
    std::uint64_t held_ = 0;
};

}  // namespace

Scenario make_scenario(std::uint64_t seed) { return Planner(seed).make(); }

}  // namespace bowline::sim
