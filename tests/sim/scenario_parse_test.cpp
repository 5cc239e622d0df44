#include "sim/scenario_parse.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/scenario_keys.hpp"

namespace bowline::sim {
namespace {

Scenario parsed(std::string_view text) {
    const ParsedScenario result = parse_scenario(text);
    EXPECT_FALSE(result.error) << result.error->line << ": " << result.error->text;
    return result.scenario;
}

const Action& action_of(const Scenario& scenario, std::size_t statement) {
    return std::get<Action>(scenario.statements.at(statement).what);
}
const Expectation& expectation_of(const Scenario& scenario, std::size_t statement) {
    return std::get<Expectation>(scenario.statements.at(statement).what);
}

/// The text is refused in `line`, with words that contain `part`.
void expect_refused(std::string_view text, std::uint32_t line, std::string_view part) {
    const ParsedScenario result = parse_scenario(text);
    ASSERT_TRUE(result.error) << text;
    EXPECT_EQ(result.error->line, line) << result.error->text;
    EXPECT_NE(result.error->text.find(part), std::string::npos) << "it said: " << result.error->text;
}
/// The same of a line behind `nodes A B`.
void expect_line_refused(std::string_view line, std::string_view part) {
    expect_refused("nodes A B\n" + std::string(line) + "\n", 2, part);
}

TEST(ScenarioParse, ReadsWhatStandsBeforeTheFirstAction) {
    const Scenario scenario = parsed(
        "# a comment\n"
        "nodes A B C apart detector   # and another\n"
        "seed 7\n"
        "set window=16 ack_delay=0\n"
        "set B exclusion=discard\n"
        "link * delay=1ms loss=0.5%\n"
        "link A->B corrupt=1% jitter=5us dup=2% reorder=3% reorder_by=50us\n");
    EXPECT_EQ(scenario.nodes, (std::vector<std::string>{"A", "B", "C"}));
    EXPECT_TRUE(scenario.apart);
    EXPECT_TRUE(scenario.detector);
    EXPECT_EQ(scenario.seed, 7U);
    ASSERT_EQ(scenario.settings.size(), 3U);
    EXPECT_EQ(scenario.settings[0], (Setting{.line = {}, .node = kNoNode, .key = "window", .value = "16"}));
    EXPECT_EQ(scenario.settings[2], (Setting{.line = {}, .node = 1, .key = "exclusion", .value = "discard"}));
    EXPECT_EQ(scenario.settings[2].line.number, 5U);
    ASSERT_EQ(scenario.links.size(), 2U);
    EXPECT_TRUE(scenario.links[0].change.link.is_all());
    EXPECT_EQ(scenario.links[0].change.delay, Duration::ms(1));
    EXPECT_EQ(scenario.links[0].change.loss, 5'000U);
    EXPECT_EQ(scenario.links[0].change.dup, std::nullopt);
    Link link;
    scenario.links[0].change.apply(link);
    scenario.links[1].change.apply(link);
    EXPECT_EQ(link.delay, Duration::ms(1));
    EXPECT_EQ(link.jitter, Duration::us(5));
    EXPECT_EQ(link.loss, 5'000U);
    EXPECT_EQ(link.corrupt, 10'000U);
    EXPECT_EQ(link.dup, 20'000U);
    EXPECT_EQ(link.reorder, 30'000U);
    EXPECT_EQ(link.reorder_by, Duration::us(50));
}

TEST(ScenarioParse, ReadsActionsWithTheirTimes) {
    const Scenario scenario = parsed(
        "nodes A B\n"
        "at 10us send A B 5 size=16MiB packed\n"
        "after 2s drop A<->B DATA nth=2 count=all msg=3\n"
        "at 3s delay * ACK by=5ms\n"
        "at 3s hold B->A * as=old count=4\n"
        "at 4s release old times=10\n"
        "at 5s view * = A B\n"
        "at 5s view B =\n"
        "link A->B loss=100%\n"
        "at 6s stop A linger=5ms\n");
    const Action& send = action_of(scenario, 0);
    EXPECT_EQ(send.when, Action::When::at);
    EXPECT_EQ(send.time, Duration::us(10));
    EXPECT_EQ(send.kind, Action::Kind::send);
    EXPECT_EQ(send.node, 0);
    EXPECT_EQ(send.peer, 1);
    EXPECT_EQ(send.count, 5U);
    EXPECT_EQ(send.size, 16U << 20U);
    EXPECT_TRUE(send.packed);
    const Action& drop = action_of(scenario, 1);
    EXPECT_EQ(drop.when, Action::When::after);
    EXPECT_EQ(drop.link, (LinkRef{.from = 0, .to = 1, .both = true}));
    EXPECT_EQ(drop.packet, static_cast<PacketKind>(protocol::wire::Type::data));
    EXPECT_EQ(drop.nth, 2U);
    EXPECT_EQ(drop.count, kEvery);
    EXPECT_EQ(drop.message, 3U);
    EXPECT_EQ(action_of(scenario, 2).time_by, Duration::ms(5));
    EXPECT_EQ(action_of(scenario, 3).name, "old");
    EXPECT_EQ(action_of(scenario, 3).packet, kAnyPacket);
    EXPECT_EQ(action_of(scenario, 4).count, 10U);
    EXPECT_EQ(action_of(scenario, 5).node, kNoNode);
    EXPECT_EQ(action_of(scenario, 5).members, (std::vector<NodeId>{0, 1}));
    EXPECT_TRUE(action_of(scenario, 6).members.empty());
    EXPECT_EQ(action_of(scenario, 7).when, Action::When::now);
    EXPECT_EQ(action_of(scenario, 7).kind, Action::Kind::link);
    EXPECT_EQ(action_of(scenario, 7).change.loss, kAlways);
    EXPECT_EQ(action_of(scenario, 8).time_by, Duration::ms(5));
    EXPECT_EQ(scenario.statements[8].line.number, 10U);
}

TEST(ScenarioParse, ReadsEveryActionOfOneNode) {
    const Scenario scenario = parsed(
        "nodes A B\n"
        "at 0us pause A\nat 0us resume A\nat 0us stall A\nat 0us unstall A\nat 0us crash A\nat 0us restart A\n"
        "at 0us exhaust A\nat 0us restore A\nat 0us close A B\nat 0us forget B A\nat 0us rotate A B\n"
        "at 0us clear *\nat 0us cut A->B\nat 0us heal A<->B\nat 0us dup A->B HELLO\nat 0us corrupt A->B NEED_FIRST\n");
    using Kind = Action::Kind;
    const std::vector<Kind> kinds = {Kind::pause, Kind::resume,  Kind::stall,   Kind::unstall,
                                     Kind::crash, Kind::restart, Kind::exhaust, Kind::restore,
                                     Kind::close, Kind::forget,  Kind::rotate,  Kind::clear,
                                     Kind::cut,   Kind::heal,    Kind::dup,     Kind::corrupt};
    ASSERT_EQ(scenario.statements.size(), kinds.size());
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        EXPECT_EQ(action_of(scenario, i).kind, kinds[i]);
    }
    EXPECT_EQ(action_of(scenario, 9).node, 1);
    EXPECT_EQ(action_of(scenario, 9).peer, 0);
}

TEST(ScenarioParse, ReadsRunsAndExpectations) {
    const Scenario scenario = parsed(
        "nodes A B\n"
        "run 5ms\n"
        "run quiet\n"
        "run quiet max=70s\n"
        "expect delivered B from A = 1..3, 5,6\n"
        "expect undelivered A to B = none\n"
        "expect uncertain A to B=3..4\n"
        "expect unacked A to B = 0\n"
        "expect window B from A = open\n"
        "expect window B from A = none\n"
        "expect conn A to B >= 2\n"
        "expect count A retransmits peer=B < 3\n"
        "expect count A control_heartbeats > 1\n"
        "expect packets A->B NEED_FIRST<=12\n"
        "expect event A PeerDown B\n"
        "expect no event A Gap B\n"
        "expect event A ViewChanged\n"
        "expect refused A to B = 4\n");
    EXPECT_EQ(std::get<sim::Run>(scenario.statements[0].what), (sim::Run{.quiet = false, .time = Duration::ms(5)}));
    EXPECT_EQ(std::get<sim::Run>(scenario.statements[1].what), (sim::Run{.quiet = true, .time = Duration::s(10)}));
    EXPECT_EQ(std::get<sim::Run>(scenario.statements[2].what), (sim::Run{.quiet = true, .time = Duration::s(70)}));
    EXPECT_EQ(expectation_of(scenario, 3).ranges,
              (std::vector<NumberRange>{{.first = 1, .last = 3}, {.first = 5, .last = 6}}));
    EXPECT_TRUE(expectation_of(scenario, 4).ranges.empty());
    EXPECT_EQ(expectation_of(scenario, 5).ranges, (std::vector<NumberRange>{{.first = 3, .last = 4}}));
    EXPECT_EQ(expectation_of(scenario, 6).kind, Expectation::Kind::unacked);
    EXPECT_TRUE(expectation_of(scenario, 7).is);
    EXPECT_FALSE(expectation_of(scenario, 8).is);
    EXPECT_EQ(expectation_of(scenario, 9).comparison, Comparison::greater_equal);
    EXPECT_EQ(expectation_of(scenario, 10).peer, 1);
    EXPECT_EQ(expectation_of(scenario, 10).comparison, Comparison::less);
    EXPECT_EQ(expectation_of(scenario, 11).name, "control_heartbeats");
    EXPECT_EQ(expectation_of(scenario, 12).number, 12U);
    EXPECT_EQ(expectation_of(scenario, 13).event, AppEvent::peer_down);
    EXPECT_FALSE(expectation_of(scenario, 14).is);
    EXPECT_EQ(expectation_of(scenario, 15).peer, 0);
    EXPECT_EQ(expectation_of(scenario, 16).number, 4U);
}

TEST(ScenarioParse, RefusesStatementsInTheWrongPlace) {
    expect_refused("at 0us send A B 1\n", 1, "before 'nodes'");
    expect_refused("", 1, "no nodes");
    expect_refused("# nothing\n\n", 2, "no nodes");
    expect_line_refused("nodes C", "second 'nodes'");
    expect_refused("nodes A B\nat 0us pause A\nset window=4\n", 3, "before the first");
    expect_refused("nodes A B\nrun 1ms\nseed 4\n", 3, "before the first");
    expect_refused("nodes A B\nseed 4\nseed 4\n", 3, "second 'seed'");
    expect_line_refused("send A B 1", "'send' has no time");
}

TEST(ScenarioParse, RefusesUnknownWords) {
    expect_line_refused("go", "unknown statement 'go'; expected one of: nodes, seed");
    expect_line_refused("at 0us sned A B 1", "did you mean 'send'?");
    expect_line_refused("at 0us send A D 1", "unknown node 'D'; expected one of: A, B");
    expect_line_refused("at 0us drop A->D DATA", "unknown node 'D'");
    expect_line_refused("at 0us drop A->B DTA", "did you mean 'DATA'?");
    expect_line_refused("at 0us drop A->B DATA by=5ms", "unknown key 'by'");
    expect_line_refused("at 0us drop A->A DATA", "two ends");
    expect_line_refused("at 0us drop A-B DATA", "expected a link");
    expect_line_refused("at 0us send A B 1 large", "unknown word 'large'");
    expect_line_refused("set windw=4", "unknown key 'windw'; did you mean 'window'?");
    expect_line_refused("set device=x", "no meaning in a simulation");
    expect_line_refused("set views=external", "no meaning in a simulation");
    expect_line_refused("set C window=4", "unknown node 'C'");
    expect_line_refused("link A->B los=1%", "did you mean 'loss'?");
    expect_line_refused("expect received A from B = 1", "unknown expectation 'received'");
    expect_line_refused("expect event A Peerdown B", "did you mean 'PeerDown'?");
    expect_line_refused("expect count A retransmit = 1", "near are: retransmits");
    expect_line_refused("expect count A turns peer=B = 1", "not for each peer");
    expect_line_refused("expect no delivered A from B = 1", "'no' goes with 'event' only");
    expect_line_refused("at 0us release old", "nothing is held as 'old'");
    expect_refused("nodes A B late\nrun fast\n", 2, "what follows 'run'");
    expect_refused("nodes A apart B\n", 1, "unknown word 'B' behind the flags");
    expect_refused("nodes A A\n", 1, "there twice");
    expect_refused("nodes A =\n", 1, "no name");
}

TEST(ScenarioParse, RefusesBadNumbersAndDurations) {
    expect_line_refused("at 5 send A B 1", "the time must be a duration such as 10us, 5ms or 2s, not '5'");
    expect_line_refused("at send A B 1", "not 'send'");
    expect_line_refused("after 5 ms pause A", "not '5'");
    expect_line_refused("at 0us send A B 0", "at least 1");
    expect_line_refused("at 0us send A B ten", "not 'ten'");
    expect_line_refused("at 0us send A B 1 size=-1", "must be a size");
    expect_line_refused("at 0us drop A->B DATA nth=0", "at least 1");
    expect_line_refused("at 0us drop A->B DATA count=some", "'all', or how many");
    expect_line_refused("at 0us drop A->B ACK msg=1", "only DATA carries");
    expect_line_refused("link A->B loss=5", "must be a share");
    expect_line_refused("link A->B loss=101%", "must be a share");
    expect_line_refused("link A->B delay=5", "must be a duration");
    expect_line_refused("set window=3", "power of two");
    expect_line_refused("set window=32768", "2 to 16384");
    expect_line_refused("set ack_delay=2s", "0 to 1s");
    expect_line_refused("set exclusion=never", "must be retain or discard");
    expect_line_refused("seed x", "the seed must be a whole number");
    expect_line_refused("expect delivered B from A = 3..1", "numbers such as 1..5,7");
    expect_line_refused("expect delivered B from A = 1,", "numbers such as");
    expect_line_refused("expect delivered B from A = all", "not 'all'");
    expect_line_refused("expect unacked A to B ~ 4", "expected =, <");
    expect_line_refused("run quiet max=soon", "max must be a duration");
}

TEST(ScenarioParse, RefusesMissingAndSpareWords) {
    expect_line_refused("at 0us", "an action is missing");
    expect_line_refused("at 0us send A", "the receiver is missing");
    expect_line_refused("at 0us send A B", "the number of messages is missing");
    expect_line_refused("at 0us close A", "another node is missing");
    expect_line_refused("at 0us close A A", "two different nodes");
    expect_line_refused("at 0us delay A->B DATA", "'delay' needs by=DURATION");
    expect_line_refused("at 0us hold A->B DATA", "'hold' needs as=NAME");
    expect_line_refused("at 0us view A A", "expected '='");
    expect_line_refused("at 0us pause A B", "nothing is expected here, but there is 'B'");
    expect_line_refused("link A->B", "a property of the link");
    expect_line_refused("set A", "KEY=VALUE is missing");
    expect_line_refused("set window", "expected");
    expect_line_refused("run", "what follows 'run'");
    expect_line_refused("expect window B from A = ajar", "expected 'open' or 'none', not 'ajar'");
    expect_line_refused("expect delivered B to A = 1", "expected 'from', not 'to'");
    expect_line_refused("expect", "what is expected is missing");
}

TEST(ScenarioParse, SharesAreExactToAMillionth) {
    EXPECT_EQ(parse_share("0%"), 0U);
    EXPECT_EQ(parse_share("100%"), kAlways);
    EXPECT_EQ(parse_share("0.0001%"), 1U);
    EXPECT_EQ(parse_share("12.5%"), 125'000U);
    EXPECT_EQ(parse_share("100.1%"), std::nullopt);
    EXPECT_EQ(parse_share("0.00001%"), std::nullopt);
    EXPECT_EQ(parse_share("5"), std::nullopt);
    EXPECT_EQ(parse_share("-5%"), std::nullopt);
    EXPECT_EQ(parse_share("1.-5%"), std::nullopt);
    EXPECT_EQ(parse_share("%"), std::nullopt);
    EXPECT_EQ(format_share(125'000), "12.5%");
    EXPECT_EQ(format_share(1), "0.0001%");
}

// — what is printed is read as the same —

template <typename T>
rc::Gen<T> any_of(T least, T most) {
    return rc::gen::inRange<T>(least, static_cast<T>(most + 1));
}

rc::Gen<Duration> any_duration() {
    return rc::gen::map(
        rc::gen::oneOf(any_of<std::int64_t>(0, 5'000),
                       rc::gen::map(any_of<std::int64_t>(0, 90'000), [](auto n) { return n * 1'000; }),
                       rc::gen::map(any_of<std::int64_t>(0, 120), [](auto n) { return n * 500'000'000; })),
        [](std::int64_t ns) { return Duration::ns(ns); });
}

constexpr NodeId kNodes = 3;

LinkRef any_link() {
    const auto from = *any_of<NodeId>(0, kNodes - 1);
    const auto to = static_cast<NodeId>((from + *any_of<NodeId>(1, kNodes - 1)) % kNodes);
    return *any_of(0, 3) == 0 ? LinkRef() : LinkRef{.from = from, .to = to, .both = *rc::gen::arbitrary<bool>()};
}

LinkChange any_change() {
    LinkChange change;
    change.link = any_link();
    change.loss = *any_of<Ppm>(0, kAlways);
    if (*rc::gen::arbitrary<bool>()) {
        change.delay = *any_duration();
        change.jitter = *any_duration();
        change.reorder_by = *any_duration();
        change.dup = *any_of<Ppm>(0, kAlways);
        change.reorder = *any_of<Ppm>(0, kAlways);
        change.corrupt = *any_of<Ppm>(0, kAlways);
    }
    return change;
}

void fill_fault(Action& action) {
    action.link = any_link();
    action.packet = *any_of<PacketKind>(0, Network::kTypes - 1);
    action.nth = *any_of<std::uint64_t>(1, 5);
    action.count = *any_of<std::uint64_t>(0, 4);
    action.count = action.count == 0 ? kEvery : action.count;
    if (action.packet == kAnyPacket || action.packet == static_cast<PacketKind>(protocol::wire::Type::data)) {
        action.message = *any_of<std::uint64_t>(0, 3);
    }
    if (action.kind == Action::Kind::delay) {
        action.time_by = *any_duration();
    } else if (action.kind == Action::Kind::hold) {
        action.name = "old";
    }
}

Action any_action(bool first) {
    using Kind = Action::Kind;
    Action action;
    action.kind = static_cast<Kind>(*any_of<std::size_t>(0, kActionWords.size() - 1));
    action.when = static_cast<Action::When>(*any_of(0, action.kind == Kind::link && !first ? 2 : 1));
    action.time = action.when == Action::When::now ? Duration() : *any_duration();
    const auto node = *any_of<NodeId>(0, kNodes - 1);
    const auto peer = static_cast<NodeId>((node + 1) % kNodes);
    switch (action.kind) {
        case Kind::send:
            action.node = node;
            action.peer = *rc::gen::arbitrary<bool>() ? node : peer;
            action.count = *any_of<std::uint64_t>(1, 60);
            action.size = *any_of<std::uint32_t>(0, 70'000);
            action.packed = *rc::gen::arbitrary<bool>();
            break;
        case Kind::drop:
        case Kind::dup:
        case Kind::corrupt:
        case Kind::delay:
        case Kind::hold:
            fill_fault(action);
            break;
        case Kind::release:
            action.kind = Kind::clear;  // of what is held: only where something is
            [[fallthrough]];
        case Kind::clear:
        case Kind::cut:
        case Kind::heal:
            action.link = any_link();
            break;
        case Kind::link:
            action.change = any_change();
            break;
        case Kind::view:
            action.node = *rc::gen::arbitrary<bool>() ? node : kNoNode;
            action.members =
                *rc::gen::element(std::vector<NodeId>{}, std::vector<NodeId>{0, 2}, std::vector<NodeId>{2, 1, 0});
            break;
        case Kind::close:
        case Kind::forget:
        case Kind::rotate:
            action.node = node;
            action.peer = peer;
            break;
        case Kind::stop:
            action.node = node;
            action.time_by = *any_duration();
            break;
        default:
            action.node = node;
            break;
    }
    return action;
}

Expectation any_expectation() {
    using Kind = Expectation::Kind;
    Expectation expectation;
    expectation.kind = static_cast<Kind>(*any_of(0, 9));
    const auto node = *any_of<NodeId>(0, kNodes - 1);
    if (expectation.kind == Kind::packets) {
        expectation.link = any_link();
        expectation.packet = *any_of<PacketKind>(0, Network::kTypes - 1);
    } else {
        expectation.node = node;
        expectation.peer = static_cast<NodeId>((node + 1) % kNodes);
    }
    switch (expectation.kind) {
        case Kind::delivered:
        case Kind::undelivered:
        case Kind::uncertain:
            for (auto ranges = *any_of(0, 3); ranges > 0; --ranges) {
                const auto first = *any_of<std::uint64_t>(1, 9);
                append(expectation.ranges, {.first = first, .last = first + *any_of<std::uint64_t>(0, 3)});
            }
            return expectation;
        case Kind::window:
            expectation.is = *rc::gen::arbitrary<bool>();
            return expectation;
        case Kind::event:
            expectation.is = *rc::gen::arbitrary<bool>();
            expectation.event = static_cast<AppEvent>(*any_of<std::size_t>(0, kAppEvents - 1));
            return expectation;
        case Kind::count:
            expectation.name = *rc::gen::element<std::string>("retransmits", "stale_acks", "duplicates");
            expectation.peer = *rc::gen::arbitrary<bool>() ? expectation.peer : kNoNode;
            break;
        default:
            break;
    }
    expectation.comparison = static_cast<Comparison>(*any_of(0, 4));
    expectation.number = *any_of<std::uint64_t>(0, 1000);
    return expectation;
}

Scenario any_scenario() {
    Scenario scenario;
    scenario.nodes = {"A", "B1", "C_2.x"};
    scenario.apart = *rc::gen::arbitrary<bool>();
    scenario.detector = *rc::gen::arbitrary<bool>();
    scenario.seed = *rc::gen::arbitrary<std::uint64_t>();
    if (*rc::gen::arbitrary<bool>()) {
        scenario.settings = {{.line = {}, .node = kNoNode, .key = "window", .value = "16"},
                             {.line = {}, .node = 2, .key = "clock_offset", .value = "-5ms"},
                             {.line = {}, .node = 0, .key = "hold", .value = "12.5%"}};
        scenario.links.push_back({.line = {}, .change = any_change()});
    }
    bool acted = false;
    for (auto count = *any_of(0, 12); count > 0; --count) {
        Statement statement;
        const auto kind = *any_of(0, 3);
        if (kind < 2) {
            statement.what = any_action(!acted);
        } else if (kind == 2) {
            statement.what = sim::Run{.quiet = *rc::gen::arbitrary<bool>(), .time = *any_duration()};
        } else {
            statement.what = any_expectation();
        }
        acted = acted || kind < 3;
        scenario.statements.push_back(std::move(statement));
    }
    return scenario;
}

RC_GTEST_PROP(ScenarioFormat, IsReadAsTheSameScenarioAgain, ()) {
    const Scenario scenario = any_scenario();
    const std::string text = format(scenario);
    const ParsedScenario result = parse_scenario(text);
    RC_LOG() << text;
    if (result.error) {
        RC_LOG() << result.error->line << ": " << result.error->text;
    }
    RC_ASSERT_FALSE(result.error.has_value());
    RC_ASSERT(result.scenario == scenario);
}

RC_GTEST_PROP(ScenarioFormat, AnyTextIsReadOrRefusedInOneOfItsLines, ()) {
    std::string text = format(any_scenario());
    for (auto changes = *any_of(1, 4); changes > 0 && !text.empty(); --changes) {
        text[*any_of<std::size_t>(0, text.size() - 1)] = *rc::gen::arbitrary<char>();
    }
    const ParsedScenario result = parse_scenario(text);
    if (result.error) {
        RC_ASSERT(result.error->line >= 1U);
        RC_ASSERT(result.error->line <= static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n') + 1));
        RC_ASSERT_FALSE(result.error->text.empty());
    }
}

TEST(ScenarioKeys, EveryKeyHasAValueThatItTakes) {
    for (const SettingKey& key : setting_keys()) {
        EXPECT_FALSE(key.help.empty()) << key.name;
        const std::string wrong = check_setting(key.name, "").value_or("");
        EXPECT_NE(wrong.find("must be"), std::string::npos) << key.name << ": " << wrong;
    }
}

TEST(ScenarioKeys, PoolIsSizedAsTheEnginesIs) {
    NodeSettings settings;
    ASSERT_EQ(size_node(settings, 1), std::nullopt);
    EXPECT_EQ(settings.config.settings.window_pkts, 1024U);
    EXPECT_EQ(settings.config.settings.send_queue_pkts, 1024U);
    EXPECT_EQ(settings.config.data_packets_max, 2049U + dataplane::kOwnPackets);
    NodeSettings small;
    apply_setting(small, "packet_pool", "1600");
    ASSERT_EQ(size_node(small, 1), std::nullopt);
    EXPECT_EQ(small.config.settings.window_pkts, 64U);
    EXPECT_LT(small.config.settings.send_queue_pkts, 1024U);
    NodeSettings smaller;
    apply_setting(smaller, "packet_pool", "1280");
    EXPECT_NE(size_node(smaller, 1).value_or("").find("too small for 1 peers"), std::string::npos);
}

}  // namespace
}  // namespace bowline::sim
