#include "sim/scenario_parse.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "protocol/settings_text.hpp"
#include "protocol/wire/address.hpp"
#include "sim/node_counters.hpp"
#include "sim/scenario_keys.hpp"
#include "sim/scenario_lexer.hpp"

namespace bowline::sim {

namespace {

constexpr std::size_t kNodesMax = 64;

bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
}

bool is_name(std::string_view word) {
    return protocol::wire::NodeName::make(word).has_value() && std::all_of(word.begin(), word.end(), is_name_char);
}

class Parser {
public:
    ParsedScenario parse(std::string_view text);

private:
    void statement();
    void nodes();
    void set();
    void link_statement();
    void timed(Action::When when);
    void run();
    void expect();

    void action(Action& action);
    void send(Action& action);
    void fault(Action& action);
    void release(Action& action);
    void view(Action& action);
    void expect_ranges(Expectation& expectation, const char* joint);
    void expect_number(Expectation& expectation);
    void expect_count(Expectation& expectation);
    void expect_event(Expectation& expectation);

    NodeId node(std::string_view what = "a node");
    LinkRef link();
    LinkChange link_change();
    PacketKind packet();
    std::vector<NumberRange> ranges();
    Comparison comparison();

    void add(std::variant<Action, Run, Expectation> what) {
        result_.scenario.statements.push_back({.line = line_, .what = std::move(what)});
    }
    [[nodiscard]] bool begun() const {
        return std::any_of(result_.scenario.statements.begin(), result_.scenario.statements.end(),
                           [](const Statement& s) { return !std::holds_alternative<Expectation>(s.what); });
    }
    [[nodiscard]] std::vector<std::string_view> node_names() const {
        return {result_.scenario.nodes.begin(), result_.scenario.nodes.end()};
    }

