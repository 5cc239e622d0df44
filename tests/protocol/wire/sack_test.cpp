#include "protocol/wire/sack.hpp"

#include <array>

#include <gtest/gtest.h>

#include "test_bytes.hpp"

namespace bowline::protocol::wire {
namespace {

TEST(Sack, EncodesGoldenBytes) {
    const std::array<std::uint64_t, 2> words = {0x0123'4567'89AB'CDEFULL, 0x8000'0000'0000'0001ULL};
    Bytes bytes(sack_bytes(words.size()));
    EXPECT_EQ(encode_sack(words, bytes.data()), 20U);
    EXPECT_EQ(to_hex(bytes), packed("0200 0000 efcdab8967452301 0100000000000080"));
}

TEST(Sack, ReadsBackWhatWasEncodedAtAnyAlignment) {
    Random random(3);
    for (std::size_t count = 1; count <= kSackWordsMax; ++count) {
        std::vector<std::uint64_t> words(count);
        for (std::uint64_t& word : words) word = random.next();
        Bytes bytes(1 + sack_bytes(count));
        ASSERT_EQ(encode_sack(words, bytes.data() + 1), sack_bytes(count));
        const SackView view(bytes.data() + 1 + kSackFixedBytes, count);
        ASSERT_EQ(view.count(), count);
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(view.word(i), words[i]);
    }
}

TEST(Sack, IsEmptyByDefault) {
    EXPECT_TRUE(SackView().empty());
    EXPECT_EQ(SackView().count(), 0U);
}

}  // namespace
}  // namespace bowline::protocol::wire
