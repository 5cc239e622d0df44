#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/port.hpp"
#include "sim/clock.hpp"
#include "sim/network.hpp"
#include "sim/packet_pool.hpp"

namespace bowline::sim {

/// The shape of a simulated device.
struct SimPortConfig {
    std::uint32_t rx_ring = 1024;  ///< frames that wait for the worker; more are lost
    std::uint32_t tx_ring = 256;   ///< packets that the device owns at once
    Duration tx_hold{};            ///< how long it owns a packet; 0: it has copied it at once
};

/// The device of a simulated node: satisfies dataplane::Port, so that the shipping worker runs on it. It lends no
/// packet twice (PacketPool), and aborts when one that the device still owns has been rewritten.
///
/// Thread: the one that runs the simulation.
class SimPort {
public:
    SimPort(const SimPortConfig& config, PacketPool& pool, Network& network, NodeId node);

    // — dataplane::Port —

    std::uint16_t rx_burst(Packet** packets, std::uint16_t count);
    std::uint16_t tx_burst(Packet** packets, std::uint16_t count);
    Packet* alloc() { return pool_.alloc(); }
    void free(Packet* packet) { pool_.free(packet); }
    void free_bulk(Packet** packets, std::uint32_t count);
    void ref(Packet* packet) { pool_.ref(packet); }
    bool exclusive(Packet* packet) { return pool_.checked(packet).refs == 1; }
    dataplane::RxFrame rx_frame(Packet* packet);
    std::byte* payload(Packet* packet) { return pool_.checked(packet).buffer + dataplane::kTxHeadroom; }
    [[nodiscard]] std::uint32_t payload_capacity() const {
        return PacketPool::kBufferBytes - static_cast<std::uint32_t>(dataplane::kTxHeadroom);
    }
    void seal(Packet* packet, std::uint32_t header_bytes, std::uint32_t payload_bytes);
    void seal_with_checksum(Packet* packet, std::uint32_t header_bytes, std::uint32_t payload_bytes) {
        seal(packet, header_bytes, payload_bytes);
    }
    [[nodiscard]] bool checksum_offload() const { return false; }

    // — the simulation's side —

    /// Time has moved on: the device is done with what it has owned long enough.
    void advance(Time now);
    /// A frame has arrived from the network.
    void receive(std::span<const std::byte> frame);
    /// Drops all that the device holds, both ways: the process has ended.
    void clear();
    [[nodiscard]] bool has_received() const { return rx_taken_ != rx_stored_; }
    [[nodiscard]] std::uint64_t rx_dropped() const { return rx_dropped_; }
    [[nodiscard]] std::uint64_t transmitted() const { return transmitted_; }

private:
    struct Owned {
        Packet* packet;
        Time until;
        std::uint64_t sum;  ///< of its bytes as they were sent
    };
    void release_oldest();

    SimPortConfig config_;
    PacketPool& pool_;
    Network& network_;
    NodeId node_;
    Time now_;
    std::vector<Packet*> rx_;  ///< a ring
    std::uint64_t rx_stored_ = 0;
    std::uint64_t rx_taken_ = 0;
    std::vector<Owned> tx_;  ///< a ring
    std::uint64_t tx_stored_ = 0;
    std::uint64_t tx_done_ = 0;
    std::uint64_t rx_dropped_ = 0;
    std::uint64_t transmitted_ = 0;
};

static_assert(dataplane::Port<SimPort>);

}  // namespace bowline::sim
