#pragma once

namespace bowline::tools {

/// Makes SIGINT and SIGTERM set the stop flag instead of ending the process, and SIGPIPE do nothing (a write then fails
/// with EPIPE). The third SIGINT or SIGTERM ends the process at once. Call once, before threads start.
void catch_stop_signals();

/// Sets the stop flag, as a signal would. Any thread.
void request_stop();

/// True once SIGINT or SIGTERM has come, or request_stop() was called. Any thread; one load.
bool stop_requested();

}  // namespace bowline::tools
