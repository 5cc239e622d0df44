#include "tools/input_blocks.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

namespace bowline::tools {

namespace {

constexpr std::size_t kBufferBytes = 256 * 1024;

bool readable_now(int fd) {
    pollfd wanted{.fd = fd, .events = POLLIN, .revents = 0};
    return ::poll(&wanted, 1, 0) > 0;
}

}  // namespace

InputBlocks::InputBlocks(int fd, Cut cut, std::size_t block_max)
    : fd_(fd),
      cut_(cut),
      block_max_(std::max<std::size_t>(block_max, 1)),
      // One byte more than a largest block, so that a line that is too long is seen to be.
      buffer_(std::max(kBufferBytes, block_max_ + 1) + 1),
      first_(1),
      last_(1) {}

InputBlocks::State InputBlocks::fail(std::string why) {
    error_ = std::move(why);
    return State::failed;
}

// The length of the block that stands complete at first_, or 0.
std::size_t InputBlocks::find_block() const {
    const std::size_t available = last_ - first_;
    if (cut_ == Cut::blocks) {
        return available >= block_max_ ? block_max_ : 0;
    }
    const auto* const from = buffer_.data() + first_;
    const auto* const newline = static_cast<const std::byte*>(std::memchr(from + scanned_, '\n', available - scanned_));
    return newline == nullptr ? 0 : static_cast<std::size_t>(newline - from) + 1;
}

// Reads what is there. True when something came or the end did.
bool InputBlocks::fill() {
    if (ended_ || !readable_now(fd_)) {
        return false;
    }
    if (first_ > 1 && buffer_.size() - last_ < kBufferBytes / 2) {
        std::memmove(buffer_.data() + 1, buffer_.data() + first_, last_ - first_);
        last_ -= first_ - 1;
        first_ = 1;
    }
    const ssize_t got = ::read(fd_, buffer_.data() + last_, buffer_.size() - last_);
    if (got < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            error_ = std::strerror(errno);
        }
        return false;
    }
    last_ += static_cast<std::size_t>(got);
    ended_ = got == 0;
    return true;
}

InputBlocks::State InputBlocks::next() {
    if (!error_.empty()) {
        return State::failed;
    }
    std::size_t length = find_block();
    // A line stays to be completed; a block is completed only by what is there already.
    while (length == 0 && last_ - first_ <= block_max_) {
        scanned_ = last_ - first_;
        if (!fill()) {
            break;
        }
        length = find_block();
    }
    const std::size_t available = last_ - first_;
    if (!error_.empty()) {
        return fail("cannot read standard input: " + error_);
    }
    if (length == 0 && (ended_ || cut_ == Cut::blocks)) {
        length = available;
    }
    if (length > block_max_ || (length == 0 && available > block_max_)) {
        return fail(
            fmt::format("line {} of standard input is longer than the {} bytes that a message may have; raise "
                        "message_max (-o message_max=SIZE, on both nodes)",
                        lines_ + 1, block_max_));
    }
    if (length == 0) {
        return ended_ ? State::end : State::waiting;
    }
    block_ = std::span(buffer_).subspan(first_, length);
    first_ += length;
    scanned_ = 0;
    ++lines_;
    return State::ready;
}

}  // namespace bowline::tools
