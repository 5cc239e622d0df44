#include "tools/output_stream.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace bowline::tools {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string read_some(int fd, std::size_t most) {
    std::string text(most, '\0');
    const ssize_t got = ::read(fd, text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

TEST(OutputStream, WritesAtOnceWhatAPipeTakesAndKeepsTheRest) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    OutputStream output(ends[1]);
    std::string sent;
    for (std::size_t i = 0; i < 300'000; ++i) {
        sent += static_cast<char>('a' + i % 23);
    }
    output.write(bytes_of(sent));  // returns although nobody reads
    EXPECT_GT(output.pending(), 0U);
    EXPECT_EQ(output.flush_some(), 0U) << "the pipe is full";
    std::string received;
    while (received.size() < sent.size()) {
        received += read_some(ends[0], 10'000);
        output.flush_some();
    }
    EXPECT_EQ(output.pending(), 0U);
    EXPECT_EQ(received, sent);
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST(OutputStream, SaysThatItsReaderIsGone) {
    std::signal(SIGPIPE, SIG_IGN);
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    ::close(ends[0]);
    OutputStream output(ends[1]);
    output.write(bytes_of("hello"));
    EXPECT_EQ(output.error(), "Broken pipe");
    EXPECT_EQ(output.pending(), 0U) << "kept for nobody";
    ::close(ends[1]);
}

TEST(OutputStream, WritesFilesWithoutABacklog) {
    std::string path = "/tmp/bowline-output-XXXXXX";
    const int fd = ::mkstemp(path.data());
    ASSERT_GE(fd, 0);
    OutputStream output(fd);
    const std::string text(1'000'000, 'x');
    output.write(bytes_of(text));
    EXPECT_EQ(output.pending(), 0U);
    EXPECT_EQ(::lseek(fd, 0, SEEK_END), static_cast<off_t>(text.size()));
    ::close(fd);
    ::unlink(path.c_str());
}

TEST(OutputStream, SaysThatTheDiskIsFull) {
    const int fd = ::open("/dev/full", O_WRONLY);
    ASSERT_GE(fd, 0);
    OutputStream output(fd);
    output.write(bytes_of("hello"));
    EXPECT_EQ(output.error(), "No space left on device");
    ::close(fd);
}

}  // namespace
}  // namespace bowline::tools
