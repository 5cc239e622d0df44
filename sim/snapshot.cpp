#include "sim/snapshot.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

#include "protocol/check.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace bowline::sim {

namespace {

constexpr std::size_t kApartBytes = std::size_t{4} << 20U;
constexpr std::size_t kPlaceBytes = (std::size_t{4} << 20U) + kApartBytes;
constexpr std::size_t kPlaces = 64;
/// From here on an object lies apart.
constexpr std::size_t kLarge = std::size_t{128} << 10U;

// All memories lie in one reservation, so that delete can tell their objects from others by the address alone.
std::atomic<std::byte*> reserved = nullptr;
std::uint64_t places_taken = 0;
std::mutex places_mutex;
thread_local SnapshotMemory* in_use = nullptr;

// Whose write a fault was, for the signal handler.
std::array<std::atomic<SnapshotMemory*>, kPlaces> frozen{};
struct sigaction handler_before {};

}  // namespace

// The handler reads these, in whichever thread wrote.
static_assert(std::atomic<SnapshotMemory*>::is_always_lock_free && std::atomic<std::byte*>::is_always_lock_free);

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
    frozen[place_].store(nullptr);
    BOWLINE_CHECK(::mprotect(begin_, kPlaceBytes, PROT_READ | PROT_WRITE) == 0);
    BOWLINE_CHECK(::madvise(begin_, kPlaceBytes, MADV_DONTNEED) == 0);
    const std::lock_guard lock(places_mutex);
    places_taken &= ~(std::uint64_t{1} << place_);
}

SnapshotMemory::Use::Use(SnapshotMemory& memory) : before_(in_use) { in_use = &memory; }
SnapshotMemory::Use::~Use() { in_use = before_; }

void SnapshotMemory::freeze() {
    BOWLINE_CHECK(in_use != this && root_.empty() && ::sysconf(_SC_PAGESIZE) == static_cast<long>(kPage));
    static_assert(kSavedBytes + kApartBytes == kPlaceBytes);
    unpoison();
    root_.assign(begin_, begin_ + used_);
    frozen_bytes_ = used_ / kPage * kPage;
    is_changed_.assign(frozen_bytes_ / kBlock, 0);
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction handler {};
        handler.sa_sigaction = on_write;
        handler.sa_flags = SA_SIGINFO;
        BOWLINE_CHECK(::sigaction(SIGSEGV, &handler, &handler_before) == 0);
    });
    frozen[place_].store(this);
    BOWLINE_CHECK(::mprotect(begin_, frozen_bytes_, PROT_READ) == 0);
}

void SnapshotMemory::on_write(int /*signal*/, siginfo_t* info, void* /*context*/) {
    if (!open_page(info->si_addr)) {
        // An error of the program: it happens again at once, before the handler that was there before.
        ::sigaction(SIGSEGV, &handler_before, nullptr);
    }
}

bool SnapshotMemory::open_page(const void* at) {
    if (!holds(at)) {
        return false;
    }
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(at) - reserved.load());
    SnapshotMemory* const memory = frozen[offset / kPlaceBytes].load();
    const std::size_t page = offset % kPlaceBytes / kPage;
    if (memory == nullptr || page * kPage >= memory->frozen_bytes_) {
        return false;
    }
    memory->open_[memory->open_count_++] = static_cast<std::uint16_t>(page);
    return ::mprotect(memory->begin_ + page * kPage, kPage, PROT_READ | PROT_WRITE) == 0;
}

void SnapshotMemory::find_changed_blocks() {
    constexpr std::size_t kBlocksPerPage = kPage / kBlock;
    for (std::size_t i = 0; i < open_count_; ++i) {
        const std::size_t first = open_[i] * kBlocksPerPage;
        for (std::size_t block = first; block < first + kBlocksPerPage; ++block) {
            const std::size_t at = block * kBlock;
            if (is_changed_[block] == 0 && std::memcmp(begin_ + at, root_.data() + at, kBlock) != 0) {
                is_changed_[block] = 1;
                changed_.push_back(static_cast<std::uint32_t>(block));
            }
        }
    }
}

void SnapshotMemory::reset_blocks(std::size_t from) {
    for (std::size_t i = from; i < changed_.size(); ++i) {
        const std::size_t at = changed_[i] * kBlock;
        std::memcpy(begin_ + at, root_.data() + at, kBlock);
    }
}

void SnapshotMemory::save(Snapshot& snapshot) {
    BOWLINE_CHECK(in_use != this && !root_.empty());
    unpoison();
    find_changed_blocks();
    snapshot.used_ = used_;
    snapshot.blocks_ = changed_.size();
    snapshot.bytes_.resize(changed_.size() * kBlock + used_ - frozen_bytes_);
    std::byte* to = snapshot.bytes_.data();
    for (const std::uint32_t block : changed_) {
        std::memcpy(to, begin_ + block * kBlock, kBlock);
        to += kBlock;
    }
    std::memcpy(to, begin_ + frozen_bytes_, used_ - frozen_bytes_);
}

void SnapshotMemory::restore(const Snapshot& snapshot) {
    unpoison();
    // What differs only since then was then as it was when the memory was frozen.
    find_changed_blocks();
    reset_blocks(snapshot.blocks_);
    const std::byte* from = snapshot.bytes_.data();
    for (std::size_t i = 0; i < snapshot.blocks_; ++i) {
        std::memcpy(begin_ + changed_[i] * kBlock, from, kBlock);
        from += kBlock;
    }
    used_ = snapshot.used_;
    std::memcpy(begin_ + frozen_bytes_, from, used_ - frozen_bytes_);
}

void SnapshotMemory::reset() {
    unpoison();
    find_changed_blocks();
    reset_blocks(0);
    used_ = root_.size();
    std::memcpy(begin_ + frozen_bytes_, root_.data() + frozen_bytes_, used_ - frozen_bytes_);
}

void SnapshotMemory::unpoison() const {
#if defined(__SANITIZE_ADDRESS__)
    ASAN_UNPOISON_MEMORY_REGION(begin_, kSavedBytes);  // a pool poisons what is free
#endif
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
