#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bowline::sim {

/// Memory that can be saved and brought back, with every object in it: at the same addresses, so that pointers between
/// them hold. What a thread allocates while a Use of it lives lies there (operator new is replaced in programs that
/// link this) and is freed only with all the rest.
///
/// Most of it is written while the objects are made and never again. What is written after freeze() is found out: pages
/// are write-protected until the first write to them, and within those that were written, blocks are compared with what
/// they held before. Only blocks that have ever differed are saved and brought back.
///
/// Objects too large to be copied at every step lie apart and are not saved: what they hold must not matter between
/// steps. Owner: one thread. Aborts when it is full. No system call may write into it after freeze().
class SnapshotMemory {
public:
    /// What save() puts down. Belongs to one memory.
    class Snapshot {
        friend class SnapshotMemory;
        std::size_t used_ = 0;
        std::size_t blocks_ = 0;
        std::vector<std::byte> bytes_;  ///< those blocks, and what has been allocated since freeze()
    };

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

    /// Once, when the objects have been made: what is there is what reset() brings back.
    void freeze();
    /// After freeze(), as the two below.
    void save(Snapshot& snapshot);
    /// As it was when that was saved; what has been made since is gone.
    void restore(const Snapshot& snapshot);
    /// As it was when it was frozen.
    void reset();
    [[nodiscard]] std::size_t bytes() const { return used_; }
    /// Objects that are not saved.
    [[nodiscard]] std::size_t apart() const { return apart_count_; }

    /// For operator new and delete.
    [[nodiscard]] static void* allocate(std::size_t bytes, std::size_t alignment);
    [[nodiscard]] static bool holds(const void* pointer);

private:
    static constexpr std::size_t kPage = 4096;
    static constexpr std::size_t kBlock = 256;
    static constexpr std::size_t kSavedBytes = std::size_t{4} << 20U;

    void* take(std::size_t bytes, std::size_t alignment);
    void unpoison() const;
    void find_changed_blocks();
    void reset_blocks(std::size_t from);
    /// Handles SIGSEGV: the first write to a page.
    static void on_write(int signal, siginfo_t* info, void* context);
    static bool open_page(const void* at);

    std::byte* begin_ = nullptr;
    std::size_t used_ = 0;
    std::size_t apart_used_ = 0;
    std::size_t apart_count_ = 0;
    std::size_t place_ = 0;

    std::vector<std::byte> root_;   ///< what was there when it was frozen
    std::size_t frozen_bytes_ = 0;  ///< in whole pages; what lies behind them is saved as a whole
    std::array<std::uint16_t, kSavedBytes / kPage> open_{};  ///< the pages that have been written
    std::size_t open_count_ = 0;
    std::vector<std::uint32_t> changed_;    ///< the blocks that have ever differed, in the order of finding them
    std::vector<std::uint8_t> is_changed_;  ///< by block
};

}  // namespace bowline::sim
