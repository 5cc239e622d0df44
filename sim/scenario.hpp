#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/clock.hpp"
#include "sim/network.hpp"
#include "sim/ranges.hpp"

/// A scenario as plain data: what a file of the scenario language says (docs/SCENARIOS.md), and what an exploration
/// makes, runs, shrinks and writes to a file. parse_scenario(format(scenario)) gives the same scenario again.
namespace bowline::sim {

/// Where something stands in a file; 0: in none. Two statements that say the same are equal wherever they stand.
struct SourceLine {
    std::uint32_t number = 0;
    bool operator==(const SourceLine&) const { return true; }
};

/// One direction, or both, between two nodes, or all links.
struct LinkRef {
    NodeId from = kNoNode;  ///< kNoNode: all links
    NodeId to = kNoNode;
    bool both = false;
    bool operator==(const LinkRef&) const = default;

    [[nodiscard]] bool is_all() const { return from == kNoNode; }
    [[nodiscard]] bool covers(NodeId a, NodeId b) const {
        return is_all() || (a == from && b == to) || (both && a == to && b == from);
    }
};

/// A wire::Type as a number, or any of them.
using PacketKind = std::uint8_t;
inline constexpr PacketKind kAnyPacket = 0;
/// As files write it, such as "NEED_FIRST" or "*"; static storage.
[[nodiscard]] const char* name_of_packet(PacketKind kind);

/// A configuration key of a node, as text that check_setting() takes (scenario_keys.hpp).
struct Setting {
    SourceLine line;
    NodeId node = kNoNode;  ///< kNoNode: every node
    std::string key;
    std::string value;
    bool operator==(const Setting&) const = default;
};

/// What links are from now on; what is not named stays as it is.
struct LinkChange {
    LinkRef link;
    std::optional<Duration> delay;
    std::optional<Duration> jitter;
    std::optional<Duration> reorder_by;
    std::optional<Ppm> loss;
    std::optional<Ppm> dup;
    std::optional<Ppm> reorder;
    std::optional<Ppm> corrupt;
    bool operator==(const LinkChange&) const = default;

    void apply(Link& to) const;
};
struct LinkSetting {
    SourceLine line;
    LinkChange change;
    bool operator==(const LinkSetting&) const = default;
};

/// For counts of packets and times: every one.
inline constexpr std::uint64_t kEvery = UINT64_MAX;

/// Something that is done to the simulation, at a moment.
struct Action {
    enum class When : std::uint8_t {
        at,     ///< `time` after the start
        after,  ///< `time` after the previous action
        now,    ///< with the previous action, or where the run stands if that is later
    };
    enum class Kind : std::uint8_t {
        send,  ///< node, peer, count, size, packed
        drop,  ///< this and the next four: link, packet, nth, count, message
        dup,
        corrupt,
        delay,    ///< also time_by
        hold,     ///< also name
        release,  ///< name, count: times
        clear,    ///< link
        cut,      ///< link
        heal,     ///< link
        link,     ///< change
        view,     ///< node (kNoNode: every member), members
        close,    ///< node, peer
        forget,   ///< node, peer
        rotate,   ///< node, peer
        pause,    ///< this and all that follow: node
        resume,
        stall,
        unstall,
        crash,
        restart,
        stop,  ///< also time_by: linger
        exhaust,
        restore,
    };
    When when = When::at;
    Duration time;
    Kind kind = Kind::send;
    NodeId node = kNoNode;
    NodeId peer = kNoNode;
    std::uint64_t count = 1;
    std::uint32_t size = 32;  ///< bytes
    bool packed = false;
    LinkRef link;
    PacketKind packet = kAnyPacket;
    std::uint64_t nth = 1;
    std::uint64_t message = 0;  ///< the packets that carry it; 0: any
    Duration time_by;
    std::string name;
    std::vector<NodeId> members;
    LinkChange change;
    bool operator==(const Action&) const = default;
};
/// The words that files have for them.
inline constexpr std::array kActionWords = {"send",    "drop",   "dup",     "corrupt", "delay",   "hold",
                                            "release", "clear",  "cut",     "heal",    "link",    "view",
                                            "close",   "forget", "rotate",  "pause",   "resume",  "stall",
                                            "unstall", "crash",  "restart", "stop",    "exhaust", "restore"};
static_assert(kActionWords.size() == static_cast<std::size_t>(Action::Kind::restore) + 1);
[[nodiscard]] inline const char* name_of(Action::Kind kind) { return kActionWords[static_cast<std::size_t>(kind)]; }

/// How long a node that stops waits for its messages, if nothing else is said.
inline constexpr Duration kStopLinger = Duration::s(1);

/// Lets time pass.
struct Run {
    bool quiet = false;               ///< until nothing is left to be done; else for `time` after the last action
    Duration time = Duration::s(10);  ///< of quiet: at most
    bool operator==(const Run&) const = default;
};

/// `1.5%` and back: in percent, to a millionth of the whole. parse_share: nothing for other text.
[[nodiscard]] std::optional<Ppm> parse_share(std::string_view text);
[[nodiscard]] std::string format_share(Ppm share);

enum class Comparison : std::uint8_t { equal, less, less_equal, greater, greater_equal };
[[nodiscard]] const char* name_of(Comparison comparison);
[[nodiscard]] bool holds(std::uint64_t seen, Comparison comparison, std::uint64_t number);

/// What an application has been told, as expectations name it.
enum class AppEvent : std::uint8_t { peer_up, peer_down, undelivered, gap, view_changed };
inline constexpr std::size_t kAppEvents = 5;
[[nodiscard]] const char* name_of(AppEvent event);

/// What must be so where it stands.
struct Expectation {
    enum class Kind : std::uint8_t {
        delivered,    ///< node from peer: ranges, in order
        undelivered,  ///< node to peer: ranges
        uncertain,    ///< node to peer: ranges
        unacked,      ///< node to peer: comparison, number
        refused,      ///< node to peer: comparison, number
        window,       ///< node from peer: is
        conn,         ///< node to peer: comparison, number
        count,        ///< node, name, peer (kNoNode: of all): comparison, number
        packets,      ///< link, packet: comparison, number
        event,        ///< node, event, peer: is (false: it must not have been seen)
    };
    Kind kind = Kind::delivered;
    NodeId node = kNoNode;
    NodeId peer = kNoNode;
    std::vector<NumberRange> ranges;
    Comparison comparison = Comparison::equal;
    std::uint64_t number = 0;
    bool is = true;
    std::string name;
    LinkRef link;
    PacketKind packet = kAnyPacket;
    AppEvent event = AppEvent::peer_up;
    bool operator==(const Expectation&) const = default;
};

struct Statement {
    SourceLine line;
    std::variant<Action, Run, Expectation> what;
    bool operator==(const Statement&) const = default;
};

struct Scenario {
    std::vector<std::string> nodes;
    bool apart = false;     ///< they start without an association
    bool detector = false;  ///< views follow heartbeats, not the script alone
    std::uint64_t seed = 1;
    std::vector<Setting> settings;
    std::vector<LinkSetting> links;  ///< before the first action
    std::vector<Statement> statements;
    bool operator==(const Scenario&) const = default;
};

/// As a file of the language.
[[nodiscard]] std::string format(const Scenario& scenario);
/// One statement as a line, without its end: for traces and for what is said of expectations.
[[nodiscard]] std::string format(const Scenario& scenario, const Action& action);
[[nodiscard]] std::string format(const Scenario& scenario, const Expectation& expectation);
[[nodiscard]] std::string format(const Scenario& scenario, const LinkRef& link);

}  // namespace bowline::sim
