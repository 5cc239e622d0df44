#pragma once

#include <cstddef>
#include <span>

namespace bowline::dataplane {

/// Address space for one large message, reserved at set-up; memory is taken as it is written and kept, so that only
/// peers that exchange large messages pay for them.
///
/// Movable owner; thread: set-up and end on any, the bytes belong to whoever uses the buffer.
class LargeBuffer {
public:
    LargeBuffer() = default;
    /// Empty (bytes().empty()) when the address space is refused.
    explicit LargeBuffer(std::size_t bytes);
    LargeBuffer(LargeBuffer&& other) noexcept;
    LargeBuffer& operator=(LargeBuffer&& other) noexcept;
    ~LargeBuffer();

    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

private:
    std::span<std::byte> bytes_;
};

}  // namespace bowline::dataplane
