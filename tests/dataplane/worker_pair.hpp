#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/worker.hpp"
#include "test_port.hpp"

namespace bowline::dataplane {

using protocol::Duration;
using protocol::Time;
using Bytes = std::vector<std::byte>;

inline constexpr std::uint16_t kTestUdpPort = 7117;
inline constexpr std::uint16_t kTestPacketBytes = 1472;
/// The longest message that fits in one packet.
inline constexpr std::size_t kTestClaimMax = kTestPacketBytes - protocol::wire::kHeaderBytes -
                                             protocol::wire::kFirstExtensionBytes - protocol::wire::kFrameHeaderBytes;

/// What message `number` of a stream consists of: its own, at every byte.
inline std::byte content(std::uint64_t number, std::size_t at) {
    return static_cast<std::byte>(number * 131U + at * 7U + at / 251U);
}
inline Bytes make_message(std::uint64_t number, std::size_t size) {
    Bytes bytes(size);
    for (std::size_t at = 0; at < size; ++at) {
        bytes[at] = content(number, at);
    }
    return bytes;
}

/// What an application has been handed, in order.
struct Handed {
    enum class Kind : std::uint8_t { message, up, down, undelivered, gap, view };
    Kind kind = Kind::message;
    std::uint64_t first = 0;  ///< a message's number, a range's first
    std::uint64_t last = 0;
    bool certain = false;
    DownReason down = DownReason::none;
    Bytes bytes = {};

