#include "sim/scenario_run.hpp"

#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "sim/faults.hpp"
#include "sim/scenario_keys.hpp"
#include "sim/scenario_observe.hpp"
#include "sim/trace.hpp"

namespace bowline::sim {

namespace {

/// Within which nodes that start on a perfect network must have met.
constexpr Duration kMeetWithin = Duration::s(60);

/// Nodes as the settings of a scenario make them; `error` is about the whole.
struct Made {
    std::vector<NodeConfig> nodes;
    std::optional<std::string> error;
};

Made make_nodes(const Scenario& scenario) {
    Made made;
    for (NodeId id = 0; id < scenario.nodes.size(); ++id) {
        NodeSettings settings;
        settings.config.name = scenario.nodes[id];
        // What a script sends is offered at once, as far as it is taken.
        settings.config.application.offers_max = 65536;
        settings.config.settings.views =
            scenario.detector ? protocol::ViewSource::fixed : protocol::ViewSource::external;
        for (const Setting& setting : scenario.settings) {
            if (setting.node == kNoNode || setting.node == id) {
                apply_setting(settings, setting.key, setting.value);
            }
        }
        if (auto wrong = size_node(settings, scenario.nodes.size() - 1)) {
            made.error = fmt::format("node {}: {}", scenario.nodes[id], *wrong);
        }
        made.nodes.push_back(settings.config);
    }
    return made;
}

class Runner {
public:
    Runner(const Scenario& scenario, const std::vector<NodeConfig>& nodes, Arena& arena, const Simulation::Trace& trace)
        : scenario_(scenario),
          simulation_(scenario.seed, nodes, arena),
          faults_(simulation_.network(), nodes.size(),
                  [this](const FrameInfo& frame) { return messages_of(simulation_.node(frame.from), frame); }),
          observed_(scenario, simulation_),
          trace_(trace) {}

    ScenarioResult run();

private:
    bool prepare();
    void set_links(bool faults);
    void schedule(const Statement& statement, const Action& action);
    void run_for(Duration duration);
    void run_quiet(Duration most);
    void perform(const Action& action);
    void perform_on_node(const Action& action, Node& node);
    void change_links(const Action& action);
    void settle_accounts();

    [[nodiscard]] Time script(Duration time) const { return origin_ + time; }
    void fail(SourceLine line, std::string text) {
        if (result_.ok()) {
            result_.line = line.number;
            result_.failure = std::move(text);
        }
    }
    void trace(std::string_view who, const std::string& text) {
        if (trace_) {
            trace_(fmt::format("{:>14} {}: {}", simulation_.when(simulation_.clock().now()), who, text));
        }
    }

