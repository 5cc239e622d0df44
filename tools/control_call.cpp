#include "tools/control_call.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace bowline::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kCommands = {
    ControlCommand{"peers", ControlArgument::none,
                   "the peers: whether they are up, in view, and how much is under way"},
    ControlCommand{"connections", ControlArgument::none,
                   "both directions of every connection: state, conn-id, seqnos, windows; tombstones"},
    ControlCommand{"view", ControlArgument::none, "the view in force and its members"},
    ControlCommand{"install-view", ControlArgument::members,
                   "make these nodes, and the node itself, the members of the view (views = \"external\")"},
    ControlCommand{"exclude", ControlArgument::peer, "install the present view without this peer"},
    ControlCommand{"rotate", ControlArgument::peer,
                   "give the connection to the peer a new conn-id; what is unacknowledged is sent again under it"},
    ControlCommand{"close", ControlArgument::peer,
                   "close the connections with the peer as if they had been idle; the next message opens a new one"},
    ControlCommand{"forget", ControlArgument::peer,
                   "drop the association with the peer and what is remembered of its stream"},
    ControlCommand{"counters", ControlArgument::reset, "the named counters that are not zero"},
    ControlCommand{"stop", ControlArgument::none, "stop the node in order, as SIGTERM does"},
};

Error usage(std::string message) { return {Error::Kind::configuration, std::move(message)}; }

std::string known_commands() {
    std::string list;
    for (const ControlCommand& command : kCommands) {
        list += fmt::format("{}{}", list.empty() ? "" : ", ", command.name);
    }
    return list;
}

const char* field_of(ControlArgument argument) {
    switch (argument) {
        case ControlArgument::none:
            break;
        case ControlArgument::peer:
            return "peer";
        case ControlArgument::members:
            return "members";
        case ControlArgument::reset:
            return "reset";
    }
    return "";
}

// The field's value, if it has the right type.
bool read_argument(ControlArgument argument, const Json& value, ControlCall& call) {
    switch (argument) {
        case ControlArgument::none:
            return false;
        case ControlArgument::peer:
            if (value.is_string()) {
                call.peer = value.get<std::string>();
            }
            return value.is_string();
        case ControlArgument::reset:
            if (value.is_boolean()) {
                call.reset = value.get<bool>();
            }
            return value.is_boolean();
        case ControlArgument::members:
            if (!value.is_array() ||
                !std::all_of(value.begin(), value.end(), [](const Json& v) { return v.is_string(); })) {
                return false;
            }
            call.members = value.get<std::vector<std::string>>();
            return true;
    }
    return false;
}

const char* shape_of(ControlArgument argument) {
    return argument == ControlArgument::peer      ? "a peer's name"
           : argument == ControlArgument::members ? "a list of names"
                                                  : "true or false";
}

}  // namespace

std::span<const ControlCommand> control_commands() { return kCommands; }

Result<ControlCall> parse_call(std::string_view line) {
    const Json request = Json::parse(line, nullptr, false);
    if (!request.is_object()) {
        return usage(R"(a request is a JSON object on a line such as {"command":"peers"})");
    }
    const auto name = request.find("command");
    if (name == request.end() || !name->is_string()) {
        return usage("'command' is missing; it is one of " + known_commands());
    }
    ControlCall call;
    call.command = name->get<std::string>();
    const auto* const command = std::find_if(kCommands.begin(), kCommands.end(),
                                             [&](const ControlCommand& c) { return c.name == call.command; });
    if (command == kCommands.end()) {
        return usage(fmt::format("there is no command '{}'; there are {}", call.command, known_commands()));
    }
    const std::string field = field_of(command->argument);
    for (const auto& [key, value] : request.items()) {
        if (key == "command") {
            continue;
        }
        if (key != field) {
            return usage(fmt::format("{}: unknown field '{}'", call.command, key));
        }
        if (!read_argument(command->argument, value, call)) {
            return usage(fmt::format("{}: '{}' must be {}", call.command, key, shape_of(command->argument)));
        }
    }
    const bool required = command->argument == ControlArgument::peer || command->argument == ControlArgument::members;
    if (required && !request.contains(field)) {
        return usage(fmt::format("{}: '{}' is missing: {}", call.command, field, shape_of(command->argument)));
    }
    return call;
}

std::string write_call(const ControlCall& call) {
    Json request = {{"command", call.command}};
    for (const ControlCommand& command : kCommands) {
        if (command.name != call.command) {
            continue;
        }
        if (command.argument == ControlArgument::peer) {
            request["peer"] = call.peer;
        } else if (command.argument == ControlArgument::members) {
            request["members"] = call.members;
        } else if (command.argument == ControlArgument::reset && call.reset) {
            request["reset"] = true;
        }
    }
    return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string write_refusal(const Error& error) {
    const char* const kind = error.kind == Error::Kind::configuration ? "configuration"
                             : error.kind == Error::Kind::misuse      ? "misuse"
                                                                      : "system";
    const Json answer = {{"ok", false}, {"kind", kind}, {"error", error.message}};
    return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace bowline::tools
