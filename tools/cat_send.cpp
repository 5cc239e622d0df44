#include <algorithm>
#include <chrono>
#include <optional>
#include <random>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/cat.hpp"
#include "tools/cat_frames.hpp"
#include "tools/input_blocks.hpp"
#include "tools/progress.hpp"

namespace bowline::tools {

namespace {

constexpr std::uint64_t kDefaultBlock = 16 * 1024;
constexpr unsigned kSendsPerTurn = 64;

std::uint64_t random_id() {
    std::random_device source;
    return std::uint64_t{source()} << 32U | source();
}

std::size_t largest_block(const CatOptions& options, const Config& config) {
    const std::size_t limit = config.message_max - kCatDataHeader;
    return options.lines ? limit : std::min<std::size_t>(options.size == 0 ? kDefaultBlock : options.size, limit);
}

class CatSender {
public:
    CatSender(Session& session, Peer peer, const CatOptions& options)
        : session_(session),
          peer_(peer),
          options_(options),
          watch_(peer),
          deadline_(options.timeout),
          input_(STDIN_FILENO, options.lines ? InputBlocks::Cut::lines : InputBlocks::Cut::blocks,
                 largest_block(options, session.config)),
          id_(random_id()) {}

    Result<CatFigures> run() {
        const PeerStatus before = peer_.status();
        for (const auto phase : {&CatSender::greet, &CatSender::send_input, &CatSender::finish}) {
            if (const Result<void> done = (this->*phase)(); !done) {
                progress_.clear();
                return done.error();
            }
        }
        const PeerStatus after = peer_.status();
        figures_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
        figures_.packets = after.packets_sent - before.packets_sent;
        figures_.retransmits = after.retransmits - before.retransmits;
        return figures_;
    }

    void on_event(const Event& event) { watch_.on_event(event); }

    void on_message(const Message& message) {
        if (!(message.peer() == peer_)) {
            return;
        }
        const std::optional<CatFrame> frame = decode_control(message.bytes());
        if (frame && frame->id == id_) {
            on_frame(*frame);
        }
    }

private:
    void on_frame(const CatFrame& frame) {
        switch (frame.kind) {
            case CatKind::ready:
                ready_ = true;
                break;
            case CatKind::confirm:
                if (frame.bytes == figures_.bytes && frame.messages == figures_.messages) {
                    confirmed_ = true;
                } else {
                    refusal_ =
                        fmt::format("peer '{}' confirms {} bytes in {} messages, but {} in {} were sent", peer_.name(),
                                    frame.bytes, frame.messages, figures_.bytes, figures_.messages);
                }
                break;
            case CatKind::refuse:
                refusal_ = fmt::format("peer '{}' refused: {}", peer_.name(), frame.text);
                break;
            case CatKind::begin:  // our own
                refusal_ = fmt::format("peer '{}' sends back what it gets: it must run `bowline cat --from {}`",
                                       peer_.name(), session_.config.name);
                break;
            case CatKind::data:
            case CatKind::end:
                break;
        }
    }

    // One turn of the engine, and whether the transfer may go on.
    Result<void> turn() {
        session_.engine.poll(*this);
        if (!refusal_.empty()) {
            return system_error(refusal_);
        }
        if (Result<void> well = still_well(watch_, options_.wait, "before everything was delivered"); !well) {
            return well;
        }
        return deadline_.check();
    }

    Result<void> send_control(const CatFrame& frame) {
        const std::vector<std::byte> bytes = encode(frame);
        for (;;) {
            const Result<bool> accepted = offer(peer_, bytes);
            if (!accepted) {
                return accepted.error();
            }
            if (*accepted) {
                return {};
            }
            if (Result<void> well = turn(); !well) {
                return well;
            }
        }
    }

    // Nothing is read from standard input before the receiver has said that it is there: it would be lost.
    Result<void> greet() {
        if (Result<void> up = wait_for_peer(session_, peer_, *this, options_.wait); !up) {
            return up;
        }
        if (Result<void> sent = send_control({CatKind::begin, id_, largest_block(options_, session_.config), 0, {}});
            !sent) {
            return sent;
        }
        const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(options_.wait.ns());
        while (!ready_) {
            if (Result<void> well = turn(); !well) {
                return well;
            }
            if (std::chrono::steady_clock::now() > end) {
                return system_error(
                    fmt::format("peer '{}' is up but nobody there takes the transfer: it must run `bowline cat "
                                "--from {}`",
                                peer_.name(), session_.config.name));
            }
        }
        start_ = std::chrono::steady_clock::now();
        return {};
    }

    // The next frame to send, if one is not waiting already.
    InputBlocks::State next_frame() {
        if (!frame_.empty()) {
            return InputBlocks::State::ready;
        }
        const InputBlocks::State state = input_.next();
        if (state == InputBlocks::State::ready) {
            const std::span<std::byte> block = input_.block();
            frame_ = std::span(block.data() - kCatDataHeader, block.size() + kCatDataHeader);
            frame_[0] = static_cast<std::byte>(CatKind::data);
        }
        return state;
    }

    Result<void> send_input() {
        IdleBackoff idle;
        for (;;) {
            std::size_t sent = 0;
            InputBlocks::State state = InputBlocks::State::ready;
            bool pressed = false;
            while (sent < kSendsPerTurn && !pressed && (state = next_frame()) == InputBlocks::State::ready) {
                const Result<bool> accepted = offer(peer_, frame_);
                if (!accepted) {
                    return accepted.error();
                }
                pressed = !*accepted;
                if (*accepted) {
                    figures_.bytes += frame_.size() - kCatDataHeader;
                    ++figures_.messages;
                    ++sent;
                    frame_ = {};
                }
            }
            if (state == InputBlocks::State::end) {
                return {};
            }
            if (state == InputBlocks::State::failed) {
                return system_error(input_.error());
            }
            if (Result<void> well = turn(); !well) {
                return well;
            }
            progress_.update(figures_.bytes);
            if (state == InputBlocks::State::waiting) {
                const PeerStatus status = peer_.status();
                idle.turn(sent + (status.sent - status.acknowledged));
            }
        }
    }

    // The end is the receiver's confirmation, which it gives when everything is written out. It may take its time for
    // that (its output may be slow), as long as it is alive.
    Result<void> finish() {
        if (Result<void> sent = send_control({CatKind::end, id_, figures_.bytes, figures_.messages, {}}); !sent) {
            return sent;
        }
        while (!confirmed_ || peer_.status().acknowledged != peer_.status().sent) {
            if (Result<void> well = turn(); !well) {
                return well;
            }
            progress_.update(figures_.bytes);
        }
        progress_.clear();
        return {};
    }

    Session& session_;
    Peer peer_;
    const CatOptions& options_;
    PeerWatch watch_;
    Deadline deadline_;
    InputBlocks input_;
    ProgressLine progress_;
    std::uint64_t id_;
    std::span<std::byte> frame_;  // accepted by nobody yet
    bool ready_ = false;
    bool confirmed_ = false;
    std::string refusal_;
    CatFigures figures_;
    std::chrono::steady_clock::time_point start_;
};

}  // namespace

Result<CatFigures> cat_send(Session& session, Peer peer, const CatOptions& options) {
    return CatSender(session, peer, options).run();
}

}  // namespace bowline::tools
