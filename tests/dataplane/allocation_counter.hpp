#pragma once

#include <cstdint>

/// Counts what the calling thread takes from the heap while one of these lives: operator new in all its forms, wherever
/// it is called from, and malloc and its kin from everything that is linked in statically (see meson.build: --wrap).
class AllocationCounter {
public:
    AllocationCounter();
    ~AllocationCounter();
    AllocationCounter(const AllocationCounter&) = delete;
    AllocationCounter& operator=(const AllocationCounter&) = delete;

    /// Since it was made.
    [[nodiscard]] std::uint64_t count() const;
};
