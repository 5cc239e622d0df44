#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/random.hpp"
#include "protocol/receive_stream.hpp"
#include "protocol/send_stream.hpp"
#include "protocol/wire/sack.hpp"
#include "protocol/wire_clock.hpp"

namespace bowline::protocol {

/// The storage of a SendStream, and packets for it: each stands for one message, whose number its handle tells.
struct SendStorage {
    explicit SendStorage(std::size_t capacity) : window(capacity), resent(2 * capacity), lost(2 * capacity) {}
    [[nodiscard]] SendStream::Storage spans() { return {.window = window, .resent = resent, .lost = lost}; }

    std::vector<SentPacket> window;
    std::vector<LossDetector::Resent> resent;
    std::vector<Seqno> lost;
};

inline SentPacket message_packet(std::uint64_t message) {
    SentPacket packet;
    packet.packet = reinterpret_cast<Packet*>(message);  // never looked into
    packet.next_message = message + 1;
    packet.boundary = true;
    return packet;
}
inline std::uint64_t message_of(const Packet* packet) { return reinterpret_cast<std::uintptr_t>(packet); }

/// A SendStream and a ReceiveStream with a network between them, run on virtual time: the clock jumps to whatever comes
/// next, be it a packet or a deadline of either side. Every state's invariants are checked after every step.
class StreamLink {
public:
    struct Faults {
        std::uint64_t loss_percent = 0;
        std::uint64_t dup_percent = 0;
        Duration jitter;                  ///< a packet takes up to this much longer, and is overtaken
        Time until = Time::never();       ///< the network is good from then on
        std::uint64_t reopen_every = 0;   ///< about one in so many steps, both ends make a new association
        std::uint64_t app_percent = 100;  ///< how often, of 100 turns, the receiver's application looks at its ring
    };
    struct DataPacket {
        wire::Segment segment;
        std::uint64_t message = 0;
    };
    struct AckPacket {
        AckInfo info;
        std::vector<std::byte> sack;
    };

    StreamLink(const Settings& settings, std::uint64_t messages, std::uint64_t seed)
        : settings_(settings),
          storage_(std::bit_ceil(settings.window_pkts + settings.send_queue_pkts)),
          bits_((settings.window_pkts + 63) / 64),
          ring_(settings.window_pkts),
          random_(seed),
          messages_(messages),
          send(settings, 1, storage_.spans()),
          receive(settings, bits_) {}

    Faults faults;
    /// Decides the fate of a packet of its own: true when it is dropped. `first`: not a retransmission.
    std::function<bool(Seqno, bool first)> drop_data = [](Seqno, bool) { return false; };
    std::function<bool()> drop_ack = [] { return false; };
    bool app_reads = true;
    Duration delay = Duration::us(10);

    [[nodiscard]] Time now() const { return now_; }
    [[nodiscard]] const std::vector<std::uint64_t>& delivered() const { return delivered_; }
    [[nodiscard]] std::uint64_t acks() const { return acks_; }
    [[nodiscard]] bool gave_up() const { return gave_up_; }
    [[nodiscard]] bool done() const {
        return offered_ == messages_ && send.drained() && delivered_.size() == messages_ && !receive.ack_due(now_) &&
               receive.ack_deadline().is_never() && data_.empty() && ack_wire_.empty();
    }

    void associate() {
        receive.bind(1, send.stream_id(), [&](std::uint64_t position) { ring(position) = 0; });
        if (const StreamMemory memory = receive.memory(); memory.known) {
            send.acknowledge_up_to(now_, Seqno(memory.rcv_nxt), [&](Packet* packet) { released(packet); });
        }
        send.open(now_, receive.window().free_pkts(consumed_), settings_.ack_delay);
    }

    /// Runs until everything is delivered and acknowledged and both sides are quiet, or until `end`.
    void run(Time end) {
        while (!done() && !gave_up_ && !testing::Test::HasFatalFailure()) {
            turn();
            send.check_invariants();
            receive.check_invariants();
            if (done()) {
                return;
            }
            const Time next = next_event();
            if (next > end) {
                now_ = end;
                return;
            }
            if (next > now_) {
                now_ = next;
                idle_turns_ = 0;
            } else {
                ASSERT_LT(++idle_turns_, 8) << "a deadline that is not met by meeting it, at " << now_.ns();
            }
        }
    }

    void expect_everything_once_in_order() const {
        ASSERT_EQ(delivered_.size(), messages_);
        ASSERT_EQ(released_, messages_);
        for (std::uint64_t i = 0; i < messages_; ++i) {
            ASSERT_EQ(delivered_[i], i + 1);
        }
    }
    void expect_quiet() {
        EXPECT_TRUE(done());
        EXPECT_TRUE(send.next_deadline().is_never());
        EXPECT_TRUE(receive.ack_deadline().is_never());
        EXPECT_FALSE(send.next_to_resend().has_value());
        EXPECT_EQ(send.in_flight_pkts(), 0U);
        EXPECT_EQ(send.acknowledged_message(), messages_);
    }

private:
    std::uint64_t& ring(std::uint64_t position) { return ring_[position & (ring_.size() - 1)]; }
    [[nodiscard]] bool faulty() const { return now_ < faults.until; }

    void turn() {
        arrive();
        if (faults.reopen_every > 0 && faulty() && random_.below(faults.reopen_every) == 0) {
            send.suspend();
            associate();
        }
        if (app_reads && (!faulty() || random_.below(100) < faults.app_percent)) {
            read();
        }
        while (offered_ < messages_ && !send.queue_full()) {
            ASSERT_TRUE(send.queue(now_, message_packet(++offered_)));
        }
        if (send.next_deadline() <= now_) {
            const SendStream::Due due = send.on_deadline(now_);
            gave_up_ = due.gave_up;
            if (due.tail_probe.has_value()) {
                resend(*due.tail_probe);
            }
            if (due.window_probe) {
                launch(probes_, false, true);
            }
        }
        while (const auto seqno = send.next_to_resend()) {
            resend(*seqno);
        }
        while (send.may_send_new()) {
            const Seqno seqno = send.window().nxt();
            send.on_sent_new(now_);
            launch(data_, drop_data(seqno, true), make_data(seqno));
        }
        if (receive.ack_due(now_)) {
            send_ack();
        }
    }

