// protocol/send_window and protocol/send_stream: what a packet costs its sender from queue to acknowledgement, with and
// without losses.
#include <array>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/micro/loss.hpp"
#include "protocol/receive_window.hpp"
#include "protocol/send_stream.hpp"
#include "protocol/wire_clock.hpp"

namespace bowline::bench {
namespace {

using protocol::Duration;
using protocol::Packet;
using protocol::SentPacket;
using protocol::Seqno;
using protocol::Time;

constexpr std::uint32_t kWindow = 1024;
constexpr std::uint32_t kBatch = 32;  // packets between two acks

SentPacket packet(std::uint64_t number) {
    SentPacket result;
    result.packet = reinterpret_cast<Packet*>(number);  // never looked into
    result.next_message = number + 1;
    result.boundary = true;
    return result;
}

void send_window_push_send_pass(benchmark::State& state) {
    std::vector<SentPacket> storage(kWindow);
    protocol::SendWindow window;
    window.attach(storage, Seqno(1));
    std::uint64_t number = 0;
    for (auto _ : state) {
        for (std::uint32_t i = 0; i < kBatch; ++i) {
            if (!window.push(packet(++number))) {
                state.SkipWithError("the window is full");
                return;
            }
            window.sent_one();
        }
        window.advance(window.nxt());
    }
    state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(send_window_push_send_pass);

/// The receiver as far as the sender sees it: which packets have come, as cumulative ack and SACK words.
class Receiver {
public:
    Receiver() {
        window_.attach(bits_, kWindow);
        window_.jump(Seqno(1));
    }
    void on_packet(Seqno seqno) {
        using Place = protocol::ReceiveWindow::Place;
        const Place place = window_.place(seqno, window_.next_position());
        if (place == Place::in_order) {
            window_.advance();
        } else if (place == Place::out_of_order) {
            window_.hold(seqno);
        }
    }
    protocol::AckInfo ack(std::uint32_t conn_id, Time sent_at) {
        protocol::AckInfo info;
        info.conn_id = conn_id;
        info.cum_ack = window_.rcv_nxt().wire();
        info.window_pkts = kWindow;
        info.echo = protocol::wire_timestamp(sent_at);
        std::array<std::uint64_t, kWindow / 64> words{};
        if (const std::size_t count = window_.sack_words(words); count > 0) {
            protocol::wire::encode_sack(std::span(words).first(count), sack_.data());
            info.sack = protocol::wire::SackView(sack_.data() + protocol::wire::kSackFixedBytes, count);
        }
        return info;
    }

private:
    std::vector<std::uint64_t> bits_ = std::vector<std::uint64_t>(kWindow / 64);
    protocol::ReceiveWindow window_;
    std::array<std::byte, protocol::wire::sack_bytes(kWindow / 64)> sack_{};
};

/// A stream to a receiver 20 us away, of whose packets so many percent are lost, retransmissions among them. A turn
/// sends 32 packets; one item is a packet that is acknowledged.
void send_stream(benchmark::State& state) {
    protocol::Settings settings;
    std::vector<SentPacket> window(2 * kWindow);
    std::vector<protocol::LossDetector::Resent> resent(4 * kWindow);
    std::vector<Seqno> lost(4 * kWindow);
    protocol::SendStream stream(settings, 7, {.window = window, .resent = resent, .lost = lost});
    Time now = Time::at_ns(1'000'000);
    stream.open(now, kWindow, settings.ack_delay);
    Receiver receiver;
    LossPattern loss(state.range(0));
    std::uint64_t queued = 0;
    std::uint64_t released = 0;
    for (auto _ : state) {
        for (std::uint32_t i = 0; i < kBatch && !stream.queue_full(); ++i) {
            static_cast<void>(stream.queue(now, packet(++queued)));
        }
        for (auto seqno = stream.next_to_resend(); seqno.has_value(); seqno = stream.next_to_resend()) {
            stream.on_resent(now, *seqno);
            if (!loss.next()) {
                receiver.on_packet(*seqno);
            }
        }
        while (stream.may_send_new()) {
            const Seqno seqno = stream.window().nxt();
            stream.on_sent_new(now);
            if (!loss.next()) {
                receiver.on_packet(seqno);
            }
        }
        const Time sent_at = now;
        now = now + Duration::us(20);
        stream.on_ack(now, receiver.ack(stream.conn_id(), sent_at), [&](Packet*) { ++released; });
        if (stream.next_deadline() <= now) {
            const auto due = stream.on_deadline(now);
            if (due.tail_probe.has_value()) {
                stream.on_resent(now, *due.tail_probe);
                receiver.on_packet(*due.tail_probe);
            }
        }
    }
    if (released == 0) {
        state.SkipWithError("nothing was acknowledged");
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(released));
    state.counters["retransmits_per_packet"] =
        static_cast<double>(stream.counters().retransmits) / static_cast<double>(queued);
}
BENCHMARK(send_stream)->ArgName("loss_percent")->Arg(0)->Arg(5);

}  // namespace
}  // namespace bowline::bench
