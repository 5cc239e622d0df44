#include "tools/child_process.hpp"

#include <gtest/gtest.h>

#include "scratch_folder.hpp"

namespace bowline::tools {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience(20'000);

struct ChildProcessTest : testing::Test {
    ScratchFolder folder;
    [[nodiscard]] std::string file(const char* name) const { return folder.path() + "/" + name; }
    Result<ChildProcess> start(const std::string& script) {
        return ChildProcess::start({"sh", "-c", script}, file("out"), file("err"), {"GREETING=hello"});
    }
};

TEST_F(ChildProcessTest, KeepsOutputsApartAndTellsTheExitStatus) {
    auto child = start("echo $GREETING; echo oh >&2; exit 3");
    ASSERT_TRUE(child);
    const Result<int> status = child->wait(kPatience);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(*status, 3);
    EXPECT_EQ(read_file(file("out")), "hello\n");
    EXPECT_EQ(read_file(file("err")), "oh\n");
}

TEST_F(ChildProcessTest, AProgramThatIsNotThereEndsWith127AndSaysSo) {
    auto child = ChildProcess::start({"/nowhere/at-all"}, file("out"), file("err"));
    ASSERT_TRUE(child);
    EXPECT_EQ(*child->wait(kPatience), 127);
    EXPECT_NE(read_file(file("err")).find("/nowhere/at-all"), std::string::npos);
}

TEST_F(ChildProcessTest, WaitingIsBoundedAndOneThatIgnoresSigtermIsKilled) {
    auto child = start("trap '' TERM; echo ready; while :; do read -r line; done </dev/zero");
    ASSERT_TRUE(child);
    const Result<int> status = child->wait(milliseconds(20));
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message.find("20 ms"), std::string::npos);
    child->stop(milliseconds(20));
    child->stop(milliseconds(20));  // the second time there is nothing to stop
}

TEST_F(ChildProcessTest, OutputOfACommandOrWhatItSaidWhenItFailed) {
    const Result<std::string> done = output_of({"echo", "words"}, folder.path(), kPatience);
    ASSERT_TRUE(done);
    EXPECT_EQ(*done, "words\n");
    const Result<std::string> failed = output_of({"sh", "-c", "echo why >&2; exit 4"}, folder.path(), kPatience);
    ASSERT_FALSE(failed);
    EXPECT_NE(failed.error().message.find("ended with 4 why"), std::string::npos) << failed.error().message;
}

}  // namespace
}  // namespace bowline::tools
