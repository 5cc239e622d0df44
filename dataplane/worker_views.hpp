#pragma once

// Part of worker.hpp: who is in view, and what that means for connections. Whether messages flow (in_view) is one
// thing, whether packets have a tag to carry (associated) another: a peer that leaves the view keeps its association.
#include "dataplane/worker.hpp"

namespace bowline::dataplane {

/// Control's word: the peer is in view. It comes into it as soon as there is room for what the application must hear.
template <Port P>
void Worker<P>::admit(protocol::Time now, Peer& peer) {
    peer.view_wanted = true;
    peer.candidate.admit = true;
    if (!peer.in_view) {
        enter_view(now, peer);
    }
}

template <Port P>
void Worker<P>::enter_view(protocol::Time now, Peer& peer) {
    if (peer.events.free() < kEventsPerAssociation) {
        ++counters_.events_full;  // on_events_taken() tries again
        return;
    }
    peer.in_view = true;
    peer.heard_said = false;
    peer.asks.reset();
    peer.shared.in_view.store(true, std::memory_order_relaxed);
    mark_dirty(peer);
    if (!peer.associated) {
        peer.send.expect_again(now);
        return;
    }
    // What was under way when the peer left may have been dropped at both ends: both directions begin anew (R7), the
    // peer's by being asked (R6).
    ++counters_.rotations;
    peer.send.open(now);
    come_up(now, peer);
    if (peer.receive.is_known() && !peer.receive.is_open()) {
        static_cast<void>(ask_first(now, peer, peer.receive.conn_id()));
    }
}

template <Port P>
void Worker<P>::come_up(protocol::Time /*now*/, Peer& peer) {
    if (!peer.up) {
        peer.up = true;
        push_event(peer, {.first = peer.association.peer_incarnation, .kind = PeerEvent::Kind::up});
    }
}

template <Port P>
void Worker<P>::exclude(protocol::Time now, Peer& peer, DownReason reason) {
    peer.view_wanted = false;
    peer.candidate.admit = false;
    if (!peer.in_view) {
        return;
    }
    peer.in_view = false;
    peer.heard_said = false;
    peer.asks.reset();
    peer.shared.in_view.store(false, std::memory_order_relaxed);
    peer.send.retain(now + config_.settings.retain_time);
    peer.receive.close([&](std::uint64_t position) { drop_position(peer, position); });
    if (peer.up) {
        peer.up = false;
        push_event(peer, {.kind = PeerEvent::Kind::down, .down = reason});
    }
    if (config_.settings.exclusion == protocol::Exclusion::discard) {
        report_abandoned(peer, false);
    }
    mark_dirty(peer);
}

/// `conn_id`: the connection that is to be replaced, and nothing happens when that has been done already; 0: any.
template <Port P>
void Worker<P>::rotate(protocol::Time now, Peer& peer, std::uint64_t conn_id) {
    peer.rotation_asked = 0;
    const bool is_meant = conn_id == 0 || (peer.send.is_open() && conn_id == peer.send.conn_id()) ||
                          mutated(protocol::Mutant::r7_obey_stale);
    if (peer.associated && peer.in_view && is_meant) {
        ++counters_.rotations;
        peer.send.open(now);
        mark_dirty(peer);
    }
}

/// The node's own view, as an event among its own messages. Of several that nobody has read the latest is enough.
template <Port P>
void Worker<P>::tell_view(std::uint64_t id) {
    Peer& own = *peers_[self()];
    if (own.events.free() <= kEventsAtEnd) {
        view_untold_ = id;
        return;
    }
    view_untold_ = 0;
    push_event(own, {.first = id, .kind = PeerEvent::Kind::view_changed});
}

/// The application has read: what has waited for room among its events may have it now.
template <Port P>
void Worker<P>::on_events_taken(Peer& peer) {
    if (view_untold_ != 0 && peer.index == self()) [[unlikely]] {
        tell_view(view_untold_);
    }
    if (peer.view_wanted != peer.in_view) [[unlikely]] {
        mark_dirty(peer);  // send() has the time
    }
}

}  // namespace bowline::dataplane
