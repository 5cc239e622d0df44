#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocol/settings_text.hpp"
#include "tools/clock.hpp"
#include "tools/command.hpp"
#include "tools/histogram.hpp"
#include "tools/little_endian.hpp"
#include "tools/progress.hpp"
#include "tools/session.hpp"

namespace bowline::tools {

namespace {

// A ping is its number, the clock when it was sent (with --rate: was to be sent), and a pattern.
constexpr std::size_t kHeader = 16;
// Round trips before the measurement, which warm caches, branch predictors and the window; at most half a second of
// them.
constexpr std::uint64_t kWarmUp = 1000;
constexpr double kWarmUpMaxNs = 500e6;
constexpr unsigned kSendsPerTurn = 64;
// Spins between looks at what ends the measurement early; some tens of microseconds.
constexpr unsigned kSpinsPerCheck = 256;

struct PingOptions {
    CommonOptions common;
    std::string peer;
    std::uint64_t size = 64;
    std::uint64_t count = 0;  ///< 0: as many as --time allows
    Duration time = Duration::s(5);
    double rate = 0;  ///< messages a second; 0: closed loop, one at a time
    Duration wait = Duration::s(10);
};

class Pinger {
public:
    Pinger(Session& session, Peer peer, const PingOptions& options)
        : session_(session),
          peer_(peer),
          options_(options),
          watch_(peer),
          clock_(CycleClock::calibrate()),
          ping_(options.size),
          patience_ticks_(clock_.to_ticks(static_cast<double>(options.wait.ns()))) {
        for (std::size_t i = kHeader; i < ping_.size(); ++i) {
            ping_[i] = static_cast<std::byte>(i * 131 + 7);
        }
    }

    Result<void> run() {
        if (Result<void> up = wait_for_peer(session_, peer_, *this, options_.wait); !up) {
            return up;
        }
        const double warm_up_ns = std::min(kWarmUpMaxNs, static_cast<double>(options_.time.ns()));
        if (Result<void> warm = closed_loop(kWarmUp, warm_up_ns); !warm) {
            return warm;
        }
        warm_up_ = histogram_.count();
        histogram_ = Histogram();
        before_ = peer_.status();
        if (options_.rate > 0) {
            return open_loop();
        }
        const bool counted = options_.count != 0;
        return closed_loop(counted ? options_.count : ~std::uint64_t{0},
                           counted ? HUGE_VAL : static_cast<double>(options_.time.ns()));
    }

    void on_event(const Event& event) { watch_.on_event(event); }

    void on_message(const Message& message) {
        const std::uint64_t now = clock_.ticks();
        if (!(message.peer() == peer_)) [[unlikely]] {
            return;
        }
        const std::span<const std::byte> bytes = message.bytes();
        if (!is_expected(bytes)) [[unlikely]] {
            corrupted_ = true;
            return;
        }
        const std::uint64_t sent = load_u64(bytes.data() + 8);
        histogram_.record(clock_.to_ns(CycleClock::elapsed(sent, now)));
        last_answer_ = now;
        ++answered_;
    }

    [[nodiscard]] const Histogram& histogram() const { return histogram_; }
    [[nodiscard]] std::uint64_t warm_up() const { return warm_up_; }
    [[nodiscard]] std::uint64_t retransmits() const { return peer_.status().retransmits - before_.retransmits; }

private:
    // Answers come in order, so that the next one is known to the byte.
    [[nodiscard]] bool is_expected(std::span<const std::byte> bytes) const {
        return bytes.size() == ping_.size() && load_u64(bytes.data()) == answered_ && answered_ < next_ &&
               load_u64(bytes.data() + 8) == send_time(answered_) &&
               std::memcmp(bytes.data() + kHeader, ping_.data() + kHeader, bytes.size() - kHeader) == 0;
    }

    // When ping `number` was sent, or in the open loop was to be sent.
    [[nodiscard]] std::uint64_t send_time(std::uint64_t number) const {
        return open_ ? start_ + static_cast<std::uint64_t>(static_cast<double>(number - first_) * interval_) : sent_at_;
    }

    bool send() {
        store_u64(ping_.data(), next_);
        store_u64(ping_.data() + 8, send_time(next_));
        const SendResult sent = peer_.send(ping_);
        if (sent) [[likely]] {
            ++next_;
            return true;
        }
        refused_ = sent.status != SendStatus::back_pressured && sent.status != SendStatus::excluded;
        return false;
    }

    // What may end the measurement early.
    Result<void> check() {
        if (corrupted_) {
            return system_error(fmt::format("the answer to ping {} is not what was sent", answered_));
        }
        if (refused_) {
            return system_error("the engine takes no more messages");
        }
        if (Result<void> well = still_well(watch_, options_.wait, "before the end of the measurement"); !well) {
            return well;
        }
        if (answered_ < next_ &&
            CycleClock::elapsed(std::max(last_answer_, sent_at_), clock_.ticks()) > patience_ticks_) {
            return system_error(fmt::format("no answer from '{}' to ping {} within {}; does `bowline echo` run there?",
                                            peer_.name(), answered_, protocol::format_duration(options_.wait)));
        }
        return {};
    }

