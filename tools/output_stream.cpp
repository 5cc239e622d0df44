#include "tools/output_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bowline::tools {

namespace {

bool is_regular(int fd) {
    struct stat info {};
    return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

bool writable_now(int fd) {
    pollfd wanted{.fd = fd, .events = POLLOUT, .revents = 0};
    return ::poll(&wanted, 1, 0) > 0;
}

}  // namespace

OutputStream::OutputStream(int fd) : fd_(fd), never_waits_(is_regular(fd)) {}

std::size_t OutputStream::write_some(std::span<const std::byte> bytes) {
    std::size_t done = 0;
    while (done < bytes.size() && error_.empty() && (never_waits_ || writable_now(fd_))) {
        // A pipe that polls writable takes PIPE_BUF bytes without waiting (pipe(7)), and promises no more.
        const std::size_t part =
            never_waits_ ? bytes.size() - done : std::min<std::size_t>(bytes.size() - done, PIPE_BUF);
        const ssize_t wrote = ::write(fd_, bytes.data() + done, part);
        if (wrote >= 0) {
            done += static_cast<std::size_t>(wrote);
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            error_ = std::strerror(errno);
        }
    }
    return done;
}

void OutputStream::write(std::span<const std::byte> bytes) {
    if (pending() == 0) {
        bytes = bytes.subspan(write_some(bytes));
    }
    if (error_.empty()) {
        buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    }
}

std::size_t OutputStream::flush_some() {
    if (pending() == 0) {
        return 0;
    }
    const std::size_t done = write_some(std::span(buffer_).subspan(first_));
    first_ += done;
    if (first_ == buffer_.size()) {
        buffer_.clear();
        first_ = 0;
    } else if (first_ > buffer_.size() / 2) {
        buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(first_));
        first_ = 0;
    }
    return done;
}

}  // namespace bowline::tools
