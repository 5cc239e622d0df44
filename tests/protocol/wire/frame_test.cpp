#include "protocol/wire/frame.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "test_bytes.hpp"

namespace bowline::protocol::wire {
namespace {

Bytes filled(std::size_t length) { return Bytes(length, std::byte{0x5A}); }

Bytes whole(std::uint32_t length) {
    Bytes header(kFrameHeaderBytes);
    EXPECT_EQ(encode_whole_frame(header.data(), length), header.size());
    return header + filled(length);
}
Bytes first(std::uint32_t length, std::uint32_t total) {
    Bytes header(kFirstFrameHeaderBytes);
    EXPECT_EQ(encode_first_frame(header.data(), length, total), header.size());
    return header + filled(length);
}
Bytes middle(std::uint32_t length) {
    Bytes header(kFrameHeaderBytes);
    EXPECT_EQ(encode_middle_frame(header.data(), length), header.size());
    return header + filled(length);
}
Bytes last(std::uint32_t length) {
    Bytes header(kFrameHeaderBytes);
    EXPECT_EQ(encode_last_frame(header.data(), length), header.size());
    return header + filled(length);
}

TEST(Frame, EncodesGoldenBytes) {
    EXPECT_EQ(to_hex(whole(3)), packed("0300 5a5a5a"));
    EXPECT_EQ(to_hex(whole(0)), packed("0000"));
    EXPECT_EQ(to_hex(first(2, 0x0102'0304)), packed("0240 04030201 5a5a"));
    EXPECT_EQ(to_hex(middle(1)), packed("0180 5a"));
    EXPECT_EQ(to_hex(last(1)), packed("01c0 5a"));
    EXPECT_EQ(to_hex(prefix(whole(kFrameLengthMax), 2)), packed("ff3f"));
}

TEST(FrameReader, WalksAPacketOfEveryKind) {
    const Bytes content = last(5) + whole(0) + whole(7) + first(2, 100);
    ASSERT_EQ(validate_frames(content), DecodeError::none);
    FrameReader reader(content);

    Frame frame = reader.next();
    EXPECT_EQ(frame.kind, FrameKind::last);
    EXPECT_EQ(frame.length, 5U);
    EXPECT_EQ(frame.total, 0U);
    EXPECT_EQ(frame.bytes, content.data() + 2);

    frame = reader.next();
    EXPECT_EQ(frame.kind, FrameKind::whole);
    EXPECT_EQ(frame.length, 0U);
    EXPECT_EQ(frame.total, 0U);
    const std::size_t resume = reader.offset();

    frame = reader.next();
    EXPECT_EQ(frame.kind, FrameKind::whole);
    EXPECT_EQ(frame.length, 7U);
    EXPECT_EQ(frame.total, 7U);

    EXPECT_FALSE(reader.done());
    frame = reader.next();
    EXPECT_EQ(frame.kind, FrameKind::first);
    EXPECT_EQ(frame.length, 2U);
    EXPECT_EQ(frame.total, 100U);
    EXPECT_EQ(frame.bytes + frame.length, content.data() + content.size());
    EXPECT_TRUE(reader.done());

    FrameReader resumed(content, resume);
    EXPECT_EQ(resumed.next().length, 7U);
}

TEST(FrameReader, IsDoneByDefault) { EXPECT_TRUE(FrameReader().done()); }

TEST(ValidateFrames, AcceptsWhatASenderProduces) {
    EXPECT_EQ(validate_frames(whole(0)), DecodeError::none);
    EXPECT_EQ(validate_frames(whole(kFrameLengthMax)), DecodeError::none);
    EXPECT_EQ(validate_frames(whole(1) + whole(0) + whole(2)), DecodeError::none);
    EXPECT_EQ(validate_frames(middle(1400)), DecodeError::none);
    EXPECT_EQ(validate_frames(first(1, 2)), DecodeError::none);
    EXPECT_EQ(validate_frames(last(1)), DecodeError::none);
    EXPECT_EQ(validate_frames(last(9) + first(9, 1'000'000)), DecodeError::none);
}

TEST(ValidateFrames, RefusesNothingAtAll) { EXPECT_EQ(validate_frames({}), DecodeError::empty_data); }

TEST(ValidateFrames, RefusesFragmentsOutOfPlace) {
    EXPECT_EQ(validate_frames(whole(1) + middle(1)), DecodeError::bad_frame);
    EXPECT_EQ(validate_frames(middle(1) + whole(1)), DecodeError::bad_frame);
    EXPECT_EQ(validate_frames(middle(1) + middle(1)), DecodeError::bad_frame);
    EXPECT_EQ(validate_frames(whole(1) + last(1)), DecodeError::bad_frame);
    EXPECT_EQ(validate_frames(last(1) + last(1)), DecodeError::bad_frame);
    EXPECT_EQ(validate_frames(first(1, 2) + whole(1)), DecodeError::bad_frame);
    EXPECT_EQ(validate_frames(first(1, 2) + last(1)), DecodeError::bad_frame);
}

TEST(ValidateFrames, RefusesEmptyFragments) {
    EXPECT_EQ(validate_frames(from_hex("0040 0a000000")), DecodeError::bad_frame);
    EXPECT_EQ(validate_frames(from_hex("0080")), DecodeError::bad_frame);
    EXPECT_EQ(validate_frames(from_hex("00c0")), DecodeError::bad_frame);
}

TEST(ValidateFrames, RefusesAFirstFragmentThatIsTheWholeMessageOrMore) {
    EXPECT_EQ(validate_frames(from_hex("0240 02000000 5a5a")), DecodeError::bad_frame);
    EXPECT_EQ(validate_frames(from_hex("0240 01000000 5a5a")), DecodeError::bad_frame);
    EXPECT_EQ(validate_frames(from_hex("0240 03000000 5a5a")), DecodeError::none);
}

TEST(ValidateFrames, RefusesEveryTruncationInsideAFrame) {
    const Bytes content = last(5) + whole(4) + first(3, 10);
    const std::vector<std::size_t> ends_of_frames = {7, 13, content.size()};
    for (std::size_t size = 1; size <= content.size(); ++size) {
        const bool at_an_end = std::find(ends_of_frames.begin(), ends_of_frames.end(), size) != ends_of_frames.end();
        EXPECT_EQ(validate_frames(prefix(content, size)), at_an_end ? DecodeError::none : DecodeError::bad_frame)
            << size;
    }
}

TEST(ValidateFrames, TellsWhetherContentBeginsAMessage) {
    EXPECT_TRUE(begins_with_boundary(whole(0)));
    EXPECT_TRUE(begins_with_boundary(first(1, 2)));
    EXPECT_FALSE(begins_with_boundary(middle(1)));
    EXPECT_FALSE(begins_with_boundary(last(1)));
}

TEST(ValidateFrames, LetsAReaderStayWithinWhateverItAccepts) {
    Random random(9);
    int accepted = 0;
    for (int round = 0; round < 50'000; ++round) {
        // Short lengths are made likely, so that a good part of the random content is valid.
        Bytes content = random_bytes(random, 1 + random.below(24));
        for (std::size_t i = 0; i < content.size(); i += 2) content[i] &= std::byte{0x03};
        for (std::size_t i = 1; i < content.size(); i += 2) content[i] &= std::byte{0xC0};
        if (validate_frames(content) != DecodeError::none) continue;
        ++accepted;
        FrameReader reader(content);
        std::size_t bytes = 0;
        while (!reader.done()) {
            const Frame frame = reader.next();
            ASSERT_GE(frame.bytes, content.data());
            ASSERT_LE(frame.bytes + frame.length, content.data() + content.size());
            bytes += frame.length + (frame.kind == FrameKind::first ? kFirstFrameHeaderBytes : kFrameHeaderBytes);
        }
        ASSERT_EQ(bytes, content.size());
    }
    EXPECT_GT(accepted, 1'000);
}

TEST(FrameReader, ReturnsTheMessagesThatWerePacked) {
    EXPECT_TRUE(rc::check([](std::uint64_t seed) {
        Random random(seed);
        std::vector<Bytes> messages(1 + random.below(40));
        Bytes content;
        for (Bytes& message : messages) {
            message = random_bytes(random, random.below(60));
            Bytes header(kFrameHeaderBytes);
            encode_whole_frame(header.data(), static_cast<std::uint32_t>(message.size()));
            content = content + header + message;
        }
        RC_ASSERT(validate_frames(content) == DecodeError::none);
        FrameReader reader(content);
        for (const Bytes& message : messages) {
            RC_ASSERT(!reader.done());
            const Frame frame = reader.next();
            RC_ASSERT(frame.kind == FrameKind::whole);
            RC_ASSERT(Bytes(frame.bytes, frame.bytes + frame.length) == message);
        }
        RC_ASSERT(reader.done());
    }));
}

}  // namespace
}  // namespace bowline::protocol::wire