    // One ping at a time, `count` of them or for `limit_ns`.
    Result<void> closed_loop(std::uint64_t count, double limit_ns) {
        open_ = false;
        const bool limited = limit_ns < HUGE_VAL;
        const std::uint64_t limit = limited ? clock_.to_ticks(limit_ns) : 0;
        const std::uint64_t start = clock_.ticks();
        for (std::uint64_t done = 0; done < count; ++done) {
            sent_at_ = clock_.ticks();
            if (limited && CycleClock::elapsed(start, sent_at_) >= limit) {
                break;
            }
            bool sent = send();
            unsigned spins = 0;
            while (!sent || answered_ < next_) {
                session_.engine.poll(*this);
                if (++spins % kSpinsPerCheck == 0) {
                    if (Result<void> well = check(); !well) {
                        return well;
                    }
                }
                sent = sent || send();
            }
            if (corrupted_ || done % kSpinsPerCheck == 0) {
                if (Result<void> well = check(); !well) {
                    return well;
                }
            }
        }
        return {};
    }

    // Pings at their times, whether the earlier ones are answered or not. One that could not be sent in time (pressure,
    // a stall of this process) counts from the time at which it was to be sent: no coordinated omission.
    Result<void> open_loop() {
        open_ = true;
        interval_ = static_cast<double>(clock_.to_ticks(1e12)) / options_.rate / 1000.0;
        first_ = next_;
        const double in_time = static_cast<double>(options_.time.ns()) * 1e-9 * options_.rate;
        const std::uint64_t count =
            options_.count != 0 ? options_.count : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(in_time));
        const std::uint64_t end = first_ + count;
        start_ = clock_.ticks();
        last_answer_ = start_;
        for (unsigned turn = 1; answered_ < end; ++turn) {
            const std::uint64_t now = clock_.ticks();
            for (unsigned burst = 0; burst < kSendsPerTurn && next_ < end && send_time(next_) <= now; ++burst) {
                if (answered_ == next_) {
                    sent_at_ = now;
                }
                if (!send()) {
                    break;
                }
            }
            session_.engine.poll(*this);
            if (turn % kSpinsPerCheck == 0 || corrupted_) {
                if (Result<void> well = check(); !well) {
                    return well;
                }
            }
        }
        return {};
    }

    Session& session_;
    Peer peer_;
    const PingOptions& options_;
    PeerWatch watch_;
    CycleClock clock_;
    Histogram histogram_;
    std::vector<std::byte> ping_;
    std::uint64_t patience_ticks_;
    std::uint64_t next_ = 0;      // number of the next ping
    std::uint64_t answered_ = 0;  // number of the next answer
    std::uint64_t sent_at_ = 0;   // when the oldest unanswered ping was sent, at the earliest
    std::uint64_t last_answer_ = 0;
    bool open_ = false;
    std::uint64_t first_ = 0;  // open loop: its first ping
    std::uint64_t start_ = 0;  // and when that was due
    double interval_ = 0;      // ticks
    bool corrupted_ = false;
    bool refused_ = false;
    std::uint64_t warm_up_ = 0;
    PeerStatus before_;
};

void print(const Pinger& pinger, const PingOptions& options) {
    const Histogram& rtt = pinger.histogram();
    if (options.common.json) {
        nlohmann::ordered_json json = {{"count", rtt.count()}, {"size", options.size}};
        json["rtt_ns"] = {
            {"p50", rtt.percentile(50)},     {"p90", rtt.percentile(90)}, {"p99", rtt.percentile(99)},
            {"p99.9", rtt.percentile(99.9)}, {"max", rtt.max()},
        };
        json["min_ns"] = rtt.min();
        json["warm_up"] = pinger.warm_up();
        json["rate"] = options.rate;
        json["retransmits"] = pinger.retransmits();
        fmt::print("{}\n", json.dump());
        return;
    }
    fmt::print("{} round trips of {} bytes with '{}'{}; {} before them warmed up and are not counted\n", rtt.count(),
               options.size, options.peer,
               options.rate > 0 ? fmt::format(" at {}/s, timed from the intended send", human_count(options.rate)) : "",
               pinger.warm_up());
    const auto ns = [](std::uint64_t value) { return human_ns(static_cast<double>(value)); };
    fmt::print("min {}  p50 {}  p90 {}  p99 {}  p99.9 {}  max {}\n", ns(rtt.min()), ns(rtt.percentile(50)),
               ns(rtt.percentile(90)), ns(rtt.percentile(99)), ns(rtt.percentile(99.9)), ns(rtt.max()));
}

Result<void> run(const PingOptions& options) {
    if (options.size < kHeader) {
        return usage_error(
            fmt::format("--size {}: must be at least {}, for a number and a time", options.size, kHeader));
    }
    Result<Session> session = start_session(options.common, options.peer, options.size);
    if (!session) {
        return session.error();
    }
    const Result<Peer> peer = session->engine.peer(options.peer);
    if (!peer) {
        return peer.error();
    }
    Pinger pinger(*session, *peer, options);
    const Result<void> done = pinger.run();
    if (done) {
        print(pinger, options);
    }
    session->engine.stop(IgnoringHandler());
    return done;
}

void bind(CLI::App& command, PingOptions& options) {
    command.add_option("PEER", options.peer, "the peer, where `bowline echo` runs")->required();
    bind_common(command, options.common);
    add_size(command, "--size", options.size, "bytes a message");
    CLI::Option* const count = command.add_option("--count", options.count, "round trips to measure")
                                   ->check(CLI::PositiveNumber)
                                   ->type_name("N");
    add_duration(command, "--time", options.time, "how long to measure")->excludes(count);
    add_rate(command, "--rate", options.rate,
             "send at this rate (messages a second), answered or not, and time from the intended send; without it: one "
             "at a time");
    add_duration(command, "--wait", options.wait, "how long to wait for the peer and for an answer");
    bind_json(command, options.common.json);
}

}  // namespace

void add_ping(CLI::App& root, Run& chosen) {
    add_command<PingOptions>(root, chosen, "ping", "measure round trips with a peer that runs echo", bind, run);
}

}  // namespace bowline::tools
