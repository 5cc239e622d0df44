#include "tools/control_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

namespace bowline::tools {

namespace {

// After an accept() that failed for want of descriptors: those who wait stay in the queue meanwhile.
constexpr std::chrono::milliseconds kAcceptPause{100};

}  // namespace

ControlServer::ControlServer(ListeningSocket socket, const Limits& limits)
    : socket_(std::move(socket)), limits_(limits), end_(::eventfd(0, EFD_CLOEXEC)) {}

ControlServer::~ControlServer() {
    if (thread_.joinable()) {
        ::eventfd_write(end_.get(), 1);
        thread_.join();
    }
}

void ControlServer::serve(Answer answer, Refuse refuse) {
    answer_ = std::move(answer);
    refuse_ = std::move(refuse);
    // Signals are for the application's thread: it sleeps less if they reach it.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

int ControlServer::timeout_ms() const {
    Clock::time_point first = Clock::time_point::max();
    for (const Client& client : clients_) {
        first = std::min(first, client.deadline);
    }
    const Clock::time_point now = Clock::now();
    if (accept_at_ > now) {
        first = std::min(first, accept_at_);
    }
    if (first == Clock::time_point::max()) {
        return -1;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - now).count();
    return static_cast<int>(std::max<std::int64_t>(left, 0));
}

void ControlServer::run() {
    std::vector<pollfd> polled;
    for (;;) {
        const bool accepts = accept_at_ <= Clock::now();
        polled.clear();
        polled.push_back({.fd = end_.get(), .events = POLLIN, .revents = 0});
        polled.push_back({.fd = accepts ? socket_.fd() : -1, .events = POLLIN, .revents = 0});
        for (const Client& client : clients_) {
            // Whoever does not take an answer gets to ask no more.
            const short events = client.out.empty() ? POLLIN : POLLOUT;
            polled.push_back({.fd = client.fd.get(), .events = events, .revents = 0});
        }
        if (::poll(polled.data(), polled.size(), timeout_ms()) < 0 && errno != EINTR) {
            return;
        }
        if (polled[0].revents != 0) {
            return;
        }
        std::size_t at = 2;
        const Clock::time_point now = Clock::now();
        for (Client& client : clients_) {
            const short events = polled[at++].revents;
            if (events != 0) {
                turn(client);
            } else if (client.deadline <= now) {
                client.dead = true;
            }
        }
        clients_.remove_if([](const Client& client) { return client.dead; });
        if (polled[1].revents != 0) {
            accept();
        }
    }
}

void ControlServer::accept() {
    UniqueFd fd(::accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            accept_at_ = Clock::now() + kAcceptPause;
        }
        return;
    }
    if (clients_.size() >= limits_.clients) {
        const std::string refusal = refuse_("too many clients: try again") + '\n';
        static_cast<void>(::send(fd.get(), refusal.data(), refusal.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
        return;
    }
    Client& client = clients_.emplace_back();
    client.fd = std::move(fd);
    client.deadline = Clock::now() + limits_.patience;
}

void ControlServer::turn(Client& client) {
    if (client.out.empty()) {
        read(client);
    } else {
        write(client);
    }
    answer_lines(client);
}

void ControlServer::read(Client& client) {
    std::array<char, 16384> chunk{};
    const ssize_t got = ::recv(client.fd.get(), chunk.data(), chunk.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got <= 0) {
        client.dead = true;
        return;
    }
    client.in.append(chunk.data(), static_cast<std::size_t>(got));
}

/// Until one of the answers is not taken at once.
void ControlServer::answer_lines(Client& client) {
    while (!client.dead && client.out.empty()) {
        const std::size_t end = client.in.find('\n');
        const std::size_t length = end == std::string::npos ? client.in.size() : end;
        if (length > limits_.line_bytes) {
            client.out = refuse_("the request is longer than " + std::to_string(limits_.line_bytes) + " bytes");
            client.last = true;
        } else if (end == std::string::npos) {
            return;
        } else {
            const std::string line = client.in.substr(0, end);
            client.in.erase(0, end + 1);
            try {
                client.out = answer_(line);
            } catch (const std::exception& error) {
                client.out = refuse_(error.what());
            }
        }
        client.out += '\n';
        client.written = 0;
        client.deadline = Clock::now() + limits_.patience;
        write(client);
    }
}

void ControlServer::write(Client& client) {
    while (client.written < client.out.size()) {
        const ssize_t sent = ::send(client.fd.get(), client.out.data() + client.written,
                                    client.out.size() - client.written, MSG_NOSIGNAL);
        if (sent < 0) {
            client.dead = errno != EAGAIN && errno != EINTR;
            return;
        }
        client.written += static_cast<std::size_t>(sent);
    }
    client.out.clear();
    client.deadline = Clock::now() + limits_.patience;
    client.dead = client.last;
}

}  // namespace bowline::tools
