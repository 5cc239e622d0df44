#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "protocol/packet.hpp"

namespace bowline::sim {

using protocol::Packet;

/// A buffer of a simulated device, as DPDK's mbuf is one of a real device: what a protocol::Packet* of a SimPort is.
struct SimPacket {
    std::byte* buffer = nullptr;  ///< PacketPool::kBufferBytes
    std::uint32_t refs = 0;       ///< 0: in the pool
    std::uint32_t begin = 0;      ///< of what is received or to be sent, in the buffer
    std::uint32_t length = 0;
};

inline SimPacket& sim_packet(Packet* packet) { return *reinterpret_cast<SimPacket*>(packet); }
inline Packet* packet_of(SimPacket& packet) { return reinterpret_cast<Packet*>(&packet); }

/// A fixed number of reference-counted buffers. It aborts the run on a reference too many or too few, and a freed
/// buffer is overwritten (and poisoned where AddressSanitizer runs), so that nobody reads it unnoticed.
///
/// The memory is kept from run to run: reset() makes a pool as good as new.
class PacketPool {
public:
    static constexpr std::uint32_t kBufferBytes = 2048;

    PacketPool() = default;
    PacketPool(const PacketPool&) = delete;
    PacketPool& operator=(const PacketPool&) = delete;
    ~PacketPool();

    /// `packets` buffers, none of them in use.
    void reset(std::uint32_t packets);

    /// As if the pool were empty, while set.
    void set_exhausted(bool exhausted) { exhausted_ = exhausted; }
    [[nodiscard]] bool exhausted() const { return exhausted_; }

    /// With one reference; nullptr when there is none left.
    [[nodiscard]] Packet* alloc();
    void ref(Packet* packet);
    void free(Packet* packet);
    /// Aborts unless this is a packet of this pool, in use.
    SimPacket& checked(Packet* packet);

    [[nodiscard]] std::uint32_t in_use() const { return static_cast<std::uint32_t>(packets_.size() - free_.size()); }
    [[nodiscard]] std::uint64_t refused() const { return refused_; }

private:
    void poison(SimPacket& packet);
    void unpoison(SimPacket& packet);

    std::unique_ptr<std::byte[]> bytes_;  ///< left as it is until a packet is used
    std::size_t bytes_size_ = 0;
    std::vector<SimPacket> packets_;
    std::vector<std::uint32_t> free_;
    bool exhausted_ = false;
    std::uint64_t refused_ = 0;
};

}  // namespace bowline::sim
