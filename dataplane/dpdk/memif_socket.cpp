#include "dataplane/dpdk/memif_socket.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace bowline::dataplane::dpdk {
namespace {

Error failed(Error::Kind kind, const std::string& path, const std::string& what) {
    return {kind, "memif:" + path + ": " + what};
}

enum class Lock { ours, theirs, error };

/// Takes the lock file, or finds it taken. A holder removes the file as it leaves, so what was locked may be a name
/// that is gone: then the next one is tried.
Lock take_lock(const std::string& path, int& fd) {
    for (;;) {
        fd = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd < 0) {
            return Lock::error;
        }
        if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            return errno == EWOULDBLOCK ? Lock::theirs : Lock::error;
        }
        struct stat held {};
        struct stat named {};
        if (fstat(fd, &held) == 0 && stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino) {
            return Lock::ours;
        }
        close(fd);
    }
}

std::string read_holder(int fd) {
    char text[32] = {};
    const ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
    return length > 0 ? " (process " + std::string(text, static_cast<std::size_t>(length)) + ")" : "";
}

void write_holder(int fd) {
    const std::string pid = std::to_string(getpid());
    if (ftruncate(fd, 0) == 0) {
        // For a person who wonders; nothing depends on it.
        [[maybe_unused]] const ssize_t written = pwrite(fd, pid.data(), pid.size(), 0);
    }
}

}  // namespace

bool MemifSocket::served(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
        return false;
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return false;
    }
    const int result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    const bool listening = result == 0 || errno == EAGAIN || errno == EINPROGRESS;  // EAGAIN: its backlog is full
    close(fd);
    return listening;
}

Result<MemifSocket> MemifSocket::claim(const std::string& path, MemifRole wanted) {
    const std::string directory = std::filesystem::path(path).parent_path().string();
    if (access(directory.c_str(), F_OK) != 0) {
        return failed(Error::Kind::configuration, path,
                      "the directory " + directory + " does not exist: make it, or choose another path");
    }
    if (wanted == MemifRole::client) {
        return MemifSocket(path, MemifRole::client, -1);
    }
    int fd = -1;
    switch (take_lock(path + ".lock", fd)) {
        case Lock::error: {
            const std::string why = std::strerror(errno);
            if (fd >= 0) {
                close(fd);
            }
            return failed(Error::Kind::system, path,
                          "cannot lock " + path + ".lock: " + why + ": choose a directory that this user may write to");
        }
        case Lock::theirs: {
            const std::string holder = read_holder(fd);
            close(fd);
            if (wanted == MemifRole::automatic) {
                return MemifSocket(path, MemifRole::client, -1);
            }
            return failed(Error::Kind::system, path,
                          "another process" + holder + " is its server already: use role=client, or another path");
        }
        case Lock::ours:
            break;
    }
    if (served(path)) {
        // A server that is none of ours (VPP, testpmd) and takes no lock.
        MemifSocket(path, MemifRole::server, fd).release();
        if (wanted == MemifRole::automatic) {
            return MemifSocket(path, MemifRole::client, -1);
        }
        return failed(Error::Kind::system, path, "somebody listens on it already: use role=client, or another path");
    }
    write_holder(fd);
    MemifSocket socket(path, MemifRole::server, fd);
    struct stat found {};
    if (lstat(path.c_str(), &found) == 0) {
        if (!S_ISSOCK(found.st_mode)) {
            return failed(Error::Kind::configuration, path, "there is a file of that name that is no socket");
        }
        if (unlink(path.c_str()) != 0) {
            return failed(Error::Kind::system, path,
                          std::string("a dead process left its socket and it cannot be removed: ") +
                              std::strerror(errno) + ": remove it, or choose another path");
        }
    }
    return socket;
}

MemifSocket::MemifSocket(std::string path, MemifRole role, int lock_fd)
    : path_(std::move(path)), role_(role), lock_fd_(lock_fd) {}

MemifSocket::MemifSocket(MemifSocket&& other) noexcept
    : path_(std::move(other.path_)), role_(other.role_), lock_fd_(std::exchange(other.lock_fd_, -1)) {}

MemifSocket& MemifSocket::operator=(MemifSocket&& other) noexcept {
    if (this != &other) {
        release();
        path_ = std::move(other.path_);
        role_ = other.role_;
        lock_fd_ = std::exchange(other.lock_fd_, -1);
    }
    return *this;
}

MemifSocket::~MemifSocket() { release(); }

void MemifSocket::release() {
    if (lock_fd_ < 0) {
        return;
    }
    unlink((path_ + ".lock").c_str());  // before the lock is let go: whoever waits for it must not take a dead name
    close(lock_fd_);
    lock_fd_ = -1;
}

}  // namespace bowline::dataplane::dpdk
