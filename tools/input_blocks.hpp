#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bowline::tools {

/// Cuts what a file descriptor brings into lines or blocks, without ever waiting for it: a read is made only when
/// poll(2) says that it returns at once.
///
/// Thread: one. Memory is fixed when it is made: 256 KiB or one largest block.
class InputBlocks {
public:
    enum class Cut : std::uint8_t {
        blocks,  ///< of `block_max` bytes; a shorter one when no more is there yet, since nothing is held back
        lines,   ///< each with its newline, if it has one, and no longer than `block_max`
    };
    enum class State : std::uint8_t {
        ready,    ///< block() is the next one
        waiting,  ///< nothing now
        end,
        failed,  ///< error() says why
    };

    /// `fd` stays the caller's.
    InputBlocks(int fd, Cut cut, std::size_t block_max);

    State next();
    /// The block that next() found, valid until it is called again. The one byte before it is the caller's, too, for a
    /// frame's header.
    [[nodiscard]] std::span<std::byte> block() const { return block_; }
    [[nodiscard]] const std::string& error() const { return error_; }

private:
    std::size_t find_block() const;
    bool fill();
    State fail(std::string why);

    int fd_;
    Cut cut_;
    std::size_t block_max_;
    std::vector<std::byte> buffer_;
    std::size_t first_;  // of what is not yet handed out; at least 1
    std::size_t last_;
    std::size_t scanned_ = 0;  // bytes from first_ that hold no newline
    bool ended_ = false;
    std::uint64_t lines_ = 0;
    std::span<std::byte> block_;
    std::string error_;
};

}  // namespace bowline::tools
