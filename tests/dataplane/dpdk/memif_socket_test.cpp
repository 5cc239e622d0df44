#include "dataplane/dpdk/memif_socket.hpp"

#include <cstring>
#include <filesystem>
#include <optional>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace bowline::dataplane::dpdk {
namespace {

class MemifSocketTest : public testing::Test {
protected:
    void SetUp() override {
        std::string made = (std::filesystem::temp_directory_path() / "bowline-memif-XXXXXX").string();
        ASSERT_NE(mkdtemp(made.data()), nullptr);
        directory_ = made;
        path_ = made + "/s";
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    /// A listening socket, as a server's driver makes it; closing it leaves the file, as a killed process does.
    [[nodiscard]] int listen_on_path() const {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
        const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
        EXPECT_EQ(listen(fd, 4), 0);
        return fd;
    }

    std::string directory_;
    std::string path_;
};

TEST_F(MemifSocketTest, TheFirstIsServerAndTheSecondClient) {
    const auto first = MemifSocket::claim(path_, MemifRole::automatic);
    const auto second = MemifSocket::claim(path_, MemifRole::automatic);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->role(), MemifRole::server);
    EXPECT_EQ(second->role(), MemifRole::client);
}

TEST_F(MemifSocketTest, ASecondServerIsToldWhoTheFirstIs) {
    const auto first = MemifSocket::claim(path_, MemifRole::server);
    ASSERT_TRUE(first);
    const auto second = MemifSocket::claim(path_, MemifRole::server);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message.find("process " + std::to_string(getpid())), std::string::npos);
    EXPECT_NE(second.error().message.find("role=client"), std::string::npos);
}

TEST_F(MemifSocketTest, ASocketThatADeadProcessLeftIsReclaimed) {
    close(listen_on_path());
    ASSERT_TRUE(std::filesystem::exists(path_));
    const auto claimed = MemifSocket::claim(path_, MemifRole::automatic);
    ASSERT_TRUE(claimed);
    EXPECT_EQ(claimed->role(), MemifRole::server);
    EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(MemifSocketTest, AForeignServerIsJoinedNotReplaced) {
    const int fd = listen_on_path();
    const auto joined = MemifSocket::claim(path_, MemifRole::automatic);
    ASSERT_TRUE(joined);
    EXPECT_EQ(joined->role(), MemifRole::client);
    EXPECT_FALSE(MemifSocket::claim(path_, MemifRole::server));
    EXPECT_TRUE(std::filesystem::exists(path_));
    close(fd);
}

TEST_F(MemifSocketTest, TheLockFileGoesWithTheServer) {
    { const auto server = MemifSocket::claim(path_, MemifRole::server); }
    EXPECT_FALSE(std::filesystem::exists(path_ + ".lock"));
    const auto again = MemifSocket::claim(path_, MemifRole::automatic);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->role(), MemifRole::server);
}

TEST_F(MemifSocketTest, WhatIsNoSocketIsNotRemoved) {
    std::filesystem::create_directory(path_);
    EXPECT_FALSE(MemifSocket::claim(path_, MemifRole::server));
    EXPECT_TRUE(std::filesystem::is_directory(path_));
}

TEST_F(MemifSocketTest, AnAbsentDirectoryIsNamed) {
    const auto claimed = MemifSocket::claim(directory_ + "/none/s", MemifRole::automatic);
    ASSERT_FALSE(claimed);
    EXPECT_NE(claimed.error().message.find(directory_ + "/none does not exist"), std::string::npos);
}

}  // namespace
}  // namespace bowline::dataplane::dpdk
