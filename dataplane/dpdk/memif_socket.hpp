#pragma once

#include <string>

#include "bowline/result.hpp"
#include "dataplane/dpdk/device_spec.hpp"

namespace bowline::dataplane::dpdk {

/// Settles which end of a memif this process is, and keeps the server's place while it lives.
///
/// A lock file beside the socket (PATH.lock) is held by the server's process: two processes that start at once get
/// different roles, a second server is told who the first is, and the socket that a killed server left behind is known
/// for stale and removed. The kernel drops the lock with the process; the file goes with the object.
class MemifSocket {
public:
    /// `wanted` automatic: server if nobody is, client else. Errors: no such directory, no right to it, role=server
    /// while there is one.
    static Result<MemifSocket> claim(const std::string& path, MemifRole wanted);
    ~MemifSocket();
    MemifSocket(MemifSocket&& other) noexcept;
    MemifSocket& operator=(MemifSocket&& other) noexcept;
    MemifSocket(const MemifSocket&) = delete;
    MemifSocket& operator=(const MemifSocket&) = delete;

    [[nodiscard]] MemifRole role() const { return role_; }

    /// True when somebody listens on the socket: a connection is made and dropped, which a memif server takes for a
    /// client that changed its mind.
    static bool served(const std::string& path);

private:
    MemifSocket(std::string path, MemifRole role, int lock_fd);
    void release();

    std::string path_;
    MemifRole role_ = MemifRole::client;
    int lock_fd_ = -1;  ///< the server's; -1: none
};

}  // namespace bowline::dataplane::dpdk
