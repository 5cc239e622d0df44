#include "sim/snapshot.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include <sys/mman.h>

#include "protocol/check.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace bowline::sim {

namespace {

constexpr std::size_t kSavedBytes = std::size_t{4} << 20U;
constexpr std::size_t kApartBytes = std::size_t{4} << 20U;
constexpr std::size_t kPlaceBytes = kSavedBytes + kApartBytes;
constexpr std::size_t kPlaces = 64;
/// From here on an object lies apart.
constexpr std::size_t kLarge = std::size_t{128} << 10U;

// All memories lie in one reservation, so that delete can tell their objects from others by the address alone.
std::atomic<std::byte*> reserved = nullptr;
std::uint64_t places_taken = 0;
std::mutex places_mutex;
thread_local SnapshotMemory* in_use = nullptr;

}  // namespace

SnapshotMemory::SnapshotMemory() {
    const std::lock_guard lock(places_mutex);
    if (reserved.load() == nullptr) {
        void* const at = ::mmap(nullptr, kPlaces * kPlaceBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        BOWLINE_CHECK(at != MAP_FAILED);
        reserved.store(static_cast<std::byte*>(at));
    }
    while (place_ < kPlaces && (places_taken >> place_ & 1U) != 0) {
        ++place_;
    }
    BOWLINE_CHECK(place_ < kPlaces);
    places_taken |= std::uint64_t{1} << place_;
    begin_ = reserved.load() + place_ * kPlaceBytes;
}

SnapshotMemory::~SnapshotMemory() {
#if defined(__SANITIZE_ADDRESS__)
    ASAN_UNPOISON_MEMORY_REGION(begin_, kPlaceBytes);
#endif
    BOWLINE_CHECK(::madvise(begin_, kPlaceBytes, MADV_DONTNEED) == 0);
    const std::lock_guard lock(places_mutex);
    places_taken &= ~(std::uint64_t{1} << place_);
}

SnapshotMemory::Use::Use(SnapshotMemory& memory) : before_(in_use) { in_use = &memory; }
SnapshotMemory::Use::~Use() { in_use = before_; }

void SnapshotMemory::save(std::vector<std::byte>& snapshot) const {
#if defined(__SANITIZE_ADDRESS__)
    ASAN_UNPOISON_MEMORY_REGION(begin_, used_);  // a pool poisons what is free
#endif
    snapshot.resize(used_);
    std::memcpy(snapshot.data(), begin_, used_);
}

void SnapshotMemory::restore(const std::vector<std::byte>& snapshot) {
#if defined(__SANITIZE_ADDRESS__)
    ASAN_UNPOISON_MEMORY_REGION(begin_, kSavedBytes);
#endif
    used_ = snapshot.size();
    std::memcpy(begin_, snapshot.data(), used_);
}

void* SnapshotMemory::take(std::size_t bytes, std::size_t alignment) {
    const bool apart = bytes >= kLarge;
    std::size_t& used = apart ? apart_used_ : used_;
    const std::size_t at = (used + alignment - 1) & ~(alignment - 1);
    BOWLINE_CHECK(at + bytes <= (apart ? kApartBytes : kSavedBytes));
    used = at + bytes;
    apart_count_ += apart ? 1U : 0U;
    return begin_ + (apart ? kSavedBytes : 0) + at;
}

void* SnapshotMemory::allocate(std::size_t bytes, std::size_t alignment) {
    if (in_use != nullptr) {
        return in_use->take(bytes, alignment);
    }
    void* const at = alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
                         ? std::malloc(bytes > 0 ? bytes : 1)
                         : std::aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
    if (at == nullptr) {
        throw std::bad_alloc();
    }
    return at;
}

bool SnapshotMemory::holds(const void* pointer) {
    const std::byte* const begin = reserved.load(std::memory_order_relaxed);
    const auto at = reinterpret_cast<std::uintptr_t>(pointer);
    const auto from = reinterpret_cast<std::uintptr_t>(begin);
    return begin != nullptr && at >= from && at < from + kPlaces * kPlaceBytes;
}

}  // namespace bowline::sim

namespace {

void release(void* pointer) noexcept {
    if (!bowline::sim::SnapshotMemory::holds(pointer)) {
        std::free(pointer);
    }
}
constexpr std::size_t kUsual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

// Each form is replaced, as a sanitizer's own forms do not call one another.
void* operator new(std::size_t bytes) { return bowline::sim::SnapshotMemory::allocate(bytes, kUsual); }
void* operator new[](std::size_t bytes) { return bowline::sim::SnapshotMemory::allocate(bytes, kUsual); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return bowline::sim::SnapshotMemory::allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    return bowline::sim::SnapshotMemory::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* pointer) noexcept { release(pointer); }
void operator delete[](void* pointer) noexcept { release(pointer); }
void operator delete(void* pointer, std::size_t /*bytes*/) noexcept { release(pointer); }
void operator delete[](void* pointer, std::size_t /*bytes*/) noexcept { release(pointer); }
void operator delete(void* pointer, std::align_val_t /*alignment*/) noexcept { release(pointer); }
void operator delete[](void* pointer, std::align_val_t /*alignment*/) noexcept { release(pointer); }
void operator delete(void* pointer, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
    release(pointer);
}
void operator delete[](void* pointer, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
    release(pointer);
}
