#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "bowline/engine.hpp"

namespace bowline::tools {

/// What has befallen the one peer that a command works with: collects the events of it that end the work.
///
/// Thread: the engine's owner.
class PeerWatch {
public:
    using Clock = std::chrono::steady_clock;

    explicit PeerWatch(Peer peer) : peer_(peer) {}

    void on_event(const Event& event);

    [[nodiscard]] Peer peer() const { return peer_; }
    /// Why the work with this peer cannot be finished, for a person; nothing as long as it can.
    [[nodiscard]] const std::optional<std::string>& failure() const { return failure_; }
    /// How long the peer has been down without a word; zero while it is up. A peer that is only silent may come back
    /// and go on, so that the command says how long it waits.
    [[nodiscard]] std::chrono::nanoseconds silent_for() const;
    /// True when the peer said that it stops.
    [[nodiscard]] bool stopped() const { return stopped_; }
    /// Forgets everything: what came before the work began does not matter to it.
    void reset();

private:
    Peer peer_;
    std::optional<std::string> failure_;
    std::optional<Clock::time_point> silent_since_;
    bool stopped_ = false;
};

/// One line on an event: `peer 'b' is up`, `messages 3..9 to 'b' were not delivered (uncertain)`.
std::string describe(const Event& event);

}  // namespace bowline::tools
