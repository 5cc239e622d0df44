#include "sim/network.hpp"

#include <cstring>

#include "protocol/check.hpp"
#include "protocol/wire/bytes.hpp"
#include "protocol/wire/ethernet.hpp"

namespace bowline::sim {

namespace wire = protocol::wire;

const char* name_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::sent:
            return "sent";
        case Outcome::duplicated:
            return "duplicated";
        case Outcome::delayed:
            return "delayed";
        case Outcome::corrupted:
            return "corrupted";
        case Outcome::lost:
            return "lost";
        case Outcome::cut:
            return "cut";
        case Outcome::filtered:
            return "filtered";
        case Outcome::unknown_mac:
            return "unknown-mac";
        case Outcome::held:
            return "held";
        case Outcome::released:
            return "released";
        case Outcome::queue_full:
            return "queue-full";
    }
    return "unknown";
}

std::size_t bowline_type(std::span<const std::byte> frame) {
    if (frame.size() < kBowlineAt + wire::kHeaderBytes || wire::load_be16(frame.data() + 12) != wire::kEtherTypeIpv4 ||
        wire::load_u8(frame.data() + kBowlineAt) != wire::kMagicVersion) {
        return 0;
    }
    const std::size_t type = wire::load_u8(frame.data() + kBowlineAt + 1);
    return type < Network::kTypes ? type : 0;
}

Network::Network(Clock& clock, protocol::Random random, std::size_t nodes)
    : clock_(clock),
      random_(random),
      nodes_(nodes),
      links_(nodes * nodes),
      sent_(nodes * nodes),
      sinks_(nodes, nullptr) {
    BOWLINE_CHECK(nodes > 0 && nodes < 200);
}

wire::MacAddress Network::mac_of(NodeId node) { return {{0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(node + 1)}}; }

wire::Ipv4Address Network::ip_of(NodeId node) { return {0x0A000001U + node}; }

BottleneckId Network::add_bottleneck(const Bottleneck::Config& config) {
    BOWLINE_CHECK(bottlenecks_.size() < kNoBottleneck);
    bottlenecks_.emplace_back(config);
    return static_cast<BottleneckId>(bottlenecks_.size() - 1);
}

void Network::transmit(NodeId from, std::span<const std::byte> frame) {
    BOWLINE_CHECK(frame.size() >= wire::kEthernetBytes && frame.size() <= kFrameBytesMax);
    const auto mac = wire::MacAddress::load(frame.data());
    if (mac.is_multicast()) {
        for (std::size_t to = 0; to < nodes_; ++to) {
            if (to != from) {
                send_on(from, static_cast<NodeId>(to), frame);
            }
        }
        return;
    }
    for (std::size_t to = 0; to < nodes_; ++to) {
        if (mac == mac_of(static_cast<NodeId>(to))) {
            send_on(from, static_cast<NodeId>(to), frame);
            return;
        }
    }
    note(from, kNoNode, frame, Outcome::unknown_mac);
}

void Network::send_on(NodeId from, NodeId to, std::span<const std::byte> frame) {
    const Link& way = link(from, to);
    ++sent_[from * nodes_ + to][bowline_type(frame)];
    FilterVerdict verdict;
    if (filter_) {
        FrameInfo info{.from = from, .to = to, .bytes = frame, .header = std::nullopt};
        if (bowline_type(frame) != 0) {
            info.header = wire::load_header(frame.data() + kBowlineAt);
        }
        verdict = filter_(info);
    }
    if (verdict.kind == FilterVerdict::Kind::drop) {
        return note(from, to, frame, Outcome::filtered);
    }
    if (verdict.kind == FilterVerdict::Kind::hold) {
        return note(from, to, frame, Outcome::held);
    }
    if (way.cut) {
        return note(from, to, frame, Outcome::cut);
    }
    if (chance(way.loss)) {
        return note(from, to, frame, Outcome::lost);
    }
    const bool corrupt = chance(way.corrupt) || verdict.kind == FilterVerdict::Kind::corrupt;
    Duration extra = verdict.kind == FilterVerdict::Kind::delay ? verdict.by : Duration();
    Outcome outcome = corrupt ? Outcome::corrupted : extra.ns() > 0 ? Outcome::delayed : Outcome::sent;
    if (chance(way.reorder)) {
        extra = extra + up_to(way.reorder_by);
        outcome = corrupt ? outcome : Outcome::delayed;
    }
    launch(from, to, frame, extra, corrupt, outcome);
    if (verdict.kind == FilterVerdict::Kind::duplicate) {
        launch(from, to, frame, verdict.by, false, Outcome::duplicated);
    }
    if (chance(way.dup)) {
        launch(from, to, frame, up_to(way.reorder_by), false, Outcome::duplicated);
    }
}

