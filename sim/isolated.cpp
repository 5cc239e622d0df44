#include "sim/isolated.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol/check.hpp"

namespace bowline::sim {

namespace {

constexpr char kReturned = 'R';

[[noreturn]] void be_child(const std::function<std::string()>& work, int out) {
    // What an assertion says goes where the result would.
    ::dup2(out, STDERR_FILENO);
    std::signal(SIGABRT, SIG_DFL);
    const std::string text = kReturned + work();
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t written = ::write(out, text.data() + done, text.size() - done);
        if (written <= 0) {
            break;
        }
        done += static_cast<std::size_t>(written);
    }
    ::_exit(0);
}

std::int64_t real_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

/// Everything that comes until the other end closes; false when that does not happen by `end`.
bool read_all(int in, std::int64_t end, std::string& text) {
    for (;;) {
        const std::int64_t left_ms = (end - real_ns()) / 1'000'000;
        pollfd ready{.fd = in, .events = POLLIN, .revents = 0};
        const int count = ::poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, 3'600'000)));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return false;
        }
        std::array<char, 4096> bytes{};
        const ssize_t got = ::read(in, bytes.data(), bytes.size());
        if (got <= 0) {
            return true;
        }
        text.append(bytes.data(), static_cast<std::size_t>(got));
    }
}

}  // namespace

Isolated run_isolated(const std::function<std::string()>& work, Duration patience) {
    std::fflush(nullptr);  // or the child would print it again
    std::array<int, 2> ends{};
    BOWLINE_CHECK(::pipe(ends.data()) == 0);
    const pid_t child = ::fork();
    BOWLINE_CHECK(child >= 0);
    if (child == 0) {
        ::close(ends[0]);
        be_child(work, ends[1]);
    }
    ::close(ends[1]);
    Isolated result;
    const bool ended = read_all(ends[0], real_ns() + patience.ns(), result.text);
    ::close(ends[0]);
    if (!ended) {
        ::kill(child, SIGKILL);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!ended) {
        result.end = Isolated::End::hung;
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !result.text.empty() &&
               result.text.front() == kReturned) {
        result.text.erase(0, 1);
    } else {
        result.end = Isolated::End::broken;
    }
    return result;
}

}  // namespace bowline::sim
