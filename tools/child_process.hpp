#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <sys/types.h>

#include "bowline/result.hpp"
#include "tools/unique_fd.hpp"

namespace bowline::tools {

/// A process that this one has started. It does not outlive its object, nor this process. Owner: one thread.
class ChildProcess {
public:
    /// `command`: the program, found by PATH, and its arguments. Its outputs go to the files `out` and `err`, and
    /// `environment` (NAME=VALUE) is set on top of this process's own.
    static Result<ChildProcess> start(const std::vector<std::string>& command, const std::string& out,
                                      const std::string& err, const std::vector<std::string>& environment = {});
    ChildProcess(ChildProcess&& other) noexcept;
    ChildProcess& operator=(ChildProcess&&) = delete;
    ~ChildProcess();

    /// Its exit status (128 and the signal's number for one that a signal has ended). An error when it has not ended
    /// within `patience`, or when this process was told to stop meanwhile.
    Result<int> wait(std::chrono::milliseconds patience);
    /// SIGTERM; SIGKILL when it has not ended within `patience`. Returns when it is gone.
    void stop(std::chrono::milliseconds patience);

private:
    ChildProcess(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
    bool ends_within(std::chrono::milliseconds patience, bool until_told_to_stop);
    int collect();

    pid_t pid_ = -1;  ///< -1: collected
    UniqueFd pidfd_;
};

/// Runs `command` to its end; its output, or an error that has its standard error.
Result<std::string> output_of(const std::vector<std::string>& command, const std::string& folder,
                              std::chrono::milliseconds patience);

/// All of a file; empty when it cannot be read.
std::string read_file(const std::string& path);

}  // namespace bowline::tools
