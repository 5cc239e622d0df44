#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/command.hpp"
#include "tools/control_call.hpp"
#include "tools/control_socket.hpp"
#include "tools/ctl_text.hpp"
#include "tools/options.hpp"

namespace bowline::tools {

namespace {

using Json = nlohmann::ordered_json;

// The node itself answers within a second, or says who does not; this is for one that is stuck.
constexpr std::chrono::seconds kPatience{10};

struct CtlOptions {
    std::string socket;
    std::string name;
    bool json = false;
    ControlCall call;
};

Error usage(std::string message) { return {Error::Kind::configuration, std::move(message)}; }

std::string listed(const std::vector<LiveSocket>& sockets) {
    std::string list;
    for (const LiveSocket& socket : sockets) {
        list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", socket.node, socket.path);
    }
    return list;
}

// The socket that is meant: the one that is named, or the only one that there is.
Result<std::string> socket_of(const CtlOptions& options) {
    if (!options.socket.empty()) {
        return options.socket;
    }
    const std::vector<std::string> folders = control_folders();
    const std::vector<LiveSocket> sockets = find_sockets(folders);
    std::vector<LiveSocket> meant;
    for (const LiveSocket& socket : sockets) {
        if (options.name.empty() || socket.node == options.name) {
            meant.push_back(socket);
        }
    }
    if (meant.size() == 1) {
        return meant.front().path;
    }
    if (meant.size() > 1) {
        return usage("several nodes listen here: " + listed(meant) + ": name one with --name NAME or --socket PATH");
    }
    if (!sockets.empty()) {
        return usage(fmt::format("no node '{}' listens here; there is: {}", options.name, listed(sockets)));
    }
    std::string looked_in;
    for (const std::string& folder : folders) {
        looked_in += (looked_in.empty() ? "" : ", ") + folder;
    }
    return Error{Error::Kind::system, "no node listens in " + looked_in +
                                          ": start one with `bowline node`, or name its socket with --socket PATH"};
}

Result<void> run(const CtlOptions& options) {
    const Result<std::string> path = socket_of(options);
    if (!path) {
        return path.error();
    }
    const Result<std::string> line = ask_socket(*path, write_call(options.call), kPatience);
    if (!line) {
        return line.error();
    }
    const Json answer = Json::parse(*line, nullptr, false);
    if (!answer.is_object()) {
        return Error{Error::Kind::system, *path + ": the answer is not JSON: is it a node of Bowline's?"};
    }
    if (options.json) {
        fmt::print("{}\n", *line);
    }
    if (!answer.value("ok", false)) {
        const bool is_usage = answer.value("kind", "") == "configuration";
        return Error{is_usage ? Error::Kind::configuration : Error::Kind::system, answer.value("error", "refused")};
    }
    if (!options.json) {
        fmt::print("{}", answer_text(options.call.command, answer));
    }
    return {};
}

void bind(CLI::App& command, CtlOptions& options) {
    CLI::Option* const socket =
        command.add_option("--socket", options.socket, "the node's control socket")->type_name("PATH");
    command.add_option("--name", options.name, "the node, if several listen on this machine")
        ->type_name("NAME")
        ->excludes(socket);
    bind_json(command, options.json);
    command.require_subcommand(1);
    for (const ControlCommand& known : control_commands()) {
        CLI::App* const sub = command.add_subcommand(std::string(known.name), std::string(known.help));
        sub->fallthrough();
        switch (known.argument) {
            case ControlArgument::none:
                break;
            case ControlArgument::peer:
                sub->add_option("peer", options.call.peer, "the peer's name")->type_name("NAME")->required();
                break;
            case ControlArgument::members:
                sub->add_option("members", options.call.members, "the members; this node's own name may be among them")
                    ->type_name("NAME")
                    ->required();
                break;
            case ControlArgument::reset:
                sub->add_flag("--reset", options.call.reset, "counters shown from now on begin at 0");
                break;
        }
        sub->callback([&options, name = known.name] { options.call.command = name; });
    }
    command.footer(
        "The node is a `bowline node` of this machine, or any other command with `-o control_socket=PATH`. If only "
        "one\n"
        "listens in the default folders, it is found. docs/OPERATING.md shows every command's output.");
}

}  // namespace

void add_ctl(CLI::App& root, Run& chosen) {
    add_command<CtlOptions>(root, chosen, "ctl", "ask a running node, or tell it what to do", bind, run);
}

}  // namespace bowline::tools
