#include "tools/control_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

namespace bowline::tools {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kSuffix = ".sock";
constexpr std::size_t kAnswerBytesMax = std::size_t{256} << 20U;

Error failure(std::string message) { return {Error::Kind::system, std::move(message)}; }
std::string words(int error) { return std::generic_category().message(error); }

std::optional<sockaddr_un> address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        return std::nullopt;
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

Error too_long(const std::string& path) {
    return failure(fmt::format("{}: a socket's path has at most {} bytes: name a shorter one with control_socket", path,
                               sizeof(sockaddr_un::sun_path) - 1));
}

template <typename Call>
int with_address(const sockaddr_un& address, Call&& call) {
    return call(static_cast<const sockaddr*>(static_cast<const void*>(&address)), sizeof address);
}

// Connected, or errno.
struct Connected {
    UniqueFd fd;
    int error = 0;
};
// `patience`: how long to wait for a place in a full queue; 0: not at all (EAGAIN).
Connected connect_to(const sockaddr_un& address, std::chrono::milliseconds patience) {
    const int flags = SOCK_STREAM | SOCK_CLOEXEC | (patience.count() == 0 ? SOCK_NONBLOCK : 0);
    UniqueFd fd(::socket(AF_UNIX, flags, 0));
    const timeval timeout{.tv_sec = patience.count() / 1000, .tv_usec = patience.count() % 1000 * 1000};
    if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) != 0) {
        return {.fd = {}, .error = errno};
    }
    int done = -1;
    do {
        done = with_address(address, [&](const sockaddr* to, socklen_t size) { return ::connect(fd.get(), to, size); });
    } while (done != 0 && errno == EINTR);
    if (done != 0 || ::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) {
        return {.fd = {}, .error = errno};
    }
    return {.fd = std::move(fd), .error = 0};
}

// Why the folder cannot be used, or nothing: it is there, it is ours, and nobody else can put a socket of theirs there.
std::optional<std::string> prepare_folder(const std::string& folder) {
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
        return words(errno);
    }
    struct stat info {};
    if (::lstat(folder.c_str(), &info) != 0) {
        return words(errno);
    }
    if (!S_ISDIR(info.st_mode)) {
        return "not a folder";
    }
    const bool is_ours = info.st_uid == ::geteuid();
    if (!is_ours && info.st_uid != 0) {
        return "belongs to somebody else";
    }
    if ((info.st_mode & S_IWOTH) != 0 || (is_ours && (info.st_mode & S_IWGRP) != 0)) {
        return "others may write to it";
    }
    return ::access(folder.c_str(), W_OK | X_OK) == 0 ? std::nullopt : std::optional(words(errno));
}

// `%2F` back to `/`; a file that no node's name makes has none.
std::string node_of(std::string_view file) {
    std::string name;
    for (std::size_t i = 0; i < file.size(); ++i) {
        if (file[i] == '%' && i + 2 < file.size()) {
            name += static_cast<char>(std::strtol(std::string(file.substr(i + 1, 2)).c_str(), nullptr, 16));
            i += 2;
        } else {
            name += file[i];
        }
    }
    return name;
}

// Poll until the descriptor is ready or the time has come.
bool await(int fd, short events, Clock::time_point deadline) {
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd poll{.fd = fd, .events = events, .revents = 0};
        const int ready = ::poll(&poll, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
        if (ready >= 0 || errno != EINTR) {
            return ready > 0;
        }
    }
}

Result<void> send_all(int fd, std::string_view bytes, Clock::time_point deadline) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        } else if (errno != EAGAIN && errno != EINTR) {
            return failure(words(errno));
        } else if (!await(fd, POLLOUT, deadline)) {
            return failure("it does not take the request");
        }
    }
    return {};
}

Result<std::string> receive_line(int fd, Clock::time_point deadline) {
    std::string answer;
    std::array<char, 65536> chunk{};
    for (;;) {
        if (!await(fd, POLLIN, deadline)) {
            return failure("no answer in time");
        }
        const ssize_t got = ::recv(fd, chunk.data(), chunk.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            continue;
        }
        if (got <= 0) {
            return failure(got == 0 ? "it closed the connection without an answer" : words(errno));
        }
        answer.append(chunk.data(), static_cast<std::size_t>(got));
        if (const std::size_t end = answer.find('\n', answer.size() - static_cast<std::size_t>(got));
            end != std::string::npos) {
            answer.resize(end);
            return answer;
        }
        if (answer.size() > kAnswerBytesMax) {
            return failure("the answer does not end");
        }
    }
}

