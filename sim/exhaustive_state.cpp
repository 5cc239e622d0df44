#include "sim/exhaustive_state.hpp"

#include <cstring>

#include "protocol/check.hpp"
#include "protocol/inspector.hpp"
#include "protocol/wire/bytes.hpp"
#include "protocol/wire_clock.hpp"

namespace bowline {

/// Goes through the parts of a node. What it leaves out is said in docs/SIMULATION.md.
struct Inspector {
    using StateHash = sim::StateHash;
    using SentPacket = protocol::SentPacket;
    using Duration = protocol::Duration;
    using Time = protocol::Time;

    static void add(StateHash& hash, const protocol::SendStream& send, Time oldest_reading) {
        const protocol::SendWindow& window = send.window_;
        hash.add(window.una().value());
        hash.add(window.nxt().value());
        hash.add(window.end().value());
        hash.add(send.limit_.value());
        hash.add(std::uint64_t{send.conn_id_} << 2U | (send.open_ ? 2U : 0U) | (send.opening_ ? 1U : 0U));
        hash.add(send.acknowledged_message_);
        hash.add(send.given_up_last_ << 32U | send.given_up_first_);
        hash.add(send.first_seqno_.value() << 32U | send.first_message_);
        hash.add_length(send.rtt_.srtt());
        hash.add_length(send.rtt_.base_rto(Duration()) - send.rtt_.srtt());
        hash.add(std::uint64_t{send.rtt_.backoff()} << 1U | (send.rtt_.has_sample() ? 1U : 0U));
        hash.add(send.cwnd_pkts());  // all there is to `fixed`, which these nodes have
        if (oldest_reading < send.opened_at_) {
            hash.add(send.opened_at_);  // before which no echo is a measurement
        }
        hash.add(send.loss_.reorder_steps_ << 1U | (send.loss_.reordering_seen_ ? 1U : 0U));
        if (send.drained()) {
            return;  // the rest counts from what is sent next
        }
        for (protocol::Seqno seqno = window.una(); seqno.before(window.end()); ++seqno) {
            const SentPacket& packet = window.at(seqno);
            hash.add(packet.next_message << 8U | static_cast<std::uint64_t>(packet.state) << 4U |
                     (packet.boundary ? 2U : 0U) | (packet.in_lost_queue ? 1U : 0U));
            hash.add(std::min<std::uint64_t>(packet.transmissions, 3));
            if (packet.state != SentPacket::State::queued) {
                hash.add(packet.sent_at);
            }
        }
        hash.add_future(send.retain_until_);
        hash.add(send.last_progress_);
        hash.add(send.sacked_pkts_);
        if (send.loss_.in_flight_pkts() > 0) {
            hash.add(send.last_sent_);
        }
        hash.add(send.tail_probe_end_.has_value() ? send.tail_probe_end_->value() : 0);
        hash.add(send.timeout_end_.has_value() ? send.timeout_end_->value() : 0);
        if (send.window_probe_backoff_ > 0) {
            hash.add(send.window_probe_backoff_);
            hash.add(send.window_probe_sent_);
        }
        add(hash, send.loss_, window);
    }

    static void add(StateHash& hash, const protocol::LossDetector& loss, const protocol::SendWindow& window) {
        // The newest delivered packet is compared with those in flight: of no matter when they are all newer.
        bool matters = false;
        for (protocol::Seqno seqno = window.una(); seqno.before(window.nxt()); ++seqno) {
            const Time sent_at = window.at(seqno).sent_at;
            matters = matters || sent_at < loss.newest_sent_at_ ||
                      (sent_at == loss.newest_sent_at_ && !loss.newest_.before(seqno));
        }
        if (matters) {
            hash.add(loss.newest_sent_at_);
            hash.add(loss.newest_.value());
            hash.add_length(loss.newest_rtt_);
        }
        hash.add(protocol::later(loss.originals_, window.una()).value());
        hash.add(protocol::later(loss.highest_delivered_, window.una() - 1).value());
        // A queue is a view of its storage: this one can be emptied.
        for (auto resent = loss.resent_; !resent.empty(); resent.pop()) {
            if (!loss.is_stale(resent.front(), window)) {
                hash.add(resent.front().seqno.value());
            }
        }
        for (auto lost = loss.lost_; !lost.empty(); lost.pop()) {
            if (!lost.front().before(window.una())) {
                hash.add(lost.front().value());
            }
        }
        hash.add(loss.in_flight_pkts_ << 32U | loss.lost_pkts_);
        hash.add_future(loss.reorder_deadline_);
        hash.add(loss.resent_delivered_ ? 1U : 0U);
    }

