// Who is in view, and an operator's word. Decided here, told to the worker by service(), a peer at a time.

#include <algorithm>
#include <atomic>
#include <vector>

#include <fmt/format.h>

#include "control/controller.hpp"
#include "protocol/check.hpp"

namespace bowline::control {

using dataplane::Command;
using dataplane::DownReason;
using dataplane::PeerIndex;
using protocol::Duration;
using protocol::Time;

// — views —

void Controller::install_view(Time now, std::span<const PeerIndex> peers) {
    view_.peers.assign(peers.begin(), peers.end());
    std::vector<bool> is_member(peers_.size(), false);
    for (const PeerIndex peer : peers) {
        BOWLINE_CHECK(peer < peers_.size());
        is_member[peer] = true;
    }
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        set_in_view(now, static_cast<PeerIndex>(i), is_member[i], DownReason::excluded);
    }
    ++view_.id;
}

void Controller::exclude(Time now, PeerIndex peer) {
    BOWLINE_CHECK(peer < peers_.size());
    if (!peers_[peer].in_view) return;
    set_in_view(now, peer, false, DownReason::excluded);
    change_view(now);
}

/// Notes it; service() tells the worker.
void Controller::set_in_view(Time now, PeerIndex index, bool in_view, DownReason reason) {
    Peer& peer = peers_[index];
    if (peer.in_view == in_view) return;
    const bool was_due = peer.in_view != peer.worker_has_in_view;
    peer.in_view = in_view;
    peer.out_reason = reason;
    const bool is_due = peer.in_view != peer.worker_has_in_view;
    memberships_left_ += is_due ? 1U : 0U;
    memberships_left_ -= was_due ? 1U : 0U;
    log(LogLevel::info, fmt::format("peer '{}' at {} is {} the view", peer.spec.name.view(), peer.spec.ip.to_string(),
                                    in_view ? "in" : "out of"));
    // Members that a view adds are greeted at once, so that the first message finds an association.
    if (in_view && !peer.handshake.in_use()) peer.handshake.greet(now);
    due_.hasten(static_cast<DeadlineQueue::Index>(index), now);
}

/// Another view has come about, by what has just been noted.
void Controller::change_view(Time /*now*/) {
    view_.peers.clear();
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        if (peers_[i].in_view) view_.peers.push_back(static_cast<PeerIndex>(i));
    }
    ++view_.id;
}

/// The peer is silent, or acknowledges nothing. In a static view it goes; an external one is for others to change.
void Controller::leave(Time now, PeerIndex index, DownReason reason) {
    Peer& peer = peers_[index];
    if (is_static() && peer.in_view) {
        set_in_view(now, index, false, reason);
        change_view(now);
        service(now, index);
    } else if (!is_static()) {
        log(LogLevel::info,
            fmt::format("peer '{}' at {} stays in view, though {}", peer.spec.name.view(), peer.spec.ip.to_string(),
                        reason == DownReason::silent ? "it is silent" : "it acknowledges nothing"));
    }
    if (peer.handshake.in_use() && !stopping_) {
        // Signs of life go on, so that both find each other again; a peer that has nothing to lose is not suspected.
        if (peer.in_view) {
            liveness_.watch(now, index);
        } else {
            liveness_.keep_alive(now, index);
        }
    } else if (!peer.in_view) {
        // It has never answered, and is greeted on.
        peer.handshake.greet(now);
        service(now, index);
    }
}

/// A packet of a peer that is out of view: in a static view it is in again.
void Controller::on_heard(Time now, PeerIndex index) {
    Peer& peer = peers_[index];
    if (!is_static() || peer.in_view || stopping_ || !peer.handshake.in_use()) return;
    set_in_view(now, index, true, DownReason::none);
    change_view(now);
    liveness_.watch(now, index);
    service(now, index);
}

void Controller::say_view(Time /*now*/, PeerIndex index) {
    Peer& peer = peers_[index];
    if (peer.in_view == peer.worker_has_in_view) return;
    peer.worker_has_in_view = peer.in_view;
    --memberships_left_;
    Command command;
    command.kind = peer.in_view ? Command::Kind::admit : Command::Kind::exclude;
    command.peer = index;
    command.down_reason = peer.out_reason;
    push(command);
}

/// When the worker has been told of every membership, the application may hear of the view.
void Controller::say_view_changed() {
    if (!is_view_due()) return;
    view_said_ = view_.id;
    say(Command::Kind::view_changed, dataplane::kNoPeer, view_.id);
}

// — an operator's word —

void Controller::close(Time now, PeerIndex peer) {
    BOWLINE_CHECK(peer < peers_.size());
    peers_[peer].close_connections_due = true;
    due_.hasten(static_cast<DeadlineQueue::Index>(peer), now);
}

void Controller::rotate(Time now, PeerIndex peer) {
    BOWLINE_CHECK(peer < peers_.size());
    peers_[peer].rotate_due = true;
    due_.hasten(static_cast<DeadlineQueue::Index>(peer), now);
}

void Controller::forget(Time now, PeerIndex peer) {
    BOWLINE_CHECK(peer < peers_.size());
    peers_[peer].forget_due = true;
    due_.hasten(static_cast<DeadlineQueue::Index>(peer), now);
}

void Controller::say_operators_word(Time now, PeerIndex index) {
    Peer& peer = peers_[index];
    if (peer.close_connections_due) {
        peer.close_connections_due = false;
        say(Command::Kind::close_connections, index);
    }
    if (peer.rotate_due) {
        peer.rotate_due = false;
        say(Command::Kind::rotate, index);
    }
    if (peer.forget_due) {
        peer.forget_due = false;
        const bool greets = peer.handshake.greeting();
        peer.handshake.on_forgotten();
        say_actions(index);
        say(Command::Kind::forget, index);
        liveness_.unwatch(index);
        counters_.add(Counter::peers_forgotten);
        log(LogLevel::info,
            fmt::format("peer '{}' at {} is forgotten", peer.spec.name.view(), peer.spec.ip.to_string()));
        if (greets) peer.handshake.greet(now);
    }
}

// — idle expiry —

/// Connections over which no data has passed for `conn_expiry` are closed. Nothing is lost with them, and nothing has
/// to be negotiated to open the next.
void Controller::look_for_idle(Time now, PeerIndex index) {
    Peer& peer = peers_[index];
    const dataplane::PeerActivity& activity = activity_[index];
    const std::uint64_t packets = activity.data_packets.load(std::memory_order_relaxed);
    if (packets != peer.data_packets) {
        peer.data_packets = packets;
        peer.busy_at = now;
    }
    const Duration idle = now - peer.busy_at;
    const bool is_over = idle >= settings_.conn_expiry && activity.settled.load(std::memory_order_relaxed);
    if (is_over && peer.handshake.in_use() && !stopping_) {
        say(Command::Kind::close_connections, index);  // nothing happens where they are closed
    }
    // The count is only seen when it is looked at: often enough to be late by a quarter at most.
    idle_.set(index, now + std::max(settings_.conn_expiry / 4, Duration::ns(1)));
}

}  // namespace bowline::control
