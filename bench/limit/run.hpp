#pragma once

#include <csignal>

#include "bench/limit/options.hpp"
#include "dataplane/dpdk/device.hpp"
#include "dataplane/dpdk/dpdk_port.hpp"

namespace bowline::bench {

/// Set by SIGINT and SIGTERM: every role ends, prints what it has, and gives the device back.
extern volatile std::sig_atomic_t stop_requested;

/// Runs the role on an open device whose link is up; prints its result as one line of JSON. Returns the exit code.
int run_role(const LimitOptions& options, dataplane::dpdk::Device& device, dataplane::dpdk::DpdkPort& port);

}  // namespace bowline::bench
