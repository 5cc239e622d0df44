#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "bowline/result.hpp"
#include "tools/unique_fd.hpp"

// Where a node and `bowline ctl` meet: a Unix stream socket of mode 0600, named after the node in one of a few folders.

namespace bowline::tools {

/// The folders in which sockets are looked for, the preferred one first: /run/bowline, $XDG_RUNTIME_DIR/bowline,
/// /tmp/bowline-UID.
std::vector<std::string> control_folders();

/// `FOLDER/NAME.sock` in the first of the folders that can be used; it is made if it is not there. A folder that others
/// may write is not used. Error: why each cannot be.
Result<std::string> choose_socket_path(std::string_view node, std::span<const std::string> folders);

/// A node's name as a file's: `/`, `%` and a leading dot are escaped as in a URL.
std::string socket_file_name(std::string_view node);

/// A socket behind which somebody listens.
struct LiveSocket {
    std::string path;
    std::string node;
};
/// All of them in these folders, sorted by name. Those of dead processes are left out, and those that this user may
/// not connect to.
std::vector<LiveSocket> find_sockets(std::span<const std::string> folders);

/// A listening socket at a path, which is removed at the end.
class ListeningSocket {
public:
    /// The socket of a dead process at that path is replaced. Error: somebody alive listens there, something else than
    /// a socket is there, or the file system refuses.
    static Result<ListeningSocket> at(const std::string& path);
    ListeningSocket(ListeningSocket&& other) noexcept = default;
    ListeningSocket& operator=(ListeningSocket&& other) noexcept = delete;
    ~ListeningSocket();

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    ListeningSocket(std::string path, UniqueFd fd);

    std::string path_;
    UniqueFd fd_;
    dev_t device_ = 0;  ///< of the file, so that no other process's is removed
    ino_t inode_ = 0;
};

/// Sends a line to the socket and returns the line that comes back, without its end, within `patience`.
Result<std::string> ask_socket(const std::string& path, std::string_view line, std::chrono::milliseconds patience);

}  // namespace bowline::tools
