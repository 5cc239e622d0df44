// protocol/wire: headers, frames and SACK extensions to bytes and back.
#include <array>
#include <vector>

#include <benchmark/benchmark.h>

#include "protocol/wire/header.hpp"

namespace bowline::bench {
namespace {

namespace wire = protocol::wire;

constexpr std::size_t kContentMax = 1472 - wire::kHeaderBytes;

wire::Header data_header() {
    wire::Header header;
    header.type = wire::Type::data;
    header.flags = wire::kFlagAck | wire::kFlagEcho | wire::kFlagBoundary;
    header.tag = 7;
    header.conn_id = 1;
    header.ack_conn_id = 1;
    header.window = 1024;
    return header;
}

/// A DATA packet full of whole messages of this size.
std::vector<std::byte> data_packet(std::size_t message_bytes) {
    std::vector<std::byte> packet(wire::kHeaderBytes);
    wire::encode(data_header(), packet.data());
    const std::size_t frame_bytes = wire::kFrameHeaderBytes + message_bytes;
    for (std::size_t used = 0; used + frame_bytes <= kContentMax; used += frame_bytes) {
        packet.resize(packet.size() + frame_bytes);
        wire::encode_whole_frame(packet.data() + packet.size() - frame_bytes,
                                 static_cast<std::uint32_t>(message_bytes));
    }
    return packet;
}

void wire_encode_header(benchmark::State& state) {
    wire::Header header = data_header();
    std::array<std::byte, wire::kHeaderBytes> out{};
    for (auto _ : state) {
        ++header.seqno;
        wire::encode(header, out.data());
        benchmark::DoNotOptimize(out);
    }
}
BENCHMARK(wire_encode_header);

/// Checks everything and reads no message.
void wire_decode_data(benchmark::State& state) {
    const std::vector<std::byte> packet = data_packet(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        const auto segment = wire::decode(packet);
        if (!segment) {
            state.SkipWithError("the packet was refused");
            break;
        }
        benchmark::DoNotOptimize(segment->header.seqno);
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(packet.size()));
}
BENCHMARK(wire_decode_data)->ArgName("message")->Arg(32)->Arg(64)->Arg(1344);

void wire_decode_and_read_frames(benchmark::State& state) {
    const std::vector<std::byte> packet = data_packet(static_cast<std::size_t>(state.range(0)));
    std::int64_t messages = 0;
    for (auto _ : state) {
        const auto segment = wire::decode(packet);
        for (wire::FrameReader reader(segment->content); !reader.done(); ++messages) {
            benchmark::DoNotOptimize(reader.next());
        }
    }
    state.SetItemsProcessed(messages);
}
BENCHMARK(wire_decode_and_read_frames)->ArgName("message")->Arg(32)->Arg(64)->Arg(1344);

void wire_decode_ack(benchmark::State& state) {
    const auto words = static_cast<std::size_t>(state.range(0));
    wire::Header header = data_header();
    header.type = wire::Type::ack;
    header.flags = wire::kFlagAck | wire::kFlagEcho;
    std::vector<std::byte> packet(wire::kHeaderBytes);
    if (words > 0) {
        header.flags |= wire::kFlagSack;
        packet.resize(wire::kHeaderBytes + wire::sack_bytes(words));
        const std::vector<std::uint64_t> bits(words, 0x5555'5555'5555'5555U);
        wire::encode_sack(bits, packet.data() + wire::kHeaderBytes);
    }
    wire::encode(header, packet.data());
    for (auto _ : state) {
        const auto segment = wire::decode(packet);
        if (!segment) {
            state.SkipWithError("the packet was refused");
            break;
        }
        benchmark::DoNotOptimize(segment->sack.count());
    }
}
BENCHMARK(wire_decode_ack)->ArgName("sack_words")->Arg(0)->Arg(1)->Arg(16);

}  // namespace
}  // namespace bowline::bench
