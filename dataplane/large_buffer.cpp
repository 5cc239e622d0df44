#include "dataplane/large_buffer.hpp"

#include <utility>

#include <sys/mman.h>

namespace bowline::dataplane {

LargeBuffer::LargeBuffer(std::size_t bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) {
        bytes_ = {static_cast<std::byte*>(at), bytes};
    }
}

LargeBuffer::LargeBuffer(LargeBuffer&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

LargeBuffer& LargeBuffer::operator=(LargeBuffer&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
}

LargeBuffer::~LargeBuffer() {
    if (!bytes_.empty()) {
        munmap(bytes_.data(), bytes_.size());
    }
}

}  // namespace bowline::dataplane
