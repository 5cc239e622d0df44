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
    EventPrinter(bool json, const Session& session) : json_(json), session_(session) {}

    void started() {
        const std::string socket = session_.control != nullptr ? session_.control->path() : "";
        if (json_) {
            print({{"event", "started"},
                   {"name", session_.config.name},
                   {"address", session_.config.address},
                   {"device", session_.engine.describe()},
                   {"control_socket", socket}});
        } else {
            print(fmt::format("{} has started: {}", session_.config.address, session_.engine.describe()));
            if (!socket.empty()) {
                print(fmt::format("`bowline ctl --socket {}` reaches this node", socket));
            }
        }
    }

    void stopped() {
        if (json_) {
            print({{"event", "stopped"}, {"messages", messages_}, {"bytes", bytes_}});
        } else {
            print(fmt::format("'{}' has stopped; {} messages of {} bytes together had come", session_.config.name,
                              messages_, bytes_));
        }
    }

    void on_message(const Message& message) {
        ++messages_;
        bytes_ += message.bytes().size();
    }

    void on_event(const Event& event) {
        if (event.kind == Event::Kind::view_changed) {
            on_view(event.first);
            return;
        }
        if (!json_) {
            print(describe(event));
            return;
        }
        nlohmann::ordered_json line = {{"event", to_string(event.kind)}, {"peer", event.peer.name()}};
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
    // The view may have been replaced since: its members are those of the id that is printed with them.
    void on_view(std::uint64_t id) {
        const View view = session_.engine.view();
        nlohmann::ordered_json members = {view.self};
        std::string list = view.self;
        for (const ViewMember& member : view.members) {
            members.push_back(member.name);
            list += ", " + member.name;
        }
        if (json_) {
            print({{"event", to_string(Event::Kind::view_changed)},
                   {"view", id},
                   {"newest", view.id},
                   {"members", std::move(members)}});
        } else if (view.id == id) {
            print(fmt::format("view {} is in force: {}", id, list));
        } else {
            print(fmt::format("view {} is in force; the newest is {}: {}", id, view.id, list));
        }
    }

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
    const Session& session_;
    std::uint64_t messages_ = 0;
    std::uint64_t bytes_ = 0;
};

Result<void> run(const NodeOptions& options) {
    Result<Session> session = start_session(options.common, ControlSocket::by_default);
    if (!session) {
        return session.error();
    }
    EventPrinter printer(options.common.json, *session);
    printer.started();
    IdleBackoff idle;
    while (!stop_requested()) {
        idle.turn(session->engine.poll(printer));
    }
    session->engine.stop(printer);
    printer.stopped();
    return {};
}

void bind(CLI::App& command, NodeOptions& options) {
    bind_common(command, options.common);
    bind_json(command, options.common.json);
    command.footer(
        "Runs until SIGINT or SIGTERM, or `bowline ctl stop`. Messages are taken and counted. `bowline ctl` reaches "
        "it\n"
        "by its control socket: see -o control_socket in docs/CONFIGURATION.md.");
}

}  // namespace

void add_node(CLI::App& root, Run& chosen) {
    add_command<NodeOptions>(root, chosen, "node", "run an engine and print its events", bind, run);
}

}  // namespace bowline::tools
