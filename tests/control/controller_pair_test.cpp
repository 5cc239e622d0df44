#include <array>
#include <memory>
#include <queue>

#include <gtest/gtest.h>

#include "control/controller.hpp"
#include "control_bench.hpp"

// Two controllers that hear each other, with as little of a worker between them as makes packets of commands.
namespace bowline::control {
namespace {

using namespace test;
using wire::Type;

class Pair {
public:
    Pair(std::uint64_t seed, std::uint64_t loss_percent) : random_(seed), loss_percent_(loss_percent) {
        start(0);
        start(1);
    }
    void start(std::size_t index) {
        End& end = ends_[index];
        end = End{};
        LocalNode local = node(index == 0 ? "left" : "right", index == 0 ? "10.0.0.1" : "10.0.0.2",
                               static_cast<std::uint8_t>(index + 1));
        local.incarnation = random_.next();
        const std::vector<PeerSpec> peers = {{.name = name(index == 0 ? "right" : "left"),
                                              .ip = ip(index == 0 ? "10.0.0.2" : "10.0.0.1"),
                                              .static_mac = {}}};
        end.controller = std::make_unique<Controller>(protocol::Settings{}, local, peers,
                                                      protocol::Random(random_.next()), end.activity, nullptr);
        end.controller->start(now_);
        drain(index);
    }
    void stop(std::size_t index) {
        ends_[index].controller->begin_stop(now_);
        drain(index);
    }
    void clear_up() { loss_percent_ = 0; }
    void run_for(Duration duration) {
        const Time until = now_ + duration;
        for (;;) {
            Time next = wires_.empty() ? Time::never() : wires_.front().at;
            for (const End& end : ends_) next = earlier(next, end.controller->next_deadline());
            if (next > until) break;
            now_ = std::max(now_, next);
            while (!wires_.empty() && wires_.front().at <= now_) {
                const Wire wire = wires_.front();
                wires_.pop();
                receive(wire.to, wire.bytes);
            }
            for (std::size_t i = 0; i < ends_.size(); ++i) {
                ends_[i].controller->on_deadline(now_);
                drain(i);
            }
        }
        now_ = until;
    }
    [[nodiscard]] bool matched() const {
        const auto& a = ends_[0].in_use;
        const auto& b = ends_[1].in_use;
        return a && b && a->local_tag == b->remote_tag && b->local_tag == a->remote_tag &&
               a->local_slot == b->remote_slot && b->local_slot == a->remote_slot;
    }
    [[nodiscard]] const Controller& controller(std::size_t index) const { return *ends_[index].controller; }
    [[nodiscard]] std::size_t dissociations(std::size_t index) const { return ends_[index].dissociations; }

private:
    struct End {
        std::array<dataplane::PeerActivity, 1> activity;
        std::unique_ptr<Controller> controller;
        std::optional<dataplane::Association> in_use;
        std::optional<dataplane::Association> expected;
        std::size_t dissociations = 0;

        End() = default;
        End& operator=(End&& other) noexcept {
            activity[0].last_heard_ns = INT64_MIN;
            activity[0].last_sent_ns = INT64_MIN;
            controller = std::move(other.controller);
            in_use.reset();
            expected.reset();
            dissociations = 0;
            return *this;
        }
    };
    struct Wire {
        Time at;
        std::size_t to;
        Bytes bytes;
    };

    void send(std::size_t from, Bytes bytes) {
        if (random_.below(100) < loss_percent_) return;
        wires_.push({now_ + Duration::us(20), 1 - from, std::move(bytes)});
    }
    void send_tagged(std::size_t from, Type type, const Bytes& body = {}) {
        End& end = ends_[from];
        if (!end.in_use) return;
        end.activity[0].last_sent_ns = now_.ns();
        const wire::Endpoints endpoints = {.src_mac = mac(static_cast<std::uint8_t>(from + 1)),
                                           .dst_mac = mac(static_cast<std::uint8_t>(2 - from)),
                                           .src_ip = ip(from == 0 ? "10.0.0.1" : "10.0.0.2"),
                                           .dst_ip = ip(from == 0 ? "10.0.0.2" : "10.0.0.1"),
                                           .src_port = 7727,
                                           .dst_port = 7727,
                                           .vlan = wire::kNoVlan,
                                           .dscp = 0};
        send(from, Bench::packet_frame(type, end.in_use->remote_slot, end.in_use->remote_tag, body, endpoints));
    }

