#include "control/control_frame.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "protocol/check.hpp"
#include "protocol/wire/control_body.hpp"
#include "protocol/wire/header.hpp"

namespace bowline::control {

namespace wire = protocol::wire;
using dataplane::ControlFrame;

namespace {

constexpr protocol::Duration kPeerAckDelayMax = protocol::Duration::s(1);

/// A whole frame around `body_bytes` bytes that `write_body` writes behind the Bowline header.
template <typename WriteBody>
ControlFrame make_frame(const wire::Header& header, const wire::Endpoints& endpoints, WriteBody write_body) {
    const wire::HeaderTemplate headers(endpoints);
    // The template is copied whole, more than a frame without VLAN has room for.
    std::array<std::byte, wire::HeaderTemplate::kWriteBytes + ControlFrame::kBytesMax> buffer{};
    std::byte* const payload = buffer.data() + wire::HeaderTemplate::kWriteBytes;
    wire::encode(header, payload);
    const std::size_t payload_bytes = wire::kHeaderBytes + write_body(payload + wire::kHeaderBytes);
    const std::byte* const start = headers.write(payload, payload_bytes);

    ControlFrame frame;
    const std::size_t length = headers.size() + payload_bytes;
    BOWLINE_CHECK(length <= frame.bytes.size());
    std::memcpy(frame.bytes.data(), start, length);
    frame.length = static_cast<std::uint16_t>(length);
    frame.udp_payload_at = static_cast<std::uint16_t>(headers.size());
    return frame;
}

wire::Header header_of(wire::Type type, std::uint16_t slot, std::uint32_t tag) {
    wire::Header header;
    header.type = type;
    header.slot = slot;
    header.tag = tag;
    return header;
}

}  // namespace

ControlFrame make_handshake_frame(const protocol::Handshake::Outgoing& out, const wire::Endpoints& endpoints,
                                  dataplane::PeerIndex peer) {
    const bool has_hello = out.type != wire::Type::hello_done;
    ControlFrame frame = make_frame(header_of(out.type, out.slot, out.tag), endpoints, [&](std::byte* body) {
        return has_hello ? wire::encode_hello(out.hello, body) : wire::encode_hello_done(out.done, body);
    });
    frame.peer = peer;
    if (has_hello) frame.hello_at = static_cast<std::uint16_t>(frame.udp_payload_at + wire::kHeaderBytes);
    return frame;
}

ControlFrame make_reset_frame(std::uint16_t slot, std::uint32_t tag, const wire::Endpoints& endpoints) {
    return make_frame(header_of(wire::Type::reset, slot, tag), endpoints, [](std::byte*) { return std::size_t{0}; });
}

ControlFrame make_arp_frame(const wire::Arp& arp, wire::MacAddress to, std::uint16_t vlan) {
    ControlFrame frame;
    frame.length = static_cast<std::uint16_t>(wire::encode_arp_frame(arp, vlan, frame.bytes.data()));
    to.store(frame.bytes.data());
    return frame;
}

dataplane::Association make_association(const protocol::Agreement& agreement, std::uint16_t max_packet) {
    const wire::Hello& peer = agreement.peer;
    dataplane::Association association;
    association.local_slot = agreement.local_slot;
    association.local_tag = agreement.local_tag;
    association.remote_slot = peer.slot;
    association.remote_tag = peer.tag;
    association.peer_incarnation = peer.incarnation;
    association.peer_stream_id = peer.stream_id;
    association.peer_memory = {.known = (peer.memory_flags & wire::kMemoryPresent) != 0,
                               .incarnation = peer.memory_incarnation,
                               .stream_id = peer.memory_stream_id,
                               .rcv_nxt = peer.memory_rcv_nxt};
    association.peer_dropped_dirty = (peer.memory_flags & wire::kMemoryDroppedDirty) != 0;
    association.packet_bytes_max = std::min(max_packet, peer.max_packet);
    association.peer_window_pkts = peer.window;
    association.message_max = peer.message_max;
    // The peer's word becomes part of every timeout towards it: only within reason.
    association.peer_ack_delay = std::min(protocol::Duration::us(peer.ack_delay_us), kPeerAckDelayMax);
    association.peer_takes_ack_delay = (peer.features & wire::kFeatureAckDelay) != 0;
    association.rtt = agreement.rtt;
    return association;
}

}  // namespace bowline::control
