#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "control/control_frame.hpp"
#include "control/controller.hpp"
#include "protocol/wire/control_body.hpp"

/// A controller on a bench: a test makes the frames that come in, and sees the commands that come out.
namespace bowline::control::test {

namespace wire = protocol::wire;
using dataplane::Command;
using dataplane::ControlFrame;
using dataplane::Notice;
using dataplane::PeerIndex;
using protocol::Duration;
using protocol::Time;
using Bytes = std::vector<std::byte>;

inline wire::MacAddress mac(std::uint8_t last) { return {{0x02, 0, 0, 0, 0, last}}; }
inline wire::Ipv4Address ip(const char* text) { return *wire::Ipv4Address::parse(text); }
inline wire::NodeName name(const std::string& text) { return *wire::NodeName::make(text); }

inline LocalNode node(const char* own_name, const char* own_ip, std::uint8_t own_mac) {
    LocalNode local;
    local.name = name(own_name);
    local.incarnation = 1'000U + own_mac;
    local.address = {.mac = mac(own_mac), .ip = ip(own_ip), .prefix_bits = 24, .gateway = std::nullopt};
    local.max_packet = 1472;
    return local;
}

inline Bytes bytes_of(const ControlFrame& frame) { return {frame.bytes.begin(), frame.bytes.begin() + frame.length}; }

/// A frame as the test has to look at it.
struct SentFrame {
    wire::ParsedFrame parsed;  ///< into `bytes`
    std::unique_ptr<Bytes> bytes;
    std::optional<wire::Segment> segment;
    std::optional<wire::Hello> hello;
    std::optional<wire::Arp> arp;

    [[nodiscard]] bool is(wire::Type type) const { return segment && segment->header.type == type; }
};

inline SentFrame take_apart(Bytes frame) {
    SentFrame sent;
    sent.bytes = std::make_unique<Bytes>(std::move(frame));
    sent.parsed = wire::parse_frame(*sent.bytes, {});
    EXPECT_NE(sent.parsed.kind, wire::FrameClass::stray) << wire::name_of(sent.parsed.stray);
    if (sent.parsed.kind == wire::FrameClass::arp) sent.arp = wire::parse_arp(sent.parsed.payload);
    if (sent.parsed.kind != wire::FrameClass::udp) return sent;
    const auto segment = wire::decode(sent.parsed.payload);
    EXPECT_TRUE(segment) << wire::name_of(segment.error());
    sent.segment = *segment;
    const wire::Type type = segment->header.type;
    if (type != wire::Type::hello && type != wire::Type::hello_ack) return sent;
    const auto hello = wire::decode_hello(type, segment->content);
    EXPECT_TRUE(hello);
    sent.hello = *hello;
    return sent;
}

class Bench {
public:
    Bench(const LocalNode& local, std::vector<PeerSpec> peers, const protocol::Settings& settings = {})
        : local_(local),
          peers_(std::move(peers)),
          activity_(peers_.size()),
          controller_(settings, local_, peers_, protocol::Random(42), activity_,
                      [this](LogLevel level, const std::string& text) { words_.emplace_back(level, text); }) {}

