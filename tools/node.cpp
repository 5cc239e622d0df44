#include <chrono>
#include <cstdio>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/command.hpp"
#include "tools/session.hpp"

namespace bowline::tools {

namespace {

struct NodeOptions {
    CommonOptions common;
};

// Prints what happens, a line an event, at once.
class EventPrinter {
public:
    explicit EventPrinter(bool json) : json_(json) {}

    void started(const Session& session) {
        if (json_) {
            print({{"event", "started"},
                   {"name", session.config.name},
                   {"address", session.config.address},
                   {"device", session.engine.describe()}});
        } else {
            print(fmt::format("{} has started: {}", session.config.address, session.engine.describe()));
        }
    }

    void stopped(const Session& session) {
        if (json_) {
            print({{"event", "stopped"}, {"messages", messages_}, {"bytes", bytes_}});
        } else {
            print(fmt::format("'{}' has stopped; {} messages of {} bytes together had come", session.config.name,
                              messages_, bytes_));
        }
    }

    void on_message(const Message& message) {
        ++messages_;
        bytes_ += message.bytes().size();
    }

    void on_event(const Event& event) {
        if (!json_) {
            print(describe(event));
            return;
        }
        nlohmann::ordered_json line = {{"event", to_string(event.kind)}};
        if (event.kind != Event::Kind::view_changed) {
            line["peer"] = event.peer.name();
        }
        if (event.kind == Event::Kind::peer_down) {
            line["down"] = to_string(event.down);
        }
        if (event.kind == Event::Kind::undelivered || event.kind == Event::Kind::gap) {
            line["first"] = event.first;
            line["last"] = event.last;
        }
        if (event.kind == Event::Kind::undelivered) {
            line["certainty"] = to_string(event.certainty);
        }
        print(std::move(line));
    }

private:
    static std::int64_t now_ns() {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    }
    static void print(const std::string& line) {
        const std::int64_t now = now_ns();
        const std::time_t seconds = now / 1'000'000'000;
        fmt::print("{:%H:%M:%S}.{:06} {}\n", fmt::localtime(seconds), now % 1'000'000'000 / 1000, line);
        std::fflush(stdout);
    }
    static void print(nlohmann::ordered_json line) {
        line["time_ns"] = now_ns();
        fmt::print("{}\n", line.dump());
        std::fflush(stdout);
    }

    bool json_;
    std::uint64_t messages_ = 0;
    std::uint64_t bytes_ = 0;
};

Result<void> run(const NodeOptions& options) {
    Result<Session> session = start_session(options.common);
    if (!session) {
        return session.error();
    }
    EventPrinter printer(options.common.json);
    printer.started(*session);
    IdleBackoff idle;
    while (!stop_requested()) {
        idle.turn(session->engine.poll(printer));
    }
    session->engine.stop(printer);
    printer.stopped(*session);
    return {};
}

void bind(CLI::App& command, NodeOptions& options) {
    bind_common(command, options.common);
    bind_json(command, options.common.json);
    command.footer("Runs until SIGINT or SIGTERM. Messages are taken and counted.");
}

}  // namespace

void add_node(CLI::App& root, Run& chosen) {
    add_command<NodeOptions>(root, chosen, "node", "run an engine and print its events", bind, run);
}

}  // namespace bowline::tools