    bool operator==(const Handed&) const = default;
    friend std::ostream& operator<<(std::ostream& out, const Handed& handed) {
        static constexpr const char* names[] = {"message", "up", "down", "undelivered", "gap"};
        return out << names[static_cast<int>(handed.kind)] << ' ' << handed.first << ".." << handed.last
                   << (handed.certain ? " certain " : " ") << static_cast<int>(handed.down) << " of "
                   << handed.bytes.size() << " bytes";
    }
};
inline Handed message(std::uint64_t number, std::size_t size) {
    return {.kind = Handed::Kind::message, .first = number, .last = number, .bytes = make_message(number, size)};
}
inline Handed up() { return {.kind = Handed::Kind::up}; }
inline Handed down(DownReason reason) { return {.kind = Handed::Kind::down, .down = reason}; }
inline Handed undelivered(std::uint64_t first, std::uint64_t last, bool certain) {
    return {.kind = Handed::Kind::undelivered, .first = first, .last = last, .certain = certain};
}
inline Handed gap(std::uint64_t first, std::uint64_t last) {
    return {.kind = Handed::Kind::gap, .first = first, .last = last};
}
inline Handed as_handed(const PeerEvent& event) {
    switch (event.kind) {
        case PeerEvent::Kind::up:
            return up();
        case PeerEvent::Kind::down:
            return down(event.down);
        case PeerEvent::Kind::undelivered:
            return undelivered(event.first, event.last, event.certain);
        case PeerEvent::Kind::opened:
            return gap(event.first, event.last);
        case PeerEvent::Kind::view_changed:
            return {.kind = Handed::Kind::view, .first = event.first};
        case PeerEvent::Kind::restarted:
        case PeerEvent::Kind::forgotten:
            break;
    }
    ADD_FAILURE() << "an event that no application should see";
    return {};
}

/// Small windows, so that tests run into their ends.
inline protocol::Settings test_settings() {
    protocol::Settings settings;
    settings.window_pkts = 64;
    settings.send_queue_pkts = 64;
    settings.message_max = 1U << 20U;
    settings.give_up = Duration::s(2);
    return settings;
}

struct NodeOptions {
    protocol::Settings settings = test_settings();
    std::size_t packets = 1024;
    std::uint32_t data_packets_max = 512;
    std::uint64_t incarnation = 1;
    std::uint8_t host = 1;  ///< of 10.0.0.x
    std::size_t notices = 64;
    bool short_cuts = true;
};

/// One end of a pair: a worker with its port, and the rings to a control thread that the test plays.
class Node {
public:
    Node(const NodeOptions& options, Wire& out, Wire& in, Time now)
        : options_(options), notices(options.notices), activity(1), port(options.packets, out, in) {
        WorkerConfig config;
        config.settings = options.settings;
        config.peers = 1;
        config.incarnation = options.incarnation;
        config.ip = address(options.host);
        config.udp_port = kTestUdpPort;
        config.short_cuts = options.short_cuts;
        config.packet_bytes_max = kTestPacketBytes;
        config.data_packets_max = options.data_packets_max;
        worker_ = std::make_unique<Worker<TestPort>>(port, config, commands, notices, activity,
                                                     protocol::Random(options.incarnation * 31 + options.host), now);
        Command command;
        command.kind = Command::Kind::set_endpoints;
        command.peer = 0;
        command.endpoints = endpoints();
        give(command);
    }
    /// Every packet is accounted for, whatever a test did.
    ~Node() {
        worker_.reset();
        while (Notice* notice = notices.front()) {
            if (notice->packet != nullptr) {
                port.free(notice->packet);
            }
            notices.pop();
        }
        port.complete_sent();
        EXPECT_EQ(port.free_packets(), port.packets());
    }
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    static protocol::wire::Ipv4Address address(std::uint8_t host) { return {0x0A00'0000U + host}; }
    [[nodiscard]] protocol::wire::Endpoints endpoints() const {
        const auto other = static_cast<std::uint8_t>(3 - options_.host);
        return {.src_mac = {{2, 0, 0, 0, 0, options_.host}},
                .dst_mac = {{2, 0, 0, 0, 0, other}},
                .src_ip = address(options_.host),
                .dst_ip = address(other),
                .src_port = kTestUdpPort,
                .dst_port = kTestUdpPort};
    }

    Worker<TestPort>& worker() { return *worker_; }
    Peer& peer() { return worker_->peer(0); }
    [[nodiscard]] const NodeOptions& options() const { return options_; }

    void give(const Command& command) { BOWLINE_CHECK(commands.try_push(command)); }
    void give(Command::Kind kind, DownReason reason = DownReason::none) {
        Command command;
        command.kind = kind;
        command.peer = 0;
        command.down_reason = reason;
        give(command);
    }
    void give_back(Packet* packet) {
        Command command;
        command.packet = packet;
        give(command);
    }
    /// The next notice of the worker; kind and all. Its packet goes back at once.
    bool take_notice(Notice& notice) {
        Notice* const at = notices.front();
        if (at == nullptr) {
            return false;
        }
        notice = *at;
        notices.pop();
        if (notice.packet != nullptr) {
            give_back(notice.packet);
        }
        return true;
    }

    Offer offer(Time now, const Bytes& bytes, std::uint64_t& number) {
        return worker_->offer(0, now, bytes.data(), bytes.size(), number);
    }
    /// Offers the next message of the stream, of `size` bytes. True when it was accepted.
    bool send(Time now, std::size_t size) {
        std::uint64_t number = 0;
        if (offer(now, make_message(sent + 1, size), number) != Offer::accepted) {
            return false;
        }
        EXPECT_EQ(number, sent + 1);
        sent = number;
        return true;
    }
    void read() {
        worker_->read(
            read_limit,
            [this](PeerIndex, const std::byte* bytes, std::uint32_t size, std::uint64_t number, Packet*) {
                handed.push_back({.kind = Handed::Kind::message,
                                  .first = number,
                                  .last = number,
                                  .bytes = Bytes(bytes, bytes + size)});
            },
            [this](PeerIndex, const PeerEvent& event) { handed.push_back(as_handed(event)); });
        worker_->finish_batch();
    }
    void turn(Time now) {
        worker_->receive(now);
        if (reading) {
            read();
        }
        worker_->send(now);
        worker_->check_invariants();
    }
    /// What has been handed out since the last call.
    std::vector<Handed> take_handed() { return std::exchange(handed, {}); }

private:
    NodeOptions options_;
    std::unique_ptr<Worker<TestPort>> worker_;

public:
    SpscRing<Command> commands{64};
    SpscRing<Notice> notices;
    std::vector<PeerActivity> activity;
    TestPort port;
    std::vector<Handed> handed;
    std::uint64_t sent = 0;  ///< number of the last message accepted
    bool reading = true;
    std::size_t read_limit = 256;
};

/// Two nodes joined by wires, with the test as their control thread and their clock.
class WorkerPair : public testing::Test {
protected:
    static constexpr Duration kTurn = Duration::us(20);

    void SetUp() override { start(); }
    void start() {
        a_.reset();
        b_.reset();
        b_options_.host = 2;
        b_options_.incarnation = b_options_.incarnation == 1 ? 2 : b_options_.incarnation;
        a_ = std::make_unique<Node>(a_options_, ab_, ba_, now_);
        b_ = std::make_unique<Node>(b_options_, ba_, ab_, now_);
    }
    Node& a() { return *a_; }
    Node& b() { return *b_; }

    /// B's process is replaced by another one under the same name.
    void restart_b() {
        ++b_options_.incarnation;
        b_.reset();
        while (ab_.front() != nullptr) {
            ab_.pop();
        }
        b_ = std::make_unique<Node>(b_options_, ba_, ab_, now_);
    }

    /// What a handshake between the two would give `self` now.
    Association make_association(Node& self, std::uint32_t round, Node& other) {
        Association association;
        association.local_slot = static_cast<std::uint16_t>(round % 2);
        association.local_tag = round * 4 + self.options().host;
        association.remote_slot = static_cast<std::uint16_t>(round % 2);
        association.remote_tag = round * 4 + other.options().host;
        association.peer_incarnation = other.options().incarnation;
        association.peer_stream_id = other.peer().send.stream_id();
        association.peer_memory = other.peer().receive.memory();
        association.packet_bytes_max = kTestPacketBytes;
        association.peer_window_pkts = other.peer().receive.window_pkts(other.peer().ring.reclaimed());
        association.message_max = std::min(self.options().settings.message_max, other.options().settings.message_max);
        association.peer_ack_delay = other.options().settings.ack_delay;
        return association;
    }
    /// Both are told of a new association.
    void associate() {
        ++round_;
        for (auto [self, other] : {std::pair(a_.get(), b_.get()), std::pair(b_.get(), a_.get())}) {
            Command command;
            command.kind = Command::Kind::associate;
            command.peer = 0;
            command.association = make_association(*self, round_, *other);
            self->give(command);
        }
    }
    /// As associate(), and the `up` events are out of the way.
    void associate_and_clear() {
        associate();
        turns(1);
        a().take_handed();
        b().take_handed();
    }

    void turns(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            now_ = now_ + kTurn;
            a_->turn(now_);
            b_->turn(now_);
        }
    }
    /// Turns until both have nothing left to say, at most `limit`.
    bool settle(std::size_t limit = 200'000) {
        for (std::size_t i = 0; i < limit; ++i) {
            turns(1);
            if (a_->worker().drained() && b_->worker().drained() && ab_.empty() && ba_.empty()) {
                return true;
            }
        }
        return false;
    }

    NodeOptions a_options_;
    NodeOptions b_options_;
    Time now_ = Time::at_ns(1'000'000'000);
    std::uint32_t round_ = 0;
    Wire ab_{512};
    Wire ba_{512};
    std::unique_ptr<Node> a_;
    std::unique_ptr<Node> b_;
};

}  // namespace bowline::dataplane
