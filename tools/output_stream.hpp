#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bowline::tools {

/// Writes to a file descriptor without ever waiting for it, so that a slow reader of our output does not stop the
/// engine from answering its peers. What does not go out at once is kept; the caller slows down by pending().
///
/// Thread: one.
class OutputStream {
public:
    /// `fd` stays the caller's; a pipe's or terminal's flags are not touched, since other processes share them.
    explicit OutputStream(int fd);

    /// Takes all of `bytes`.
    void write(std::span<const std::byte> bytes);
    /// Writes what goes out at once. Returns the number of bytes.
    std::size_t flush_some();

    [[nodiscard]] std::size_t pending() const { return buffer_.size() - first_; }
    /// Why nothing can be written any more, or empty.
    [[nodiscard]] const std::string& error() const { return error_; }

private:
    std::size_t write_some(std::span<const std::byte> bytes);

    int fd_;
    bool never_waits_;  // a regular file
    std::vector<std::byte> buffer_;
    std::size_t first_ = 0;
    std::string error_;
};

}  // namespace bowline::tools
