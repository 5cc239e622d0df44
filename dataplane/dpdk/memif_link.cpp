#include "dataplane/dpdk/memif_link.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <poll.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace bowline::dataplane::dpdk {
namespace {

constexpr auto kHandshakePatience = std::chrono::milliseconds(250);  // it takes well below one

bool is_named(const sockaddr_un& address, const std::string& path) {
    return address.sun_family == AF_UNIX &&
           path == std::string(address.sun_path, strnlen(address.sun_path, sizeof(address.sun_path)));
}

/// True when the descriptor is a connection over the socket at `path`, from either end.
bool is_connection(int fd, const std::string& path) {
    int type = 0;
    int listens = 0;
    socklen_t size = sizeof(type);
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
        return false;
    }
    size = sizeof(listens);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens != 0) {
        return false;
    }
    sockaddr_un here{};
    sockaddr_un there{};
    socklen_t here_size = sizeof(here);
    socklen_t there_size = sizeof(there);
    return getsockname(fd, reinterpret_cast<sockaddr*>(&here), &here_size) == 0 &&
           getpeername(fd, reinterpret_cast<sockaddr*>(&there), &there_size) == 0 &&
           (is_named(here, path) || is_named(there, path));
}

/// The driver keeps its connection to itself; the kernel's list of our descriptors does not.
int duplicate_connection(const std::string& path) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
        const int fd = std::atoi(entry.path().filename().c_str());
        if (is_connection(fd, path)) {
            return fcntl(fd, F_DUPFD_CLOEXEC, 0);
        }
    }
    return -1;
}

}  // namespace

MemifLink::MemifLink(MemifSocket socket, std::string path, const std::atomic<int>& open_devices)
    : socket_(std::move(socket)), path_(std::move(path)), open_devices_(open_devices) {}

MemifLink::~MemifLink() { stop_watching(); }

Result<void> MemifLink::start(std::uint16_t port_id, std::vector<std::unique_ptr<PortGate>>& gates) {
    port_id_ = port_id;
    gates_ = &gates;
    if (role() == MemifRole::client) {
        connect_again();
        return {};
    }
    if (const int result = rte_eth_dev_start(port_id_); result != 0) {
        return Error{Error::Kind::system, std::string("it does not start: ") + rte_strerror(-result)};
    }
    started_ = true;
    return {};
}

bool MemifLink::tend() {
    const bool must_share = hold_ && open_devices_ > 1;
    if (up_ && (must_share || (watch_fd_ >= 0 ? peer_speaks() : !connected()))) {
        up_ = false;
        leaving_ = true;
        for (const auto& gate : *gates_) {
            gate->close();
        }
    }
    if (leaving_) {
        if (!gates_aside()) {
            return false;  // a worker in the middle of a burst: the next step looks again
        }
        leaving_ = false;
        stop_watching();
        hold_.reset();
        return false;  // now the driver hears of it
    }
    if (!up_) {
        if (connected()) {
            come_up();
        } else if (role() == MemifRole::client &&
                   (!started_ || was_connected_ || std::chrono::steady_clock::now() > give_up_at_)) {
            connect_again();
        }
    }
    return up_;
}

bool MemifLink::connected() const {
    rte_eth_link link{};
    return started_ && rte_eth_link_get_nowait(port_id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

bool MemifLink::gates_aside() const {
    return std::ranges::all_of(*gates_, [](const auto& gate) { return gate->aside(); });
}

void MemifLink::come_up() {
    was_connected_ = true;
    if (open_devices_ == 1) {
        hold_.emplace();
        if (!hold_->held()) {
            hold_.reset();
        } else if (!connected()) {  // it went before it was held
            hold_.reset();
            return;
        } else {
            watch_fd_ = duplicate_connection(path_);
            if (watch_fd_ < 0) {
                hold_.reset();
            }
        }
    }
    for (const auto& gate : *gates_) {
        gate->reopen();
    }
    up_ = true;
}

void MemifLink::connect_again() {
    if (started_) {
        const InterruptHold still;  // stopping and the driver's own handler do not bear each other
        rte_eth_dev_stop(port_id_);
        started_ = false;
    }
    was_connected_ = false;
    // The driver's attempt fails at once when nobody listens. When somebody does and then drops us (a server that has
    // not noticed yet that its last client is gone), nothing says so: a while without a link is taken for it.
    started_ = access(path_.c_str(), F_OK) == 0 && rte_eth_dev_start(port_id_) == 0;
    give_up_at_ = std::chrono::steady_clock::now() + kHandshakePatience;
}

bool MemifLink::peer_speaks() const {
    pollfd waiting{watch_fd_, POLLIN | POLLRDHUP, 0};
    return poll(&waiting, 1, 0) != 0;
}

void MemifLink::stop_watching() {
    if (watch_fd_ >= 0) {
        close(watch_fd_);
        watch_fd_ = -1;
    }
}

}  // namespace bowline::dataplane::dpdk
