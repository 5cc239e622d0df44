#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bowline/config.hpp"
#include "bowline/engine.hpp"
#include "bowline/result.hpp"
#include "engine/control_inbox.hpp"
#include "engine/control_thread.hpp"
#include "engine/report.hpp"

namespace bowline::engine {

/// An operator's requests to a running engine. Each is answered by the control thread, within `patience` or with an
/// error that says who did not answer: figures of connections are copied by the worker on its next turn, which in
/// inline mode comes when the application polls.
///
/// Thread: any, several at once; each call waits for its answer. As long as the Engine lives, also after its stop
/// (then it answers that the engine has stopped).
class Admin {
public:
    static constexpr protocol::Duration kPatience = protocol::Duration::s(1);

    /// `config` and `control` outlive this.
    Admin(const Config& config, ControlThread& control) : config_(config), control_(control) {}

    /// Peers and view without the worker's figures: answered even if the application does not poll.
    Result<Report> view();
    /// The same with the figures of every connection.
    Result<Report> peers();
    /// Counters since the last reset: this one shows them up to now, and if `reset` later ones count from here. The
    /// engine's own counters are never written to.
    Result<std::vector<Counter>> counters(bool reset);

    /// Installs a view; the answer is the view as it then is. Errors: see resolve_view.
    Result<Report> install_view(std::span<const std::string_view> names);
    /// Installs the present view without this peer.
    Result<Report> exclude(std::string_view name);
    /// See Peer::close, rotate and forget; refused where there is nothing to close or rotate.
    Result<Report> close(std::string_view name);
    Result<Report> rotate(std::string_view name);
    Result<Report> forget(std::string_view name);

private:
    Result<Report> ask(ControlRequest request);
    Result<Report> ask_of_peer(ControlRequest::Kind kind, std::string_view name);

    const Config& config_;
    ControlThread& control_;
    std::mutex mutex_;                              ///< of what follows
    std::map<std::string, std::uint64_t> counted_;  ///< values at the last reset
};

/// The operator's access to an engine. Lives as long as the engine, wherever it is moved.
Admin& admin_of(Engine& engine);

}  // namespace bowline::engine
