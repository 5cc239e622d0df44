#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bowline::sim {

/// Memory that can be saved and brought back, with every object in it: at the same addresses, so that pointers between
/// them hold. What a thread allocates while a Use of it lives lies there (operator new is replaced in programs that
/// link this) and is freed only with all the rest.
///
/// Objects too large to be copied at every step lie apart and are not saved: what they hold must not matter between
/// steps. Owner: one thread. Aborts when it is full.
class SnapshotMemory {
public:
    SnapshotMemory();
    ~SnapshotMemory();
    SnapshotMemory(const SnapshotMemory&) = delete;
    SnapshotMemory& operator=(const SnapshotMemory&) = delete;

    /// While it lives, the thread allocates from this memory.
    class Use {
    public:
        explicit Use(SnapshotMemory& memory);
        ~Use();
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;

    private:
        SnapshotMemory* before_;
    };

    void save(std::vector<std::byte>& snapshot) const;
    /// As it was when that was saved; what has been made since is gone.
    void restore(const std::vector<std::byte>& snapshot);
    [[nodiscard]] std::size_t bytes() const { return used_; }
    /// Objects that are not saved.
    [[nodiscard]] std::size_t apart() const { return apart_count_; }

    /// For operator new and delete.
    [[nodiscard]] static void* allocate(std::size_t bytes, std::size_t alignment);
    [[nodiscard]] static bool holds(const void* pointer);

private:
    void* take(std::size_t bytes, std::size_t alignment);

    std::byte* begin_ = nullptr;
    std::size_t used_ = 0;
    std::size_t apart_used_ = 0;
    std::size_t apart_count_ = 0;
    std::size_t place_ = 0;
};

}  // namespace bowline::sim
