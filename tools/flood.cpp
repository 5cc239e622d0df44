#include <algorithm>
#include <cstdio>
#include <optional>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocol/settings_text.hpp"
#include "tools/clock.hpp"
#include "tools/command.hpp"
#include "tools/flood_frames.hpp"
#include "tools/progress.hpp"
#include "tools/session.hpp"

namespace bowline::tools {

namespace {

constexpr unsigned kSendsPerTurn = 64;
constexpr unsigned kTurnsPerCheck = 64;

struct FloodOptions {
    CommonOptions common;
    std::string peer;
    std::uint64_t size = 64;
    std::uint64_t count = 0;  ///< 0: as many as --time allows
    Duration time = Duration::s(5);
    double rate = 0;  ///< messages a second; 0: as many as are accepted
    Duration wait = Duration::s(10);
};

class Flood {
public:
    Flood(Session& session, Peer peer, const FloodOptions& options)
        : session_(session),
          peer_(peer),
          options_(options),
          watch_(peer),
          clock_(CycleClock::calibrate()),
          message_(options.size),
          id_(std::random_device()()) {
        for (std::size_t i = kFloodSizeMin; i < message_.size(); ++i) {
            message_[i] = static_cast<std::byte>(i * 131 + 7);
        }
        pattern_sum_ = fold(message_.data() + kFloodSizeMin, message_.size() - kFloodSizeMin);
    }

    Result<void> run() {
        if (Result<void> up = wait_for_peer(session_, peer_, *this, options_.wait); !up) {
            return up;
        }
        if (Result<void> ready = exchange(FloodKind::start, FloodKind::ready); !ready) {
            return ready;
        }
        before_ = peer_.status();
        if (Result<void> sent = send_all(); !sent) {
            return sent;
        }
        if (Result<void> reported = exchange(FloodKind::finish, FloodKind::report); !reported) {
            return reported;
        }
        after_ = peer_.status();
        return verify();
    }

    void on_event(const Event& event) { watch_.on_event(event); }

    void on_message(const Message& message) {
        const auto frame = decode_flood(message.bytes());
        if (message.peer() == peer_ && frame && frame->report.id == id_) {
            answer_ = *frame;
        }
    }

    /// As the receiver saw it.
    [[nodiscard]] const FloodReport& report() const { return answer_->report; }
    [[nodiscard]] std::uint64_t packets() const { return after_.packets_sent - before_.packets_sent; }
    [[nodiscard]] std::uint64_t retransmits() const { return after_.retransmits - before_.retransmits; }
    [[nodiscard]] std::uint64_t acks() const { return after_.acks_received - before_.acks_received; }

private:
    // Sends a control frame and waits for the answer, as long as acknowledgements make progress towards it.
    Result<void> exchange(FloodKind ask, FloodKind answer) {
        const std::vector<std::byte> bytes = encode(ask, {.id = id_});
        answer_.reset();
        bool asked = false;
        std::uint64_t acknowledged = 0;
        auto last_progress = std::chrono::steady_clock::now();
        while (!answer_ || answer_->kind != answer) {
            if (!asked) {
                const Result<bool> accepted = offer(peer_, bytes);
                if (!accepted) {
                    return accepted.error();
                }
                asked = *accepted;
            }
            session_.engine.poll(*this);
            if (Result<void> well = still_well(watch_, options_.wait, "before the end of the flood"); !well) {
                return well;
            }
            const auto now = std::chrono::steady_clock::now();
            const std::uint64_t now_acknowledged = peer_.status().acknowledged;
            if (now_acknowledged != acknowledged) {
                acknowledged = now_acknowledged;
                last_progress = now;
            } else if (now - last_progress > std::chrono::nanoseconds(options_.wait.ns())) {
                return system_error(fmt::format("no answer from '{}' within {}; does `bowline sink` run there?",
                                                peer_.name(), protocol::format_duration(options_.wait)));
            }
        }
        return {};
    }

    Result<void> send_all() {
        const std::uint64_t start = clock_.ticks();
        const bool counted = options_.count != 0;
        const std::uint64_t limit = clock_.to_ticks(static_cast<double>(options_.time.ns()));
        const std::uint64_t end = counted ? options_.count : ~std::uint64_t{0};
        const double ticks_per_s = static_cast<double>(clock_.to_ticks(1e9));
        for (unsigned turn = 1; sent_ < end; ++turn) {
            const std::uint64_t passed = CycleClock::elapsed(start, clock_.ticks());
            if (!counted && passed >= limit) {
                break;
            }
            std::uint64_t due = end;
            if (options_.rate > 0) {
                due = std::min(
                    end, static_cast<std::uint64_t>(static_cast<double>(passed) / ticks_per_s * options_.rate) + 1);
            }
            send_burst(std::min(due - std::min(due, sent_), std::uint64_t{kSendsPerTurn}));
            session_.engine.poll(*this);
            if (turn % kTurnsPerCheck == 0) {
                if (refused_) {
                    return system_error("the engine takes no more messages");
                }
                if (Result<void> well = still_well(watch_, options_.wait, "before the end of the flood"); !well) {
                    return well;
                }
            }
        }
        return {};
    }

