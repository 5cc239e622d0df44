#include "tools/input_blocks.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace bowline::tools {
namespace {

using Cut = InputBlocks::Cut;
using State = InputBlocks::State;

// A pipe whose ends close with it.
class Pipe {
public:
    Pipe() { EXPECT_EQ(::pipe(ends_.data()), 0); }
    ~Pipe() {
        ::close(ends_[0]);
        end();
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    [[nodiscard]] int reader() const { return ends_[0]; }
    void put(std::string_view text) const {
        ASSERT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    void end() {
        if (ends_[1] >= 0) {
            ::close(ends_[1]);
            ends_[1] = -1;
        }
    }

private:
    std::array<int, 2> ends_{};
};

std::string text_of(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        text += static_cast<char>(byte);
    }
    return text;
}

// What comes until there is nothing now, or nothing any more.
std::vector<std::string> take(InputBlocks& input, State expected) {
    std::vector<std::string> blocks;
    State state = input.next();
    for (; state == State::ready; state = input.next()) {
        blocks.push_back(text_of(input.block()));
    }
    EXPECT_EQ(state, expected) << input.error();
    return blocks;
}

using Strings = std::vector<std::string>;

TEST(InputBlocks, CutsBlocksAndHandsOutWhatIsThere) {
    Pipe pipe;
    InputBlocks input(pipe.reader(), Cut::blocks, 4);
    EXPECT_EQ(take(input, State::waiting), Strings());
    pipe.put("abcdefghij");
    EXPECT_EQ(take(input, State::waiting), (Strings{"abcd", "efgh", "ij"})) << "nothing is held back";
    pipe.put("k");
    pipe.end();
    EXPECT_EQ(take(input, State::end), Strings{"k"});
    EXPECT_EQ(take(input, State::end), Strings()) << "the end stays";
}

TEST(InputBlocks, KeepsALineUntilItIsComplete) {
    Pipe pipe;
    InputBlocks input(pipe.reader(), Cut::lines, 100);
    pipe.put("one\n\ntw");
    EXPECT_EQ(take(input, State::waiting), (Strings{"one\n", "\n"}));
    EXPECT_EQ(take(input, State::waiting), Strings());
    pipe.put("o\nthree");
    EXPECT_EQ(take(input, State::waiting), Strings{"two\n"});
    pipe.end();
    EXPECT_EQ(take(input, State::end), Strings{"three"}) << "the last line needs no newline";
}

TEST(InputBlocks, NamesTheLineThatIsTooLong) {
    Pipe pipe;
    InputBlocks input(pipe.reader(), Cut::lines, 4);
    pipe.put("abc\nabcd\n");
    EXPECT_EQ(take(input, State::failed), Strings{"abc\n"});
    EXPECT_NE(input.error().find("line 2 of standard input is longer than the 4 bytes"), std::string::npos)
        << input.error();
    EXPECT_EQ(input.next(), State::failed) << "and stays failed";
}

TEST(InputBlocks, FindsALineTooLongBeforeItsEnd) {
    Pipe pipe;
    InputBlocks input(pipe.reader(), Cut::lines, 4);
    pipe.put("abcde");
    EXPECT_EQ(take(input, State::failed), Strings());
}

TEST(InputBlocks, SaysWhyItCannotRead) {
    InputBlocks input(-1, Cut::blocks, 4);
    EXPECT_EQ(input.next(), State::waiting) << "poll(2) ignores it";
    const int directory = ::open("/", O_RDONLY | O_DIRECTORY);
    InputBlocks unreadable(directory, Cut::blocks, 4);
    EXPECT_EQ(unreadable.next(), State::failed);
    EXPECT_EQ(unreadable.error(), "cannot read standard input: Is a directory");
    ::close(directory);
}

// Far more than the buffer holds, in pieces that end anywhere.
TEST(InputBlocks, LosesNothingWhileItsBufferGoesRound) {
    for (const Cut cut : {Cut::blocks, Cut::lines}) {
        Pipe pipe;
        InputBlocks input(pipe.reader(), cut, 1000);
        std::string sent;
        std::string received;
        for (std::size_t piece = 0; sent.size() < 1'000'000; ++piece) {
            std::string text;
            while (text.size() < 4000) {
                text += std::string(piece * 7919 % 900, static_cast<char>('a' + piece % 26)) +
                        std::to_string(text.size()) + '\n';
            }
            text.resize(text.size() - piece % 5);
            if (piece % 5 != 0) {
                text += '\n';
            }
            pipe.put(text);
            sent += text;
            for (const std::string& block : take(input, State::waiting)) {
                EXPECT_LE(block.size(), 1000U);
                received += block;
            }
        }
        pipe.end();
        for (const std::string& block : take(input, State::end)) {
            received += block;
        }
        EXPECT_EQ(received, sent);
    }
}

TEST(InputBlocks, LeavesTheByteBeforeABlockToTheCaller) {
    Pipe pipe;
    InputBlocks input(pipe.reader(), Cut::blocks, 2);
    pipe.put("abcdef");
    std::string received;
    while (input.next() == State::ready) {
        *(input.block().data() - 1) = std::byte{'!'};
        received += text_of(input.block());
    }
    EXPECT_EQ(received, "abcdef");
}

}  // namespace
}  // namespace bowline::tools
