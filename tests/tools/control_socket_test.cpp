#include "tools/control_socket.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "scratch_folder.hpp"

namespace bowline::tools {
namespace {

namespace fs = std::filesystem;

// A socket that nobody listens behind any more, as a process leaves it that was killed.
void leave_stale(const std::string& path) {
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(fd.get(), 1), 0);
}

TEST(ListeningSocket, IsForItsOwnerAloneAndGoesWithItsObject) {
    const ScratchFolder folder;
    const std::string path = folder / "a.sock";
    {
        const Result<ListeningSocket> socket = ListeningSocket::at(path);
        ASSERT_TRUE(socket) << socket.error().message;
        struct stat info {};
        ASSERT_EQ(::stat(path.c_str(), &info), 0);
        EXPECT_TRUE(S_ISSOCK(info.st_mode));
        EXPECT_EQ(info.st_mode & 07777U, 0600U);
    }
    EXPECT_FALSE(fs::exists(path));
}

TEST(ListeningSocket, ReplacesADeadProcesssButNotALiveOnes) {
    const ScratchFolder folder;
    const std::string path = folder / "a.sock";
    leave_stale(path);
    const Result<ListeningSocket> socket = ListeningSocket::at(path);
    ASSERT_TRUE(socket) << socket.error().message;
    const Result<ListeningSocket> second = ListeningSocket::at(path);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message.find(path + ": another process listens here"), std::string::npos)
        << second.error().message;
    EXPECT_EQ(find_sockets(std::vector{folder.path()}).size(), 1U) << "the first one is still there";
}

TEST(ListeningSocket, DoesNotRemoveWhatAnotherHasPutInItsPlace) {
    const ScratchFolder folder;
    const std::string path = folder / "a.sock";
    {
        const Result<ListeningSocket> socket = ListeningSocket::at(path);
        ASSERT_TRUE(socket);
        fs::rename(path, folder / "moved");
        std::ofstream(path) << "mine";
    }
    EXPECT_TRUE(fs::exists(path));
}

TEST(ListeningSocket, ErrorsNamePathAndReason) {
    const ScratchFolder folder;
    std::ofstream(folder / "file") << "precious";
    const auto error_at = [](const std::string& path) {
        const Result<ListeningSocket> socket = ListeningSocket::at(path);
        EXPECT_FALSE(socket);
        return socket ? "" : socket.error().message;
    };
    EXPECT_NE(error_at(folder / "file").find("something else than a socket"), std::string::npos);
    EXPECT_TRUE(fs::exists(folder / "file"));
    EXPECT_NE(error_at(folder / "nowhere/a.sock").find("nowhere: the control socket's folder: No such file"),
              std::string::npos);
    EXPECT_NE(error_at(folder / std::string(120, 'x')).find("at most 107 bytes"), std::string::npos);
}

TEST(ChooseSocketPath, TakesTheFirstFolderThatIsSafe) {
    const ScratchFolder folder;
    const std::string open = folder / "open";
    fs::create_directory(open);
    fs::permissions(open, fs::perms::all);
    std::ofstream(folder / "file") << "";
    fs::create_directory_symlink(folder.path(), folder / "link");
    const std::vector<std::string> folders = {folder / "missing/deep", folder / "file", open, folder / "link",
                                              folder / "good"};
    const Result<std::string> path = choose_socket_path("a", folders);
    ASSERT_TRUE(path) << path.error().message;
    EXPECT_EQ(*path, folder / "good/a.sock");
    struct stat info {};
    ASSERT_EQ(::stat((folder / "good").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777U, 0700U);

    const Result<std::string> none = choose_socket_path("a", std::span(folders).first(4));
    ASSERT_FALSE(none);
    for (const char* words : {"missing/deep: No such file", "file: not a folder", "open: others may write to it",
                              "link: not a folder", "control_socket"}) {
        EXPECT_NE(none.error().message.find(words), std::string::npos) << none.error().message;
    }
}

TEST(SocketFileName, CannotLeaveItsFolder) {
    EXPECT_EQ(socket_file_name("a"), "a.sock");
    EXPECT_EQ(socket_file_name("../../etc/x"), "%2E.%2F..%2Fetc%2Fx.sock");
    EXPECT_EQ(socket_file_name("100%"), "100%25.sock");
}

TEST(FindSockets, FindsTheLivingByTheirNames) {
    const ScratchFolder folder;
    leave_stale(folder / "dead.sock");
    std::ofstream(folder / "file.sock") << "";
    const Result<ListeningSocket> b = ListeningSocket::at(folder / "b.sock");
    const Result<ListeningSocket> a = ListeningSocket::at(folder / socket_file_name("./a%"));
    ASSERT_TRUE(a && b);
    const std::vector<LiveSocket> found = find_sockets(std::vector{folder / "missing", folder.path()});
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].node, "./a%");
    EXPECT_EQ(found[1].node, "b");
    EXPECT_EQ(found[1].path, folder / "b.sock");
}

TEST(AskSocket, SaysWhyThereIsNoAnswer) {
    const ScratchFolder folder;
    const auto error_at = [](const std::string& path) {
        const Result<std::string> answer = ask_socket(path, "x", std::chrono::milliseconds(20));
        EXPECT_FALSE(answer);
        return answer ? "" : answer.error().message;
    };
    EXPECT_NE(error_at(folder / "none.sock").find("no node listens here"), std::string::npos);
    leave_stale(folder / "dead.sock");
    EXPECT_NE(error_at(folder / "dead.sock").find("its process has died"), std::string::npos);
    const Result<ListeningSocket> mute = ListeningSocket::at(folder / "mute.sock");
    ASSERT_TRUE(mute);
    EXPECT_NE(error_at(folder / "mute.sock").find("no answer in time"), std::string::npos);
}

}  // namespace
}  // namespace bowline::tools