    void drain(std::size_t index) {
        End& end = ends_[index];
        Command command;
        while (end.controller->poll_command(command)) {
            switch (command.kind) {
                case Command::Kind::associate:
                    end.in_use = command.association;
                    end.expected.reset();
                    break;
                case Command::Kind::expect:
                    end.expected = command.association;
                    break;
                case Command::Kind::cancel_expected:
                    end.expected.reset();
                    break;
                case Command::Kind::dissociate:
                    end.in_use.reset();
                    ++end.dissociations;
                    break;
                case Command::Kind::transmit:
                    send(index, bytes_of(command.frame));
                    break;
                case Command::Kind::heartbeat:
                    send_tagged(index, Type::heartbeat);
                    break;
                case Command::Kind::probe:
                    send_tagged(index, Type::probe);
                    break;
                case Command::Kind::send_close: {
                    Bytes body(wire::kCloseBytes);
                    wire::encode_close({.reason = wire::CloseReason::orderly_stop, .rcv_nxt = 1, .next_message = 1},
                                       body.data());
                    for (int copy = 0; copy < 3; ++copy) send_tagged(index, Type::close, body);
                    break;
                }
                default:
                    break;
            }
        }
        end.controller->check_invariants();
    }

    void notice(std::size_t to, Notice::Kind kind, Bytes& bytes) {
        Notice notice;
        notice.kind = kind;
        notice.peer = kind == Notice::Kind::close ? PeerIndex{0} : dataplane::kNoPeer;
        notice.bytes = bytes.data();
        notice.length = static_cast<std::uint32_t>(bytes.size());
        notice.packet = reinterpret_cast<protocol::Packet*>(&bytes);
        ends_[to].controller->on_notice(now_, notice);
        drain(to);
    }

    void receive(std::size_t to, Bytes bytes) {
        const SentFrame frame = take_apart(bytes);
        if (!frame.segment || frame.is(Type::hello) || frame.is(Type::hello_ack)) {
            return notice(to, Notice::Kind::frame, bytes);
        }
        if (frame.is(Type::reset)) return notice(to, Notice::Kind::reset, bytes);
        End& end = ends_[to];
        const auto is_of = [&](const std::optional<dataplane::Association>& association) {
            return association && association->local_slot == frame.segment->header.slot &&
                   association->local_tag == frame.segment->header.tag;
        };
        if (is_of(end.expected)) {
            end.in_use = end.expected;
            end.expected.reset();
            Notice associated;
            associated.kind = Notice::Kind::associated;
            associated.peer = 0;
            associated.local_tag = end.in_use->local_tag;
            end.controller->on_notice(now_, associated);
            drain(to);
        }
        if (!is_of(end.in_use)) return notice(to, Notice::Kind::unknown_tag, bytes);
        end.activity[0].last_heard_ns = now_.ns();
        if (frame.is(Type::hello_done)) return notice(to, Notice::Kind::frame, bytes);
        if (frame.is(Type::close)) return notice(to, Notice::Kind::close, bytes);
        if (frame.is(Type::probe)) send_tagged(to, Type::ack);
    }

    protocol::Random random_;
    std::uint64_t loss_percent_;
    Time now_ = Time::at_ns(1'000'000'000);
    std::array<End, 2> ends_;
    std::queue<Wire> wires_;
};

TEST(ControllerPair, TwoThatStartTogetherAgreeWithinMilliseconds) {
    Pair pair(1, 0);
    pair.run_for(Duration::ms(5));
    EXPECT_TRUE(pair.matched());
    pair.run_for(Duration::s(60));
    EXPECT_TRUE(pair.matched());
    for (std::size_t i = 0; i < 2; ++i) {
        const Counters& counters = pair.controller(i).counters();
        EXPECT_EQ(counters.get(Counter::associations), 1U);
        EXPECT_EQ(counters.get(Counter::resets_sent), 0U);
        EXPECT_LE(counters.get(Counter::arp_requests_sent), 10U);
        EXPECT_EQ(counters.get(Counter::suspicions), 0U);
        EXPECT_EQ(pair.dissociations(i), 0U);
    }
}

TEST(ControllerPair, AgreesUnderLossAndStaysAgreed) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Pair pair(seed, 30);
        pair.run_for(Duration::s(3));
        pair.clear_up();
        pair.run_for(Duration::s(3));
        ASSERT_TRUE(pair.matched()) << seed;
    }
}

TEST(ControllerPair, ARestartedPeerIsFoundAgainInMilliseconds) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        Pair pair(seed, 0);
        pair.run_for(Duration::ms(300));
        ASSERT_TRUE(pair.matched());
        pair.start(seed % 2);
        pair.run_for(Duration::ms(20));
        ASSERT_TRUE(pair.matched()) << seed;
        EXPECT_EQ(pair.controller(1 - seed % 2).counters().get(Counter::peers_restarted), 1U);
    }
}

TEST(ControllerPair, AStopIsHeardAtOnceAndAComebackToo) {
    Pair pair(3, 0);
    pair.run_for(Duration::ms(300));
    pair.stop(0);
    pair.run_for(Duration::ms(1));
    EXPECT_EQ(pair.dissociations(1), 1U);
    EXPECT_EQ(pair.controller(1).counters().get(Counter::peers_stopped), 1U);
    pair.run_for(Duration::s(5));
    EXPECT_FALSE(pair.controller(1).associated(0));
    pair.start(0);
    pair.run_for(Duration::ms(5));
    EXPECT_TRUE(pair.matched());
}

}  // namespace
}  // namespace bowline::control
