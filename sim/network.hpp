#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "protocol/random.hpp"
#include "protocol/wire/address.hpp"
#include "protocol/wire/header.hpp"
#include "sim/bottleneck.hpp"
#include "sim/clock.hpp"

namespace bowline::sim {

/// A probability in millionths, so that no run depends on how a machine rounds.
using Ppm = std::uint32_t;
inline constexpr Ppm kAlways = 1'000'000;

/// A bottleneck of a network, and that a link has none.
using BottleneckId = std::uint8_t;
inline constexpr BottleneckId kNoBottleneck = 255;

/// What one direction between two nodes does to frames.
struct Link {
    Duration delay = Duration::us(10);
    Duration jitter;  ///< up to so much more, evenly: frames overtake each other
    Ppm loss = 0;
    Ppm dup = 0;      ///< a second copy, with its own delay
    Ppm reorder = 0;  ///< held back by up to `reorder_by`
    Ppm corrupt = 0;  ///< one to three bits of one byte behind the Ethernet header are flipped
    Duration reorder_by = Duration::us(100);
    bool cut = false;                         ///< nothing passes
    BottleneckId bottleneck = kNoBottleneck;  ///< frames pass it before the delay begins
};

/// A frame under way, as filters and observers see it. The bytes are valid during the call.
struct FrameInfo {
    NodeId from = kNoNode;
    NodeId to = kNoNode;
    std::span<const std::byte> bytes;  ///< from the Ethernet header on
    /// The Bowline header, for what is a Bowline packet as it was sent; nothing for ARP and the like.
    std::optional<protocol::wire::Header> header;
};

/// What becomes of a frame, beyond what its link does at random.
struct FilterVerdict {
    enum class Kind : std::uint8_t { pass, drop, duplicate, corrupt, delay, hold };  // hold: the filter keeps it
    Kind kind = Kind::pass;
    Duration by;  ///< of delay, or between a packet and its copy
};

/// What has become of one, for traces. A frame that is duplicated is seen twice.
enum class Outcome : std::uint8_t {
    sent,
    duplicated,
    delayed,
    corrupted,
    lost,
    cut,
    filtered,
    unknown_mac,
    held,
    released,
    queue_full,  ///< of its bottleneck
};
[[nodiscard]] const char* name_of(Outcome outcome);

/// Who takes the frames of a node.
class FrameSink {
public:
    virtual void on_frame(std::span<const std::byte> frame) = 0;

protected:
    ~FrameSink() = default;
};

/// A switch and its links, one each for every ordered pair of nodes. Frames go by destination MAC; broadcast goes to
/// everybody else. All its randomness comes from its seed.
///
/// Thread: the one that runs the simulation.
class Network {
public:
    using Filter = std::function<FilterVerdict(const FrameInfo&)>;
    using Observer = std::function<void(const FrameInfo&, Outcome)>;
    static constexpr std::size_t kFrameBytesMax = 2048;
    static constexpr std::size_t kTypes = 11;  ///< 0: not Bowline

    Network(Clock& clock, protocol::Random random, std::size_t nodes);

    [[nodiscard]] static protocol::wire::MacAddress mac_of(NodeId node);
    [[nodiscard]] static protocol::wire::Ipv4Address ip_of(NodeId node);
    void attach(NodeId node, FrameSink& sink) { sinks_[node] = &sink; }

    [[nodiscard]] Link& link(NodeId from, NodeId to) { return links_[from * nodes_ + to]; }

    /// A queue for the links that name it. At most 255.
    BottleneckId add_bottleneck(const Bottleneck::Config& config);
    [[nodiscard]] Bottleneck& bottleneck(BottleneckId id) { return bottlenecks_[id]; }

    /// Looks at every frame before its link does; empty: none. It may keep the bytes and inject() them later.
    void set_filter(Filter filter) { filter_ = std::move(filter); }
    void set_observer(Observer observer) { observer_ = std::move(observer); }

    /// A node's device has sent a frame.
    void transmit(NodeId from, std::span<const std::byte> frame);
    /// A frame appears on a link, past filter and faults, unless that is cut.
    void inject(NodeId from, NodeId to, std::span<const std::byte> frame);
    /// The event of a frame is due.
    void arrive(std::uint32_t subject);

    /// Copies that are on their way; and these but for heartbeats.
    [[nodiscard]] std::size_t in_flight() const { return stored_.size() - free_.size(); }
    [[nodiscard]] std::size_t in_flight_beside_heartbeats() const { return in_flight() - heartbeats_in_flight_; }
    /// Frames that `from` has sent to `to` (a broadcast counts for each), by Bowline type; 0: others.
    [[nodiscard]] std::uint64_t sent(NodeId from, NodeId to, std::size_t type) const {
        return sent_[from * nodes_ + to][type];
    }
    /// All frames sent with one of the types in `mask` (bit = type).
    [[nodiscard]] std::uint64_t sent_in_all(std::uint32_t mask) const;
    [[nodiscard]] std::uint64_t corrupted() const { return corrupted_; }
    /// Over every frame sent and what became of it: two runs with the same one were the same.
    [[nodiscard]] std::uint64_t trace_hash() const { return hash_; }

private:
    struct Stored {
        std::array<std::byte, kFrameBytesMax> bytes;
        std::uint32_t length;
        NodeId to;
        bool heartbeat;
    };

    void send_on(NodeId from, NodeId to, std::span<const std::byte> frame);
    void launch(NodeId from, NodeId to, std::span<const std::byte> frame, Duration extra, bool corrupt,
                Outcome outcome);
    void note(NodeId from, NodeId to, std::span<const std::byte> frame, Outcome outcome);
    [[nodiscard]] bool chance(Ppm ppm) { return ppm != 0 && random_.below(kAlways) < ppm; }
    [[nodiscard]] Duration up_to(Duration most) {
        return most.ns() <= 0
                   ? Duration()
                   : Duration::ns(static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most.ns()) + 1)));
    }
    std::uint32_t store(NodeId to, std::span<const std::byte> frame);
    void drop(std::uint32_t subject);

    Clock& clock_;
    protocol::Random random_;
    std::size_t nodes_;
    std::vector<Link> links_;
    std::vector<Bottleneck> bottlenecks_;
    std::vector<std::array<std::uint64_t, kTypes>> sent_;
    std::vector<FrameSink*> sinks_;
    std::vector<std::unique_ptr<Stored>> stored_;
    std::vector<std::uint32_t> free_;
    Filter filter_;
    Observer observer_;
    std::size_t heartbeats_in_flight_ = 0;
    std::uint64_t corrupted_ = 0;
    std::uint64_t hash_ = 0x9E3779B97F4A7C15ULL;
};

/// Type of the Bowline packet in a frame, or 0.
[[nodiscard]] std::size_t bowline_type(std::span<const std::byte> frame);
/// Where the Bowline header begins in the simulated frames that carry one: without VLAN and IP options.
inline constexpr std::size_t kBowlineAt = 42;

}  // namespace bowline::sim
