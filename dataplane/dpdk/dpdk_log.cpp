#include "dataplane/dpdk/dpdk_log.hpp"

#include <atomic>
#include <cstdio>
#include <deque>
#include <mutex>
#include <string_view>

#include <rte_log.h>
#include <unistd.h>

namespace bowline::dataplane::dpdk {
namespace {

constexpr std::size_t kLinesKept = 12;

struct Sink {
    std::mutex mutex;  // DPDK logs from its interrupt thread too
    int captures = 0;
    std::deque<std::string> lines;
    std::string partial;
    unsigned level = RTE_LOG_WARNING;
};

Sink& sink() {
    static Sink* s = new Sink;  // outlives every thread of DPDK's
    return *s;
}

void keep(Sink& s, std::string_view text) {
    s.partial += text;
    for (std::size_t end = 0; (end = s.partial.find('\n')) != std::string::npos;) {
        if (end > 0) {
            s.lines.push_back(s.partial.substr(0, end));
        }
        s.partial.erase(0, end + 1);
        if (s.lines.size() > kLinesKept) {
            s.lines.pop_front();
        }
    }
}

ssize_t write_log(void* /*cookie*/, const char* data, std::size_t size) {
    Sink& s = sink();
    const std::lock_guard lock(s.mutex);
    const int level = rte_log_cur_msg_loglevel();
    if (s.captures > 0) {
        if (level <= static_cast<int>(RTE_LOG_WARNING)) {
            keep(s, std::string_view(data, size));
        }
    } else if (level <= static_cast<int>(s.level)) {
        std::fwrite(data, 1, size, stderr);
    }
    return static_cast<ssize_t>(size);
}

}  // namespace

void install_dpdk_log() {
    static std::once_flag once;
    std::call_once(once, [] {
        cookie_io_functions_t io{};
        io.write = write_log;
        // Left open for ever: DPDK writes to it until the process ends.
        std::FILE* file = fopencookie(nullptr, "w", io);
        if (file != nullptr) {
            std::setvbuf(file, nullptr, _IOLBF, BUFSIZ);
            rte_openlog_stream(file);
        }
    });
}

void set_dpdk_log_level(unsigned level) {
    {
        const std::lock_guard lock(sink().mutex);
        sink().level = level;
    }
    rte_log_set_global_level(level);
    rte_log_set_level_pattern("*", level);
    if (level < RTE_LOG_INFO) {
        // A memif's peer comes and goes: the driver calls that errors and warnings, we call it the link.
        rte_log_set_level_pattern("pmd.net.memif*", RTE_LOG_CRIT);
    }
}

DpdkLogCapture::DpdkLogCapture() {
    const std::lock_guard lock(sink().mutex);
    if (sink().captures++ == 0) {
        sink().lines.clear();
        sink().partial.clear();
    }
}

DpdkLogCapture::~DpdkLogCapture() {
    const std::lock_guard lock(sink().mutex);
    --sink().captures;
}

std::string DpdkLogCapture::text() {
    const std::lock_guard lock(sink().mutex);
    std::string joined;
    for (const std::string& line : sink().lines) {
        joined += (joined.empty() ? "" : "; ") + line;
    }
    return joined;
}

}  // namespace bowline::dataplane::dpdk
