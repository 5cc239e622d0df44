#pragma once

#include <string>

namespace bowline::dataplane::dpdk {

/// Sends DPDK's log through us from now on: to standard error what is at most `level` (RTE_LOG_*), and nowhere what
/// belongs to normal operation. Thread: any, once, before EAL starts.
void install_dpdk_log();

/// What reaches standard error from now on (RTE_LOG_*).
void set_dpdk_log_level(unsigned level);

/// While one lives, DPDK's log lines are kept, not printed: they explain a failure, and are noise when there is none.
class DpdkLogCapture {
public:
    DpdkLogCapture();
    ~DpdkLogCapture();
    DpdkLogCapture(const DpdkLogCapture&) = delete;
    DpdkLogCapture& operator=(const DpdkLogCapture&) = delete;

    /// The lines so far in one, joined by "; ", the last ones when there are many.
    [[nodiscard]] static std::string text();
};

}  // namespace bowline::dataplane::dpdk
