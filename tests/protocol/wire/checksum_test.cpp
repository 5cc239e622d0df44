#include "protocol/wire/checksum.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "test_bytes.hpp"

namespace bowline::protocol::wire {
namespace {

/// RFC 1071 §1 word for word: 16-bit big-endian words, end-around carry after every addition.
std::uint16_t naive_checksum(std::span<const std::byte> bytes) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < bytes.size(); i += 2) {
        std::uint32_t word = std::to_integer<std::uint32_t>(bytes[i]) << 8U;
        if (i + 1 < bytes.size()) word |= std::to_integer<std::uint32_t>(bytes[i + 1]);
        sum += word;
        sum = (sum & 0xFFFFU) + (sum >> 16U);
    }
    return static_cast<std::uint16_t>(~sum);
}

std::uint16_t on_the_wire(std::uint16_t checksum) { return __builtin_bswap16(checksum); }

TEST(Checksum, MatchesTheExampleOfRfc1071) {
    const Bytes bytes = from_hex("0001 f203 f4f5 f6f7");
    EXPECT_EQ(checksum_fold(checksum_add(0, bytes)), __builtin_bswap16(0xDDF2));
    EXPECT_EQ(on_the_wire(internet_checksum(bytes)), 0x220D);
}

TEST(Checksum, MatchesAKnownIpv4Header) {
    const Bytes header = from_hex("4500 0073 0000 4000 4011 0000 c0a8 0001 c0a8 00c7");
    EXPECT_EQ(on_the_wire(internet_checksum(header)), 0xB861);
}

TEST(Checksum, EqualsTheNaiveSumForEveryLengthAndAlignment) {
    Random random(1);
    const Bytes bytes = random_bytes(random, 400);
    for (std::size_t start = 0; start < 33; ++start) {
        for (std::size_t length = 0; length <= 300; ++length) {
            const std::span<const std::byte> part = std::span(bytes).subspan(start, length);
            ASSERT_EQ(on_the_wire(internet_checksum(part)), naive_checksum(part)) << start << ' ' << length;
        }
    }
}

TEST(Checksum, EqualsTheNaiveSumOfRandomBytes) {
    EXPECT_TRUE(rc::check([](std::uint64_t seed, std::uint16_t length) {
        Random random(seed);
        const Bytes bytes = random_bytes(random, length % 10'000U);
        RC_ASSERT(on_the_wire(internet_checksum(bytes)) == naive_checksum(bytes));
    }));
}

TEST(Checksum, LosesNoCarryOfALongRunOfOnes) {
    for (const std::size_t length : {31U, 32U, 64U, 1500U, 9000U, 65535U, 1'000'003U}) {
        const Bytes bytes(length, std::byte{0xFF});
        EXPECT_EQ(on_the_wire(internet_checksum(bytes)), naive_checksum(bytes)) << length;
    }
}

TEST(Checksum, FoldsEverySumToItsResidue) {
    EXPECT_EQ(checksum_fold(0), 0);
    EXPECT_EQ(checksum_fold(~0ULL), 0xFFFF);
    EXPECT_TRUE(rc::check([](std::uint64_t sum) {
        const std::uint16_t folded = checksum_fold(sum);
        RC_ASSERT(folded % 0xFFFFU == sum % 0xFFFFU);
        RC_ASSERT((folded == 0) == (sum == 0));
    }));
}

TEST(Checksum, AddsPiecesOfEvenLengthAsOne) {
    EXPECT_TRUE(rc::check([](std::uint64_t seed, std::uint16_t length, std::uint16_t cut) {
        Random random(seed);
        const Bytes bytes = random_bytes(random, length % 2'000U);
        const std::size_t middle = bytes.empty() ? 0 : (cut % (bytes.size() + 1)) & ~std::size_t{1};
        const std::span<const std::byte> all(bytes);
        const std::uint64_t sum = checksum_add(checksum_add(0, all.first(middle)), all.subspan(middle));
        RC_ASSERT(static_cast<std::uint16_t>(~checksum_fold(sum)) == internet_checksum(bytes));
    }));
}

TEST(Checksum, UpdateEqualsComputingAnew) {
    EXPECT_TRUE(rc::check([](std::uint64_t seed, std::uint16_t at, std::uint16_t after) {
        Random random(seed);
        Bytes bytes = random_bytes(random, 64);
        store_le16(bytes.data() + 10, 0);
        store_le16(bytes.data() + 10, internet_checksum(bytes));
        std::size_t where = at % 32U * 2U;
        if (where == 10) where = 12;
        const std::uint16_t before = load_le16(bytes.data() + where);
        store_le16(bytes.data() + where, after);
        store_le16(bytes.data() + 10, checksum_update(load_le16(bytes.data() + 10), before, after));
        RC_ASSERT(internet_checksum(bytes) == 0);
    }));
}

TEST(Checksum, UpdateHandlesTheCaseThatRfc1624Corrects) {
    // RFC 1624 §4: RFC 1141's formula yields 0xFFFF here.
    const std::uint16_t updated =
        checksum_update(__builtin_bswap16(0xDD2F), __builtin_bswap16(0x5555), __builtin_bswap16(0x3285));
    EXPECT_EQ(on_the_wire(updated), 0x0000);
}

TEST(Checksum, NoticesEveryFlippedBit) {
    Random random(2);
    Bytes bytes = random_bytes(random, 121);
    store_le16(bytes.data(), 0);
    store_le16(bytes.data(), internet_checksum(bytes));
    ASSERT_EQ(internet_checksum(bytes), 0);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        EXPECT_NE(internet_checksum(bytes), 0) << bit;
        bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    }
}

}  // namespace
}  // namespace bowline::protocol::wire
