// The SACK scoreboard on both sides: the receiver's bits to an extension, and an extension onto the sender's window.
#include <array>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/micro/loss.hpp"
#include "protocol/receive_window.hpp"
#include "protocol/send_stream.hpp"
#include "protocol/wire/header.hpp"
#include "protocol/wire_clock.hpp"

namespace bowline::bench {
namespace {

namespace wire = protocol::wire;
using protocol::Seqno;
using protocol::Time;

constexpr std::uint32_t kWindow = 1024;
constexpr std::size_t kWords = kWindow / 64;

/// A window whose first packet is missing, and 5% of the `span` behind it.
class HoledWindow {
public:
    explicit HoledWindow(std::uint64_t span) {
        window_.attach(bits_, kWindow);
        window_.jump(Seqno(1));
        LossPattern loss(5);
        for (std::uint64_t i = 1; i < span; ++i) {
            if (!loss.next()) {
                window_.hold(Seqno(1) + i);
            }
        }
    }
    [[nodiscard]] const protocol::ReceiveWindow& window() const { return window_; }

private:
    std::vector<std::uint64_t> bits_ = std::vector<std::uint64_t>(kWords);
    protocol::ReceiveWindow window_;
};

/// A whole ACK packet without its Ethernet, IP and UDP headers.
void ack_build(benchmark::State& state) {
    const HoledWindow holed(static_cast<std::uint64_t>(state.range(0)));
    std::array<std::byte, wire::kHeaderBytes + wire::sack_bytes(kWords)> out{};
    wire::Header header;
    header.type = wire::Type::ack;
    for (auto _ : state) {
        std::array<std::uint64_t, kWords> words{};
        const std::size_t count = holed.window().sack_words(words);
        header.flags = wire::kFlagAck | wire::kFlagEcho;
        if (count > 0) {
            header.flags |= wire::kFlagSack;
            wire::encode_sack(std::span(words).first(count), out.data() + wire::kHeaderBytes);
        }
        header.cum_ack = holed.window().rcv_nxt().wire();
        wire::encode(header, out.data());
        benchmark::DoNotOptimize(out);
    }
}
BENCHMARK(ack_build)->ArgName("span")->Arg(0)->Arg(64)->Arg(1000);

/// An ACK that says what the sender knows already: the scoreboard is walked and nothing changes.
void sack_apply(benchmark::State& state) {
    const auto span = static_cast<std::uint64_t>(state.range(0));
    protocol::Settings settings;
    std::vector<protocol::SentPacket> window(2 * kWindow);
    std::vector<protocol::LossDetector::Resent> resent(4 * kWindow);
    std::vector<Seqno> lost(4 * kWindow);
    protocol::SendStream stream(settings, 7, {.window = window, .resent = resent, .lost = lost});
    Time now = Time::at_ns(1'000'000);
    stream.open(now, kWindow, settings.ack_delay);
    for (std::uint64_t i = 1; i <= span; ++i) {
        protocol::SentPacket packet;
        packet.packet = reinterpret_cast<protocol::Packet*>(i);  // never looked into
        packet.next_message = i + 1;
        static_cast<void>(stream.queue(now, packet));
        if (stream.may_send_new()) {
            stream.on_sent_new(now);
        }
    }
    const HoledWindow holed(span);
    std::array<std::uint64_t, kWords> words{};
    const std::size_t count = holed.window().sack_words(words);
    std::array<std::byte, wire::sack_bytes(kWords)> encoded{};
    wire::encode_sack(std::span(words).first(count), encoded.data());
    protocol::AckInfo info;
    info.conn_id = stream.conn_id();
    info.cum_ack = Seqno(1).wire();
    info.window_pkts = kWindow;
    info.sack = wire::SackView(encoded.data() + wire::kSackFixedBytes, count);
    const auto release = [](protocol::Packet*) {};
    stream.on_ack(now, info, release);
    for (auto _ : state) {
        benchmark::DoNotOptimize(stream.on_ack(now, info, release));
    }
    if (stream.counters().stale_acks != 0) {
        state.SkipWithError("an ack was taken for a stale one");
    }
}
BENCHMARK(sack_apply)->ArgName("span")->Arg(64)->Arg(1000);

}  // namespace
}  // namespace bowline::bench
