#pragma once

#include <cstdint>

#include "protocol/settings.hpp"
#include "protocol/wire/address.hpp"
#include "protocol/wire/ethernet.hpp"

namespace bowline::dataplane {

/// What a node sends to itself goes through a window and a queue of so many packets each (smaller where the peers'
/// are).
inline constexpr std::uint32_t kOwnWindow = 64;
/// The packets of the pool that this takes at most: in the queue, in the ring, and the one being filled.
inline constexpr std::uint32_t kOwnPackets = 2 * kOwnWindow + 1;

/// What a worker is told at start.
struct WorkerConfig {
    protocol::Settings settings;
    std::uint16_t peers = 0;
    std::uint64_t incarnation = 0;   ///< of this process
    protocol::wire::Ipv4Address ip;  ///< ours
    std::uint16_t udp_port = 0;
    std::uint16_t vlan = protocol::wire::kNoVlan;  ///< the only one that is taken
    bool write_checksums = true;                   ///< UDP: false only where processes share memory
    bool verify_checksums = true;
    bool short_cuts = true;  ///< worker_fast_path.hpp; the outcome is the same without (tests and simulation compare)
    std::uint16_t packet_bytes_max = 1472;  ///< UDP payload that the device takes
    std::uint32_t data_packets_max = 4096;  ///< of the pool for data, so that some are left for acks and control
};

/// What a worker counts besides its streams. Every refusal has a name here (R10).
struct WorkerCounters {
    std::uint64_t rx_packets = 0;
    std::uint64_t tx_packets = 0;
    std::uint64_t rx_other_address = 0;  ///< UDP for another address or port
    std::uint64_t rx_wrong_vlan = 0;
    std::uint64_t rx_unknown_tag = 0;
    std::uint64_t rx_ack_only = 0;      ///< packets of type ACK
    std::uint64_t rx_unexpected = 0;    ///< types with nothing to do in this state
    std::uint64_t notices_refused = 0;  ///< control did not keep up; the packet was dropped
    std::uint64_t no_packet = 0;        ///< the pool was empty: sent later
    std::uint64_t events_full = 0;      ///< an association waits for the application to take its events
    std::uint64_t tx_refused = 0;       ///< the device took fewer than offered: offered again
    std::uint64_t tx_dropped = 0;       ///< acks and control packets for which the device had no room
    std::uint64_t turns = 0;
    std::uint64_t excluded_data = 0;        ///< data of a peer that is out of view: not admitted, CLOSE sent
    std::uint64_t need_first_sent = 0;      ///< data found no window: the sender was asked where it begins
    std::uint64_t need_first_received = 0;  ///< for our present connection
    std::uint64_t need_first_stale = 0;     ///< for another one
    std::uint64_t asks_suppressed = 0;      ///< NEED_FIRST and CLOSE that were not sent since one has been just now
    std::uint64_t rotations = 0;            ///< new conn-ids under an association that stays
    std::uint64_t closes_sent = 0;
    std::uint64_t closes_received = 0;
    std::uint64_t closes_stale = 0;       ///< of connections that are over
    std::uint64_t forgotten_clean = 0;    ///< memories of a peer's stream that were dropped without loss
    std::uint64_t forgotten_dirty = 0;    ///< and with their end unknown
    std::uint64_t expects_over_live = 0;  ///< associations expected in a slot that is in use
};

}  // namespace bowline::dataplane
