#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <thread>

#include "tools/control_socket.hpp"
#include "tools/unique_fd.hpp"

namespace bowline::tools {

/// Answers lines with lines on a Unix socket, on a thread of its own. Everything is bounded: clients, the length of a
/// request, and the time that a client may take; one that keeps none of them is told, if it can be, and dropped.
///
/// Thread: made, started and destroyed by one; `answer` is called on the server's.
class ControlServer {
public:
    struct Limits {
        std::size_t clients = 16;
        std::size_t line_bytes = std::size_t{64} << 10U;
        /// For a request to come whole, for its answer to be taken, and between the two.
        std::chrono::milliseconds patience{10'000};
    };
    /// A request, without its end of line, to its answer, without one. May take its time: requests are answered one
    /// after the other.
    using Answer = std::function<std::string(std::string_view)>;
    /// How the server itself refuses, as an answer to the client.
    using Refuse = std::function<std::string(std::string_view reason)>;

    explicit ControlServer(ListeningSocket socket) : ControlServer(std::move(socket), Limits()) {}
    ControlServer(ListeningSocket socket, const Limits& limits);
    ~ControlServer();
    ControlServer(const ControlServer&) = delete;
    ControlServer& operator=(const ControlServer&) = delete;

    /// Starts the thread; who has connected meanwhile is answered now.
    void serve(Answer answer, Refuse refuse);
    [[nodiscard]] const std::string& path() const { return socket_.path(); }

private:
    using Clock = std::chrono::steady_clock;
    struct Client {
        UniqueFd fd;
        std::string in;
        std::string out;
        std::size_t written = 0;
        Clock::time_point deadline;
        bool last = false;  ///< gone when what is in `out` has left
        bool dead = false;
    };

    void run();
    void accept();
    void turn(Client& client);
    void read(Client& client);
    void answer_lines(Client& client);
    void write(Client& client);
    [[nodiscard]] int timeout_ms() const;

    ListeningSocket socket_;
    Limits limits_;
    UniqueFd end_;  ///< an eventfd
    Answer answer_;
    Refuse refuse_;
    std::list<Client> clients_;
    Clock::time_point accept_at_;
    std::thread thread_;
};

}  // namespace bowline::tools
