#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "dataplane/worker.hpp"

namespace bowline::bench {

using dataplane::Command;
using dataplane::kTxHeadroom;
using dataplane::Notice;
using dataplane::Packet;
using dataplane::RxChecksum;
using dataplane::RxFrame;
using dataplane::SpscRing;
using dataplane::Worker;
using protocol::Duration;
using protocol::Time;

/// A port without a device: buffers from a stack, frames copied through an array, as a memif copies them.
class BenchPort {
public:
    static constexpr std::size_t kBufferBytes = 2048;
    static constexpr std::size_t kWire = 256;

    explicit BenchPort(std::size_t packets) : buffers_(packets) {
        for (Buffer& buffer : buffers_) {
            free_.push_back(&buffer);
        }
    }
    void join(BenchPort& other) { other_ = &other; }

    std::uint16_t rx_burst(Packet** packets, std::uint16_t count) {
        std::uint16_t n = 0;
        for (; n < count && read_ != written_; ++n, ++read_) {
            Buffer* buffer = take();
            const Frame& frame = wire_[read_ % kWire];
            buffer->length = frame.length;
            std::memcpy(buffer->bytes.data() + kTxHeadroom, frame.bytes.data(), frame.length);
            packets[n] = packet(buffer);
        }
        return n;
    }
    std::uint16_t tx_burst(Packet** packets, std::uint16_t count) {
        std::uint16_t n = 0;
        for (; n < count && other_->written_ - other_->read_ < kWire; ++n, ++other_->written_) {
            Buffer* buffer = this->buffer(packets[n]);
            Frame& frame = other_->wire_[other_->written_ % kWire];
            frame.length = buffer->length;
            std::memcpy(frame.bytes.data(), buffer->bytes.data() + buffer->start, buffer->length);
            free(packets[n]);
        }
        return n;
    }
    Packet* alloc() { return free_.empty() ? nullptr : packet(take()); }
    void free(Packet* p) {
        Buffer* b = buffer(p);
        if (--b->references == 0) {
            free_.push_back(b);
        }
    }
    void free_bulk(Packet** packets, std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) {
            free(packets[i]);
        }
    }
    void ref(Packet* p) { ++buffer(p)->references; }
    bool exclusive(Packet* p) { return buffer(p)->references == 1; }
    RxFrame rx_frame(Packet* p) {
        return {buffer(p)->bytes.data() + kTxHeadroom, buffer(p)->length, RxChecksum::unknown, RxChecksum::unknown};
    }
    std::byte* payload(Packet* p) { return buffer(p)->bytes.data() + kTxHeadroom; }
    [[nodiscard]] std::uint32_t payload_capacity() const { return kBufferBytes - kTxHeadroom; }
    void seal(Packet* p, std::uint32_t header_bytes, std::uint32_t payload_bytes) {
        buffer(p)->start = static_cast<std::uint32_t>(kTxHeadroom) - header_bytes;
        buffer(p)->length = header_bytes + payload_bytes;
    }
    void seal_with_checksum(Packet* p, std::uint32_t header_bytes, std::uint32_t payload_bytes) {
        seal(p, header_bytes, payload_bytes);
    }
    [[nodiscard]] bool checksum_offload() const { return false; }

private:
    struct Buffer {
        std::uint32_t references = 0;
        std::uint32_t start = 0;
        std::uint32_t length = 0;
        std::array<std::byte, kBufferBytes> bytes;
    };
    struct Frame {
        std::uint32_t length = 0;
        std::array<std::byte, kBufferBytes> bytes;
    };
    Buffer* take() {
        Buffer* b = free_.back();
        free_.pop_back();
        b->references = 1;
        return b;
    }
    static Packet* packet(Buffer* b) { return reinterpret_cast<Packet*>(b); }
    static Buffer* buffer(Packet* p) { return reinterpret_cast<Buffer*>(p); }

    std::vector<Buffer> buffers_;
    std::vector<Buffer*> free_;
    BenchPort* other_ = nullptr;
    std::vector<Frame> wire_{kWire};
    std::size_t read_ = 0;
    std::size_t written_ = 0;
};
static_assert(dataplane::Port<BenchPort>);

/// Two associated nodes in one thread, and the clock between them.
class WorkerPair {
public:
    WorkerPair() {
        ports_[0].join(ports_[1]);
        ports_[1].join(ports_[0]);
        for (std::size_t i = 0; i < 2; ++i) {
            dataplane::WorkerConfig config;
            config.peers = 1;
            config.incarnation = 100 + i;
            config.ip = {static_cast<std::uint32_t>(0x0A000001U + i)};
            config.udp_port = 7727;
            config.write_checksums = config.verify_checksums = false;
            workers_[i] = std::make_unique<Worker<BenchPort>>(ports_[i], config, commands_[i], notices_[i],
                                                              std::span(&activity_[i], 1), protocol::Random(i), now_);
            Command command;
            command.kind = Command::Kind::set_endpoints;
            command.peer = 0;
            command.endpoints.src_ip = {static_cast<std::uint32_t>(0x0A000001U + i)};
            command.endpoints.dst_ip = {static_cast<std::uint32_t>(0x0A000002U - i)};
            command.endpoints.src_port = command.endpoints.dst_port = 7727;
            static_cast<void>(commands_[i].try_push(command));
            command.kind = Command::Kind::associate;
            dataplane::Association& association = command.association;
            association.local_tag = 7 + static_cast<std::uint32_t>(i);
            association.remote_tag = 8 - static_cast<std::uint32_t>(i);
            association.peer_incarnation = 101 - i;
            association.peer_stream_id = 3;
            association.packet_bytes_max = 1472;
            association.peer_window_pkts = 1024;
            association.message_max = 1U << 20U;
            association.peer_ack_delay = Duration::us(25);
            association.rtt = Duration::us(2);
            static_cast<void>(commands_[i].try_push(command));
        }
        turn(0, [](const std::byte*, std::size_t) {});
        turn(1, [](const std::byte*, std::size_t) {});
    }

    bool send(std::size_t node, const std::byte* bytes, std::size_t size) {
        std::uint64_t number = 0;
        return workers_[node]->offer(0, now_, bytes, size, number) == dataplane::Offer::accepted;
    }
    template <typename OnMessage>
    std::size_t turn(std::size_t node, OnMessage&& on_message) {
        now_ = now_ + Duration::ns(500);
        Worker<BenchPort>& worker = *workers_[node];
        worker.receive(now_);
        const std::size_t count = worker.read(
            1024,
            [&](dataplane::PeerIndex, const std::byte* bytes, std::uint32_t size, std::uint64_t, Packet*) {
                on_message(bytes, size);
            },
            [](dataplane::PeerIndex, const dataplane::PeerEvent&) {});
        worker.send(now_);
        worker.finish_batch();
        return count;
    }

private:
    std::array<BenchPort, 2> ports_{BenchPort(8192), BenchPort(8192)};
    std::array<SpscRing<Command>, 2> commands_{SpscRing<Command>(16), SpscRing<Command>(16)};
    std::array<SpscRing<Notice>, 2> notices_{SpscRing<Notice>(64), SpscRing<Notice>(64)};
    std::array<dataplane::PeerActivity, 2> activity_;
    Time now_ = Time::at_ns(1'000'000);
    std::array<std::unique_ptr<Worker<BenchPort>>, 2> workers_;
};

}  // namespace bowline::bench
