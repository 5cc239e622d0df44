#include "tools/control_server.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "scratch_folder.hpp"

namespace bowline::tools {
namespace {

using std::chrono::milliseconds;

// A client that behaves as badly as a test wants.
class RawClient {
public:
    explicit RawClient(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
        EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    }
    void send(std::string_view bytes) const {
        EXPECT_EQ(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    }
    /// As much as there is room for.
    void send_some(std::string_view bytes) const {
        static_cast<void>(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
    }
    /// Everything until there are `lines`, or until the server ends the connection.
    std::string receive(std::size_t lines) {
        std::string text;
        std::array<char, 65536> chunk{};
        while (lines > 0) {
            pollfd poll{.fd = fd_.get(), .events = POLLIN, .revents = 0};
            if (::poll(&poll, 1, 20'000) != 1) {
                ADD_FAILURE() << "no answer within 20s, after: " << text.substr(0, 100);
                break;
            }
            const ssize_t got = ::recv(fd_.get(), chunk.data(), chunk.size(), 0);
            if (got <= 0) {
                break;
            }
            text.append(chunk.data(), static_cast<std::size_t>(got));
            const auto ends = static_cast<std::size_t>(std::count(chunk.data(), chunk.data() + got, '\n'));
            lines -= std::min(lines, ends);
        }
        return text;
    }
    /// True when the server ends the connection, within bounded time.
    bool is_dropped() { return receive(1).empty() && !testing::Test::HasFailure(); }

private:
    UniqueFd fd_;
};

class ControlServerTest : public testing::Test {
protected:
    ControlServer& serve(const ControlServer::Limits& limits = {}) {
        Result<ListeningSocket> socket = ListeningSocket::at(path());
        EXPECT_TRUE(socket);
        server_ = std::make_unique<ControlServer>(*std::move(socket), limits);
        server_->serve([this](std::string_view line) { return answer(line); },
                       [](std::string_view reason) { return "refused: " + std::string(reason); });
        return *server_;
    }
    std::string answer(std::string_view line) {
        ++asked_;
        if (line == "throw") {
            throw std::runtime_error("what was thrown");
        }
        return line == "large" ? std::string(kLargeBytes, 'x') : "<" + std::string(line) + ">";
    }
    [[nodiscard]] std::string path() const { return folder_ / "a.sock"; }

    static constexpr std::size_t kLargeBytes = std::size_t{2} << 20U;  // more than a socket's buffer takes
    const ScratchFolder folder_;
    std::atomic<int> asked_{0};
    std::unique_ptr<ControlServer> server_;
};

TEST_F(ControlServerTest, AnswersLineByLine) {
    serve();
    for (const char* word : {"one", "two"}) {
        const Result<std::string> answer = ask_socket(path(), word, milliseconds(20'000));
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(*answer, "<" + std::string(word) + ">");
    }
    RawClient client(path());
    client.send("thr");
    client.send("ee\nfour\n\nfive");
    EXPECT_EQ(client.receive(3), "<three>\n<four>\n<>\n");
    client.send("\n");
    EXPECT_EQ(client.receive(1), "<five>\n");
}

TEST_F(ControlServerTest, HandsOutLargeAnswersPieceByPieceAndGoesOn) {
    serve();
    RawClient client(path());
    client.send("large\nnext\n");
    const std::string text = client.receive(2);
    ASSERT_EQ(text.size(), kLargeBytes + 1 + 7);
    EXPECT_EQ(text.substr(kLargeBytes), "\n<next>\n");
}

TEST_F(ControlServerTest, AnswersWhoHasConnectedBeforeItServed) {
    Result<ListeningSocket> socket = ListeningSocket::at(path());
    ASSERT_TRUE(socket);
    ControlServer server(*std::move(socket));
    RawClient early(path());
    early.send("early\n");
    server.serve([](std::string_view line) { return std::string(line); },
                 [](std::string_view) { return std::string(); });
    EXPECT_EQ(early.receive(1), "early\n");
}

TEST_F(ControlServerTest, EndsRequestsThatDoNotEnd) {
    serve({.clients = 16, .line_bytes = 100, .patience = milliseconds(20'000)});
    RawClient client(path());
    client.send(std::string(100, 'x') + '\n');
    EXPECT_EQ(client.receive(1).size(), 103U);
    client.send(std::string(101, 'x'));
    EXPECT_EQ(client.receive(2), "refused: the request is longer than 100 bytes\n") << "and then the end";
    EXPECT_EQ(asked_, 1);
}

TEST_F(ControlServerTest, RefusesMoreClientsThanItMayHave) {
    serve({.clients = 2, .line_bytes = 100, .patience = milliseconds(20'000)});
    auto first = std::make_unique<RawClient>(path());
    RawClient second(path());
    first->send("1\n");
    second.send("2\n");
    EXPECT_EQ(first->receive(1), "<1>\n");
    EXPECT_EQ(second.receive(1), "<2>\n");
    RawClient third(path());
    EXPECT_EQ(third.receive(2), "refused: too many clients: try again\n");
    first.reset();
    // The server sees the end of the first one no later than the next one's beginning: same turn or an earlier one.
    RawClient fourth(path());
    fourth.send_some("4\n");
    EXPECT_EQ(fourth.receive(1), "<4>\n");
}

TEST_F(ControlServerTest, DropsWhoIsSlow) {
    serve({.clients = 16, .line_bytes = 100, .patience = milliseconds(30)});
    RawClient silent(path());
    RawClient unfinished(path());
    unfinished.send("half a requ");
    EXPECT_TRUE(silent.is_dropped());
    EXPECT_TRUE(unfinished.is_dropped());
    EXPECT_EQ(asked_, 0);
}

TEST_F(ControlServerTest, DropsWhoDoesNotTakeItsAnswerAndServesOthersMeanwhile) {
    serve({.clients = 16, .line_bytes = 100, .patience = milliseconds(200)});
    RawClient greedy(path());
    greedy.send("large\n");
    const Result<std::string> other = ask_socket(path(), "other", milliseconds(20'000));
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_EQ(*other, "<other>");
    // Its connection ends in the middle of the answer; until then it gets another chance with every byte it reads, so
    // it reads none. A client that connects later than the greedy one is dropped later.
    RawClient later(path());
    EXPECT_TRUE(later.is_dropped());
    EXPECT_LT(greedy.receive(1).size(), kLargeBytes);
}

TEST_F(ControlServerTest, SurvivesAnAnswerThatThrowsAndClientsThatVanish) {
    serve();
    const Result<std::string> thrown = ask_socket(path(), "throw", milliseconds(20'000));
    ASSERT_TRUE(thrown);
    EXPECT_EQ(*thrown, "refused: what was thrown");
    for (int i = 0; i < 20; ++i) {
        RawClient gone(path());
        gone.send_some("large\n");
    }
    const Result<std::string> after = ask_socket(path(), "after", milliseconds(20'000));
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_EQ(*after, "<after>");
}

TEST_F(ControlServerTest, EndsAtOnceWithClientsConnected) {
    serve();
    RawClient idle(path());
    idle.send("x\n");
    EXPECT_EQ(idle.receive(1), "<x>\n");
    server_.reset();
    EXPECT_TRUE(idle.is_dropped());
    EXPECT_FALSE(std::filesystem::exists(path()));
}

}  // namespace
}  // namespace bowline::tools