    const Scenario& scenario_;
    Simulation simulation_;
    Faults faults_;
    ScenarioObserver observed_;
    Simulation::Trace trace_;
    ScenarioResult result_;
    Time origin_;                ///< the script's 0
    Time last_action_;           ///< the latest that has been scheduled
    Time previous_;              ///< that `after` counts from
    SourceLine at_;              ///< the statement that is being carried out
    std::uint64_t pending_ = 0;  ///< actions that are scheduled and not done
    bool quiet_ = false;         ///< everything has been said, as of the last run
};

ScenarioResult Runner::run() {
    if (prepare()) {
        for (const Statement& statement : scenario_.statements) {
            at_ = statement.line;
            if (const auto* action = std::get_if<Action>(&statement.what)) {
                schedule(statement, *action);
            } else if (const auto* run = std::get_if<Run>(&statement.what)) {
                run->quiet ? run_quiet(run->time) : run_for(run->time);
            } else if (auto wrong = observed_.check(std::get<Expectation>(statement.what))) {
                fail(statement.line, std::move(*wrong));
            }
            if (!result_.ok()) {
                break;
            }
        }
        if (result_.ok()) {
            settle_accounts();
        }
    }
    result_.trace_hash = simulation_.network().trace_hash();
    result_.events = simulation_.events();
    result_.accepted = simulation_.oracle().accepted();
    result_.delivered = simulation_.oracle().delivered();
    result_.reported = simulation_.oracle().reported();
    return std::move(result_);
}

// — the start —

void Runner::set_links(bool faults) {
    for (NodeId from = 0; from < simulation_.size(); ++from) {
        for (NodeId to = 0; to < simulation_.size(); ++to) {
            Link link;
            for (const LinkSetting& setting : scenario_.links) {
                if (setting.change.link.covers(from, to)) {
                    setting.change.apply(link);
                }
            }
            // What a script lets go wrong does not go wrong before it begins; how far it is stays the same.
            Link& way = simulation_.network().link(from, to);
            way = faults ? link : Link();
            way.delay = link.delay;
        }
    }
}

/// True when the script may begin.
bool Runner::prepare() {
    if (!scenario_.apart) {
        set_links(false);
        const bool met = simulation_.run_while_not(kMeetWithin, [this] {
            return simulation_.clock().now() > Time() && simulation_.all_associated() && !observed_.unrest_anywhere();
        });
        if (!met) {
            fail({}, simulation_.failed() ? simulation_.failure()
                                          : fmt::format("the nodes have not met: {}", observed_.unrest()));
            return false;
        }
    }
    set_links(true);
    origin_ = simulation_.clock().now();
    last_action_ = origin_;
    previous_ = origin_;
    simulation_.set_origin(origin_);
    if (trace_) {
        simulation_.set_trace(trace_);
    }
    for (NodeId id = 0; id < simulation_.size(); ++id) {
        simulation_.node(id).set_listener([this, id](NodeId peer, const dataplane::PeerEvent& event) {
            observed_.note(id, peer, event);
            if (trace_) {
                trace(scenario_.nodes[id], "its application is told: " + describe(scenario_, peer, event));
            }
        });
    }
    observed_.begin();
    return true;
}

// — time —

void Runner::schedule(const Statement& statement, const Action& action) {
    const Time now = simulation_.clock().now();
    Time at;
    switch (action.when) {
        case Action::When::at:
            at = script(action.time);
            if (at < now) {
                return fail(statement.line,
                            fmt::format("the action is for {}, and the runs before it have come to {}; expected a "
                                        "later time, or 'after'",
                                        format_time(Time() + action.time), simulation_.when(now)));
            }
            break;
        case Action::When::after:
            at = previous_ + action.time;
            // Runs since then count as well where they took longer.
            at = at < now ? now + action.time : at;
            break;
        case Action::When::now:
            at = std::max(previous_, now);
            break;
    }
    previous_ = at;
    last_action_ = std::max(last_action_, at);
    ++pending_;
    quiet_ = false;
    simulation_.at(at, [this, &action] {
        --pending_;
        perform(action);
    });
}

void Runner::run_for(Duration duration) {
    simulation_.run_until(std::max(simulation_.clock().now(), last_action_) + duration);
    quiet_ = false;
    if (simulation_.failed()) {
        fail(at_, simulation_.failure());
    }
}

void Runner::run_quiet(Duration most) {
    simulation_.run_until(std::max(simulation_.clock().now(), last_action_));
    quiet_ = simulation_.run_while_not(most, [this] { return pending_ == 0 && !observed_.unrest_anywhere(); });
    if (simulation_.failed()) {
        fail(at_, simulation_.failure());
    } else if (!quiet_) {
        fail(at_, fmt::format("not quiet within {} ms: {}", most.ns() / 1'000'000, observed_.unrest()));
    }
}

/// After the last statement: whether every message that was accepted has been accounted for.
void Runner::settle_accounts() {
    if (quiet_) {
        bool stalled = false;
        for (NodeId id = 0; id < simulation_.size(); ++id) {
            const Node& node = simulation_.node(id);
            stalled = stalled || (node.alive() && (node.paused() || node.application().stalled()));
        }
        if (!stalled) {
            simulation_.finish();
        }
    }
    if (simulation_.failed()) {
        fail(at_, simulation_.failure());
    }
}

// — actions —

void Runner::perform(const Action& action) {
    using Kind = Action::Kind;
    if (trace_) {
        trace("script", format(scenario_, action));
    }
    switch (action.kind) {
        case Kind::drop:
        case Kind::dup:
        case Kind::corrupt:
        case Kind::delay:
        case Kind::hold:
            return faults_.arm(action);
        case Kind::release:
            if (faults_.release(action.name, action.count) == 0) {
                trace("script", fmt::format("nothing is held as {}", action.name));
            }
            return;
        case Kind::clear:
            return faults_.clear(action.link);
        case Kind::cut:
        case Kind::heal:
        case Kind::link:
            return change_links(action);
        case Kind::view:
            for (NodeId id = 0; id < simulation_.size(); ++id) {
                const bool named = std::find(action.members.begin(), action.members.end(), id) != action.members.end();
                if (simulation_.node(id).alive() && (action.node == id || (action.node == kNoNode && named))) {
                    simulation_.node(id).install_view(action.members);
                }
            }
            return;
        case Kind::restart:
            if (simulation_.node(action.node).alive()) {
                simulation_.node(action.node).crash();
            }
            return simulation_.node(action.node).start();
        default:
            // A script that was shrunk may have lost the restart: what nobody can do is not done.
            if (simulation_.node(action.node).alive()) {
                return perform_on_node(action, simulation_.node(action.node));
            }
            trace("script", fmt::format("{} does not run", scenario_.nodes[action.node]));
    }
}

void Runner::perform_on_node(const Action& action, Node& node) {
    using Kind = Action::Kind;
    switch (action.kind) {
        case Kind::send:
            return node.send({.to = action.peer,
                              .count = action.count,
                              .size_min = action.size,
                              .size_max = action.size,
                              .packed = action.packed});
        case Kind::close:
            return node.close(action.peer);
        case Kind::forget:
            return node.forget(action.peer);
        case Kind::rotate:
            return node.rotate(action.peer);
        case Kind::pause:
        case Kind::resume:
            return node.set_paused(action.kind == Kind::pause);
        case Kind::stall:
        case Kind::unstall:
            return node.set_stalled(action.kind == Kind::stall);
        case Kind::exhaust:
        case Kind::restore:
            return node.set_exhausted(action.kind == Kind::exhaust);
        case Kind::crash:
            return node.crash();
        case Kind::stop:
            return node.begin_stop(action.time_by, true);
        default:
            BOWLINE_CHECK(action.kind == Kind::send);  // the others are perform()'s
    }
}

void Runner::change_links(const Action& action) {
    const LinkRef& which = action.kind == Action::Kind::link ? action.change.link : action.link;
    for (NodeId from = 0; from < simulation_.size(); ++from) {
        for (NodeId to = 0; to < simulation_.size(); ++to) {
            if (!which.covers(from, to)) {
                continue;
            }
            Link& link = simulation_.network().link(from, to);
            if (action.kind == Action::Kind::link) {
                action.change.apply(link);
            } else {
                link.cut = action.kind == Action::Kind::cut;
            }
        }
    }
}

}  // namespace

ScenarioResult run_scenario(const Scenario& scenario, Arena& arena, const ScenarioOptions& options) {
    Made made = make_nodes(scenario);
    if (made.error) {
        ScenarioResult result;
        result.failure = *made.error;
        return result;
    }
    ScenarioResult result = Runner(scenario, made.nodes, arena, options.trace).run();
    if (!result.ok() && options.last_lines > 0) {
        std::deque<std::string> last;
        const Simulation::Trace keep = [&](const std::string& line) {
            if (line.find(" HEARTBEAT ") != std::string::npos) {
                return;  // seconds of them would push out what they came after
            }
            last.push_back(line);
            if (last.size() > options.last_lines) {
                last.pop_front();
            }
        };
        // The same run once more: that costs the ones that go well nothing.
        static_cast<void>(Runner(scenario, made.nodes, arena, keep).run());
        result.last_trace.assign(last.begin(), last.end());
    }
    return result;
}

std::string report(const std::string& file, const ScenarioResult& result) {
    if (result.ok()) {
        return fmt::format("{}: ok", file);
    }
    std::string text = result.line == 0 ? fmt::format("{}: {}", file, result.failure)
                                        : fmt::format("{}:{}: {}", file, result.line, result.failure);
    for (const std::string& line : result.last_trace) {
        text += "\n    " + line;
    }
    return text;
}

}  // namespace bowline::sim
