#include "tools/session.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "engine/admin.hpp"
#include "engine/config_keys.hpp"
#include "protocol/settings_text.hpp"
#include "tools/control_desk.hpp"
#include "tools/cpu.hpp"

namespace bowline::tools {

namespace {

std::string text(Duration duration) { return protocol::format_duration(duration); }

Result<void> require_peer(const Config& config, const std::string& name) {
    std::vector<std::string_view> known;
    std::string list;
    for (const PeerConfig& peer : config.peers) {
        if (peer.name == name) {
            return {};
        }
        known.emplace_back(peer.name);
        list += (list.empty() ? "" : ", ") + peer.name;
    }
    std::string message = fmt::format("peer '{}' is not configured; ", name);
    if (const auto meant = engine::closest(name, known)) {
        message += fmt::format("did you mean '{}'? ", *meant);
    }
    message += known.empty() ? "there are no peers: name one with --peer NAME=ADDRESS" : "configured are: " + list;
    return usage_error(std::move(message));
}

Result<Session> start(const CommonOptions& options, Config config,
                      ControlSocket socket = ControlSocket::only_if_named) {
    if (options.cpu) {
        if (Result<void> usable = check_cpu(*options.cpu); !usable) {
            return usable.error();
        }
    }
    // First, since it tells at once that this node runs already.
    Result<std::unique_ptr<ControlServer>> control = open_control(config, socket == ControlSocket::by_default);
    if (!control) {
        return control.error();
    }
    Result<Engine> engine = Engine::start(config);
    if (!engine) {
        return engine.error();
    }
    // Before this thread is pinned: its children are pinned with it.
    if (*control != nullptr) {
        serve_control(**control, engine::admin_of(*engine));
    }
    if (options.cpu) {
        if (Result<void> pinned = pin_this_thread(*options.cpu); !pinned) {
            control->reset();  // it uses the engine
            return pinned.error();
        }
    }
    return Session{std::move(config), *std::move(engine), *std::move(control)};
}

// What the engine counted while it tried to reach its peers: the totals, and what has happened at all of the rest.
std::string attempts(const Session& session) {
    constexpr std::array<std::string_view, 3> totals = {"device_rx_packets", "device_tx_packets", "control_hello_sent"};
    constexpr std::array<std::string_view, 4> telling = {"arp", "hello", "handshake", "neighbour"};
    std::string list;
    for (const Counter& counter : session.engine.counters()) {
        const auto contains = [&](std::string_view word) { return counter.name.find(word) != std::string::npos; };
        const bool total = std::find(totals.begin(), totals.end(), counter.name) != totals.end();
        if (total || (counter.value != 0 && std::any_of(telling.begin(), telling.end(), contains))) {
            list += fmt::format("{}{}={}", list.empty() ? "" : " ", counter.name, counter.value);
        }
    }
    return list;
}

}  // namespace

Error system_error(std::string message) { return {Error::Kind::system, std::move(message)}; }
Error usage_error(std::string message) { return {Error::Kind::configuration, std::move(message)}; }
Error interrupted_error(std::string_view what) { return system_error(fmt::format("interrupted {}", what)); }

Error absent_error(const Session& session, Peer peer, Duration waited) {
    std::string address = "?";
    for (const PeerConfig& known : session.config.peers) {
        address = known.name == peer.name() ? known.address : address;
    }
    const std::string seen = attempts(session);
    return system_error(fmt::format(
        "peer '{}' ({}) did not come up within {} on {}; is its process running, on the same network, with this node "
        "('{}', {}) among its peers?{}",
        peer.name(), address, text(waited), session.config.device, session.config.name, session.config.address,
        seen.empty() ? "" : " Counted here: " + seen));
}

Error silent_error(Peer peer, Duration waited) {
    return system_error(fmt::format("peer '{}' has been silent for {}", peer.name(), text(waited)));
}

Result<bool> offer(Peer peer, std::span<const std::byte> bytes) {
    const SendStatus status = peer.send(bytes).status;
    switch (status) {
        case SendStatus::accepted:
            return true;
        case SendStatus::back_pressured:
        case SendStatus::excluded:
            return false;
        case SendStatus::closed:
        case SendStatus::too_large:
        case SendStatus::wrong_thread:
            break;
    }
    return system_error(
        fmt::format("a message of {} bytes to '{}' was refused: {}", bytes.size(), peer.name(), to_string(status)));
}

Result<void> still_well(const PeerWatch& watch, Duration patience, std::string_view what) {
    if (watch.failure()) {
        return system_error(*watch.failure());
    }
    if (watch.silent_for().count() > patience.ns()) {
        return silent_error(watch.peer(), patience);
    }
    return stop_requested() ? Result<void>(interrupted_error(what)) : Result<void>();
}

Result<Session> start_session(const CommonOptions& options, ControlSocket control) {
    Result<Config> config = options.config();
    return config ? start(options, *std::move(config), control) : Result<Session>(config.error());
}

Result<Session> start_session(const CommonOptions& options, const std::string& name, std::uint64_t size,
                              std::uint64_t overhead) {
    Result<Config> config = options.config();
    if (!config) {
        return config.error();
    }
    if (const Result<void> known = require_peer(*config, name); !known) {
        return known.error();
    }
    if (size > config->message_max || size + overhead > config->message_max) {
        return usage_error(
            fmt::format("--size {}: must be at most {}, for message_max is {}; raise it with -o "
                        "message_max=SIZE, on both nodes",
                        size, config->message_max - overhead, config->message_max));
    }
    return start(options, *std::move(config));
}

}  // namespace bowline::tools