    ParsedScenario result_;
    SourceLine line_;
    LineReader in_{{}};
    bool seeded_ = false;
    std::vector<std::string> held_;  ///< names that `hold` has given
};

ParsedScenario Parser::parse(std::string_view text) {
    while (!text.empty() && !result_.error) {
        ++line_.number;
        const std::size_t end = std::min(text.find('\n'), text.size());
        in_ = LineReader(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!in_.empty()) {
            statement();
        }
        if (in_.failed()) {
            result_.error = ScenarioError{.line = line_.number, .text = *in_.error()};
        }
    }
    if (!result_.error && result_.scenario.nodes.empty()) {
        result_.error = ScenarioError{.line = std::max(line_.number, 1U),
                                      .text = "the scenario has no nodes; expected 'nodes A B ...' as its first word"};
    }
    return std::move(result_);
}

void Parser::statement() {
    const std::string_view word = in_.next();
    if (result_.scenario.nodes.empty() && word != "nodes" && word != "seed") {
        return in_.fail(fmt::format("'{}' before 'nodes'; expected 'nodes A B ...' first", word));
    }
    if (word == "nodes") {
        nodes();
    } else if (word == "seed") {
        if (seeded_ || begun()) {
            return in_.fail(seeded_ ? "a second 'seed'; a scenario has one"
                                    : "'seed' must stand before the first 'at', 'after' or 'run'");
        }
        seeded_ = true;
        result_.scenario.seed = in_.number("the seed");
    } else if (word == "set") {
        set();
    } else if (word == "link") {
        link_statement();
    } else if (word == "at") {
        timed(Action::When::at);
    } else if (word == "after") {
        timed(Action::When::after);
    } else if (word == "run") {
        run();
    } else if (word == "expect") {
        expect();
    } else if (std::any_of(kActionWords.begin(), kActionWords.end(), [&](const char* a) { return word == a; })) {
        in_.fail(
            fmt::format("'{}' has no time; expected 'at TIME {} ...' or 'after DURATION {} ...'", word, word, word));
    } else {
        in_.fail_unknown("statement", word, {"nodes", "seed", "set", "link", "at", "after", "run", "expect"});
    }
    if (!in_.failed()) {
        in_.end();
    }
}

// — before the first action —

void Parser::nodes() {
    Scenario& scenario = result_.scenario;
    if (!scenario.nodes.empty()) {
        return in_.fail("a second 'nodes'; all nodes stand in one");
    }
    while (!in_.done() && !in_.failed()) {
        const std::string_view word = in_.next();
        bool& flag = word == "apart" ? scenario.apart : scenario.detector;
        if (word == "apart" || word == "detector") {
            flag = true;
        } else if (scenario.apart || scenario.detector) {
            in_.fail(fmt::format("unknown word '{}' behind the flags; expected 'apart' or 'detector'", word));
        } else if (!is_name(word)) {
            in_.fail(fmt::format("'{}' is no name for a node; expected letters, digits, '_', '.' and '-'", word));
        } else if (std::find(scenario.nodes.begin(), scenario.nodes.end(), word) != scenario.nodes.end()) {
            in_.fail(fmt::format("node '{}' is there twice", word));
        } else {
            scenario.nodes.emplace_back(word);
        }
    }
    if (!in_.failed() && (scenario.nodes.empty() || scenario.nodes.size() > kNodesMax)) {
        in_.fail(fmt::format("expected the names of 1 to {} nodes", kNodesMax));
    }
}

void Parser::set() {
    if (begun()) {
        return in_.fail("'set' must stand before the first 'at', 'after' or 'run'");
    }
    NodeId whose = kNoNode;
    if (in_.peek(1) != "=" && !in_.take("*")) {
        whose = node("a node or KEY=VALUE");
    }
    do {
        const std::string_view key = in_.word("KEY=VALUE");
        in_.keyword("=");
        const std::string_view value = in_.word(fmt::format("the value of '{}'", key));
        if (in_.failed()) {
            return;
        }
        if (auto wrong = check_setting(key, value)) {
            return in_.fail(std::move(*wrong));
        }
        result_.scenario.settings.push_back(
            {.line = line_, .node = whose, .key = std::string(key), .value = std::string(value)});
    } while (!in_.done());
}

void Parser::link_statement() {
    LinkChange change = link_change();
    if (!begun()) {
        result_.scenario.links.push_back({.line = line_, .change = change});
        return;
    }
    Action action;
    action.when = Action::When::now;
    action.kind = Action::Kind::link;
    action.change = change;
    add(std::move(action));
}

LinkChange Parser::link_change() {
    LinkChange change;
    change.link = link();
    const auto share = [&](std::optional<Ppm>& value, std::string_view key) {
        const std::string_view text = in_.word(fmt::format("the value of '{}'", key));
        value = parse_share(text);
        if (!value) {
            in_.fail(fmt::format("'{}' must be a share such as 1% or 0.5%, up to 100%, not '{}'", key, text));
        }
    };
    do {
        const std::string_view key = in_.word("a property of the link such as loss=1%");
        if (in_.failed()) {
            return change;
        }
        in_.keyword("=");
        if (key == "delay") {
            change.delay = in_.duration(key);
        } else if (key == "jitter") {
            change.jitter = in_.duration(key);
        } else if (key == "reorder_by") {
            change.reorder_by = in_.duration(key);
        } else if (key == "loss") {
            share(change.loss, key);
        } else if (key == "dup") {
            share(change.dup, key);
        } else if (key == "reorder") {
            share(change.reorder, key);
        } else if (key == "corrupt") {
            share(change.corrupt, key);
        } else {
            in_.fail_unknown("property of a link", key,
                             {"delay", "jitter", "loss", "dup", "reorder", "reorder_by", "corrupt"});
        }
    } while (!in_.done() && !in_.failed());
    return change;
}

// — actions —

void Parser::timed(Action::When when) {
    Action action;
    action.when = when;
    action.time = in_.duration(when == Action::When::at ? "the time" : "the duration");
    if (in_.failed()) {
        return;
    }
    this->action(action);
    add(std::move(action));
}

void Parser::action(Action& action) {
    using Kind = Action::Kind;
    const std::string_view word = in_.word("an action");
    const auto found = std::find_if(kActionWords.begin(), kActionWords.end(), [&](const char* a) { return word == a; });
    if (found == kActionWords.end()) {
        return in_.fail_unknown("action", word, {kActionWords.begin(), kActionWords.end()});
    }
    action.kind = static_cast<Kind>(found - kActionWords.begin());
    switch (action.kind) {
        case Kind::send:
            return send(action);
        case Kind::drop:
        case Kind::dup:
        case Kind::corrupt:
        case Kind::delay:
        case Kind::hold:
            return fault(action);
        case Kind::release:
            return release(action);
        case Kind::clear:
        case Kind::cut:
        case Kind::heal:
            action.link = link();
            return;
        case Kind::link:
            action.change = link_change();
            return;
        case Kind::view:
            return view(action);
        case Kind::close:
        case Kind::forget:
        case Kind::rotate:
            action.node = node();
            action.peer = node("another node");
            if (!in_.failed() && action.node == action.peer) {
                in_.fail(fmt::format("'{}' needs two different nodes", word));
            }
            return;
        case Kind::stop:
            action.node = node();
            action.time_by = kStopLinger;
            if (in_.take("linger")) {
                in_.keyword("=");
                action.time_by = in_.duration("linger");
            }
            return;
        default:
            action.node = node();
    }
}

void Parser::send(Action& action) {
    action.node = node("the sender");
    action.peer = node("the receiver");
    action.count = in_.number("the number of messages", 1);
    while (!in_.done() && !in_.failed()) {
        const std::string_view word = in_.next();
        if (word == "packed") {
            action.packed = true;
        } else if (word == "size") {
            in_.keyword("=");
            const std::string_view text = in_.word("the value of 'size'");
            const auto size = protocol::parse_size(text);
            if (!size || *size > UINT32_MAX) {
                return in_.fail(fmt::format("'size' must be a size such as 32 or 16MiB, not '{}'", text));
            }
            action.size = static_cast<std::uint32_t>(*size);
        } else {
            in_.fail_unknown("word", word, {"size", "packed"});
        }
    }
}

void Parser::fault(Action& action) {
    using Kind = Action::Kind;
    action.link = link();
    action.packet = packet();
    bool by = false;
    while (!in_.done() && !in_.failed()) {
        const std::string_view key = in_.next();
        in_.keyword("=");
        if (key == "nth") {
            action.nth = in_.number(key, 1);
        } else if (key == "count") {
            action.count = in_.take("all") ? kEvery : in_.number("count ('all', or how many)", 1);
        } else if (key == "msg") {
            action.message = in_.number(key, 1);
        } else if (key == "by" && action.kind == Kind::delay) {
            action.time_by = in_.duration(key);
            by = true;
        } else if (key == "as" && action.kind == Kind::hold) {
            action.name = in_.word("the name behind 'as'");
        } else {
            std::vector<std::string_view> known = {"nth", "count", "msg"};
            if (action.kind == Kind::delay || action.kind == Kind::hold) {
                known.push_back(action.kind == Kind::delay ? "by" : "as");
            }
            return in_.fail_unknown("key", key, known);
        }
    }
    if (in_.failed()) {
        return;
    }
    if (action.kind == Kind::delay && !by) {
        in_.fail("'delay' needs by=DURATION");
    } else if (action.kind == Kind::hold && action.name.empty()) {
        in_.fail("'hold' needs as=NAME");
    } else if (action.message != 0 && action.packet != static_cast<PacketKind>(protocol::wire::Type::data) &&
               action.packet != kAnyPacket) {
        in_.fail(fmt::format("msg= names a message, which only DATA carries, not {}", name_of_packet(action.packet)));
    }
    if (!action.name.empty()) {
        held_.push_back(action.name);
    }
}

void Parser::release(Action& action) {
    action.name = in_.word("the name of what is held");
    if (!in_.failed() && std::find(held_.begin(), held_.end(), action.name) == held_.end()) {
        return in_.fail(
            fmt::format("nothing is held as '{}'; expected a name that a 'hold' before this line gives", action.name));
    }
    if (in_.take("times")) {
        in_.keyword("=");
        action.count = in_.number("times", 1);
    }
}

void Parser::view(Action& action) {
    if (!in_.take("*")) {
        action.node = node("the node that installs the view, or '*'");
    }
    in_.keyword("=");
    while (!in_.done() && !in_.failed()) {
        const NodeId member = node("a member");
        if (std::find(action.members.begin(), action.members.end(), member) != action.members.end()) {
            return in_.fail(fmt::format("member '{}' is there twice", result_.scenario.nodes[member]));
        }
        action.members.push_back(member);
    }
}

// — runs —

void Parser::run() {
    Run run;
    if (!in_.take("quiet")) {
        run.time = in_.duration("what follows 'run' ('quiet', or how long)");
        return add(run);
    }
    run.quiet = true;
    if (in_.take("max")) {
        in_.keyword("=");
        run.time = in_.duration("max");
    }
    add(run);
}

// — expectations —

void Parser::expect() {
    using Kind = Expectation::Kind;
    static constexpr std::array words = {"delivered", "undelivered", "uncertain", "unacked", "refused",
                                         "window",    "conn",        "count",     "packets", "event"};
    Expectation expectation;
    const bool no = in_.take("no");
    const std::string_view word = in_.word("what is expected");
    const auto found = std::find_if(words.begin(), words.end(), [&](const char* w) { return word == w; });
    if (found == words.end()) {
        return in_.fail_unknown("expectation", word, {words.begin(), words.end()});
    }
    expectation.kind = static_cast<Kind>(found - words.begin());
    if (no && expectation.kind != Kind::event) {
        return in_.fail(fmt::format("'no' goes with 'event' only, not with '{}'", word));
    }
    switch (expectation.kind) {
        case Kind::delivered:
            expect_ranges(expectation, "from");
            break;
        case Kind::undelivered:
        case Kind::uncertain:
            expect_ranges(expectation, "to");
            break;
        case Kind::unacked:
        case Kind::refused:
        case Kind::conn:
            expectation.node = node();
            in_.keyword("to");
            expectation.peer = node();
            expect_number(expectation);
            break;
        case Kind::window:
            expectation.node = node();
            in_.keyword("from");
            expectation.peer = node();
            in_.keyword("=");
            expectation.is = in_.take("open");
            if (!expectation.is && !in_.take("none")) {
                in_.fail(fmt::format("expected 'open' or 'none', not '{}'", in_.peek()));
            }
            break;
        case Kind::count:
            expect_count(expectation);
            break;
        case Kind::packets:
            expectation.link = link();
            expectation.packet = packet();
            expect_number(expectation);
            break;
        case Kind::event:
            expectation.is = !no;
            expect_event(expectation);
            break;
    }
    add(std::move(expectation));
}

void Parser::expect_ranges(Expectation& expectation, const char* joint) {
    expectation.node = node();
    in_.keyword(joint);
    expectation.peer = node();
    in_.keyword("=");
    expectation.ranges = ranges();
}

void Parser::expect_number(Expectation& expectation) {
    expectation.comparison = comparison();
    expectation.number = in_.number("the expected number");
}

void Parser::expect_count(Expectation& expectation) {
    expectation.node = node();
    expectation.name = in_.word("the name of a counter");
    if (in_.failed()) {
        return;
    }
    const CounterScope scope = scope_of_counter(expectation.name);
    if (scope == CounterScope::unknown) {
        return in_.fail(
            fmt::format("unknown counter '{}'; near are: {}", expectation.name, join(counters_near(expectation.name))));
    }
    if (in_.take("peer")) {
        in_.keyword("=");
        expectation.peer = node("the peer");
        if (scope == CounterScope::node) {
            return in_.fail(fmt::format("counter '{}' is kept for a node, not for each peer", expectation.name));
        }
    }
    expect_number(expectation);
}

void Parser::expect_event(Expectation& expectation) {
    expectation.node = node();
    std::vector<std::string_view> known;
    for (std::size_t i = 0; i < kAppEvents; ++i) {
        known.emplace_back(name_of(static_cast<AppEvent>(i)));
    }
    const std::string_view word = in_.word("an event");
    const auto found = std::find(known.begin(), known.end(), word);
    if (found == known.end()) {
        return in_.fail_unknown("event", word, known);
    }
    expectation.event = static_cast<AppEvent>(found - known.begin());
    // A view is nobody else's.
    expectation.peer =
        expectation.event == AppEvent::view_changed && in_.done() ? expectation.node : node("the peer of the event");
}

// — words —

NodeId Parser::node(std::string_view what) {
    const std::string_view name = in_.word(what);
    const std::vector<std::string>& nodes = result_.scenario.nodes;
    const auto found = std::find(nodes.begin(), nodes.end(), name);
    if (found == nodes.end()) {
        in_.fail_unknown("node", name, node_names());
        return 0;
    }
    return static_cast<NodeId>(found - nodes.begin());
}

LinkRef Parser::link() {
    const std::string_view word = in_.word("a link");
    if (word == "*") {
        return {};
    }
    const std::size_t arrow = word.find("->");
    if (arrow == std::string_view::npos) {
        in_.fail(fmt::format("expected a link such as A->B, A<->B or *, not '{}'", word));
        return {};
    }
    LinkRef link;
    std::string_view from = word.substr(0, arrow);
    const std::string_view to = word.substr(arrow + 2);
    if (from.ends_with('<')) {
        link.both = true;
        from.remove_suffix(1);
    }
    const std::vector<std::string>& nodes = result_.scenario.nodes;
    for (const auto& [name, end] : {std::pair{from, &link.from}, std::pair{to, &link.to}}) {
        const auto found = std::find(nodes.begin(), nodes.end(), name);
        if (found == nodes.end()) {
            in_.fail_unknown("node", name, node_names());
            return {};
        }
        *end = static_cast<NodeId>(found - nodes.begin());
    }
    if (link.from == link.to) {
        in_.fail(fmt::format("a link has two ends, '{}' has one", word));
    }
    return link;
}

PacketKind Parser::packet() {
    const std::string_view word = in_.word("a kind of packet");
    std::vector<std::string_view> known;
    for (PacketKind kind = 0; kind < Network::kTypes; ++kind) {
        known.emplace_back(name_of_packet(kind));
    }
    const auto found = std::find(known.begin(), known.end(), word);
    if (found == known.end()) {
        in_.fail_unknown("kind of packet", word, known);
        return kAnyPacket;
    }
    return static_cast<PacketKind>(found - known.begin());
}

std::vector<NumberRange> Parser::ranges() {
    std::string text(in_.word("the expected numbers"));
    while (!in_.done()) {
        text += in_.next();  // a space behind a comma is no mistake
    }
    if (text == "none" || in_.failed()) {
        return {};
    }
    std::vector<NumberRange> result;
    std::string_view rest = text;
    const auto take_number = [&](std::uint64_t& number) {
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
        const bool good = error == std::errc{} && number > 0;
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
        return good;
    };
    bool good = true;
    do {
        NumberRange range;
        good = take_number(range.first);
        range.last = range.first;
        if (good && rest.starts_with("..")) {
            rest.remove_prefix(2);
            good = take_number(range.last) && range.last >= range.first;
        }
        if (good) {
            append(result, range);
        }
        if (good && !rest.empty()) {
            good = rest.front() == ',';
            rest.remove_prefix(1);
            good = good && !rest.empty();
        }
    } while (good && !rest.empty());
    if (!good) {
        in_.fail(fmt::format("expected numbers such as 1..5,7, or none, not '{}'", text));
    }
    return result;
}

Comparison Parser::comparison() {
    const std::string_view word = in_.word("a comparison (=, <, <=, > or >=)");
    for (const Comparison comparison : {Comparison::equal, Comparison::less, Comparison::less_equal,
                                        Comparison::greater, Comparison::greater_equal}) {
        if (word == name_of(comparison)) {
            return comparison;
        }
    }
    in_.fail(fmt::format("expected =, <, <=, > or >=, not '{}'", word));
    return Comparison::equal;
}

}  // namespace

ParsedScenario parse_scenario(std::string_view text) { return Parser().parse(text); }

}  // namespace bowline::sim