    static void add(StateHash& hash, const protocol::ReceiveStream& receive, std::uint64_t consumed) {
        const protocol::ReceiveWindow& window = receive.window_;
        hash.add(window.rcv_nxt().value());
        hash.add(std::uint64_t{receive.conn_id_} << 8U | (receive.open_ ? 1U : 0U) | (receive.known_ ? 2U : 0U) |
                 (receive.drained_ ? 4U : 0U) | (receive.ack_now_ ? 8U : 0U) | (receive.sack_due_ ? 16U : 0U));
        hash.add(receive.drained_at_.value());
        hash.add(receive.incarnation_ ^ receive.stream_id_);
        hash.add(window.next_position() - consumed);
        for (std::uint64_t i = 0; i < window.capacity(); ++i) {
            if (window.test(window.next_position() + i)) {
                hash.add(i);
            }
        }
        hash.add(receive.unacked_pkts_);
        hash.add_future(receive.ack_deadline_);
        hash.add(receive.granted_.value());
    }

    static void add(StateHash& hash, const dataplane::Peer& peer, Time oldest_reading) {
        std::uint64_t flags = 0;
        for (const bool flag : {peer.associated, peer.up, peer.in_view, peer.view_wanted, peer.stopping, peer.dirty,
                                peer.ready, peer.answer_probe, peer.wanted_said, peer.heard_said, peer.dropped_dirty,
                                peer.expected, peer.has_timestamp, peer.open.has_frames(), peer.reader.known_,
                                peer.reader.forgotten_, peer.reader.assembling_, peer.reader.has_work()}) {
            flags = flags << 1U | (flag ? 1U : 0U);
        }
        hash.add(flags);
        hash.add(std::uint64_t{peer.probe_conn_id} << 32U | peer.rotation_asked);
        if (peer.has_timestamp) {
            hash.add_timestamp(peer.newest_timestamp);
        }
        hash.add(peer.next_message);
        hash.add(peer.reader.next_message_);
        hash.add(peer.incarnation);
        hash.add(std::uint64_t{peer.association.local_tag} << 32U | peer.association.remote_tag);
        hash.add(peer.expected ? peer.candidate.local_tag : 0);
        hash.add(peer.asks.about_);
        if (peer.asks.about_ != 0) {
            hash.add_future(peer.asks.next_);
            hash.add_length(peer.asks.interval_);
        }
        add(hash, peer.send, oldest_reading);
        add(hash, peer.receive, peer.ring.reclaimed());
    }

    static void add(StateHash& hash, const protocol::Handshake& handshake) {
        hash.add(handshake.live_.has_value() ? handshake.live_->local_nonce : 0);
        hash.add(handshake.live_.has_value() ? handshake.live_->peer.nonce : 0);
        hash.add(handshake.verified_nonce_);
        hash.add(handshake.nonce_count_);
        hash.add(handshake.superseded_.has_value() ? handshake.superseded_->local_nonce : 0);
        const auto& greeting = handshake.greeting_;
        hash.add((greeting.active ? 1U : 0U) | (greeting.renew ? 2U : 0U));
        if (greeting.active) {
            hash.add(greeting.nonce);
            hash.add(greeting.sent);
            if (greeting.sent > 0) {
                hash.add(greeting.last_sent);
            }
            hash.add_future(greeting.next_at);
        }
        if (handshake.candidate_.has_value()) {
            hash.add(handshake.candidate_->agreement.peer.nonce);
            hash.add(handshake.candidate_->agreement.local_nonce);
            hash.add(handshake.candidate_->sent);
            hash.add_future(handshake.candidate_->next_at);
            hash.add_future(handshake.candidate_->expires);
        }
        hash.add_length(handshake.rtt_);
    }

