#include "dataplane/dpdk/device_list.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "dataplane/dpdk/hugepage_info.hpp"

namespace bowline::dataplane::dpdk {
namespace {

namespace fs = std::filesystem;

/// A /sys of our own making.
class SysTest : public testing::Test {
protected:
    void SetUp() override {
        std::string made = (fs::temp_directory_path() / "bowline-sys-XXXXXX").string();
        ASSERT_NE(mkdtemp(made.data()), nullptr);
        root_ = made;
    }
    void TearDown() override { fs::remove_all(root_); }

    void write(const std::string& path, const std::string& text) const {
        fs::create_directories((fs::path(root_) / path).parent_path());
        std::ofstream(fs::path(root_) / path) << text << '\n';
    }
    void link(const std::string& path, const std::string& target) const {
        fs::create_directories((fs::path(root_) / path).parent_path());
        fs::create_directory_symlink(target, fs::path(root_) / path);
    }
    [[nodiscard]] DeviceListing listing(const std::string& device) const {
        const auto all = list_devices(root_);
        const auto it = std::ranges::find(all, device, &DeviceListing::device);
        EXPECT_NE(it, all.end()) << device;
        return it == all.end() ? DeviceListing{} : *it;
    }

    std::string root_;
};

TEST_F(SysTest, PciDevicesSayWhatTheyAreBoundTo) {
    write("bus/pci/devices/0000:01:00.0/class", "0x020000");
    write("bus/pci/devices/0000:01:00.0/numa_node", "1");
    write("bus/pci/devices/0000:01:00.0/net/eth7/mtu", "1500");
    link("bus/pci/devices/0000:01:00.0/driver", "../../drivers/ixgbe");
    write("bus/pci/devices/0000:02:00.0/class", "0x020000");
    link("bus/pci/devices/0000:02:00.0/driver", "../../drivers/vfio-pci");
    write("bus/pci/devices/0000:03:00.0/class", "0x010802");
    const DeviceListing kernels = listing("pci:0000:01:00.0");
    EXPECT_EQ(kernels.driver, "ixgbe");
    EXPECT_EQ(kernels.numa_node, 1);
    EXPECT_FALSE(kernels.usable);
    EXPECT_NE(kernels.note.find("takes eth7"), std::string::npos);
    EXPECT_TRUE(listing("pci:0000:02:00.0").usable);
    const auto all = list_devices(root_);
    EXPECT_EQ(std::ranges::count(all, "pci:0000:03:00.0", &DeviceListing::device), 0);
}

TEST_F(SysTest, InterfacesSayLinkMtuAndAddress) {
    write("class/net/veth0/type", "1");
    write("class/net/veth0/operstate", "down");
    write("class/net/veth0/mtu", "9000");
    write("class/net/veth0/address", "02:00:00:00:00:01");
    write("class/net/lo/type", "772");
    const DeviceListing veth = listing("af_packet:veth0");
    EXPECT_EQ(veth.link, "down");
    EXPECT_EQ(veth.mtu, 9000U);
    EXPECT_EQ(veth.mac, "02:00:00:00:00:01");
    EXPECT_FALSE(veth.usable);
    const auto all = list_devices(root_);
    EXPECT_EQ(std::ranges::count(all, "af_packet:lo", &DeviceListing::device), 0);
    EXPECT_EQ(std::ranges::count(all, "null", &DeviceListing::device), 1);
}

TEST_F(SysTest, HugepagesThatAreSpokenForAreNotAvailable) {
    write("kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "100");
    write("kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "60");
    write("kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "10");
    write("kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "1");
    const auto sizes = hugepage_sizes(root_);
    ASSERT_EQ(sizes.size(), 2U);
    EXPECT_EQ(sizes[0].page_bytes, 2U << 20U);
    EXPECT_EQ(sizes[0].total, 100U);
    EXPECT_EQ(sizes[0].available(), 50U);
    EXPECT_EQ(hugepage_bytes_available(root_), (100ULL << 20U) + (1ULL << 30U));
}

}  // namespace
}  // namespace bowline::dataplane::dpdk