    Controller& controller() { return controller_; }
    [[nodiscard]] std::uint64_t counter(Counter counter) const { return controller_.counters().get(counter); }
    dataplane::PeerActivity& activity(PeerIndex peer) { return activity_[peer]; }
    Time now = Time::at_ns(1'000'000'000);

    /// A notice with a packet of exactly these bytes.
    void notice(Notice::Kind kind, Bytes frame, PeerIndex peer = dataplane::kNoPeer) {
        Notice notice;
        notice.kind = kind;
        notice.peer = peer;
        notice.length = static_cast<std::uint32_t>(frame.size());
        packets_.push_back(std::make_unique<Bytes>(std::move(frame)));
        Bytes* const held = packets_.back().get();
        notice.packet = reinterpret_cast<protocol::Packet*>(held);
        notice.bytes = held->data();
        outstanding_[notice.packet] = held;
        ++packets_given_;
        controller_.on_notice(now, notice);
        drain();
    }
    void notice(Notice::Kind kind, PeerIndex peer, std::uint32_t local_tag = 0) {
        Notice notice;
        notice.kind = kind;
        notice.peer = peer;
        notice.local_tag = local_tag;
        controller_.on_notice(now, notice);
        drain();
    }

    void notice_need_first(PeerIndex peer, std::uint32_t conn_id) {
        Notice notice;
        notice.kind = Notice::Kind::need_first;
        notice.peer = peer;
        notice.conn_id = conn_id;
        controller_.on_notice(now, notice);
        drain();
    }

    /// Takes the commands that wait; packets are checked off.
    void drain() {
        Command command;
        while (controller_.poll_command(command)) take(command);
        controller_.check_invariants();
    }
    void run_until(Time end) {
        while (controller_.next_deadline() <= end) {
            now = std::max(now, controller_.next_deadline());
            controller_.on_deadline(now);
            drain();
        }
        now = end;
    }
    void run_for(Duration duration) { run_until(now + duration); }

    // — what has come out since the last clear() —
    std::vector<Command> commands;  ///< but for frames and packets
    std::vector<SentFrame> frames;
    std::vector<Bytes> replies;  ///< packets that go out again
    void clear() {
        commands.clear();
        frames.clear();
        replies.clear();
        words_.clear();
    }
    [[nodiscard]] std::vector<const SentFrame*> sent(wire::Type type) const {
        std::vector<const SentFrame*> all;
        for (const SentFrame& frame : frames) {
            if (frame.is(type)) all.push_back(&frame);
        }
        return all;
    }
    [[nodiscard]] std::vector<const Command*> said(Command::Kind kind) const {
        std::vector<const Command*> all;
        for (const Command& command : commands) {
            if (command.kind == kind) all.push_back(&command);
        }
        return all;
    }
    [[nodiscard]] std::size_t warnings_with(const std::string& text) const {
        std::size_t count = 0;
        for (const auto& [level, words] : words_) {
            count += level == LogLevel::warning && words.find(text) != std::string::npos ? 1U : 0U;
        }
        return count;
    }

    [[nodiscard]] std::size_t packets_given() const { return packets_given_; }
    [[nodiscard]] std::size_t packets_back() const { return packets_back_; }
    [[nodiscard]] bool all_packets_are_back() const { return outstanding_.empty(); }

    // — what a peer sends —
    [[nodiscard]] wire::Endpoints from(PeerIndex peer, std::uint8_t peer_mac) const {
        return {.src_mac = mac(peer_mac),
                .dst_mac = local_.address.mac,
                .src_ip = peers_[peer].ip,
                .dst_ip = local_.address.ip,
                .src_port = local_.udp_port,
                .dst_port = local_.udp_port,
                .vlan = local_.vlan,
                .dscp = 0};
    }
    [[nodiscard]] wire::Hello hello_of(PeerIndex peer, std::uint64_t incarnation, std::uint64_t count,
                                       std::uint32_t tag) const {
        wire::Hello hello;
        hello.incarnation = incarnation;
        hello.nonce = (count << 32U) | 99;
        hello.tag = tag;
        hello.slot = 5;
        hello.max_packet = 1400;
        hello.message_max = 1U << 20U;
        hello.from = peers_[peer].name;
        hello.to = local_.name;
        return hello;
    }
    static Bytes hello_frame(wire::Type type, const wire::Hello& hello, const wire::Endpoints& endpoints) {
        protocol::Handshake::Outgoing out;
        out.type = type;
        out.hello = hello;
        return bytes_of(make_handshake_frame(out, endpoints, 0));
    }
    static Bytes done_frame(std::uint16_t slot, std::uint32_t tag, const wire::HelloDone& done,
                            const wire::Endpoints& endpoints) {
        protocol::Handshake::Outgoing out;
        out.type = wire::Type::hello_done;
        out.slot = slot;
        out.tag = tag;
        out.done = done;
        return bytes_of(make_handshake_frame(out, endpoints, 0));
    }
    /// A packet of any type; the body is written as it is.
    static Bytes packet_frame(wire::Type type, std::uint16_t slot, std::uint32_t tag, const Bytes& body,
                              const wire::Endpoints& endpoints) {
        const wire::HeaderTemplate headers(endpoints);
        Bytes buffer(wire::HeaderTemplate::kWriteBytes + wire::kHeaderBytes + body.size());
        std::byte* const payload = buffer.data() + wire::HeaderTemplate::kWriteBytes;
        wire::Header header;
        header.type = type;
        header.slot = slot;
        header.tag = tag;
        wire::encode(header, payload);
        if (!body.empty()) std::memcpy(payload + wire::kHeaderBytes, body.data(), body.size());
        const std::byte* const start = headers.write(payload, wire::kHeaderBytes + body.size());
        return {buffer.begin() + (start - buffer.data()), buffer.end()};
    }
    static Bytes close_frame(wire::CloseReason reason, std::uint16_t slot, std::uint32_t tag,
                             const wire::Endpoints& endpoints) {
        Bytes body(wire::kCloseBytes);
        wire::encode_close({.reason = reason, .rcv_nxt = 1, .next_message = 1}, body.data());
        return packet_frame(wire::Type::close, slot, tag, body, endpoints);
    }
    Bytes arp_frame(const wire::Arp& arp) const {
        return bytes_of(make_arp_frame(arp, local_.address.mac, local_.vlan));
    }
    [[nodiscard]] wire::Arp arp_reply(PeerIndex peer, std::uint8_t peer_mac) const {
        return {.operation = wire::ArpOperation::reply,
                .sender_mac = mac(peer_mac),
                .sender_ip = peers_[peer].ip,
                .target_mac = local_.address.mac,
                .target_ip = local_.address.ip};
    }
    /// An ICMP echo request with `bytes` bytes of data.
    [[nodiscard]] Bytes echo_request(const char* src_ip, std::size_t bytes) const {
        Bytes frame(wire::kEthernetBytes + wire::kIpv4Bytes + 8 + bytes);
        local_.address.mac.store(frame.data());
        mac(0x77).store(frame.data() + 6);
        wire::store_be16(frame.data() + 12, wire::kEtherTypeIpv4);
        std::byte* const header = frame.data() + wire::kEthernetBytes;
        wire::store_u8(header, 0x45);
        wire::store_be16(header + 2, static_cast<std::uint16_t>(wire::kIpv4Bytes + 8 + bytes));
        wire::store_u8(header + 8, 64);
        wire::store_u8(header + 9, wire::kIpProtocolIcmp);
        wire::store_be32(header + 12, ip(src_ip).value);
        wire::store_be32(header + 16, local_.address.ip.value);
        wire::store_le16(header + 10, wire::internet_checksum({header, wire::kIpv4Bytes}));
        std::byte* const icmp = header + wire::kIpv4Bytes;
        wire::store_u8(icmp, 8);
        wire::store_be16(icmp + 4, 0x1234);
        for (std::size_t i = 0; i < bytes; ++i) icmp[8 + i] = static_cast<std::byte>(i);
        wire::store_le16(icmp + 2, wire::internet_checksum({icmp, 8 + bytes}));
        return frame;
    }

    /// Start, ARP and handshake with a peer as the responder; returns the local tag.
    std::uint32_t associate(PeerIndex peer, std::uint8_t peer_mac, std::uint64_t incarnation, std::uint64_t count,
                            std::uint32_t tag) {
        notice(Notice::Kind::frame,
               hello_frame(wire::Type::hello, hello_of(peer, incarnation, count, tag), from(peer, peer_mac)));
        const auto expected = said(Command::Kind::expect);
        if (expected.empty()) {
            ADD_FAILURE() << "the HELLO was not answered";
            return 0;
        }
        const std::uint32_t local_tag = expected.back()->association.local_tag;
        notice(Notice::Kind::associated, peer, local_tag);
        EXPECT_TRUE(controller_.associated(peer));
        return local_tag;
    }

private:
    void take(const Command& command) {
        switch (command.kind) {
            case Command::Kind::transmit:
                frames.push_back(take_apart(bytes_of(command.frame)));
                return;
            case Command::Kind::transmit_packet:
            case Command::Kind::release_packet: {
                const auto at = outstanding_.find(command.packet);
                ASSERT_NE(at, outstanding_.end()) << "given back twice, or never given";
                ++packets_back_;
                if (command.kind == Command::Kind::transmit_packet) {
                    ASSERT_LE(command.packet_bytes, at->second->size());
                    replies.emplace_back(at->second->begin(), at->second->begin() + command.packet_bytes);
                }
                outstanding_.erase(at);
                return;
            }
            default:
                commands.push_back(command);
        }
    }

    LocalNode local_;
    std::vector<PeerSpec> peers_;
    std::vector<dataplane::PeerActivity> activity_;
    std::vector<std::pair<LogLevel, std::string>> words_;
    Controller controller_;
    std::vector<std::unique_ptr<Bytes>> packets_;
    std::map<protocol::Packet*, Bytes*> outstanding_;
    std::size_t packets_given_ = 0;
    std::size_t packets_back_ = 0;
};

}  // namespace bowline::control::test
