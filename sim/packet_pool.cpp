#include "sim/packet_pool.hpp"

#include <cstring>

#include "protocol/check.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace bowline::sim {

PacketPool::~PacketPool() {
    for (SimPacket& packet : packets_) {
        unpoison(packet);
    }
}

void PacketPool::reset(std::uint32_t packets) {
    for (SimPacket& packet : packets_) {
        unpoison(packet);
    }
    if (bytes_size_ < std::size_t{packets} * kBufferBytes) {
        bytes_size_ = std::size_t{packets} * kBufferBytes;
        bytes_ = std::make_unique_for_overwrite<std::byte[]>(bytes_size_);
    }
    packets_.resize(packets);
    free_.clear();
    for (std::uint32_t i = packets; i-- > 0;) {
        packets_[i] = {.buffer = bytes_.get() + std::size_t{i} * kBufferBytes, .refs = 0, .begin = 0, .length = 0};
#if defined(__SANITIZE_ADDRESS__)
        poison(packets_[i]);
#endif
        free_.push_back(i);
    }
    exhausted_ = false;
    refused_ = 0;
}

Packet* PacketPool::alloc() {
    if (exhausted_ || free_.empty()) {
        ++refused_;
        return nullptr;
    }
    SimPacket& packet = packets_[free_.back()];
    free_.pop_back();
    BOWLINE_CHECK(packet.refs == 0);
    packet.refs = 1;
    packet.begin = 0;
    packet.length = 0;
    unpoison(packet);
    return packet_of(packet);
}

void PacketPool::ref(Packet* packet) { ++checked(packet).refs; }

void PacketPool::free(Packet* packet) {
    SimPacket& freed = checked(packet);
    if (--freed.refs == 0) {
        poison(freed);
        free_.push_back(static_cast<std::uint32_t>(&freed - packets_.data()));
    }
}

SimPacket& PacketPool::checked(Packet* packet) {
    SimPacket& it = sim_packet(packet);
    BOWLINE_CHECK(&it >= packets_.data() && &it < packets_.data() + packets_.size());
    BOWLINE_CHECK(it.refs > 0);  // else it has been freed: a use after free, or a double free
    return it;
}

void PacketPool::poison(SimPacket& packet) {
#if defined(__SANITIZE_ADDRESS__)
    ASAN_POISON_MEMORY_REGION(packet.buffer, kBufferBytes);
#else
    // Where a header, an extension or a first message would be read.
    std::memset(packet.buffer + packet.begin, 0xDD, 128);
#endif
}

void PacketPool::unpoison([[maybe_unused]] SimPacket& packet) {
#if defined(__SANITIZE_ADDRESS__)
    ASAN_UNPOISON_MEMORY_REGION(packet.buffer, kBufferBytes);
#endif
}

}  // namespace bowline::sim
