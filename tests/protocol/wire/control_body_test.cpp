#include "protocol/wire/control_body.hpp"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "test_bytes.hpp"

namespace bowline::protocol::wire {
namespace {

Hello golden_hello() {
    Hello hello;
    hello.features = 0x0403'0201;
    hello.incarnation = 0x1817'1615'1413'1211;
    hello.nonce = 0x2827'2625'2423'2221;
    hello.echo_nonce = 0x3837'3635'3433'3231;
    hello.tag = 0x4443'4241;
    hello.slot = 0x5251;
    hello.max_packet = 0x6261;
    hello.window = 0x7473'7271;
    hello.ack_delay_us = 0x8483'8281;
    hello.stream_id = 0x9897'9695'9493'9291;
    hello.memory_incarnation = 0xA8A7'A6A5'A4A3'A2A1;
    hello.memory_stream_id = 0xB8B7'B6B5'B4B3'B2B1;
    hello.memory_rcv_nxt = 0xC8C7'C6C5'C4C3'C2C1;
    hello.message_max = 0xD4D3'D2D1;
    hello.memory_flags = kMemoryPresent | kMemoryDroppedDirty;
    hello.from = *NodeName::make("alpha");
    hello.to = *NodeName::make("b2");
    return hello;
}

constexpr const char* kGoldenHello =
    "01020304 00000000 1112131415161718 2122232425262728 3132333435363738 41424344 5152 6162 71727374 81828384"
    "9192939495969798 a1a2a3a4a5a6a7a8 b1b2b3b4b5b6b7b8 c1c2c3c4c5c6c7c8 d1d2d3d4 00000000 03000000 00000000 05 02"
    "616c706861 6232";

Bytes encoded(const Hello& hello) {
    Bytes bytes(hello_bytes(hello));
    EXPECT_EQ(encode_hello(hello, bytes.data()), bytes.size());
    return bytes;
}

DecodeError error_of(const Bytes& bytes) { return decode_hello(Type::hello_ack, bytes).error(); }

TEST(NodeName, TakesPrintableAsciiOfOneTo63Bytes) {
    EXPECT_EQ(NodeName::make("a")->view(), "a");
    EXPECT_EQ(NodeName::make("node-1.rack_2~!")->view(), "node-1.rack_2~!");
    EXPECT_EQ(NodeName::make(std::string(63, 'x'))->view(), std::string(63, 'x'));
    EXPECT_FALSE(NodeName::make(""));
    EXPECT_FALSE(NodeName::make(std::string(64, 'x')));
    for (unsigned c = 0; c < 256; ++c) {
        const std::string text = {'a', static_cast<char>(c)};
        EXPECT_EQ(NodeName::make(text).has_value(), c > 0x20 && c < 0x7F) << c;
    }
}

TEST(HelloBody, EncodesGoldenBytes) { EXPECT_EQ(to_hex(encoded(golden_hello())), packed(kGoldenHello)); }

TEST(HelloBody, DecodesGoldenBytes) {
    const Decoded<Hello> hello = decode_hello(Type::hello_ack, from_hex(kGoldenHello));
    ASSERT_TRUE(hello) << name_of(hello.error());
    EXPECT_EQ(*hello, golden_hello());
}

TEST(HelloBody, RoundTripsNamesOfEveryLength) {
    for (std::size_t from = 1; from <= kNodeNameBytesMax; ++from) {
        for (std::size_t to = 1; to <= kNodeNameBytesMax; to += 31) {
            Hello hello = golden_hello();
            hello.from = *NodeName::make(std::string(from, 'f'));
            hello.to = *NodeName::make(std::string(to, 't'));
            const Decoded<Hello> decoded = decode_hello(Type::hello_ack, encoded(hello));
            ASSERT_TRUE(decoded) << name_of(decoded.error());
            ASSERT_EQ(*decoded, hello);
        }
    }
}

TEST(HelloBody, TakesTheWorkersStateInPlaceAndLeavesTheRest) {
    Hello expected = golden_hello();
    Bytes bytes = encoded(expected);
    expected.window = 1;
    expected.stream_id = 2;
    expected.memory_incarnation = 3;
    expected.memory_stream_id = 4;
    expected.memory_rcv_nxt = 5;
    expected.memory_flags = kMemoryDroppedDirty;
    fill_hello({.window = 1,
                .stream_id = 2,
                .memory_incarnation = 3,
                .memory_stream_id = 4,
                .memory_rcv_nxt = 5,
                .memory_flags = kMemoryDroppedDirty},
               bytes.data());
    EXPECT_EQ(to_hex(bytes), to_hex(encoded(expected)));
}

TEST(HelloBody, RefusesEveryTruncationAndTrailingBytes) {
    const Bytes bytes = from_hex(kGoldenHello);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_EQ(error_of(prefix(bytes, size)), DecodeError::bad_body) << size;
    }
    EXPECT_EQ(error_of(bytes + Bytes(1)), DecodeError::bad_body);
}

TEST(HelloBody, RefusesSetReservedFields) {
    for (const std::size_t at : {4U, 7U, 84U, 87U, 92U, 95U}) {
        Bytes bytes = from_hex(kGoldenHello);
        bytes[at] = std::byte{1};
        EXPECT_EQ(error_of(bytes), DecodeError::reserved_set) << at;
    }
}

TEST(HelloBody, RefusesUnknownMemoryFlags) {
    Hello hello = golden_hello();
    hello.memory_flags = 4;
    EXPECT_EQ(error_of(encoded(hello)), DecodeError::bad_body);
}

TEST(HelloBody, RefusesAGreetingThatEchoesANonce) {
    EXPECT_EQ(decode_hello(Type::hello, encoded(golden_hello())).error(), DecodeError::bad_body);
    Hello hello = golden_hello();
    hello.echo_nonce = 0;
    EXPECT_TRUE(decode_hello(Type::hello, encoded(hello)));
}

TEST(HelloBody, RefusesBadNames) {
    const auto with_names = [](std::uint8_t from, std::uint8_t to, const Bytes& text) {
        Bytes bytes = prefix(from_hex(kGoldenHello), kHelloFixedBytes);
        bytes[96] = std::byte{from};
        bytes[97] = std::byte{to};
        return bytes + text;
    };
    EXPECT_EQ(error_of(with_names(1, 1, from_hex("6162"))), DecodeError::none);
    EXPECT_EQ(error_of(with_names(0, 2, from_hex("6162"))), DecodeError::bad_name);
    EXPECT_EQ(error_of(with_names(2, 0, from_hex("6162"))), DecodeError::bad_name);
    EXPECT_EQ(error_of(with_names(64, 1, Bytes(65, std::byte{'a'}))), DecodeError::bad_name);
    EXPECT_EQ(error_of(with_names(1, 64, Bytes(65, std::byte{'a'}))), DecodeError::bad_name);
    EXPECT_EQ(error_of(with_names(255, 255, Bytes(510, std::byte{'a'}))), DecodeError::bad_name);
    EXPECT_EQ(error_of(with_names(1, 1, from_hex("2062"))), DecodeError::bad_name);
    EXPECT_EQ(error_of(with_names(1, 1, from_hex("617f"))), DecodeError::bad_name);
    EXPECT_EQ(error_of(with_names(1, 1, from_hex("6100"))), DecodeError::bad_name);
    EXPECT_EQ(error_of(with_names(1, 1, from_hex("61c3"))), DecodeError::bad_name);
}

TEST(HelloBody, RoundTripsWhateverItAccepts) {
    Random random(6);
    const Bytes valid = from_hex(kGoldenHello);
    int accepted = 0;
    for (int round = 0; round < 50'000; ++round) {
        Bytes bytes = valid;
        bytes[random.below(bytes.size())] = static_cast<std::byte>(random.next());
        if (random.below(3) == 0) bytes = prefix(bytes, random.below(bytes.size()));
        const Decoded<Hello> hello = decode_hello(Type::hello_ack, bytes);
        if (!hello) continue;
        ++accepted;
        ASSERT_EQ(to_hex(encoded(*hello)), to_hex(bytes));
    }
    EXPECT_GT(accepted, 1'000);
}

TEST(HelloDoneBody, MatchesGoldenBytes) {
    const HelloDone body = {0x0807'0605'0403'0201, 0x1817'1615'1413'1211};
    Bytes bytes(kHelloDoneBytes);
    EXPECT_EQ(encode_hello_done(body, bytes.data()), bytes.size());
    EXPECT_EQ(to_hex(bytes), packed("0102030405060708 1112131415161718"));
    EXPECT_EQ(*decode_hello_done(bytes), body);
}

TEST(NeedFirstBody, MatchesGoldenBytes) {
    const NeedFirst body = {0x0807'0605'0403'0201};
    Bytes bytes(kNeedFirstBytes);
    EXPECT_EQ(encode_need_first(body, bytes.data()), bytes.size());
    EXPECT_EQ(to_hex(bytes), packed("0102030405060708"));
    EXPECT_EQ(*decode_need_first(bytes), body);
}

TEST(CloseBody, MatchesGoldenBytes) {
    const Close body = {CloseReason::excluded, 0x0807'0605'0403'0201, 0x1817'1615'1413'1211};
    Bytes bytes(kCloseBytes);
    EXPECT_EQ(encode_close(body, bytes.data()), bytes.size());
    EXPECT_EQ(to_hex(bytes), packed("03000000 0102030405060708 1112131415161718"));
    EXPECT_EQ(*decode_close(bytes), body);
}

TEST(CloseBody, RefusesAReasonThatIsNone) {
    for (const std::uint32_t reason : {0U, 1U, 2U, 3U, 4U, 0x100U, 0xFFFF'FFFFU}) {
        Bytes bytes(kCloseBytes);
        store_le32(bytes.data(), reason);
        const bool known = reason >= 1 && reason <= 3;
        EXPECT_EQ(decode_close(bytes).error(), known ? DecodeError::none : DecodeError::bad_body) << reason;
    }
}

TEST(FixedBodies, RefuseEveryOtherSize) {
    for (std::size_t size = 0; size < 40; ++size) {
        Bytes bytes(size);
        if (size >= 4) store_le32(bytes.data(), 1);
        EXPECT_EQ(decode_hello_done(bytes).has_value(), size == kHelloDoneBytes) << size;
        EXPECT_EQ(decode_need_first(bytes).has_value(), size == kNeedFirstBytes) << size;
        EXPECT_EQ(decode_close(bytes).has_value(), size == kCloseBytes) << size;
    }
}

}  // namespace
}  // namespace bowline::protocol::wire
