#include <deque>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/command.hpp"
#include "tools/session.hpp"

namespace bowline::tools {

namespace {

// Bytes of answers that may wait before nothing more is taken from the engine.
constexpr std::size_t kBacklogMax = 64 * 1024 * 1024;
constexpr std::size_t kMessagesPerTurn = 64;

struct EchoOptions {
    CommonOptions common;
};

// Sends each message back. What the engine does not take at once waits in its peer's queue, so that order is kept and
// no peer waits for another.
class Echo {
public:
    explicit Echo(Session& session) : session_(session) {}

    Result<void> run() {
        while (!stop_requested()) {
            session_.engine.poll(*this, backlog_bytes_ > kBacklogMax ? 0 : kMessagesPerTurn);
            if (backlog_bytes_ != 0) [[unlikely]] {
                send_backlog();
            }
        }
        return {};
    }

    void on_message(const Message& message) {
        ++messages_;
        bytes_ += message.bytes().size();
        if (backlog_bytes_ == 0) [[likely]] {
            const SendStatus status = message.peer().send(message.bytes()).status;
            if (status == SendStatus::accepted) [[likely]] {
                return;
            }
            if (!may_be_offered_again(status)) {
                ++dropped_;
                return;
            }
        }
        Queue& queue = backlog_[std::string(message.peer().name())];
        queue.peer = message.peer();
        queue.messages.emplace_back(message.bytes().begin(), message.bytes().end());
        backlog_bytes_ += weight(queue.messages.back());
    }

    void on_event(const Event& event) {
        // Answers to a process that is gone are nobody's.
        if (event.kind == Event::Kind::peer_down && event.down != Event::Down::silent &&
            event.down != Event::Down::excluded) {
            drop(std::string(event.peer.name()));
        }
    }

    [[nodiscard]] std::uint64_t messages() const { return messages_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

private:
    using Bytes = std::vector<std::byte>;
    struct Queue {
        Peer peer;
        std::deque<Bytes> messages;
    };

    static bool may_be_offered_again(SendStatus status) {
        return status == SendStatus::back_pressured || status == SendStatus::excluded;
    }
    // An empty message takes room, too.
    static std::size_t weight(const Bytes& message) { return message.size() + sizeof(Bytes); }

    void send_backlog() {
        const bool full = backlog_bytes_ > kBacklogMax;
        for (auto& [name, queue] : backlog_) {
            if (full && !queue.peer.status().up) {
                discard(queue);  // or a peer that is away would stop the others
            }
            while (!queue.messages.empty()) {
                const Bytes& message = queue.messages.front();
                const SendStatus status = queue.peer.send(message).status;
                if (may_be_offered_again(status)) {
                    break;
                }
                dropped_ += status == SendStatus::accepted ? 0 : 1;
                backlog_bytes_ -= weight(message);
                queue.messages.pop_front();
            }
        }
    }

    void drop(const std::string& name) {
        const auto found = backlog_.find(name);
        if (found == backlog_.end()) {
            return;
        }
        discard(found->second);
        backlog_.erase(found);
    }

    void discard(Queue& queue) {
        for (const Bytes& message : queue.messages) {
            backlog_bytes_ -= weight(message);
            ++dropped_;
        }
        queue.messages.clear();
    }

    Session& session_;
    std::unordered_map<std::string, Queue> backlog_;
    std::size_t backlog_bytes_ = 0;
    std::uint64_t messages_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t dropped_ = 0;
};

Result<void> run(const EchoOptions& options) {
    Result<Session> session = start_session(options.common);
    if (!session) {
        return session.error();
    }
    Echo echo(*session);
    Result<void> done = echo.run();
    session->engine.stop(IgnoringHandler());
    if (options.common.json) {
        const nlohmann::ordered_json json = {
            {"messages", echo.messages()}, {"bytes", echo.bytes()}, {"dropped", echo.dropped()}};
        fmt::print("{}\n", json.dump());
    } else {
        fmt::print("answered {} messages of {} bytes together; {} answers dropped since their peer was gone\n",
                   echo.messages() - echo.dropped(), echo.bytes(), echo.dropped());
    }
    return done;
}

void bind(CLI::App& command, EchoOptions& options) {
    bind_common(command, options.common);
    bind_json(command, options.common.json);
    command.footer("Runs until SIGINT or SIGTERM, with one core always busy.");
}

}  // namespace

void add_echo(CLI::App& root, Run& chosen) {
    add_command<EchoOptions>(root, chosen, "echo", "send every message back to its sender", bind, run);
}

}  // namespace bowline::tools
