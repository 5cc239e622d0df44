#include "tools/flood_frames.hpp"

#include <array>

#include <gtest/gtest.h>

namespace bowline::tools {
namespace {

TEST(FloodFrames, SurviveTheTrip) {
    const FloodReport report{.id = 1, .messages = 2, .bytes = 3, .sum = 4, .misplaced = 5, .elapsed_ns = 6};
    for (const FloodKind kind : {FloodKind::start, FloodKind::ready, FloodKind::finish, FloodKind::report}) {
        const auto frame = decode_flood(encode(kind, report));
        ASSERT_TRUE(frame);
        EXPECT_EQ(frame->kind, kind);
        EXPECT_EQ(frame->report, report);
    }
}

TEST(FloodFrames, RefuseWhatIsNone) {
    std::vector<std::byte> frame = encode(FloodKind::start, {});
    EXPECT_FALSE(decode_flood({}));
    EXPECT_FALSE(decode_flood(std::span(frame).first(frame.size() - 1)));
    frame[0] = static_cast<std::byte>(FloodKind::data);
    EXPECT_FALSE(decode_flood(frame));
    frame[0] = static_cast<std::byte>(FloodKind::start);
    frame[7] ^= std::byte{1};
    EXPECT_FALSE(decode_flood(frame));
}

TEST(FloodFrames, WordHoldsKindAndNumber) {
    std::array<std::byte, 8> message{};
    store_u64(message.data(), flood_word(0x123456));
    EXPECT_EQ(message[0], static_cast<std::byte>(FloodKind::data));
    EXPECT_EQ(load_u64(message.data()) >> 8U, 0x123456U);
}

TEST(FloodFrames, FoldSeesEveryByte) {
    std::array<std::byte, 21> bytes{};
    const std::uint64_t zeros = fold(bytes.data(), bytes.size());
    EXPECT_EQ(zeros, 0U);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = std::byte{1};
        EXPECT_EQ(fold(bytes.data(), bytes.size()), std::uint64_t{1} << (i % 8 * 8)) << i;
        bytes[i] = std::byte{0};
    }
}

}  // namespace
}  // namespace bowline::tools
