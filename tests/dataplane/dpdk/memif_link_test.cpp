#include "dataplane/dpdk/memif_link.hpp"

#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "dataplane/dpdk/dpdk_port.hpp"
#include "tests/dataplane/dpdk/eal_fixture.hpp"

namespace bowline::dataplane::dpdk {
namespace {

using protocol::Packet;

/// Both ends of a memif in this process, tended and polled until they see each other.
class MemifLinkTest : public testing::Test {
protected:
    void SetUp() override {
        std::string made = (std::filesystem::temp_directory_path() / "bowline-link-XXXXXX").string();
        ASSERT_NE(mkdtemp(made.data()), nullptr);
        directory_ = made;
        path_ = "memif:" + made + "/s";
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    template <typename Condition>
    static bool eventually(Condition condition) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (!condition()) {
            if (std::chrono::steady_clock::now() > deadline) {
                return false;
            }
            std::this_thread::yield();
        }
        return true;
    }
    /// Tends a device as the control thread does and polls it as a worker does.
    static bool turn(Device& device) {
        DpdkPort port(device);
        Packet* received = nullptr;
        if (port.rx_burst(&received, 1) == 1) {
            port.free(received);
        }
        return device.tend();
    }

    std::string directory_;
    std::string path_;
};

TEST_F(MemifLinkTest, AClientThatIsFirstWaitsForItsServer) {
    const auto client = open_device(path_ + ",role=client,id=1");
    ASSERT_TRUE(client);
    EXPECT_FALSE(client->tend());
    EXPECT_FALSE(client->link_up());
    DpdkPort port(*client);
    Packet* packet = port.alloc();
    EXPECT_EQ(port.tx_burst(&packet, 1), 0) << "a link that is down takes nothing";
    port.free(packet);
}

TEST_F(MemifLinkTest, AStoppedServerLeavesNoSocket) {
    { const auto server = open_device(path_); }
    EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(MemifLinkTest, AServerSaysItsRole) {
    const auto server = open_device(path_);
    ASSERT_TRUE(server);
    EXPECT_EQ(server->info().memif_role, MemifRole::server);
    EXPECT_EQ(server->info().driver, "net_memif");
    EXPECT_FALSE(turn(*server));
}

TEST(InterruptHold, NestsAndLetsGo) {
    ASSERT_TRUE(test_eal());
    {
        const InterruptHold outer;
        const InterruptHold inner;
        EXPECT_TRUE(outer.held());
        EXPECT_TRUE(inner.held());
    }
    const InterruptHold again;
    EXPECT_TRUE(again.held());
}

}  // namespace
}  // namespace bowline::dataplane::dpdk
