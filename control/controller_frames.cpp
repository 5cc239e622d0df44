// What comes in from the network, untrusted: taken apart, refused and counted, or handed to the part that it is for.

#include <fmt/format.h>

#include "control/control_frame.hpp"
#include "control/controller.hpp"
#include "protocol/check.hpp"

namespace bowline::control {

namespace wire = protocol::wire;
using dataplane::DownReason;
using dataplane::Notice;
using dataplane::PeerIndex;
using protocol::Duration;
using protocol::HandshakeRefusal;
using protocol::Time;
using wire::FrameClass;
using wire::ParsedFrame;

namespace {

/// A peer that says that it stops will hardly answer now; should it come back, it greets.
constexpr Duration kGreetAfterStop = Duration::ms(100);

}  // namespace

/// False: not a frame for us; it has been counted.
bool Controller::parse_ours(const Notice& notice, ParsedFrame& frame) {
    // The worker may have left a checksum to the device; here there is time to be sure.
    constexpr wire::Verify verify = {.ip_checksum = true, .udp_checksum = true, .demand_udp_checksum = false};
    frame = wire::parse_frame({notice.bytes, notice.length}, verify);
    if (frame.kind == FrameClass::stray) {
        counters_.add(frame.stray);
        return false;
    }
    // VLAN 0 is no VLAN: a tag that carries a priority only (IEEE 802.1Q §6.9).
    const std::uint16_t vlan = frame.vlan == 0 ? wire::kNoVlan : frame.vlan;
    if (vlan != local_.vlan) {
        counters_.add(Counter::wrong_vlan);
        return false;
    }
    if (frame.kind == FrameClass::arp) return true;
    const bool ours =
        frame.dst_ip == local_.address.ip && (frame.kind != FrameClass::udp || frame.dst_port == local_.udp_port);
    if (!ours) {
        counters_.add(Counter::not_for_us);
        return false;
    }
    if (frame.src_mac == local_.address.mac || frame.src_ip == local_.address.ip) {
        counters_.add(Counter::own_frame);
        return false;
    }
    // An answer goes where the frame came from: never to a group.
    if (frame.src_mac.is_zero() || frame.src_mac.is_multicast() || frame.src_ip.is_multicast()) {
        counters_.add(Counter::bad_source_mac);
        return false;
    }
    return true;
}

/// False: not a Bowline packet for us; it has been counted.
bool Controller::parse_datagram(const Notice& notice, ParsedFrame& frame, wire::Segment& segment) {
    if (!parse_ours(notice, frame)) return false;
    if (frame.kind != FrameClass::udp) {
        counters_.add(Counter::unexpected_type);
        return false;
    }
    const wire::Decoded<wire::Segment> decoded = wire::decode(frame.payload);
    if (!decoded) {
        counters_.add(decoded.error());
        return false;
    }
    segment = *decoded;
    return true;
}

Controller::ReplyBytes Controller::on_frame(Time now, const Notice& notice) {
    ParsedFrame frame;
    if (!parse_ours(notice, frame)) return 0;
    switch (frame.kind) {
        case FrameClass::arp:
            on_arp(now, frame);
            break;
        case FrameClass::icmp_echo_request:
            return on_echo_request(now, notice);
        case FrameClass::udp:
            on_greeting(now, frame);
            break;
        case FrameClass::stray:
            break;
    }
    return 0;
}

Controller::ReplyBytes Controller::on_echo_request(Time now, const Notice& notice) {
    if (!echoes_.try_take(now)) {
        counters_.add(Counter::echo_rate_limited);
        return 0;
    }
    counters_.add(Counter::echo_replies_sent);
    const std::size_t bytes = wire::turn_into_echo_reply({notice.bytes, notice.length}, local_.address.mac);
    return static_cast<ReplyBytes>(bytes);
}

void Controller::on_arp(Time now, const ParsedFrame& frame) {
    const std::optional<wire::Arp> arp = wire::parse_arp(frame.payload);
    if (!arp) return counters_.add(wire::Stray::bad_arp);
    const Neighbours::Outcome outcome = neighbours_.on_arp(now, *arp);
    if (outcome.conflict) {
        warn(now, fmt::format("{} is used by another machine, too: {} says so. Packets for this node go astray until "
                              "one of the two has another address",
                              local_.address.ip.to_string(), arp->sender_mac.to_string()));
    }
    if (outcome.changed != Neighbours::kNoHop) on_hop_changed(now, outcome.changed);
    if (!outcome.reply) return;
    if (!arp_replies_.try_take(now)) return counters_.add(Counter::arp_rate_limited);
    counters_.add(Counter::arp_replies_sent);
    transmit(make_arp_frame(*outcome.reply, outcome.reply->target_mac, local_.vlan));
}

/// A datagram that a worker cannot place by its tag: one of the handshake's, or nothing.
void Controller::on_greeting(Time now, const ParsedFrame& frame) {
    const wire::Decoded<wire::Segment> segment = wire::decode(frame.payload);
    if (!segment) return counters_.add(segment.error());
    const wire::Type type = segment->header.type;
    const bool has_hello = type == wire::Type::hello || type == wire::Type::hello_ack;
    if (!has_hello && type != wire::Type::hello_done) return counters_.add(Counter::unexpected_type);

    const PeerIndex index = find_peer(frame.src_ip);
    if (!has_hello) {
        if (index == dataplane::kNoPeer) return counters_.add(Counter::hello_unknown_address);
        return on_hello_done(now, index, frame, *segment);
    }
    const wire::Decoded<wire::Hello> hello = wire::decode_hello(type, segment->content);
    if (!hello) return counters_.add(hello.error());
    if (index == dataplane::kNoPeer) {
        counters_.add(Counter::hello_unknown_address);
        return warn(now, fmt::format("'{}' greets from {}, which is the address of no configured peer; it is not "
                                     "answered. If it should be, add a peer of that name and address",
                                     hello->from.view(), frame.src_ip.to_string()));
    }
    if (type == wire::Type::hello) {
        on_hello(now, index, frame, *hello);
    } else {
        on_hello_ack(now, index, frame, *hello);
    }
}

void Controller::on_hello(Time now, PeerIndex index, const ParsedFrame& frame, const wire::Hello& hello) {
    Peer& peer = peers_[index];
    const HandshakeRefusal refusal = peer.handshake.on_hello(now, hello);
    if (refusal != HandshakeRefusal::none) refuse(now, refusal, peer, hello);
    if (refusal != HandshakeRefusal::none && refusal != HandshakeRefusal::simultaneous) return;
    if (is_own_hop(index)) {
        peer.greeted_from = frame.src_mac;
        const Neighbours::Hop hop = neighbours_.hop_of(index);
        if (neighbours_.on_heard(now, hop, frame.src_mac)) on_hop_changed(now, hop);
    }
    service(now, index);
}

void Controller::on_hello_ack(Time now, PeerIndex index, const ParsedFrame& frame, const wire::Hello& hello) {
    Peer& peer = peers_[index];
    const HandshakeRefusal refusal = peer.handshake.on_hello_ack(now, hello);
    if (refusal == HandshakeRefusal::none) {
        on_reachable(now, index, frame.src_mac);
        return on_associated(now, index);
    }
    refuse(now, refusal, peer, hello);
    // The peer may be waiting for another HELLO_DONE.
    if (refusal == HandshakeRefusal::duplicate) service(now, index);
}

void Controller::on_hello_done(Time now, PeerIndex index, const ParsedFrame& frame, const wire::Segment& segment) {
    const wire::Decoded<wire::HelloDone> done = wire::decode_hello_done(segment.content);
    if (!done) return counters_.add(done.error());
    const HandshakeRefusal refusal = peers_[index].handshake.on_hello_done(now, segment.header.tag, *done);
    // A duplicate is the rule: the worker has seen the tag and said so first. The nonces are new, and prove where it
    // is.
    const bool is_first = refusal == HandshakeRefusal::none;
    if (!is_first && refusal != HandshakeRefusal::duplicate) return counters_.add(refusal);
    on_reachable(now, index, frame.src_mac);
    if (is_first) on_associated(now, index);
}

void Controller::refuse(Time now, HandshakeRefusal refusal, const Peer& peer, const wire::Hello& hello) {
    counters_.add(refusal);
    if (refusal == HandshakeRefusal::own_name) {
        warn(now, fmt::format("the node at {} is named '{}', as this one; one of the two needs another name",
                              peer.spec.ip.to_string(), hello.from.view()));
    } else if (refusal == HandshakeRefusal::wrong_name) {
        counters_.add(Counter::hello_name_mismatch);
        warn(now, fmt::format("{}: '{}' greets '{}', but this node is '{}' and its configuration has '{}' at that "
                              "address; names and addresses must agree on both sides",
                              peer.spec.ip.to_string(), hello.from.view(), hello.to.view(), local_.name.view(),
                              peer.spec.name.view()));
    }
}

void Controller::on_unknown_tag(Time now, const Notice& notice) {
    ParsedFrame frame;
    wire::Segment segment;
    if (!parse_datagram(notice, frame, segment)) return;
    // Never a RESET for a RESET; and a greeting has no tag that we could know.
    const wire::Type type = segment.header.type;
    if (type == wire::Type::reset || type == wire::Type::hello || type == wire::Type::hello_ack) {
        return counters_.add(Counter::unexpected_type);
    }
    const PeerIndex index = find_peer(frame.src_ip);
    if (index == dataplane::kNoPeer) return counters_.add(Counter::reset_unknown_address);
    if (!peers_[index].resets.try_take(now)) return counters_.add(Counter::reset_rate_limited);
    counters_.add(Counter::resets_sent);
    transmit(make_reset_frame(segment.header.slot, segment.header.tag, endpoints_to(frame.src_ip, frame.src_mac)));
}

void Controller::on_reset(Time now, const Notice& notice) {
    ParsedFrame frame;
    wire::Segment segment;
    if (!parse_datagram(notice, frame, segment)) return;
    if (segment.header.type != wire::Type::reset) return counters_.add(Counter::unexpected_type);
    const PeerIndex index = find_peer(frame.src_ip);
    if (index == dataplane::kNoPeer) return counters_.add(Counter::hello_unknown_address);
    protocol::Handshake& handshake = peers_[index].handshake;
    const bool is_in_use = handshake.in_use() && handshake.agreement().peer.tag == segment.header.tag &&
                           handshake.agreement().peer.slot == segment.header.slot;
    if (!is_in_use) return counters_.add(Counter::reset_stale);
    // Nobody has proved anything yet: what is in use stays until a new handshake is through.
    counters_.add(Counter::reset_obeyed);
    handshake.greet(now);
    service(now, index);
}

void Controller::on_close(Time now, const Notice& notice) {
    BOWLINE_CHECK(notice.peer < peers_.size());
    ParsedFrame frame;
    wire::Segment segment;
    if (!parse_datagram(notice, frame, segment)) return;
    if (segment.header.type != wire::Type::close) return counters_.add(Counter::unexpected_type);
    const wire::Decoded<wire::Close> close = wire::decode_close(segment.content);
    if (!close) return counters_.add(close.error());
    const protocol::Handshake& handshake = peers_[notice.peer].handshake;
    if (!handshake.in_use() || handshake.agreement().local_tag != segment.header.tag) {
        return counters_.add(Counter::close_stale);
    }
    if (close->reason != wire::CloseReason::orderly_stop) return counters_.add(Counter::close_unsupported);
    counters_.add(Counter::peers_stopped);
    dissociate(now, notice.peer, DownReason::stopped, kGreetAfterStop);
}

}  // namespace bowline::control
