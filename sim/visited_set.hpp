#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace bowline::sim {

/// Hashes of states that have been seen, for many threads: 64 tables, each open-addressed under a lock of its own.
class VisitedSet {
public:
    /// True when it was not there.
    bool insert(std::uint64_t hash) {
        hash = hash == 0 ? 1 : hash;
        Shard& shard = shards_[hash >> 58U];
        const std::lock_guard lock(shard.mutex);
        if (4 * (shard.count + 1) > 3 * shard.slots.size()) {
            grow(shard);
        }
        std::uint64_t& slot = place(shard.slots, hash);
        if (slot == hash) {
            return false;
        }
        slot = hash;
        ++shard.count;
        return true;
    }
    /// While nobody inserts, as all below.
    [[nodiscard]] std::uint64_t size() const {
        std::uint64_t count = 0;
        for (const Shard& shard : shards_) {
            count += shard.count;
        }
        return count;
    }
    /// Sorted.
    [[nodiscard]] std::vector<std::uint64_t> all() const {
        std::vector<std::uint64_t> hashes;
        for (const Shard& shard : shards_) {
            std::copy_if(shard.slots.begin(), shard.slots.end(), std::back_inserter(hashes),
                         [](std::uint64_t hash) { return hash != 0; });
        }
        std::sort(hashes.begin(), hashes.end());
        return hashes;
    }

private:
    struct alignas(64) Shard {
        std::mutex mutex;
        std::vector<std::uint64_t> slots;  ///< 0: free
        std::size_t count = 0;
    };
    static std::uint64_t& place(std::vector<std::uint64_t>& slots, std::uint64_t hash) {
        std::size_t at = hash & (slots.size() - 1);
        while (slots[at] != 0 && slots[at] != hash) {
            at = (at + 1) & (slots.size() - 1);
        }
        return slots[at];
    }
    static void grow(Shard& shard) {
        std::vector<std::uint64_t> slots(std::max<std::size_t>(2 * shard.slots.size(), 256), 0);
        for (const std::uint64_t hash : shard.slots) {
            if (hash != 0) {
                place(slots, hash) = hash;
            }
        }
        shard.slots.swap(slots);
    }

    std::array<Shard, 64> shards_;
};

}  // namespace bowline::sim
