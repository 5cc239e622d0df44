#include "sim/scenario_files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace bowline::sim {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> scenario_files() {
    std::vector<std::string> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(BOWLINE_SCENARIOS)) {
        if (entry.path().extension() == ".scn") {
            files.push_back(entry.path().string());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

TEST(ScenarioFiles, EveryScenarioOfTheTreeIsOk) {
    const std::vector<std::string> files = scenario_files();
    EXPECT_GE(files.size(), 60U);
    std::size_t done = 0;
    run_files(files, std::max(std::thread::hardware_concurrency(), 1U), [&](const FileResult& result) {
        EXPECT_EQ(result.verdict, FileVerdict::ok) << result.report;
        EXPECT_EQ(result.report, files[done] + ": ok");  // in order
        ++done;
    });
    EXPECT_EQ(done, files.size());
}

class ScenarioFile : public testing::Test {
protected:
    ~ScenarioFile() override { fs::remove(path_); }
    FileResult run(std::string_view text) {
        std::ofstream(path_) << text;
        Arena arena;
        return run_file(path_.string(), arena);
    }
    [[nodiscard]] std::string name() const { return path_.string(); }

private:
    fs::path path_ = fs::temp_directory_path() / fs::path("bowline-scenario-" + std::to_string(::getpid()) + ".scn");
};

TEST_F(ScenarioFile, IsNamedWithTheLineOfWhatIsWrong) {
    EXPECT_EQ(run("nodes A B\nat 0us send A B 1\nrun quiet\n").report, name() + ": ok");
    const FileResult refused = run("nodes A B\n\nat 0us sned A B 1\n");
    EXPECT_EQ(refused.verdict, FileVerdict::unusable);
    EXPECT_EQ(refused.report.find(name() + ":3: unknown action 'sned'; did you mean 'send'?"), 0U) << refused.report;
    const FileResult failed = run("nodes A B\nat 0us send A B 1\nrun quiet\nexpect delivered B from A = 1..2\n");
    EXPECT_EQ(failed.verdict, FileVerdict::failed);
    EXPECT_EQ(failed.report.find(name() + ":4: expected delivered B from A = 1..2, seen 1\n"), 0U) << failed.report;
}

TEST_F(ScenarioFile, ThatIsNotThereIsUnusable) {
    Arena arena;
    const FileResult result = run_file("/nonexistent.scn", arena);
    EXPECT_EQ(result.verdict, FileVerdict::unusable);
    EXPECT_EQ(result.report, "/nonexistent.scn: cannot read the scenario: No such file or directory");
    EXPECT_EQ(run_file("/", arena).report, "/: cannot read the scenario: Is a directory");
}

}  // namespace
}  // namespace bowline::sim