// Whether there is nothing at the path any more: the socket of a dead process is taken away.
Result<void> clear(const std::string& path, const sockaddr_un& address) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) {
        return errno == ENOENT ? Result<void>() : Result<void>(failure(fmt::format("{}: {}", path, words(errno))));
    }
    if (!S_ISSOCK(info.st_mode)) {
        return failure(path + ": there is something else than a socket: remove it, or name another control_socket");
    }
    const int error = connect_to(address, {}).error;
    if (error == 0 || error == EAGAIN) {
        return failure(
            path +
            ": another process listens here: a node of this name runs already; stop it (`bowline ctl stop`), or "
            "set control_socket to another path or to none");
    }
    if (error != ECONNREFUSED) {
        return failure(
            fmt::format("{}: a socket is there and cannot be asked whether its process lives: {}", path, words(error)));
    }
    if (::unlink(path.c_str()) != 0) {
        return failure(fmt::format("{}: the socket of a dead process cannot be removed: {}", path, words(errno)));
    }
    return {};
}

}  // namespace

std::vector<std::string> control_folders() {
    std::vector<std::string> folders = {"/run/bowline"};
    if (const char* const runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr && runtime[0] == '/') {
        folders.push_back(std::string(runtime) + "/bowline");
    }
    folders.push_back(fmt::format("/tmp/bowline-{}", ::geteuid()));
    return folders;
}

std::string socket_file_name(std::string_view node) {
    std::string file;
    for (const char c : node) {
        const bool escaped = c == '/' || c == '%' || (c == '.' && file.empty());
        file += escaped ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
    }
    return file + std::string(kSuffix);
}

Result<std::string> choose_socket_path(std::string_view node, std::span<const std::string> folders) {
    std::string reasons;
    for (const std::string& folder : folders) {
        const std::optional<std::string> reason = prepare_folder(folder);
        if (!reason) {
            return folder + '/' + socket_file_name(node);
        }
        reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", folder, *reason);
    }
    return failure("no folder for the control socket (" + reasons + "): set control_socket to a path, or to none");
}

std::vector<LiveSocket> find_sockets(std::span<const std::string> folders) {
    std::vector<LiveSocket> found;
    for (const std::string& folder : folders) {
        std::error_code error;
        for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
            const std::string file = entry.path().filename().string();
            const std::optional<sockaddr_un> address = address_of(entry.path().string());
            if (file.size() > kSuffix.size() && file.ends_with(kSuffix) && address &&
                connect_to(*address, {}).error == 0) {
                found.push_back({.path = entry.path().string(),
                                 .node = node_of(std::string_view(file).substr(0, file.size() - kSuffix.size()))});
            }
        }
    }
    std::sort(found.begin(), found.end(), [](const LiveSocket& a, const LiveSocket& b) { return a.node < b.node; });
    return found;
}

// — ListeningSocket —

ListeningSocket::ListeningSocket(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {
    struct stat info {};
    if (::lstat(path_.c_str(), &info) == 0) {
        device_ = info.st_dev;
        inode_ = info.st_ino;
    }
}

ListeningSocket::~ListeningSocket() {
    struct stat info {};
    if (fd_ && ::lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_) {
        ::unlink(path_.c_str());
    }
}

Result<ListeningSocket> ListeningSocket::at(const std::string& path) {
    const std::optional<sockaddr_un> address = address_of(path);
    if (!address) {
        return too_long(path);
    }
    const std::string folder = std::filesystem::path(path).parent_path().string();
    // Of two that start at once, one must not take the other's new socket for a dead one's.
    const UniqueFd lock(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock) {
        return failure(fmt::format("{}: the control socket's folder: {}", folder, words(errno)));
    }
    while (::flock(lock.get(), LOCK_EX) != 0 && errno == EINTR) {
    }
    if (const Result<void> cleared = clear(path, *address); !cleared) {
        return cleared.error();
    }
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // The file takes its mode from the socket, so that there is no moment in which others could connect.
    const bool made =
        fd && ::fchmod(fd.get(), 0600) == 0 &&
        with_address(*address, [&](const sockaddr* at, socklen_t size) { return ::bind(fd.get(), at, size); }) == 0 &&
        ::listen(fd.get(), 64) == 0;
    if (!made) {
        return failure(
            fmt::format("{}: cannot make the control socket: {}; set control_socket to another path, or to none", path,
                        words(errno)));
    }
    return ListeningSocket(path, std::move(fd));
}

// — asking —

Result<std::string> ask_socket(const std::string& path, std::string_view line, std::chrono::milliseconds patience) {
    const std::optional<sockaddr_un> address = address_of(path);
    if (!address) {
        return too_long(path);
    }
    const Clock::time_point deadline = Clock::now() + patience;
    const Connected connected = connect_to(*address, patience);
    if (!connected.fd) {
        const char* const what = connected.error == ECONNREFUSED ? ": its process has died"
                                 : connected.error == EACCES
                                     ? ": it belongs to another user; ask as that one or as root"
                                 : connected.error == ENOENT ? ": no node listens here"
                                                             : "";
        return failure(fmt::format("{}: {}{}", path, words(connected.error), what));
    }
    if (const Result<void> sent = send_all(connected.fd.get(), std::string(line) + '\n', deadline); !sent) {
        return failure(path + ": " + sent.error().message);
    }
    Result<std::string> answer = receive_line(connected.fd.get(), deadline);
    return answer ? std::move(answer) : Result<std::string>(failure(path + ": " + answer.error().message));
}

}  // namespace bowline::tools
