#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bowline/result.hpp"

// What `bowline ctl` asks of a node: one JSON object a line, `{"command":"rotate","peer":"b"}`.

namespace bowline::tools {

struct ControlCall {
    std::string command;
    std::string peer;
    std::vector<std::string> members;
    bool reset = false;

    bool operator==(const ControlCall&) const = default;
};

/// What a command takes besides its name.
enum class ControlArgument : std::uint8_t { none, peer, members, reset };

struct ControlCommand {
    std::string_view name;
    ControlArgument argument;
    std::string_view help;
};
/// All commands, in the order in which `--help` shows them.
std::span<const ControlCommand> control_commands();

/// A request as it came. Error: not JSON, unknown or missing fields, wrong types, a command that there is not.
Result<ControlCall> parse_call(std::string_view line);
std::string write_call(const ControlCall& call);

/// `{"ok":false,"kind":…,"error":…}`.
std::string write_refusal(const Error& error);

}  // namespace bowline::tools
