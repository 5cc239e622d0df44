#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bowline/engine.hpp"
#include "dataplane/connection_snapshot.hpp"

namespace bowline::engine {

/// A peer as the control thread and the worker see it.
struct PeerReport {
    std::string name;
    std::string address;
    std::uint64_t incarnation = 0;  ///< of the association in use; 0: none is
    bool in_view = false;
    bool associated = false;
    dataplane::ConnectionSnapshot connection;  ///< only in a report with the worker's figures
};

/// What an engine tells its operator.
struct Report {
    std::string name;
    std::string address;
    std::uint64_t incarnation = 0;
    bool external_views = false;
    std::uint64_t view_id = 0;
    std::vector<PeerReport> peers;  ///< the configured ones, in their order
    std::vector<Counter> counters;  ///< only in a report with the worker's figures
};

}  // namespace bowline::engine
