#include "sim/scenario.hpp"

#include <array>

#include <fmt/format.h>

#include "protocol/settings_text.hpp"

namespace bowline::sim {

namespace {

/// A bare 0 would do for the parser; with its unit it reads better.
std::string text_of(Duration duration) { return duration.ns() == 0 ? "0us" : protocol::format_duration(duration); }

std::string text_of(const LinkChange& change) {
    std::string text;
    const auto add_duration = [&](const char* key, const std::optional<Duration>& value) {
        text += value ? fmt::format(" {}={}", key, text_of(*value)) : "";
    };
    const auto add_share = [&](const char* key, const std::optional<Ppm>& value) {
        text += value ? fmt::format(" {}={}", key, format_share(*value)) : "";
    };
    add_duration("delay", change.delay);
    add_duration("jitter", change.jitter);
    add_share("loss", change.loss);
    add_share("dup", change.dup);
    add_share("reorder", change.reorder);
    add_duration("reorder_by", change.reorder_by);
    add_share("corrupt", change.corrupt);
    return text;
}

std::string text_of_view(const Scenario& scenario, const Action& action) {
    std::string text = action.node == kNoNode ? "view * =" : fmt::format("view {} =", scenario.nodes[action.node]);
    for (const NodeId member : action.members) {
        text += ' ' + scenario.nodes[member];
    }
    return text;
}

std::string text_of_fault(const Scenario& scenario, const Action& action) {
    std::string text =
        fmt::format("{} {} {}", name_of(action.kind), format(scenario, action.link), name_of_packet(action.packet));
    if (action.kind == Action::Kind::delay) {
        text += fmt::format(" by={}", text_of(action.time_by));
    }
    if (action.kind == Action::Kind::hold) {
        text += fmt::format(" as={}", action.name);
    }
    text += action.nth != 1 ? fmt::format(" nth={}", action.nth) : "";
    text += action.count == kEvery ? " count=all" : action.count != 1 ? fmt::format(" count={}", action.count) : "";
    text += action.message != 0 ? fmt::format(" msg={}", action.message) : "";
    return text;
}

/// What is done, without its time.
std::string text_of(const Scenario& scenario, const Action& action) {
    using Kind = Action::Kind;
    switch (action.kind) {
        case Kind::send:
            return fmt::format("send {} {} {}{}{}", scenario.nodes[action.node], scenario.nodes[action.peer],
                               action.count, action.size != 32 ? " size=" + protocol::format_size(action.size) : "",
                               action.packed ? " packed" : "");
        case Kind::drop:
        case Kind::dup:
        case Kind::corrupt:
        case Kind::delay:
        case Kind::hold:
            return text_of_fault(scenario, action);
        case Kind::release:
            return fmt::format("release {}{}", action.name,
                               action.count != 1 ? fmt::format(" times={}", action.count) : "");
        case Kind::clear:
        case Kind::cut:
        case Kind::heal:
            return fmt::format("{} {}", name_of(action.kind), format(scenario, action.link));
        case Kind::link:
            return fmt::format("link {}{}", format(scenario, action.change.link), text_of(action.change));
        case Kind::view:
            return text_of_view(scenario, action);
        case Kind::close:
        case Kind::forget:
        case Kind::rotate:
            return fmt::format("{} {} {}", name_of(action.kind), scenario.nodes[action.node],
                               scenario.nodes[action.peer]);
        case Kind::stop:
            return fmt::format("stop {}{}", scenario.nodes[action.node],
                               action.time_by == kStopLinger ? "" : " linger=" + text_of(action.time_by));
        default:
            return fmt::format("{} {}", name_of(action.kind), scenario.nodes[action.node]);
    }
}

std::string text_of(const Run& run) {
    if (!run.quiet) {
        return "run " + text_of(run.time);
    }
    return run.time == Run().time ? "run quiet" : fmt::format("run quiet max={}", text_of(run.time));
}

}  // namespace

const char* name_of_packet(PacketKind kind) {
    static constexpr std::array names = {"*",          "HELLO", "HELLO_ACK", "HELLO_DONE", "DATA", "ACK",
                                         "NEED_FIRST", "CLOSE", "PROBE",     "HEARTBEAT",  "RESET"};
    static_assert(names.size() == Network::kTypes);
    return names[kind];
}

const char* name_of(Comparison comparison) {
    static constexpr std::array names = {"=", "<", "<=", ">", ">="};
    return names[static_cast<std::size_t>(comparison)];
}

bool holds(std::uint64_t seen, Comparison comparison, std::uint64_t number) {
    switch (comparison) {
        case Comparison::equal:
            return seen == number;
        case Comparison::less:
            return seen < number;
        case Comparison::less_equal:
            return seen <= number;
        case Comparison::greater:
            return seen > number;
        case Comparison::greater_equal:
            return seen >= number;
    }
    return false;
}

const char* name_of(AppEvent event) {
    static constexpr std::array names = {"PeerUp", "PeerDown", "Undelivered", "Gap", "ViewChanged"};
    static_assert(names.size() == kAppEvents);
    return names[static_cast<std::size_t>(event)];
}

void LinkChange::apply(Link& to) const {
    to.delay = delay.value_or(to.delay);
    to.jitter = jitter.value_or(to.jitter);
    to.reorder_by = reorder_by.value_or(to.reorder_by);
    to.loss = loss.value_or(to.loss);
    to.dup = dup.value_or(to.dup);
    to.reorder = reorder.value_or(to.reorder);
    to.corrupt = corrupt.value_or(to.corrupt);
}

// — shares —

std::optional<Ppm> parse_share(std::string_view text) {
    constexpr std::size_t digits_max = 4;  // behind the point: a millionth is a ten-thousandth of a percent
    if (!text.ends_with('%')) {
        return std::nullopt;
    }
    text.remove_suffix(1);
    const std::size_t point = text.find('.');
    const std::string_view whole = text.substr(0, point);
    const std::string_view rest = point == std::string_view::npos ? std::string_view("0") : text.substr(point + 1);
    const auto percent = protocol::parse_integer(whole);
    const auto fraction = protocol::parse_integer(rest);
    if (!percent || !fraction || *percent < 0 || *percent > 100 || rest.size() > digits_max) {
        return std::nullopt;
    }
    std::int64_t ppm = *fraction;
    for (std::size_t i = rest.size(); i < digits_max; ++i) {
        ppm *= 10;
    }
    ppm += *percent * 10'000;
    return ppm <= kAlways && *fraction >= 0 ? std::optional(static_cast<Ppm>(ppm)) : std::nullopt;
}

std::string format_share(Ppm share) {
    std::string text = fmt::format("{}.{:04}", share / 10'000, share % 10'000);
    while (text.back() == '0') {
        text.pop_back();
    }
    if (text.back() == '.') {
        text.pop_back();
    }
    return text + '%';
}

// — text —

std::string format(const Scenario& scenario, const LinkRef& link) {
    return link.is_all()
               ? "*"
               : fmt::format("{}{}{}", scenario.nodes[link.from], link.both ? "<->" : "->", scenario.nodes[link.to]);
}

std::string format(const Scenario& scenario, const Action& action) {
    const std::string what = text_of(scenario, action);
    switch (action.when) {
        case Action::When::at:
            return fmt::format("at {} {}", text_of(action.time), what);
        case Action::When::after:
            return fmt::format("after {} {}", text_of(action.time), what);
        case Action::When::now:
            break;
    }
    return what;
}

std::string format(const Scenario& scenario, const Expectation& expectation) {
    using Kind = Expectation::Kind;
    const auto name = [&](NodeId node) { return node == kNoNode ? std::string() : scenario.nodes[node]; };
    const std::string node = name(expectation.node);
    const std::string peer = name(expectation.peer);
    const std::string number = fmt::format("{} {}", name_of(expectation.comparison), expectation.number);
    switch (expectation.kind) {
        case Kind::delivered:
            return fmt::format("delivered {} from {} = {}", node, peer, format(expectation.ranges));
        case Kind::undelivered:
            return fmt::format("undelivered {} to {} = {}", node, peer, format(expectation.ranges));
        case Kind::uncertain:
            return fmt::format("uncertain {} to {} = {}", node, peer, format(expectation.ranges));
        case Kind::unacked:
            return fmt::format("unacked {} to {} {}", node, peer, number);
        case Kind::refused:
            return fmt::format("refused {} to {} {}", node, peer, number);
        case Kind::window:
            return fmt::format("window {} from {} = {}", node, peer, expectation.is ? "open" : "none");
        case Kind::conn:
            return fmt::format("conn {} to {} {}", node, peer, number);
        case Kind::count:
            return fmt::format("count {} {}{} {}", node, expectation.name, peer.empty() ? "" : " peer=" + peer, number);
        case Kind::packets:
            return fmt::format("packets {} {} {}", format(scenario, expectation.link),
                               name_of_packet(expectation.packet), number);
        case Kind::event:
            return fmt::format("{}event {} {} {}", expectation.is ? "" : "no ", node, name_of(expectation.event), peer);
    }
    return {};
}

std::string format(const Scenario& scenario) {
    std::string text = "nodes";
    for (const std::string& node : scenario.nodes) {
        text += ' ' + node;
    }
    text += scenario.apart ? " apart" : "";
    text += scenario.detector ? " detector" : "";
    text += fmt::format("\nseed {}\n", scenario.seed);
    for (const Setting& setting : scenario.settings) {
        text += fmt::format("set {}{}={}\n", setting.node == kNoNode ? "" : scenario.nodes[setting.node] + ' ',
                            setting.key, setting.value);
    }
    for (const LinkSetting& link : scenario.links) {
        text += fmt::format("link {}{}\n", format(scenario, link.change.link), text_of(link.change));
    }
    for (const Statement& statement : scenario.statements) {
        if (const auto* action = std::get_if<Action>(&statement.what)) {
            text += format(scenario, *action);
        } else if (const auto* run = std::get_if<Run>(&statement.what)) {
            text += text_of(*run);
        } else {
            text += "expect " + format(scenario, std::get<Expectation>(statement.what));
        }
        text += '\n';
    }
    return text;
}

}  // namespace bowline::sim
