#include "bench/limit/run.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <memory>

#include <x86intrin.h>

#include "bench/limit/frame.hpp"
#include "bench/limit/histogram.hpp"

namespace bowline::bench {

volatile std::sig_atomic_t stop_requested = 0;

namespace {

using dataplane::dpdk::Device;
using dataplane::dpdk::DpdkPort;
using protocol::Packet;

constexpr std::uint16_t kBurst = 32;
constexpr std::uint32_t kBurstMost = 64;
constexpr double kLostAfterSeconds = 0.05;  // a ping without an answer
constexpr double kIdleAfterSeconds = 0.01;  // then there is time to look after the device
constexpr double kQuietAfterSeconds = 1.0;  // the flood has ended

/// The time stamp counter, and its rate: read where the system's clock would cost more than what is measured.
class Clock {
public:
    Clock() : origin_ticks_(__rdtsc()), origin_(std::chrono::steady_clock::now()) {
        while (elapsed_system() < 0.02) {
        }
        ticks_per_second_ = static_cast<double>(__rdtsc() - origin_ticks_) / elapsed_system();
    }
    static std::uint64_t now() { return __rdtsc(); }
    [[nodiscard]] std::uint64_t ticks(double seconds) const {
        return static_cast<std::uint64_t>(seconds * ticks_per_second_);
    }
    [[nodiscard]] double seconds(std::uint64_t ticks) const { return static_cast<double>(ticks) / ticks_per_second_; }

private:
    [[nodiscard]] double elapsed_system() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - origin_).count();
    }
    std::uint64_t origin_ticks_;
    std::chrono::steady_clock::time_point origin_;
    double ticks_per_second_ = 1;
};

/// When a role that waits for packets ends: asked to, or its time is over (0: never).
class Deadline {
public:
    Deadline(const Clock& clock, double seconds)
        : at_(seconds > 0 ? Clock::now() + clock.ticks(seconds) : ~std::uint64_t{0}) {}
    [[nodiscard]] bool passed(std::uint64_t now) const { return now >= at_ || stop_requested != 0; }

private:
    std::uint64_t at_;
};

/// Hands packets over until the device has taken them all, or gives up after a while: the other end may have gone.
void send_all(DpdkPort& port, Packet** packets, std::uint32_t count, std::uint64_t give_up_after) {
    std::uint32_t sent = port.tx_burst(packets, static_cast<std::uint16_t>(count));
    if (sent < count) {
        const std::uint64_t begin = Clock::now();
        while (sent < count && stop_requested == 0 && Clock::now() - begin < give_up_after) {
            sent += port.tx_burst(packets + sent, static_cast<std::uint16_t>(count - sent));
        }
        port.free_bulk(packets + sent, count - sent);
    }
}

int ping(const LimitOptions& options, DpdkPort& port) {
    const Clock clock;
    const std::uint64_t lost_after = clock.ticks(kLostAfterSeconds);
    const std::uint64_t warm_up = clock.ticks(std::min(0.2, options.seconds / 10));
    const std::uint64_t begin = Clock::now();
    const Deadline deadline(clock, options.seconds);
    auto rtt = std::make_unique<Histogram>();
    std::uint64_t lost = 0;
    std::uint64_t number = 0;
    for (std::uint64_t start = begin; !deadline.passed(start); start = Clock::now()) {
        Packet* packet = port.alloc();
        if (packet == nullptr) {
            std::fprintf(stderr, "limit: the packet pool is empty: packets are leaking\n");
            return 1;
        }
        write_frame(port.payload(packet), options.size, FrameKind::ping, ++number);
        port.seal(packet, 0, options.size);
        send_all(port, &packet, 1, lost_after);
        bool answered = false;
        std::uint64_t now = start;
        while (!answered && now - start < lost_after && stop_requested == 0) {
            std::array<Packet*, kBurst> received{};
            const std::uint16_t count = port.rx_burst(received.data(), kBurst);
            for (std::uint16_t i = 0; i < count; ++i) {
                const auto frame = port.rx_frame(received[i]);
                std::uint64_t echoed = 0;
                answered |= read_frame(frame.data, frame.length, FrameKind::pong, echoed) && echoed == number;
            }
            now = Clock::now();
            port.free_bulk(received.data(), count);
        }
        if (!answered) {
            ++lost;
        } else if (start - begin >= warm_up) {
            rtt->record(now - start);
        }
    }
    const auto ns = [&](std::uint64_t ticks) { return clock.seconds(ticks) * 1e9; };
    std::printf("{\"count\":%" PRIu64 ",\"size\":%u,\"lost\":%" PRIu64
                ",\"rtt_ns\":{\"p50\":%.0f,\"p90\":%.0f,\"p99\":%.0f,\"p99.9\":%.0f,\"max\":%.0f}}\n",
                rtt->count(), options.size, lost, ns(rtt->percentile(50)), ns(rtt->percentile(90)),
                ns(rtt->percentile(99)), ns(rtt->percentile(99.9)), ns(rtt->max()));
    return rtt->count() > 0 ? 0 : 1;
}

