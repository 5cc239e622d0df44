#pragma once

#include <cstdint>

#include "dataplane/control_messages.hpp"
#include "protocol/association.hpp"
#include "protocol/wire/address.hpp"
#include "protocol/wire/ethernet.hpp"
#include "protocol/wire/header_template.hpp"

/// Builds the frames that the control thread has sent for it. Pure functions.
namespace bowline::control {

/// HELLO, HELLO_ACK or HELLO_DONE. The UDP checksum, the timestamp and what only the worker knows of a Hello are left
/// 0.
[[nodiscard]] dataplane::ControlFrame make_handshake_frame(const protocol::Handshake::Outgoing& out,
                                                           const protocol::wire::Endpoints& endpoints,
                                                           dataplane::PeerIndex peer);

/// RESET that echoes slot and tag of a packet that nobody here knows.
[[nodiscard]] dataplane::ControlFrame make_reset_frame(std::uint16_t slot, std::uint32_t tag,
                                                       const protocol::wire::Endpoints& endpoints);

/// ARP, sent to `to`.
[[nodiscard]] dataplane::ControlFrame make_arp_frame(const protocol::wire::Arp& arp, protocol::wire::MacAddress to,
                                                     std::uint16_t vlan);

/// What the handshake has settled, in the worker's words. `max_packet`: the largest UDP payload that we take.
[[nodiscard]] dataplane::Association make_association(const protocol::Agreement& agreement, std::uint16_t max_packet);

}  // namespace bowline::control
