#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "bowline/config.hpp"
#include "bowline/engine.hpp"
#include "bowline/result.hpp"
#include "tools/control_server.hpp"
#include "tools/idle.hpp"
#include "tools/options.hpp"
#include "tools/peer_watch.hpp"
#include "tools/stop_flag.hpp"

namespace bowline::tools {

/// A subcommand's engine with the configuration that it runs on.
struct Session {
    Config config;
    Engine engine;
    std::unique_ptr<ControlServer> control;  ///< `bowline ctl`; nullptr: none. Gone before the engine is
};

/// Whether `control_socket = auto` means a socket.
enum class ControlSocket : std::uint8_t { only_if_named, by_default };

/// Starts the engine, and pins the calling thread if that is asked for.
Result<Session> start_session(const CommonOptions& options, ControlSocket control = ControlSocket::only_if_named);

/// The same for a subcommand that works with the one peer `name` and sends it messages of up to `size` bytes (by its
/// --size option) and `overhead`. That the peer is configured and message_max allows the size is found out before
/// anything is started.
Result<Session> start_session(const CommonOptions& options, const std::string& name, std::uint64_t size = 0,
                              std::uint64_t overhead = 0);

Error system_error(std::string message);
Error usage_error(std::string message);
/// What a command that SIGINT or SIGTERM ended before its time answers.
Error interrupted_error(std::string_view what);
/// The peer has not come up: who, where, how long, and what the engine has seen of it.
Error absent_error(const Session& session, Peer peer, Duration waited);
/// The peer has been silent for too long in the middle of the work.
Error silent_error(Peer peer, Duration waited);

/// Offers a message: true when it was accepted, false when it is to be offered again after a poll (pressure, or a peer
/// that is away), or why it never will be.
Result<bool> offer(Peer peer, std::span<const std::byte> bytes);

/// Why work with the watched peer must end now (failure, silence beyond `patience`, a signal), or success.
Result<void> still_well(const PeerWatch& watch, Duration patience, std::string_view what);

/// Polls until the peer is up, at most for `patience`.
template <typename Handler>
Result<void> wait_for_peer(Session& session, Peer peer, Handler& handler, Duration patience) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(patience.ns());
    IdleBackoff idle;
    while (!peer.status().up) {
        idle.turn(session.engine.poll(handler));
        if (stop_requested()) {
            return interrupted_error("before the peer was up");
        }
        if (std::chrono::steady_clock::now() >= end) {
            return absent_error(session, peer, patience);
        }
    }
    return {};
}

/// A handler for what comes while an engine stops, of interest to nobody.
struct IgnoringHandler {
    void on_message(const Message&) {}
    void on_event(const Event&) {}
};

}  // namespace bowline::tools
