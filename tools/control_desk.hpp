#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bowline/config.hpp"
#include "bowline/engine.hpp"
#include "bowline/result.hpp"
#include "engine/admin.hpp"
#include "tools/control_server.hpp"

namespace bowline::tools {

/// Takes the socket that `config.control_socket` means; nullptr: none. `by_default`: whether `auto` means one.
Result<std::unique_ptr<ControlServer>> open_control(const Config& config, bool by_default);

/// Begins to answer `bowline ctl` for this engine, which outlives the server.
void serve_control(ControlServer& server, engine::Admin& admin);

/// One request, one answer, without ends of line. `stop` sets the stop flag. Any thread.
std::string answer_call(engine::Admin& admin, std::string_view line);

}  // namespace bowline::tools