    void resend(Seqno seqno) {
        send.on_resent(now_, seqno);
        launch(data_, drop_data(seqno, false), make_data(seqno));
    }

    DataPacket make_data(Seqno seqno) {
        DataPacket data;
        data.segment.header.conn_id = send.conn_id();
        data.segment.header.seqno = seqno.wire();
        data.segment.header.timestamp = wire_timestamp(now_);
        if (send.opening()) {
            data.segment.header.flags = wire::kFlagFirst;
            data.segment.first = {.first_seqno = send.first_seqno().value(), .first_message = send.first_message()};
        }
        data.message = message_of(send.packet(seqno).packet);
        return data;
    }

    void send_ack() {
        AckPacket ack;
        ack.info.conn_id = receive.ack_conn_id();
        ack.info.cum_ack = receive.cum_ack();
        ack.info.window_pkts = receive.window_pkts(consumed_);
        ack.info.echo = echo_;
        std::array<std::uint64_t, wire::kSackWordsMax> words{};
        const std::size_t count = receive.sack_words(words);
        if (count > 0) {
            ack.sack.resize(wire::sack_bytes(count));
            wire::encode_sack(std::span(words).first(count), ack.sack.data());
        }
        receive.on_ack_sent(consumed_, count > 0);
        ++acks_;
        launch(ack_wire_, drop_ack(), std::move(ack));
    }

    template <typename Wire, typename Thing>
    void launch(Wire& wire, bool dropped, Thing thing) {
        const std::uint64_t copies = faulty() && random_.below(100) < faults.dup_percent ? 2 : 1;
        for (std::uint64_t i = 0; i < copies; ++i) {
            if (dropped || (faulty() && random_.below(100) < faults.loss_percent)) {
                continue;
            }
            Time at = now_ + delay;
            if (faulty() && faults.jitter.ns() > 0) {
                at = at + Duration::ns(
                              static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(faults.jitter.ns()))));
            }
            wire.emplace(at, thing);
        }
    }

    template <typename Wire, typename Take>
    void take_due(Wire& wire, Take&& take) {
        while (!wire.empty() && wire.begin()->first <= now_) {
            const auto thing = std::move(wire.begin()->second);
            wire.erase(wire.begin());
            take(thing);
        }
    }

    void arrive() {
        take_due(data_, [&](const DataPacket& data) { on_data(data); });
        take_due(probes_, [&](bool) { receive.ask_for_ack(); });
        take_due(ack_wire_, [&](const AckPacket& ack) {
            AckInfo info = ack.info;
            if (!ack.sack.empty()) {
                info.sack = wire::SackView(ack.sack.data() + wire::kSackFixedBytes, ack.sack.size() / 8);
            }
            send.on_ack(now_, info, [&](Packet* packet) { released(packet); });
            send.check_invariants();
        });
    }

    void on_data(const DataPacket& data) {
        echo_ = data.segment.header.timestamp;
        const ReceiveStream::Admission admission =
            receive.admit(now_, data.segment, consumed_, [&](std::uint64_t position) { ring(position) = 0; });
        if (admission.verdict == ReceiveStream::Verdict::in_order) {
            ring(admission.position) = data.message;
            receive.advance(now_, consumed_);
        } else if (admission.verdict == ReceiveStream::Verdict::out_of_order) {
            ring(admission.position) = data.message;
            receive.hold(admission.seqno);
        }
        receive.check_invariants();
    }

    void read() {
        bool took = false;
        while (consumed_ < receive.window().next_position()) {
            delivered_.push_back(std::exchange(ring(consumed_), 0));
            ++consumed_;
            took = true;
        }
        if (took) {
            receive.on_consumed(consumed_);
        }
    }

    void released(Packet* packet) {
        ++released_;
        EXPECT_EQ(message_of(packet), released_);
        EXPECT_LE(released_, receive.window().next_position()) << "acknowledged and not in the ring";
    }

    [[nodiscard]] Time next_event() {
        Time next = earlier(send.next_deadline(), receive.ack_deadline());
        next = data_.empty() ? next : earlier(next, data_.begin()->first);
        next = ack_wire_.empty() ? next : earlier(next, ack_wire_.begin()->first);
        next = probes_.empty() ? next : earlier(next, probes_.begin()->first);
        if (app_reads && consumed_ < receive.window().next_position()) {
            next = earlier(next, now_ + Duration::us(3));  // the application's next look
        }
        return next;
    }

    Settings settings_;
    SendStorage storage_;
    std::vector<std::uint64_t> bits_;
    std::vector<std::uint64_t> ring_;
    Random random_;
    std::uint64_t messages_;
    std::uint64_t offered_ = 0;
    std::uint64_t released_ = 0;
    std::uint64_t consumed_ = 0;
    std::uint64_t acks_ = 0;
    std::vector<std::uint64_t> delivered_;
    std::multimap<Time, DataPacket> data_;
    std::multimap<Time, AckPacket> ack_wire_;
    std::multimap<Time, bool> probes_;
    std::optional<std::uint32_t> echo_;
    Time now_ = Time::at_ns(1'000'000);
    int idle_turns_ = 0;
    bool gave_up_ = false;

public:
    SendStream send;
    ReceiveStream receive;
};

}  // namespace bowline::protocol