/// Sends every ping back in the buffer that it came in, read and written through.
int pong(const LimitOptions& options, Device& device, DpdkPort& port) {
    const Clock clock;
    const Deadline deadline(clock, options.seconds);
    const std::uint64_t idle_after = clock.ticks(kIdleAfterSeconds);
    std::uint64_t last_packet = Clock::now();
    std::uint64_t answered = 0;
    for (std::uint64_t now = last_packet; !deadline.passed(now); now = Clock::now()) {
        std::array<Packet*, kBurst> received{};
        const std::uint16_t count = port.rx_burst(received.data(), kBurst);
        std::uint32_t answers = 0;
        for (std::uint16_t i = 0; i < count; ++i) {
            const auto frame = port.rx_frame(received[i]);
            std::uint64_t number = 0;
            if (read_frame(frame.data, frame.length, FrameKind::ping, number)) {
                write_frame(frame.data, frame.length, FrameKind::pong, number);
                received[answers++] = received[i];
            } else {
                port.free(received[i]);
            }
        }
        if (answers > 0) {
            send_all(port, received.data(), answers, idle_after);
            answered += answers;
            last_packet = now;
        } else if (now - last_packet > idle_after) {
            device.tend();
            last_packet = now;
        }
    }
    std::printf("{\"answered\":%" PRIu64 "}\n", answered);
    return 0;
}

int flood(const LimitOptions& options, DpdkPort& port) {
    const Clock clock;
    const std::uint64_t begin = Clock::now();
    const Deadline deadline(clock, options.seconds);
    const std::uint32_t burst = std::clamp(options.burst, 1U, kBurstMost);
    std::uint64_t number = 0;
    std::uint64_t now = begin;
    for (; !deadline.passed(now); now = Clock::now()) {
        std::array<Packet*, kBurstMost> packets{};
        std::uint32_t made = 0;
        for (; made < burst && (packets[made] = port.alloc()) != nullptr; ++made) {
            write_frame(port.payload(packets[made]), options.size, FrameKind::flood, ++number);
            port.seal(packets[made], 0, options.size);
        }
        std::uint32_t sent = 0;
        while (sent < made && !deadline.passed(Clock::now())) {
            sent += port.tx_burst(packets.data() + sent, static_cast<std::uint16_t>(made - sent));
        }
        port.free_bulk(packets.data() + sent, made - sent);
        number -= made - sent;
    }
    const double seconds = clock.seconds(now - begin);
    std::printf("{\"sent\":%" PRIu64 ",\"size\":%u,\"seconds\":%.3f,\"packets_per_s\":%.0f}\n", number, options.size,
                seconds, static_cast<double>(number) / seconds);
    return 0;
}

/// Counts what arrives from the first packet on, until the time is over or the flood is.
int sink(const LimitOptions& options, DpdkPort& port) {
    const Clock clock;
    const Deadline first_packet(clock, options.wait_seconds);
    const std::uint64_t quiet_after = clock.ticks(kQuietAfterSeconds);
    const std::uint64_t measured = options.seconds > 0 ? clock.ticks(options.seconds) : ~std::uint64_t{0};
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    std::uint64_t first_number = 0;
    std::uint64_t last_number = 0;
    std::uint64_t begin = 0;
    std::uint64_t last = 0;
    for (std::uint64_t now = Clock::now(); stop_requested == 0; now = Clock::now()) {
        if (begin == 0 ? first_packet.passed(now) : now - begin >= measured || now - last >= quiet_after) {
            break;
        }
        std::array<Packet*, kBurst> received{};
        const std::uint16_t count = port.rx_burst(received.data(), kBurst);
        for (std::uint16_t i = 0; i < count; ++i) {
            const auto frame = port.rx_frame(received[i]);
            std::uint64_t number = 0;
            if (read_frame(frame.data, frame.length, FrameKind::flood, number)) {
                first_number = packets == 0 ? number : first_number;
                last_number = number;
                ++packets;
                bytes += frame.length;
                begin = begin == 0 ? now : begin;
                last = now;
            }
        }
        port.free_bulk(received.data(), count);
    }
    const double seconds = std::max(clock.seconds(last - begin), 1e-9);
    const std::uint64_t offered = packets == 0 ? 0 : last_number - first_number + 1;
    std::printf("{\"packets\":%" PRIu64 ",\"size\":%" PRIu64 ",\"lost\":%" PRIu64
                ",\"seconds\":%.3f,\"packets_per_s\":%.0f,\"bits_per_s\":%.0f}\n",
                packets, packets == 0 ? 0 : bytes / packets, offered - std::min(offered, packets), seconds,
                static_cast<double>(packets) / seconds, static_cast<double>(bytes) * 8 / seconds);
    if (packets == 0) {
        std::fprintf(stderr, "limit: no packet came within %.0f seconds\n", options.wait_seconds);
    }
    return packets > 0 ? 0 : 1;
}

}  // namespace

int run_role(const LimitOptions& options, Device& device, DpdkPort& port) {
    switch (options.role) {
        case LimitOptions::Role::ping:
            return ping(options, port);
        case LimitOptions::Role::pong:
            return pong(options, device, port);
        case LimitOptions::Role::flood:
            return flood(options, port);
        case LimitOptions::Role::sink:
            return sink(options, port);
    }
    return 2;
}

}  // namespace bowline::bench
