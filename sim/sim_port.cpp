#include "sim/sim_port.hpp"

#include <cstring>

#include "protocol/check.hpp"
#include "protocol/wire/checksum.hpp"

namespace bowline::sim {

SimPort::SimPort(const SimPortConfig& config, PacketPool& pool, Network& network, NodeId node)
    : config_(config), pool_(pool), network_(network), node_(node), rx_(config.rx_ring), tx_(config.tx_ring) {
    BOWLINE_CHECK(config.rx_ring > 0 && config.tx_ring > 0);
}

std::uint16_t SimPort::rx_burst(Packet** packets, std::uint16_t count) {
    std::uint16_t taken = 0;
    while (taken < count && rx_taken_ != rx_stored_) {
        packets[taken++] = rx_[rx_taken_++ % rx_.size()];
    }
    return taken;
}

std::uint16_t SimPort::tx_burst(Packet** packets, std::uint16_t count) {
    std::uint16_t taken = 0;
    while (taken < count && tx_stored_ - tx_done_ < tx_.size()) {
        Packet* const packet = packets[taken++];
        const SimPacket& sent = pool_.checked(packet);
        BOWLINE_CHECK(sent.length > 0);  // not sealed
        const std::span<const std::byte> frame(sent.buffer + sent.begin, sent.length);
        ++transmitted_;
        network_.transmit(node_, frame);
        if (config_.tx_hold.ns() == 0) {
            pool_.free(packet);
            continue;
        }
        tx_[tx_stored_++ % tx_.size()] = {
            .packet = packet, .until = now_ + config_.tx_hold, .sum = protocol::wire::checksum_add(0, frame)};
    }
    return taken;
}

void SimPort::free_bulk(Packet** packets, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
        pool_.free(packets[i]);
    }
}

dataplane::RxFrame SimPort::rx_frame(Packet* packet) {
    const SimPacket& received = pool_.checked(packet);
    return {.data = received.buffer + received.begin,
            .length = received.length,
            .ip_checksum = dataplane::RxChecksum::unknown,
            .udp_checksum = dataplane::RxChecksum::unknown};
}

void SimPort::seal(Packet* packet, std::uint32_t header_bytes, std::uint32_t payload_bytes) {
    SimPacket& sealed = pool_.checked(packet);
    BOWLINE_CHECK(sealed.refs == 1);
    BOWLINE_CHECK(header_bytes <= dataplane::kTxHeadroom && payload_bytes <= payload_capacity());
    sealed.begin = static_cast<std::uint32_t>(dataplane::kTxHeadroom) - header_bytes;
    sealed.length = header_bytes + payload_bytes;
}

void SimPort::advance(Time now) {
    now_ = now;
    while (tx_done_ != tx_stored_ && tx_[tx_done_ % tx_.size()].until <= now) {
        release_oldest();
    }
}

void SimPort::release_oldest() {
    const Owned& owned = tx_[tx_done_++ % tx_.size()];
    const SimPacket& sent = pool_.checked(owned.packet);
    // A real device would have sent what it was given, or half of what it was changed to.
    BOWLINE_CHECK(protocol::wire::checksum_add(0, {sent.buffer + sent.begin, sent.length}) == owned.sum);
    pool_.free(owned.packet);
}

void SimPort::receive(std::span<const std::byte> frame) {
    Packet* const packet = rx_stored_ - rx_taken_ < rx_.size() ? pool_.alloc() : nullptr;
    if (packet == nullptr || frame.size() > PacketPool::kBufferBytes) {
        ++rx_dropped_;
        if (packet != nullptr) {
            pool_.free(packet);
        }
        return;
    }
    SimPacket& received = sim_packet(packet);
    std::memcpy(received.buffer, frame.data(), frame.size());
    received.begin = 0;
    received.length = static_cast<std::uint32_t>(frame.size());
    rx_[rx_stored_++ % rx_.size()] = packet;
}

void SimPort::clear() {
    while (rx_taken_ != rx_stored_) {
        pool_.free(rx_[rx_taken_++ % rx_.size()]);
    }
    while (tx_done_ != tx_stored_) {
        release_oldest();
    }
}

}  // namespace bowline::sim
