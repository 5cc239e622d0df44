#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bowline::dataplane::dpdk {

/// What the kernel says of one hugepage size.
struct HugepageSize {
    std::uint64_t page_bytes = 0;
    std::uint64_t total = 0;     ///< pages reserved
    std::uint64_t free = 0;      ///< pages that nobody uses
    std::uint64_t promised = 0;  ///< free pages that mappings have a claim on already

    /// Pages that a new mapping can get.
    [[nodiscard]] std::uint64_t available() const { return free > promised ? free - promised : 0; }
};

/// All sizes that the kernel knows, smallest first. `root` is where /sys is mounted.
std::vector<HugepageSize> hugepage_sizes(const std::string& root = "/sys");

/// Bytes of hugepages that a new process can get, all sizes together.
std::uint64_t hugepage_bytes_available(const std::string& root = "/sys");

/// True when this process may map a hugepage: it maps one and gives it back. `why_not` says what stood in the way.
bool can_map_hugepage(std::string& why_not);

}  // namespace bowline::dataplane::dpdk
