#pragma once

// Part of worker.hpp: its figures, for whoever asks.
#include <algorithm>

#include "dataplane/worker.hpp"

namespace bowline::dataplane {

template <Port P>
void Worker<P>::copy_peer(const Peer& peer, ConnectionSnapshot& out) {
    out.in_view = peer.in_view;
    out.up = peer.up;
    out.associated = peer.associated;
    const protocol::SendStream& send = peer.send;
    out.send = {.open = send.is_open(),
                .opening = send.opening(),
                .conn_id = send.conn_id(),
                .una = send.window().una().value(),
                .nxt = send.window().nxt().value(),
                .end = send.window().end().value(),
                .limit = send.limit().value(),
                .in_flight_pkts = send.in_flight_pkts(),
                .lost_pkts = send.lost_pkts(),
                .queued_pkts = send.window().queued_pkts(),
                .acknowledged_message = send.acknowledged_message(),
                .next_message = peer.next_message,
                .srtt_ns = send.rtt().srtt().ns(),
                .rto_ns = send.rto().ns(),
                .cwnd_pkts = send.cwnd_pkts(),
                .counters = send.counters()};
    const protocol::ReceiveStream& receive = peer.receive;
    out.receive = {.open = receive.is_open(),
                   .known = receive.memory().known,
                   .conn_id = receive.conn_id(),
                   .rcv_nxt = receive.window().rcv_nxt().value(),
                   .out_of_order_pkts = receive.window().out_of_order_pkts(),
                   .free_pkts = receive.window().free_pkts(peer.ring.reclaimed()),
                   .unread_pkts = peer.ring.published() - peer.ring.consumed(),
                   .counters = receive.counters()};
}

template <Port P>
void Worker<P>::copy_figures(WorkerSnapshot& out, std::size_t first, std::size_t count) const {
    out.counters = counters_;
    out.decode_errors = decode_errors_;
    out.strays = strays_;
    const std::size_t end = std::min({first + count, peers_.size(), out.peers.size()});
    for (std::size_t i = first; i < end; ++i) {
        copy_peer(*peers_[i], out.peers[i]);
    }
}

}  // namespace bowline::dataplane
