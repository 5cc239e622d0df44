#include "dataplane/dpdk/hugepage_info.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <linux/memfd.h>
#include <sys/mman.h>
#include <unistd.h>

namespace bowline::dataplane::dpdk {
namespace {

std::uint64_t read_number(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::uint64_t value = 0;
    return in >> value ? value : 0;
}

}  // namespace

std::vector<HugepageSize> hugepage_sizes(const std::string& root) {
    namespace fs = std::filesystem;
    constexpr std::string_view kPrefix = "hugepages-";
    std::vector<HugepageSize> sizes;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(fs::path(root) / "kernel/mm/hugepages", ignored)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(kPrefix)) {
            continue;
        }
        HugepageSize size;
        for (std::size_t i = kPrefix.size(); i < name.size() && name[i] >= '0' && name[i] <= '9'; ++i) {
            size.page_bytes = size.page_bytes * 10 + static_cast<std::uint64_t>(name[i] - '0');
        }
        size.page_bytes <<= 10U;  // the directory is named in kB
        size.total = read_number(entry.path() / "nr_hugepages");
        size.free = read_number(entry.path() / "free_hugepages");
        size.promised = read_number(entry.path() / "resv_hugepages");
        sizes.push_back(size);
    }
    std::ranges::sort(sizes, {}, &HugepageSize::page_bytes);
    return sizes;
}

std::uint64_t hugepage_bytes_available(const std::string& root) {
    std::uint64_t bytes = 0;
    for (const HugepageSize& size : hugepage_sizes(root)) {
        bytes += size.available() * size.page_bytes;
    }
    return bytes;
}

bool can_map_hugepage(std::string& why_not) {
    for (const HugepageSize& size : hugepage_sizes()) {
        if (size.available() == 0) {
            continue;
        }
        // The kernel is asked the very thing that EAL will ask it: a file in memory on pages of this size.
        unsigned log2 = 0;
        while ((1ULL << log2) < size.page_bytes) {
            ++log2;
        }
        const int fd = memfd_create("bowline-probe", MFD_HUGETLB | (log2 << MFD_HUGE_SHIFT));
        if (fd < 0) {
            why_not = std::string("memfd_create: ") + std::strerror(errno);
            continue;
        }
        void* page = MAP_FAILED;
        if (ftruncate(fd, static_cast<off_t>(size.page_bytes)) == 0) {
            page = mmap(nullptr, size.page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        }
        if (page == MAP_FAILED) {
            why_not = std::string("mapping a hugepage: ") + std::strerror(errno);
            close(fd);
            continue;
        }
        munmap(page, size.page_bytes);
        close(fd);
        return true;
    }
    if (why_not.empty()) {
        why_not = "none is free";
    }
    return false;
}

}  // namespace bowline::dataplane::dpdk
