#include "tools/child_process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/stop_flag.hpp"

namespace bowline::tools {

namespace {

Error failed(const std::string& what) {
    return {Error::Kind::system, fmt::format("{}: {}", what, std::strerror(errno))};
}

constexpr int kNotStarted = 127;

/// Becomes readable when the process ends. glibc 2.36 declares its own pidfd_open() for C only.
int open_pidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

/// In the child, after fork(): never returns.
[[noreturn]] void become(const std::vector<std::string>& command, int out, int err,
                         const std::vector<std::string>& environment, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(kNotStarted);  // it has ended before it could be watched
    }
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) {
        std::signal(signal, SIG_DFL);
    }
    for (const std::string& setting : environment) {
        const std::size_t equals = setting.find('=');
        setenv(setting.substr(0, equals).c_str(), setting.substr(equals + 1).c_str(), 1);
    }
    std::vector<char*> words;
    for (const std::string& word : command) {
        words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execvp(words[0], words.data());
    fmt::print(stderr, "{}: {}\n", command.front(), std::strerror(errno));
    _exit(kNotStarted);
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& command, const std::string& out,
                                         const std::string& err, const std::vector<std::string>& environment) {
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    const UniqueFd out_fd(::open(out.c_str(), flags, 0600));
    const UniqueFd err_fd(::open(err.c_str(), flags, 0600));
    if (!out_fd || !err_fd) {
        return failed(fmt::format("cannot write '{}'", out_fd ? err : out));
    }
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) {
        return failed(fmt::format("cannot start '{}'", command.front()));
    }
    if (pid == 0) {
        become(command, out_fd.get(), err_fd.get(), environment, parent);
    }
    return ChildProcess(pid, UniqueFd(open_pidfd(pid)));
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)) {}

ChildProcess::~ChildProcess() {
    if (pid_ >= 0) {
        kill(pid_, SIGKILL);
        collect();
    }
}

bool ChildProcess::ends_within(std::chrono::milliseconds patience, bool until_told_to_stop) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + patience;
    while (!until_told_to_stop || !stop_requested()) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        // In turns, since a signal may come between the look at the flag and the wait.
        constexpr std::chrono::milliseconds turn(200);
        pollfd event = {pidfd_.get(), POLLIN, 0};
        if (poll(&event, 1, static_cast<int>(std::clamp(left, std::chrono::milliseconds(0), turn).count())) == 1) {
            return true;
        }
        if (left.count() <= 0) {
            break;
        }
    }
    return false;
}

int ChildProcess::collect() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Result<int> ChildProcess::wait(std::chrono::milliseconds patience) {
    if (ends_within(patience, true)) {
        return collect();
    }
    return Error{Error::Kind::system,
                 stop_requested() ? "interrupted" : fmt::format("it did not end within {} ms", patience.count())};
}

void ChildProcess::stop(std::chrono::milliseconds patience) {
    if (pid_ >= 0) {
        kill(pid_, SIGTERM);
        if (!ends_within(patience, false)) {
            kill(pid_, SIGKILL);
        }
        collect();
    }
}

Result<std::string> output_of(const std::vector<std::string>& command, const std::string& folder,
                              std::chrono::milliseconds patience) {
    const std::string out = folder + "/command.out";
    const std::string err = folder + "/command.err";
    Result<ChildProcess> child = ChildProcess::start(command, out, err);
    if (!child) {
        return child.error();
    }
    const Result<int> status = child->wait(patience);
    if (status && *status == 0) {
        return read_file(out);
    }
    std::string line;
    for (const std::string& word : command) {
        line += (line.empty() ? "" : " ") + word;
    }
    return Error{Error::Kind::system,
                 fmt::format("`{}`: {} {}", line,
                             status ? fmt::format("ended with {}", *status) : status.error().message, read_file(err))};
}

std::string read_file(const std::string& path) {
    const std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

}  // namespace bowline::tools