void Network::launch(NodeId from, NodeId to, std::span<const std::byte> frame, Duration extra, bool corrupt,
                     Outcome outcome) {
    const Link& way = link(from, to);
    Time leaves = clock_.now();
    if (way.bottleneck != kNoBottleneck) {
        const std::optional<Time> passed = bottlenecks_[way.bottleneck].pass(leaves, frame.size());
        if (!passed.has_value()) {
            return note(from, to, frame, Outcome::queue_full);
        }
        leaves = *passed;
    }
    note(from, to, frame, outcome);
    const std::uint32_t subject = store(to, frame);
    Stored& stored = *stored_[subject];
    // What breaks the Ethernet header, or a frame without checksums of its own such as ARP, the device would drop by
    // its FCS: a loss. Elsewhere the frame comes through, and its checksums must tell.
    if (corrupt) {
        ++corrupted_;
        if (wire::load_be16(frame.data() + 12) != wire::kEtherTypeIpv4) {
            return drop(subject);
        }
        const std::size_t at = wire::kEthernetBytes + random_.below(frame.size() - wire::kEthernetBytes);
        std::uint8_t flips = 0;
        for (std::uint64_t bits = 1 + random_.below(3); bits > 0; --bits) {
            flips = static_cast<std::uint8_t>(flips | (1U << random_.below(8)));
        }
        stored.bytes[at] ^= std::byte{flips};
    }
    clock_.plan(leaves + way.delay + up_to(way.jitter) + extra, Event::Kind::frame, subject);
}

void Network::inject(NodeId from, NodeId to, std::span<const std::byte> frame) {
    if (link(from, to).cut) {
        return note(from, to, frame, Outcome::cut);
    }
    note(from, to, frame, Outcome::released);
    clock_.plan(clock_.now() + link(from, to).delay, Event::Kind::frame, store(to, frame));
}

std::uint32_t Network::store(NodeId to, std::span<const std::byte> frame) {
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(stored_.size()));
        stored_.push_back(std::make_unique_for_overwrite<Stored>());
    }
    const std::uint32_t subject = free_.back();
    free_.pop_back();
    Stored& stored = *stored_[subject];
    std::memcpy(stored.bytes.data(), frame.data(), frame.size());
    stored.length = static_cast<std::uint32_t>(frame.size());
    stored.to = to;
    stored.heartbeat = bowline_type(frame) == static_cast<std::size_t>(wire::Type::heartbeat);
    heartbeats_in_flight_ += stored.heartbeat ? 1U : 0U;
    return subject;
}

void Network::arrive(std::uint32_t subject) {
    const Stored& stored = *stored_[subject];
    sinks_[stored.to]->on_frame(std::span(stored.bytes).first(stored.length));
    drop(subject);
}

void Network::drop(std::uint32_t subject) {
    heartbeats_in_flight_ -= stored_[subject]->heartbeat ? 1U : 0U;
    free_.push_back(subject);
}

void Network::note(NodeId from, NodeId to, std::span<const std::byte> frame, Outcome outcome) {
    const auto mix = [this](std::uint64_t value) { hash_ = protocol::Random(hash_ ^ value).next(); };
    mix(static_cast<std::uint64_t>(clock_.now().ns()));
    mix(std::uint64_t{from} << 48U | std::uint64_t{to} << 32U | static_cast<std::uint64_t>(outcome) << 24U |
        frame.size());
    // The UDP checksum covers what the packet says.
    if (frame.size() >= kBowlineAt) {
        mix(wire::load_le16(frame.data() + kBowlineAt - 2));
    }
    if (observer_) {
        FrameInfo info{.from = from, .to = to, .bytes = frame, .header = std::nullopt};
        if (bowline_type(frame) != 0) {
            info.header = wire::load_header(frame.data() + kBowlineAt);
        }
        observer_(info, outcome);
    }
}

std::uint64_t Network::sent_in_all(std::uint32_t mask) const {
    std::uint64_t sum = 0;
    for (const auto& by_type : sent_) {
        for (std::size_t type = 0; type < kTypes; ++type) {
            sum += (mask >> type & 1U) != 0 ? by_type[type] : 0;
        }
    }
    return sum;
}

}  // namespace bowline::sim
