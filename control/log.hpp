#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace bowline::control {

enum class LogLevel : std::uint8_t { error, warning, info, debug };

/// Where the control thread's words go; called from that thread. May be empty: nobody listens.
using LogSink = std::function<void(LogLevel, const std::string&)>;

}  // namespace bowline::control
