#include "dataplane/dpdk/packet_pool.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

namespace bowline::dataplane::dpdk {
namespace {

// Per-thread caches in front of the pool. A worker's burst (32 in, 32 out) must not reach the shared ring each time.
constexpr unsigned kCachePackets = RTE_MEMPOOL_CACHE_MAX_SIZE;
constexpr unsigned kPacketOverhead = 256;  // struct rte_mbuf, the mempool's header and trailer, alignment

std::mutex retired_mutex;

std::vector<rte_mempool*>& retired() {
    static auto* all = new std::vector<rte_mempool*>;
    return *all;
}

void sweep() {
    std::erase_if(retired(), [](rte_mempool* pool) {
        const bool full = rte_mempool_full(pool) == 1;
        if (full) {
            rte_mempool_free(pool);
        }
        return full;
    });
}

}  // namespace

Result<rte_mempool*> make_packet_pool(const std::string& name, std::uint32_t packets, std::uint32_t buffer_bytes,
                                      int numa_node) {
    free_retired_pools();
    const unsigned cache = std::min(kCachePackets, packets * 2 / 3);  // DPDK wants 1.5 caches in a pool
    const auto room = static_cast<std::uint16_t>(buffer_bytes + RTE_PKTMBUF_HEADROOM);
    rte_mempool* pool = rte_pktmbuf_pool_create(name.c_str(), packets, cache, 0, room, numa_node);
    if (pool == nullptr) {
        const std::uint64_t bytes = std::uint64_t{packets} * (room + kPacketOverhead);
        return Error{Error::Kind::system, "packet pool '" + name + "' of " + std::to_string(packets) +
                                              " packets: " + rte_strerror(rte_errno) + ". It takes " +
                                              std::to_string((bytes >> 20U) + 1) +
                                              " MB in DPDK's memory: raise memory_mb (and the hugepages reserved, with "
                                              "'hugepage-setup/hugepage-setup --apply'), or lower packet_pool"};
    }
    return pool;
}

void retire_packet_pool(rte_mempool* pool) {
    if (pool == nullptr) {
        return;
    }
    const std::lock_guard lock(retired_mutex);
    retired().push_back(pool);
    sweep();
}

void free_retired_pools() {
    const std::lock_guard lock(retired_mutex);
    sweep();
}

}  // namespace bowline::dataplane::dpdk