    void send_burst(std::uint64_t count) {
        for (; count != 0; --count) {
            const std::uint64_t word = flood_word(sent_);
            store_u64(message_.data(), word);
            const SendStatus status = peer_.send(message_).status;
            if (status != SendStatus::accepted) {
                refused_ = status != SendStatus::back_pressured && status != SendStatus::excluded;
                return;
            }
            sum_ += word;
            ++sent_;
        }
    }

    // Exactly once, in order, to the byte: or the figures mean nothing.
    Result<void> verify() const {
        const FloodReport& seen = report();
        if (seen.messages != sent_ || seen.misplaced != 0 || seen.bytes != sent_ * options_.size ||
            seen.sum != sum_ + sent_ * pattern_sum_) {
            return system_error(
                fmt::format("sent {} messages, but '{}' saw {} ({} bytes), {} of them out of order, with {} content",
                            sent_, peer_.name(), seen.messages, seen.bytes, seen.misplaced,
                            seen.sum == sum_ + sent_ * pattern_sum_ ? "the right" : "other"));
        }
        return {};
    }

    Session& session_;
    Peer peer_;
    const FloodOptions& options_;
    PeerWatch watch_;
    CycleClock clock_;
    std::vector<std::byte> message_;
    std::uint64_t id_;
    std::uint64_t pattern_sum_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t sum_ = 0;  // of the words; the patterns are all the same
    bool refused_ = false;
    std::optional<FloodFrame> answer_;
    PeerStatus before_;
    PeerStatus after_;
};

void print(const Flood& flood, const FloodOptions& options) {
    const FloodReport& seen = flood.report();
    const double seconds = static_cast<double>(seen.elapsed_ns) * 1e-9;
    const double per_s = seconds > 0 ? static_cast<double>(seen.messages) / seconds : 0;
    const double bits_per_s = seconds > 0 ? static_cast<double>(seen.bytes) * 8 / seconds : 0;
    if (options.common.json) {
        const nlohmann::ordered_json json = {{"messages", seen.messages},  {"seconds", seconds},
                                             {"msgs_per_s", per_s},        {"payload_bits_per_s", bits_per_s},
                                             {"packets", flood.packets()}, {"retransmits", flood.retransmits()},
                                             {"acks", flood.acks()},       {"size", options.size}};
        fmt::print("{}\n", json.dump());
        return;
    }
    const double per_packet =
        flood.packets() == 0 ? 0 : static_cast<double>(seen.messages) / static_cast<double>(flood.packets());
    fmt::print("'{}' saw {} messages of {} bytes in {:.3f} s: {}/s, {} of payload\n", options.peer, seen.messages,
               options.size, seconds, human_count(per_s), human_bits_per_s(bits_per_s));
    fmt::print("{} packets ({:.1f} messages each), {} resent, {} acknowledgements\n", flood.packets(), per_packet,
               flood.retransmits(), flood.acks());
}

Result<void> run(const FloodOptions& options) {
    if (options.size < kFloodSizeMin) {
        return usage_error(fmt::format("--size {}: must be at least {}, for a number", options.size, kFloodSizeMin));
    }
    Result<Session> session = start_session(options.common, options.peer, options.size);
    if (!session) {
        return session.error();
    }
    const Result<Peer> peer = session->engine.peer(options.peer);
    if (!peer) {
        return peer.error();
    }
    Flood flood(*session, *peer, options);
    const Result<void> done = flood.run();
    if (done) {
        print(flood, options);
    }
    session->engine.stop(IgnoringHandler());
    return done;
}

void bind(CLI::App& command, FloodOptions& options) {
    command.add_option("PEER", options.peer, "the peer, where `bowline sink` runs")->required();
    bind_common(command, options.common);
    add_size(command, "--size", options.size, "bytes a message");
    CLI::Option* const count =
        command.add_option("--count", options.count, "messages to send")->check(CLI::PositiveNumber)->type_name("N");
    add_duration(command, "--time", options.time, "how long to send")->excludes(count);
    add_rate(command, "--rate", options.rate, "messages a second; without it: as many as are accepted");
    add_duration(command, "--wait", options.wait, "how long to wait for the peer and for its report");
    bind_json(command, options.common.json);
}

}  // namespace

void add_flood(CLI::App& root, Run& chosen) {
    add_command<FloodOptions>(root, chosen, "flood", "measure the one-way rate to a peer that runs sink", bind, run);
}

}  // namespace bowline::tools
