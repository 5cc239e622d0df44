// protocol/receive_window and protocol/receive_stream: what a packet costs its receiver, with and without losses.
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/micro/loss.hpp"
#include "protocol/receive_stream.hpp"

namespace bowline::bench {
namespace {

using protocol::Duration;
using protocol::Seqno;
using protocol::Time;

constexpr std::uint32_t kWindow = 1024;
constexpr std::uint32_t kBatch = 64;

/// The packets of one batch after the other; those that are lost come again at the end of it.
class Batches {
public:
    explicit Batches(std::int64_t loss_percent) : loss_(loss_percent) { again_.reserve(kBatch); }

    template <typename Take>
    void pass(Take&& take) {
        for (std::uint32_t i = 0; i < kBatch; ++i, ++next_) {
            if (loss_.next()) {
                again_.push_back(next_);
            } else {
                take(next_);
            }
        }
        for (const Seqno seqno : again_) {
            take(seqno);
        }
        again_.clear();
    }
    [[nodiscard]] Seqno next() const { return next_; }

private:
    LossPattern loss_;
    Seqno next_{1};
    std::vector<Seqno> again_;
};

/// Places them. One item is a packet.
void receive_window(benchmark::State& state) {
    std::vector<std::uint64_t> bits(kWindow / 64);
    protocol::ReceiveWindow window;
    window.attach(bits, kWindow);
    window.jump(Seqno(1));
    Batches batches(state.range(0));
    const auto take = [&window](Seqno seqno) {
        using Place = protocol::ReceiveWindow::Place;
        const Place place = window.place(seqno, window.next_position());
        if (place == Place::in_order) {
            window.advance();
        } else if (place == Place::out_of_order) {
            window.hold(seqno);
        }
    };
    for (auto _ : state) {
        batches.pass(take);
    }
    if (window.rcv_nxt() != batches.next() || window.out_of_order_pkts() != 0) {
        state.SkipWithError("packets are missing");
    }
    state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(receive_window)->ArgName("loss_percent")->Arg(0)->Arg(5);

/// The same with what decides on a packet before it is placed: connection, timestamp, when to acknowledge.
void receive_stream(benchmark::State& state) {
    protocol::Settings settings;
    settings.window_pkts = kWindow;
    std::vector<std::uint64_t> bits(kWindow / 64);
    protocol::ReceiveStream stream(settings, bits);
    const auto nothing = [](std::uint64_t) {};
    stream.bind(1, 1, nothing);
    Batches batches(state.range(0));
    Time now = Time::at_ns(1'000'000'000);
    protocol::wire::Segment segment;
    segment.header.conn_id = 1;
    segment.header.flags = protocol::wire::kFlagFirst;
    segment.first.first_seqno = 1;
    std::int64_t acks = 0;
    const auto take = [&](Seqno seqno) {
        using Verdict = protocol::ReceiveStream::Verdict;
        segment.header.seqno = seqno.wire();
        segment.header.timestamp = protocol::wire_timestamp(now);
        const std::uint64_t consumed = stream.window().next_position();
        const auto admission = stream.admit(now, segment, consumed, nothing);
        if (admission.verdict == Verdict::in_order) {
            stream.advance(now, consumed);
        } else if (admission.verdict == Verdict::out_of_order) {
            stream.hold(admission.seqno);
        }
        if (stream.ack_due(now)) {
            stream.on_ack_sent(stream.window().next_position(), true);
            ++acks;
        }
    };
    for (auto _ : state) {
        now = now + Duration::us(20);
        batches.pass(take);
    }
    if (stream.window().rcv_nxt() != batches.next()) {
        state.SkipWithError("packets are missing");
    }
    state.SetItemsProcessed(state.iterations() * kBatch);
    state.counters["acks_per_packet"] = static_cast<double>(acks) / static_cast<double>(state.iterations() * kBatch);
}
BENCHMARK(receive_stream)->ArgName("loss_percent")->Arg(0)->Arg(5);

}  // namespace
}  // namespace bowline::bench
