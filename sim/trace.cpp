#include "sim/trace.hpp"

#include <array>
#include <cctype>

#include <fmt/format.h>

#include "protocol/wire/bytes.hpp"

namespace bowline::sim {

namespace wire = protocol::wire;

namespace {

std::string name_or(const std::vector<std::string>& names, NodeId node) {
    return node < names.size() ? names[node] : "?";
}

std::string upper(std::string text) {
    for (char& c : text) {
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return text;
}

}  // namespace

std::string format_time(Time time) { return fmt::format("{}.{:03}us", time.ns() / 1000, time.ns() % 1000); }

std::string describe(Time now, const FrameInfo& frame, Outcome outcome, const std::vector<std::string>& names) {
    std::string line =
        fmt::format("{:>14} {}->{} ", format_time(now), name_or(names, frame.from), name_or(names, frame.to));
    if (frame.header.has_value()) {
        const wire::Header& header = *frame.header;
        line += fmt::format("{} tag={:08x} conn={} seq={}", upper(wire::name_of(header.type)), header.tag,
                            header.conn_id, header.seqno);
        if (header.has(wire::kFlagFirst)) {
            const std::byte* const first = frame.bytes.data() + kBowlineAt + wire::kHeaderBytes;
            line += fmt::format(" first={} message={}", wire::load_le64(first), wire::load_le64(first + 8));
        }
        if (header.has(wire::kFlagAck)) {
            line += fmt::format(" ack={}@{} window={}", header.cum_ack, header.ack_conn_id, header.window);
        }
        line += header.has(wire::kFlagSack) ? " sack" : "";
        line += header.has(wire::kFlagDrained) ? " drained" : "";
    } else {
        line += "other";
    }
    line += fmt::format(" bytes={}", frame.bytes.size());
    if (outcome != Outcome::sent) {
        line += fmt::format(" [{}]", name_of(outcome));
    }
    return line;
}

PcapWriter::PcapWriter(std::ostream& out) : out_(out) {
    put32(0xA1B23C4D);  // nanoseconds; all fields little-endian
    put32(2U | 4U << 16U);
    put32(0);
    put32(0);
    put32(Network::kFrameBytesMax);
    put32(1);  // Ethernet
}

void PcapWriter::write(Time now, std::span<const std::byte> frame) {
    put32(static_cast<std::uint32_t>(now.ns() / 1'000'000'000));
    put32(static_cast<std::uint32_t>(now.ns() % 1'000'000'000));
    put32(static_cast<std::uint32_t>(frame.size()));
    put32(static_cast<std::uint32_t>(frame.size()));
    out_.write(reinterpret_cast<const char*>(frame.data()), static_cast<std::streamsize>(frame.size()));
}

void PcapWriter::put32(std::uint32_t value) {
    std::array<char, 4> bytes{};
    for (char& byte : bytes) {
        byte = static_cast<char>(value & 0xFFU);
        value >>= 8U;
    }
    out_.write(bytes.data(), bytes.size());
}

}  // namespace bowline::sim
