#pragma once

#include <cstdint>
#include <string>

#include "bowline/result.hpp"

struct rte_mempool;

namespace bowline::dataplane::dpdk {

/// Makes a pool of `packets` packets with `buffer_bytes` for a frame each, on a NUMA node (-1: any). The error says how
/// much memory that takes and how to come by it.
Result<rte_mempool*> make_packet_pool(const std::string& name, std::uint32_t packets, std::uint32_t buffer_bytes,
                                      int numa_node);

/// Frees a pool once all its packets are back. Some may still be with others (a ring's other end, a driver that closes
/// late): then it waits for the next call of this or for free_retired_pools(), and is not reused meanwhile.
void retire_packet_pool(rte_mempool* pool);

/// Frees those retired pools whose packets are back; at the end, just before the memory itself goes.
void free_retired_pools();

}  // namespace bowline::dataplane::dpdk
