#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/packet.hpp"

namespace bowline::dataplane {

using protocol::Packet;

/// What the device (or the driver, or nobody) has said of a received packet's checksums.
enum class RxChecksum : std::uint8_t {
    unknown,  ///< nobody looked: software must
    good,
    bad,
};

/// A received frame, from its Ethernet header on. Valid until the packet is freed.
struct RxFrame {
    std::byte* data;
    std::uint32_t length;  ///< bytes, without FCS
    RxChecksum ip_checksum;
    RxChecksum udp_checksum;
};

/// Bytes before payload() that a packet from alloc() has room for: Ethernet with VLAN (18), IPv6 (40), UDP (8), the
/// Bowline header (36) and its extension (16), and slack for growth.
inline constexpr std::size_t kTxHeadroom = 128;

/// A device queue pair and its packet pool, as the worker uses it: one port belongs to one worker thread.
///
/// Every function is called from that thread only, returns at once, and allocates nothing from the heap.
template <typename P>
concept Port = requires(P port, const P cport, Packet* packet, Packet** packets, std::uint16_t count,
                        std::uint32_t bytes) {
    // Takes up to `count` received packets; the caller owns them and must free each.
    { port.rx_burst(packets, count) } -> std::same_as<std::uint16_t>;
    // Hands packets to the device, which drops one reference of each that it takes when it is done with it. Returns how
    // many were taken, from the front; the caller still owns its reference to the rest.
    { port.tx_burst(packets, count) } -> std::same_as<std::uint16_t>;
    // A packet with one reference and empty payload, or nullptr when the pool is empty.
    { port.alloc() } -> std::same_as<Packet*>;
    // Drops one reference; the buffer returns to the pool with the last.
    {port.free(packet)};
    {port.free_bulk(packets, bytes)};
    // Adds a reference: a sent packet stays with the send window while the device has its own.
    {port.ref(packet)};
    // True when the caller's reference is the only one: the device is done with it and its bytes may be rewritten.
    { port.exclusive(packet) } -> std::same_as<bool>;
    // The received frame.
    { port.rx_frame(packet) } -> std::same_as<RxFrame>;
    // Where payload starts in a packet from alloc(): kTxHeadroom bytes before it and payload_capacity() after it are
    // the caller's to write.
    { port.payload(packet) } -> std::same_as<std::byte*>;
    { cport.payload_capacity() } -> std::same_as<std::uint32_t>;
    // Sets what is to be sent: `header_bytes` before payload() and `payload_bytes` from it on. May be called again on
    // the same packet with other sizes, as long as it is exclusive.
    {port.seal(packet, bytes, bytes)};
    // As seal(), and asks the device to fill in the UDP checksum; only when checksum_offload() is true. The
    // pseudo-header sum is already in the UDP checksum field; header lengths as given.
    {port.seal_with_checksum(packet, bytes, bytes)};
    { cport.checksum_offload() } -> std::same_as<bool>;
};

}  // namespace bowline::dataplane
