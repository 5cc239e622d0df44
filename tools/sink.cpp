#include <deque>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/clock.hpp"
#include "tools/command.hpp"
#include "tools/flood_frames.hpp"
#include "tools/progress.hpp"
#include "tools/session.hpp"

namespace bowline::tools {

namespace {

struct SinkOptions {
    CommonOptions common;
};

// What has come from one peer, and the flood that is going on.
struct Source {
    Peer peer;
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    FloodReport flood{};
    std::uint64_t first_tick = 0;
    std::uint64_t last_tick = 0;
};

class Sink {
public:
    Sink(Session& session, bool json) : session_(session), json_(json), clock_(CycleClock::calibrate()) {}

    Result<void> run() {
        while (!stop_requested()) {
            turn_tick_ = 0;
            session_.engine.poll(*this);
            send_replies();
        }
        return {};
    }

    void on_message(const Message& message) {
        Source& source = source_of(message.peer());
        const std::span<const std::byte> bytes = message.bytes();
        ++source.messages;
        source.bytes += bytes.size();
        if (bytes.size() >= kFloodSizeMin && bytes[0] == static_cast<std::byte>(FloodKind::data)) [[likely]] {
            on_data(source, bytes);
        } else if (const auto frame = decode_flood(bytes)) {
            on_frame(source, *frame);
        } else {
            folded_ += fold(bytes.data(), bytes.size());
        }
    }

    void on_event(const Event&) {}

    void print_total() const {
        std::uint64_t messages = 0;
        std::uint64_t bytes = 0;
        for (const Source& source : sources_) {
            messages += source.messages;
            bytes += source.bytes;
        }
        if (json_) {
            const nlohmann::ordered_json json = {{"messages", messages}, {"bytes", bytes}};
            fmt::print("{}\n", json.dump());
        } else {
            fmt::print("{} messages of {} bytes together came from {} peers\n", messages, bytes, sources_.size());
        }
    }

private:
    // Runs of messages come from the same peer.
    Source& source_of(Peer peer) {
        if (latest_ != nullptr && latest_->peer == peer) [[likely]] {
            return *latest_;
        }
        for (Source& source : sources_) {
            if (source.peer == peer) {
                return *(latest_ = &source);
            }
        }
        sources_.push_back({.peer = peer});
        return *(latest_ = &sources_.back());
    }

    void on_data(Source& source, std::span<const std::byte> bytes) {
        // One look at the clock for all that a turn brings: it costs as much as the message itself.
        if (turn_tick_ == 0) {
            turn_tick_ = clock_.ticks();
        }
        FloodReport& flood = source.flood;
        if (flood.messages == 0) {
            source.first_tick = turn_tick_;
        }
        source.last_tick = turn_tick_;
        flood.misplaced += load_u64(bytes.data()) == flood_word(flood.messages) ? 0U : 1U;
        flood.sum += fold(bytes.data(), bytes.size());
        flood.bytes += bytes.size();
        ++flood.messages;
    }

    void on_frame(Source& source, const FloodFrame& frame) {
        if (frame.kind == FloodKind::start) {
            source.flood = {.id = frame.report.id};
            replies_.emplace_back(source.peer, encode(FloodKind::ready, source.flood));
        } else if (frame.kind == FloodKind::finish && frame.report.id == source.flood.id) {
            source.flood.elapsed_ns = clock_.to_ns(source.last_tick - source.first_tick);
            replies_.emplace_back(source.peer, encode(FloodKind::report, source.flood));
            print_flood(source);
        }
    }

    void send_replies() {
        // A reply that its peer never takes does not hold up the others: each is offered once a turn.
        for (std::size_t count = replies_.size(); count != 0; --count) {
            auto [peer, bytes] = std::move(replies_.front());
            replies_.pop_front();
            const SendStatus status = peer.send(bytes).status;
            if (status == SendStatus::back_pressured || (status == SendStatus::excluded && replies_.size() < 1024)) {
                replies_.emplace_back(peer, std::move(bytes));
            }
        }
    }

    void print_flood(const Source& source) const {
        const FloodReport& flood = source.flood;
        const double seconds = static_cast<double>(flood.elapsed_ns) * 1e-9;
        const double per_s = seconds > 0 ? static_cast<double>(flood.messages) / seconds : 0;
        const double bits_per_s = seconds > 0 ? static_cast<double>(flood.bytes) * 8 / seconds : 0;
        if (json_) {
            const nlohmann::ordered_json json = {{"from", std::string(source.peer.name())},
                                                 {"messages", flood.messages},
                                                 {"bytes", flood.bytes},
                                                 {"seconds", seconds},
                                                 {"msgs_per_s", per_s},
                                                 {"payload_bits_per_s", bits_per_s},
                                                 {"misplaced", flood.misplaced}};
            fmt::print("{}\n", json.dump());
        } else {
            fmt::print("from '{}': {} messages in {:.3f} s, {}/s, {}; {} out of order\n", source.peer.name(),
                       flood.messages, seconds, human_count(per_s), human_bits_per_s(bits_per_s), flood.misplaced);
        }
        std::fflush(stdout);
    }

    Session& session_;
    bool json_;
    CycleClock clock_;
    std::deque<Source> sources_;  // its elements stay where they are
    Source* latest_ = nullptr;
    std::uint64_t turn_tick_ = 0;
    std::uint64_t folded_ = 0;  // keeps the reads of messages that belong to no flood
    std::deque<std::pair<Peer, std::vector<std::byte>>> replies_;
};

Result<void> run(const SinkOptions& options) {
    Result<Session> session = start_session(options.common);
    if (!session) {
        return session.error();
    }
    Sink sink(*session, options.common.json);
    Result<void> done = sink.run();
    session->engine.stop(sink);
    sink.print_total();
    return done;
}

void bind(CLI::App& command, SinkOptions& options) {
    bind_common(command, options.common);
    bind_json(command, options.common.json);
    command.footer("Runs until SIGINT or SIGTERM, with one core always busy.");
}

}  // namespace

void add_sink(CLI::App& root, Run& chosen) {
    add_command<SinkOptions>(root, chosen, "sink", "count what comes, and report to `bowline flood`", bind, run);
}

}  // namespace bowline::tools
