#include "tools/cat_frames.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace bowline::tools {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(CatFrames, ControlFramesSurviveTheTrip) {
    for (const CatKind kind : {CatKind::begin, CatKind::ready, CatKind::end, CatKind::confirm}) {
        const CatFrame frame{kind, 0x0123456789ABCDEF, 1U << 20U, 64, {}};
        EXPECT_EQ(decode_control(encode(frame)), frame);
    }
    const CatFrame refusal{CatKind::refuse, 7, 0, 0, "cannot write standard output: No space left on device"};
    EXPECT_EQ(decode_control(encode(refusal)), refusal);
}

TEST(CatFrames, TextIsBoundedAndPrintable) {
    const CatFrame refusal{CatKind::refuse, 7, 0, 0, "\x1b[2J" + std::string(1000, 'x')};
    const auto decoded = decode_control(encode(refusal));
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->text, "?[2J" + std::string(kCatTextMax - 4, 'x'));
}

TEST(CatFrames, DataIsWhatFollowsItsKind) {
    const auto data = decode_data(bytes_of("\xC3hello"));
    ASSERT_TRUE(data);
    EXPECT_TRUE(std::ranges::equal(*data, bytes_of("hello")));
    EXPECT_TRUE(decode_data(bytes_of("\xC3"))->empty());
    EXPECT_FALSE(decode_data({}));
    EXPECT_FALSE(decode_data(bytes_of("hello")));
}

TEST(CatFrames, RefusesWhatAnotherProgramSent) {
    std::vector<std::byte> good = encode({CatKind::end, 1, 2, 3, {}});
    EXPECT_FALSE(decode_control({}));
    EXPECT_FALSE(decode_control(std::span(good).first(good.size() - 1))) << "cut short";
    std::vector<std::byte> longer = good;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(decode_control(longer)) << "only refusals have text";
    std::vector<std::byte> other = good;
    other[3] ^= std::byte{1};
    EXPECT_FALSE(decode_control(other)) << "magic";
    good[0] = static_cast<std::byte>(CatKind::data);
    EXPECT_FALSE(decode_control(good)) << "data is no control frame";
    good[0] = std::byte{0};
    EXPECT_FALSE(decode_control(good)) << "unknown kind";
}

}  // namespace
}  // namespace bowline::tools
