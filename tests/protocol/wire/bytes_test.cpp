#include "protocol/wire/bytes.hpp"

#include <gtest/gtest.h>

#include "test_bytes.hpp"

namespace bowline::protocol::wire {
namespace {

TEST(WireBytes, LoadsInTheNamedOrderAtAnyAlignment) {
    const Bytes bytes = from_hex("ff 01 02 03 04 05 06 07 08");
    const std::byte* const odd = bytes.data() + 1;
    EXPECT_EQ(load_u8(odd), 0x01);
    EXPECT_EQ(load_le16(odd), 0x0201);
    EXPECT_EQ(load_le32(odd), 0x0403'0201U);
    EXPECT_EQ(load_le64(odd), 0x0807'0605'0403'0201U);
    EXPECT_EQ(load_be16(odd), 0x0102);
    EXPECT_EQ(load_be32(odd), 0x0102'0304U);
}

TEST(WireBytes, StoresInTheNamedOrderAndNotABytePast) {
    Bytes bytes(25, std::byte{0xEE});
    store_u8(bytes.data(), 0x11);
    store_le16(bytes.data() + 1, 0x2221);
    store_be16(bytes.data() + 3, 0x3132);
    store_le32(bytes.data() + 5, 0x4443'4241U);
    store_be32(bytes.data() + 9, 0x5152'5354U);
    store_le64(bytes.data() + 13, 0x6867'6665'6463'6261U);
    EXPECT_EQ(to_hex(bytes), packed("11 2122 3132 41424344 51525354 6162636465666768 eeeeeeee"));
}

}  // namespace
}  // namespace bowline::protocol::wire