    static void add(StateHash& hash, const sim::Node& node, sim::NodeId other, Time oldest_reading) {
        BOWLINE_CHECK(node.alive());
        const control::Controller& controller = node.controller();
        const dataplane::PeerIndex index = node.peer_of(other);
        add(hash, node.worker().peer(index), oldest_reading);
        const control::Controller::Peer& peer = controller.peers_[index];
        add(hash, peer.handshake);
        std::uint64_t flags = 0;
        for (const bool flag :
             {peer.endpoints_due, peer.close_due, peer.in_view, peer.worker_has_in_view, peer.close_connections_due,
              peer.rotate_due, peer.forget_due, !node.process_->commands.empty(), !node.process_->notices.empty(),
              !node.orders_.empty(), node.orders_under_way_, !node.application_.jobs_.empty()}) {
            flags = flags << 1U | (flag ? 1U : 0U);
        }
        hash.add(flags);
        hash.add(peer.incarnation.value_or(0));
        hash.add_future(controller.due_.next());
    }

    static void add(StateHash& hash, const sim::Oracle& oracle) {
        for (const auto& stream : oracle.streams_) {
            hash.add(stream->settled << 32U | stream->reported_through);
            hash.add(stream->twice_through << 32U | stream->repeats);
            for (const auto& message : stream->messages) {
                hash.add(message.fate);
            }
            for (const auto& range : stream->acknowledged) {
                hash.add(range.first << 32U | range.last);
            }
        }
        for (const auto& node : oracle.nodes_) {
            for (const auto& in : node.in) {
                hash.add(in.next << 1U | (in.up ? 1U : 0U));
            }
        }
    }

    static std::uint64_t outcome(const sim::Oracle& oracle) {
        StateHash hash(sim::Time(), false);
        for (const auto& stream : oracle.streams_) {
            for (const auto& message : stream->messages) {
                hash.add(message.fate);
            }
        }
        return hash.value();
    }
};

}  // namespace bowline

namespace bowline::sim {

namespace wire = protocol::wire;

void StateHash::add_timestamp(std::uint32_t timestamp) { add_length(protocol::elapsed_since(timestamp, now_)); }

void StateHash::add(std::span<const std::byte> bytes) {
    std::size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
        add(wire::load_le64(bytes.data() + at));
    }
    std::uint64_t rest = bytes.size();
    for (; at < bytes.size(); ++at) {
        rest = rest << 8U | std::to_integer<std::uint64_t>(bytes[at]);
    }
    add(rest);
}

void add_node(StateHash& hash, const Node& node, NodeId peer, Time oldest_reading) {
    Inspector::add(hash, node, peer, oldest_reading);
}

Time reading_held_by(const Node& holder, NodeId of, Time now) {
    const dataplane::Peer& peer = holder.worker().peer(holder.peer_of(of));
    return peer.has_timestamp ? now - protocol::elapsed_since(peer.newest_timestamp, now) : Time::never();
}
Time reading_in(std::span<const std::byte> frame, bool of_sender, Time now) {
    const wire::Header header = wire::load_header(frame.data() + kBowlineAt);
    if (of_sender ? header.timestamp == 0 : !header.has(wire::kFlagEcho)) {
        return Time::never();  // control's packets have none
    }
    return now - protocol::elapsed_since(of_sender ? header.timestamp : header.echo, now);
}
void add_oracle(StateHash& hash, const Oracle& oracle) { Inspector::add(hash, oracle); }
std::uint64_t outcome_of(const Oracle& oracle) { return Inspector::outcome(oracle); }

void add_frame(StateHash& hash, std::span<const std::byte> frame) {
    constexpr std::size_t kTimestampAt = kBowlineAt + 24;
    constexpr std::size_t kWindowAt = kBowlineAt + 32;
    BOWLINE_CHECK(frame.size() >= kBowlineAt + wire::kHeaderBytes);
    const wire::Header header = wire::load_header(frame.data() + kBowlineAt);
    hash.add(frame.subspan(kBowlineAt, kTimestampAt - kBowlineAt));
    // Without ack_delay, which only a congestion control that measures looks at: these nodes have `fixed`.
    hash.add(frame.subspan(kWindowAt, wire::offset::kAckDelay - wire::offset::kWindow));
    hash.add(frame.subspan(kBowlineAt + wire::kHeaderBytes));
    if (header.timestamp != 0) {
        hash.add_timestamp(header.timestamp);
    }
    if (header.has(wire::kFlagEcho)) {
        hash.add_timestamp(header.echo);
    }
}

}  // namespace bowline::sim
