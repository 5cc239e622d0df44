#include "allocation_counter.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local bool counting = false;
thread_local std::uint64_t allocations = 0;

void note() {
    if (counting) {
        ++allocations;
    }
}

}  // namespace

extern "C" {
void* __real_malloc(std::size_t bytes);
void* __real_calloc(std::size_t count, std::size_t bytes);
void* __real_realloc(void* at, std::size_t bytes);
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
int __real_posix_memalign(void** at, std::size_t alignment, std::size_t bytes);

void* __wrap_malloc(std::size_t bytes) {
    note();
    return __real_malloc(bytes);
}
void* __wrap_calloc(std::size_t count, std::size_t bytes) {
    note();
    return __real_calloc(count, bytes);
}
void* __wrap_realloc(void* at, std::size_t bytes) {
    note();
    return __real_realloc(at, bytes);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
    note();
    return __real_aligned_alloc(alignment, bytes);
}
int __wrap_posix_memalign(void** at, std::size_t alignment, std::size_t bytes) {
    note();
    return __real_posix_memalign(at, alignment, bytes);
}
}

namespace {

void* take(std::size_t bytes) {
    note();
    return __real_malloc(bytes == 0 ? 1 : bytes);
}
void* take(std::size_t bytes, std::align_val_t alignment) {
    note();
    void* at = nullptr;
    return __real_posix_memalign(&at, static_cast<std::size_t>(alignment), bytes == 0 ? 1 : bytes) == 0 ? at : nullptr;
}
void* or_throw(void* at) { return at != nullptr ? at : throw std::bad_alloc(); }

}  // namespace

// All of them: a sanitizer's runtime has its own, which do not end in ours.
void* operator new(std::size_t bytes) { return or_throw(take(bytes)); }
void* operator new[](std::size_t bytes) { return or_throw(take(bytes)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return take(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return take(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return or_throw(take(bytes, alignment)); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return or_throw(take(bytes, alignment)); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return take(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return take(bytes, alignment);
}
void operator delete(void* at) noexcept { std::free(at); }
void operator delete[](void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
void operator delete[](void* at, std::size_t) noexcept { std::free(at); }
void operator delete(void* at, const std::nothrow_t&) noexcept { std::free(at); }
void operator delete[](void* at, const std::nothrow_t&) noexcept { std::free(at); }
void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
void operator delete[](void* at, std::align_val_t) noexcept { std::free(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }
void operator delete[](void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }
void operator delete(void* at, std::align_val_t, const std::nothrow_t&) noexcept { std::free(at); }
void operator delete[](void* at, std::align_val_t, const std::nothrow_t&) noexcept { std::free(at); }

AllocationCounter::AllocationCounter() {
    allocations = 0;
    counting = true;
}
AllocationCounter::~AllocationCounter() { counting = false; }
std::uint64_t AllocationCounter::count() const { return allocations; }
