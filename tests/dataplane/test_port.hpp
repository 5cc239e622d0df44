#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/port.hpp"
#include "dataplane/spsc_ring.hpp"
#include "protocol/check.hpp"

namespace bowline::dataplane {

/// A frame on its way between two TestPorts.
struct WireFrame {
    std::uint32_t length = 0;
    std::array<std::byte, 1792> bytes{};
};
/// One direction between two ports, which may belong to two threads.
using Wire = SpscRing<WireFrame>;

/// What becomes of a frame that leaves. A fault may also rewrite its bytes.
enum class Fate : std::uint8_t { pass, drop, twice, behind_the_next };
using Fault = std::function<Fate(std::span<std::byte>)>;

/// A Port in memory: a pool of counted packets, and a wire each way that copies, as a network does. Packets and pool
/// belong to the port's thread; only the wires cross. It aborts on a double free and on the use of a free packet.
class TestPort {
public:
    static constexpr std::uint32_t kCapacity = 1500;

    TestPort(std::size_t packets, Wire& out, Wire& in) : packets_(packets), out_(&out), in_(&in) {
        free_.reserve(packets);
        sent_.reserve(packets);
        for (std::size_t i = packets; i-- > 0;) {
            free_.push_back(&packets_[i]);
        }
    }
    TestPort(const TestPort&) = delete;
    TestPort& operator=(const TestPort&) = delete;

    // — what a test sets —

    Fault fault;                          ///< applied to each frame that leaves
    std::uint16_t tx_burst_max = 0xFFFF;  ///< how many the device takes at once
    std::size_t device_keeps = 0;         ///< packets that the device still owns after they have left
    bool starve = false;                  ///< the pool says that it is empty
    bool checksum_offloaded = false;

    // — what a test asks —

    [[nodiscard]] std::size_t packets() const { return packets_.size(); }
    [[nodiscard]] std::size_t free_packets() const { return free_.size(); }
    [[nodiscard]] std::size_t rx_dropped() const { return rx_dropped_; }
    /// The device gives back everything that it still owns.
    void complete_sent() { keep_sent(0); }

    // — Port —

    std::uint16_t rx_burst(Packet** packets, std::uint16_t count) {
        std::uint16_t received = 0;
        while (received < count) {
            const WireFrame* frame = in_->front();
            if (frame == nullptr) {
                break;
            }
            if (free_.empty()) {
                ++rx_dropped_;  // as a device does when nobody gives it buffers
            } else {
                Stored& packet = take();
                packet.at = 0;
                packet.length = frame->length;
                std::memcpy(packet.bytes.data(), frame->bytes.data(), frame->length);
                packets[received++] = handle(packet);
            }
            in_->pop();
        }
        return received;
    }

    std::uint16_t tx_burst(Packet** packets, std::uint16_t count) {
        std::uint16_t taken = 0;
        while (taken < std::min(count, tx_burst_max) && out_->free() >= 3) {
            Stored& packet = stored(packets[taken++]);
            leave({packet.bytes.data() + packet.at, packet.length});
            sent_.push_back(&packet);
            keep_sent(device_keeps);
        }
        return taken;
    }

    Packet* alloc() { return starve || free_.empty() ? nullptr : handle(take()); }
    void free(Packet* packet) {
        Stored& at = stored(packet);
        if (--at.references == 0) {
            std::memset(at.bytes.data(), 0xDD, 256);
            free_.push_back(&at);
        }
    }
    void free_bulk(Packet** packets, std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) {
            free(packets[i]);
        }
    }
    void ref(Packet* packet) { ++stored(packet).references; }
    bool exclusive(Packet* packet) { return stored(packet).references == 1; }
    RxFrame rx_frame(Packet* packet) {
        Stored& at = stored(packet);
        return {at.bytes.data() + at.at, at.length, RxChecksum::unknown, RxChecksum::unknown};
    }
    std::byte* payload(Packet* packet) { return stored(packet).bytes.data() + kTxHeadroom; }
    [[nodiscard]] std::uint32_t payload_capacity() const { return kCapacity; }
    void seal(Packet* packet, std::uint32_t header_bytes, std::uint32_t payload_bytes) {
        BOWLINE_CHECK(header_bytes <= kTxHeadroom && payload_bytes <= kCapacity);
        Stored& at = stored(packet);
        BOWLINE_CHECK(at.references == 1);  // what the device owns is never rewritten
        at.at = static_cast<std::uint32_t>(kTxHeadroom) - header_bytes;
        at.length = header_bytes + payload_bytes;
    }
    void seal_with_checksum(Packet* packet, std::uint32_t header_bytes, std::uint32_t payload_bytes) {
        seal(packet, header_bytes, payload_bytes);
    }
    [[nodiscard]] bool checksum_offload() const { return checksum_offloaded; }

    /// Puts a frame on the wire, past the fault.
    void inject(std::span<const std::byte> bytes) {
        WireFrame* const frame = out_->try_claim();
        BOWLINE_CHECK(frame != nullptr && bytes.size() <= frame->bytes.size());
        frame->length = static_cast<std::uint32_t>(bytes.size());
        std::copy(bytes.begin(), bytes.end(), frame->bytes.begin());
        out_->publish();
    }

private:
    struct Stored {
        std::uint32_t references = 0;
        std::uint32_t at = 0;
        std::uint32_t length = 0;
        alignas(16) std::array<std::byte, kTxHeadroom + 1664> bytes{};
    };

    static Packet* handle(Stored& packet) { return static_cast<Packet*>(static_cast<void*>(&packet)); }
    static Stored& stored(Packet* packet) {
        Stored& at = *static_cast<Stored*>(static_cast<void*>(packet));
        BOWLINE_CHECK(at.references > 0);
        return at;
    }
    Stored& take() {
        Stored& packet = *free_.back();
        free_.pop_back();
        BOWLINE_CHECK(packet.references == 0);
        packet.references = 1;
        return packet;
    }
    void keep_sent(std::size_t most) {
        // Completed in the order in which they left.
        while (sent_.size() > most) {
            free(handle(*sent_.front()));
            sent_.erase(sent_.begin());
        }
    }
    void leave(std::span<const std::byte> bytes) {
        WireFrame frame;
        BOWLINE_CHECK(bytes.size() <= frame.bytes.size());
        frame.length = static_cast<std::uint32_t>(bytes.size());
        std::memcpy(frame.bytes.data(), bytes.data(), bytes.size());
        const Fate fate = fault ? fault({frame.bytes.data(), frame.length}) : Fate::pass;
        if (fate == Fate::behind_the_next && !held_back_.has_value()) {
            held_back_ = frame;
            return;
        }
        for (int copies = fate == Fate::drop ? 0 : fate == Fate::twice ? 2 : 1; copies > 0; --copies) {
            inject({frame.bytes.data(), frame.length});
        }
        if (held_back_.has_value()) {
            inject({held_back_->bytes.data(), held_back_->length});
            held_back_.reset();
        }
    }

    std::vector<Stored> packets_;
    std::vector<Stored*> free_;
    std::vector<Stored*> sent_;
    Wire* out_;
    Wire* in_;
    std::optional<WireFrame> held_back_;
    std::size_t rx_dropped_ = 0;
};
static_assert(Port<TestPort>);

}  // namespace bowline::dataplane
