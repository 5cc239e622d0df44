#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/cat.hpp"
#include "tools/cat_frames.hpp"
#include "tools/output_stream.hpp"
#include "tools/progress.hpp"

namespace bowline::tools {

namespace {

// Output that may wait for its reader before no more is taken from the engine, whose window then closes to the sender.
constexpr std::size_t kPendingMax = 4 * 1024 * 1024;
constexpr std::size_t kMessagesPerTurn = 256;

class CatReceiver {
public:
    CatReceiver(Session& session, Peer peer, const CatOptions& options)
        : session_(session),
          peer_(peer),
          options_(options),
          watch_(peer),
          deadline_(options.timeout),
          output_(STDOUT_FILENO) {}

    Result<CatFigures> run() {
        Result<void> well;
        while (well && phase_ != Phase::done) {
            const std::size_t taken = session_.engine.poll(*this, output_.pending() > kPendingMax ? 0 : limit_);
            const std::size_t written = output_.flush_some();
            well = advance();
            progress_.update(figures_.bytes);
            idle_.turn(taken + written);
        }
        progress_.clear();
        if (!well) {
            tell(well.error().message);
            return well.error();
        }
        return figures_;
    }

    void on_event(const Event& event) { watch_.on_event(event); }

    void on_message(const Message& message) {
        if (!(message.peer() == peer_)) {
            return;
        }
        if (const auto data = decode_data(message.bytes())) {
            on_data(*data);
        } else if (const auto frame = decode_control(message.bytes())) {
            on_frame(*frame);
        } else if (phase_ != Phase::waiting) {
            failure_ = "a message that is no part of the transfer came from the sender";
        }
    }

private:
    enum class Phase { waiting, receiving, ended, confirming, done };

    void on_data(std::span<const std::byte> data) {
        if (phase_ == Phase::waiting) {
            return;  // the rest of a transfer whose receiver is gone
        }
        if (phase_ != Phase::receiving) {
            failure_ = "data came after the end of the transfer";
            return;
        }
        output_.write(data);
        figures_.bytes += data.size();
        ++figures_.messages;
    }

    void on_frame(const CatFrame& frame) {
        if (frame.kind == CatKind::begin && phase_ == Phase::waiting) {
            id_ = frame.id;
            phase_ = Phase::receiving;
            // A turn takes no more than what may wait for the output, however large the messages are.
            limit_ =
                std::clamp<std::size_t>(kPendingMax / std::max<std::uint64_t>(frame.bytes, 1), 1, kMessagesPerTurn);
            start_ = std::chrono::steady_clock::now();
            reply_ = encode({CatKind::ready, id_, 0, 0, {}});
        } else if (frame.kind == CatKind::end && phase_ == Phase::receiving && frame.id == id_) {
            phase_ = Phase::ended;
            if (frame.bytes != figures_.bytes || frame.messages != figures_.messages) {
                failure_ = fmt::format("the sender sent {} bytes in {} messages, but {} in {} have arrived",
                                       frame.bytes, frame.messages, figures_.bytes, figures_.messages);
            }
        } else if (phase_ != Phase::waiting) {
            failure_ = "the sender broke the order of the transfer";
        }
    }

    // What is due between two turns: replies, the confirmation, the end.
    Result<void> advance() {
        if (!output_.error().empty()) {
            return system_error("cannot write standard output: " + output_.error());
        }
        if (!failure_.empty()) {
            return system_error(failure_);
        }
        if (phase_ == Phase::ended && output_.pending() == 0 && reply_.empty()) {
            reply_ = encode({CatKind::confirm, id_, figures_.bytes, figures_.messages, {}});
            phase_ = Phase::confirming;
            figures_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
        }
        if (Result<void> sent = send_reply(); !sent) {
            return sent;
        }
        if (phase_ == Phase::confirming && reply_.empty() &&
            (peer_.status().acknowledged >= reply_number_ || watch_.stopped())) {
            // A sender that stops has its confirmation, or has been interrupted: all was written out in either case.
            phase_ = Phase::done;
            return {};
        }
        return may_go_on();
    }

    Result<void> may_go_on() {
        if (phase_ == Phase::waiting) {
            watch_.reset();  // what became of an earlier sender is not this transfer's
            if (stop_requested()) {
                return interrupted_error("before the sender began");
            }
        } else if (Result<void> well = still_well(watch_, options_.wait, "before everything had arrived"); !well) {
            return well;
        }
        return deadline_.check();
    }

    Result<void> send_reply() {
        if (reply_.empty()) {
            return {};
        }
        const SendResult sent = peer_.send(reply_);
        if (sent) {
            reply_number_ = sent.number;
            reply_.clear();
            return {};
        }
        const bool again = sent.status == SendStatus::back_pressured || sent.status == SendStatus::excluded;
        return again
                   ? Result<void>()
                   : system_error(fmt::format("a reply to '{}' was refused: {}", peer_.name(), to_string(sent.status)));
    }

    // Tells the sender why there will be no confirmation, if it still listens; stopping the engine sees it out.
    void tell(const std::string& why) {
        if (phase_ == Phase::waiting || watch_.failure()) {
            return;
        }
        reply_ = encode({CatKind::refuse, id_, 0, 0, why});
        for (std::size_t turn = 0; turn < 1000 && !reply_.empty() && send_reply(); ++turn) {
            session_.engine.poll(*this, 0);
        }
    }

    Session& session_;
    Peer peer_;
    const CatOptions& options_;
    PeerWatch watch_;
    Deadline deadline_;
    OutputStream output_;
    ProgressLine progress_;
    IdleBackoff idle_;
    Phase phase_ = Phase::waiting;
    std::size_t limit_ = kMessagesPerTurn;
    std::uint64_t id_ = 0;
    std::vector<std::byte> reply_;  // not yet accepted
    std::uint64_t reply_number_ = 0;
    std::string failure_;
    CatFigures figures_;
    std::chrono::steady_clock::time_point start_;
};

}  // namespace

Result<CatFigures> cat_receive(Session& session, Peer peer, const CatOptions& options) {
    return CatReceiver(session, peer, options).run();
}

}  // namespace bowline::tools
