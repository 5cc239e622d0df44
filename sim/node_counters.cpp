#include "sim/node_counters.hpp"

#include <algorithm>
#include <string>

#include "dataplane/counter_names.hpp"
#include "protocol/near_word.hpp"

namespace bowline::sim {

namespace {

namespace wire = protocol::wire;

constexpr std::string_view kDeviceDropped = "device_rx_missed";
/// Names that are offered for one that is unknown.
constexpr std::size_t kNearMax = 12;

/// The kind of `Kind` that is called `prefix` + its name.
template <typename Kind>
std::optional<Kind> find_kind(std::string_view name, std::string_view prefix, std::size_t kinds) {
    if (!name.starts_with(prefix)) {
        return std::nullopt;
    }
    // The first kind of each is "none".
    for (std::size_t i = 1; i < kinds; ++i) {
        if (name.substr(prefix.size()) == wire::name_of(static_cast<Kind>(i))) {
            return static_cast<Kind>(i);
        }
    }
    return std::nullopt;
}

template <typename Names>
auto find(const Names& names, std::string_view name) {
    const auto found = std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.name == name; });
    return found == names.end() ? nullptr : &*found;
}

/// What a controller's counter is called, with and without its group.
struct ControlName {
    std::string full;
    std::string plain;
};

const std::vector<ControlName>& control_names() {
    static const std::vector<ControlName> names = [] {
        std::vector<ControlName> all;
        control::Counters().for_each([&](const char* group, const char* name, std::uint64_t /*value*/) {
            all.push_back({.full = std::string(group) + "_" + name, .plain = name});
        });
        return all;
    }();
    return names;
}

/// Its place in for_each(); a full name wins over a plain one, and the control thread's own over those of the kinds.
std::optional<std::size_t> find_control(std::string_view name) {
    const std::vector<ControlName>& names = control_names();
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i].full == name) {
            return i;
        }
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i].plain == name) {
            return i;
        }
    }
    return std::nullopt;
}

template <typename CountersOf>
std::uint64_t sum(const SimWorker& worker, std::optional<dataplane::PeerIndex> peer, CountersOf&& value_of) {
    if (peer) {
        return value_of(worker.peer(*peer));
    }
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < worker.peer_count(); ++i) {
        total += value_of(worker.peer(static_cast<dataplane::PeerIndex>(i)));
    }
    return total;
}

const std::vector<std::string_view>& all_names() {
    static const std::vector<std::string_view> names = [] {
        std::vector<std::string_view> all;
        const auto add = [&](const auto& table) {
            for (const auto& counter : table) {
                all.emplace_back(counter.name);
            }
        };
        add(dataplane::kSendCounterNames);
        add(dataplane::kReceiveCounterNames);
        add(dataplane::kWorkerCounterNames);
        static std::vector<std::string> made;
        for (std::size_t i = 1; i < wire::kDecodeErrors; ++i) {
            made.push_back(std::string(dataplane::kMalformedPrefix) + wire::name_of(static_cast<wire::DecodeError>(i)));
        }
        for (std::size_t i = 1; i < wire::kStrays; ++i) {
            made.push_back(std::string(dataplane::kStrayPrefix) + wire::name_of(static_cast<wire::Stray>(i)));
        }
        all.insert(all.end(), made.begin(), made.end());
        all.push_back(kDeviceDropped);
        for (const ControlName& control : control_names()) {
            all.emplace_back(control.full);
            all.emplace_back(control.plain);
        }
        return all;
    }();
    return names;
}

}  // namespace

CounterScope scope_of_counter(std::string_view name) {
    if (find(dataplane::kSendCounterNames, name) != nullptr || find(dataplane::kReceiveCounterNames, name) != nullptr) {
        return CounterScope::peer;
    }
    const bool known = find(dataplane::kWorkerCounterNames, name) != nullptr || name == kDeviceDropped ||
                       find_kind<wire::DecodeError>(name, dataplane::kMalformedPrefix, wire::kDecodeErrors) ||
                       find_kind<wire::Stray>(name, dataplane::kStrayPrefix, wire::kStrays) || find_control(name);
    return known ? CounterScope::node : CounterScope::unknown;
}

std::vector<std::string_view> counters_near(std::string_view name) {
    std::vector<std::string_view> near;
    if (const auto meant = protocol::closest(name, all_names())) {
        near.push_back(*meant);
    }
    for (const std::string_view candidate : all_names()) {
        for (std::size_t at = 0; at < name.size() && near.size() < kNearMax;) {
            const std::size_t end = std::min(name.find('_', at), name.size());
            const std::string_view word = name.substr(at, end - at);
            if (word.size() > 2 && candidate.find(word) != std::string_view::npos &&
                std::find(near.begin(), near.end(), candidate) == near.end()) {
                near.push_back(candidate);
            }
            at = end + 1;
        }
    }
    return near.empty() ? all_names() : near;
}

std::uint64_t counter_of(const Node& node, std::string_view name, std::optional<dataplane::PeerIndex> peer) {
    const SimWorker& worker = node.worker();
    if (const auto* found = find(dataplane::kSendCounterNames, name)) {
        return sum(worker, peer, [&](const dataplane::Peer& p) { return p.send.counters().*found->value; });
    }
    if (const auto* found = find(dataplane::kReceiveCounterNames, name)) {
        return sum(worker, peer, [&](const dataplane::Peer& p) { return p.receive.counters().*found->value; });
    }
    if (const auto* found = find(dataplane::kWorkerCounterNames, name)) {
        return worker.counters().*found->value;
    }
    if (const auto error = find_kind<wire::DecodeError>(name, dataplane::kMalformedPrefix, wire::kDecodeErrors)) {
        return worker.decode_errors(*error);
    }
    if (const auto stray = find_kind<wire::Stray>(name, dataplane::kStrayPrefix, wire::kStrays)) {
        return worker.strays(*stray);
    }
    if (name == kDeviceDropped) {
        return node.port().rx_dropped();
    }
    const std::optional<std::size_t> place = find_control(name);
    BOWLINE_CHECK(place.has_value());
    std::uint64_t value = 0;
    std::size_t at = 0;
    node.controller().counters().for_each(
        [&](const char* /*group*/, const char* /*name*/, std::uint64_t v) { value = at++ == *place ? v : value; });
    return value;
}

}  // namespace bowline::sim
