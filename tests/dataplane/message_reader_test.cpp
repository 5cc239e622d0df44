#include "dataplane/message_reader.hpp"

#include <array>
#include <list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/wire/frame.hpp"

namespace bowline::dataplane {
namespace {

namespace wire = protocol::wire;
using Kind = PeerEvent::Kind;

/// What stands in the ring, by hand, and what comes out, as text.
class MessageReaderTest : public testing::Test {
protected:
    MessageReaderTest() {
        ring.attach(slots);
        reader.attach(ring, events, assembly);
    }

    struct Packing {
        std::vector<std::byte> bytes;
        void text(const std::string& text) {
            for (const char c : text) {
                bytes.push_back(static_cast<std::byte>(c));
            }
        }
        Packing& whole(const std::string& message) {
            bytes.resize(bytes.size() + 2);
            wire::encode_whole_frame(bytes.data() + bytes.size() - 2, static_cast<std::uint32_t>(message.size()));
            text(message);
            return *this;
        }
        Packing& first(const std::string& part, std::size_t total) {
            bytes.resize(bytes.size() + 6);
            wire::encode_first_frame(bytes.data() + bytes.size() - 6, static_cast<std::uint32_t>(part.size()),
                                     static_cast<std::uint32_t>(total));
            text(part);
            return *this;
        }
        Packing& middle(const std::string& part) {
            bytes.resize(bytes.size() + 2);
            wire::encode_middle_frame(bytes.data() + bytes.size() - 2, static_cast<std::uint32_t>(part.size()));
            text(part);
            return *this;
        }
        Packing& last(const std::string& part) {
            bytes.resize(bytes.size() + 2);
            wire::encode_last_frame(bytes.data() + bytes.size() - 2, static_cast<std::uint32_t>(part.size()));
            text(part);
            return *this;
        }
    };

    void event(PeerEvent event) {
        event.position = position;
        ASSERT_TRUE(events.try_push(event));
    }
    void opened(std::uint64_t first) { event({.first = first, .kind = Kind::opened}); }
    void arrives(const Packing& packing) {
        contents.push_back(packing.bytes);
        ring.store(position, {.packet = nullptr,
                              .content = contents.back().data(),
                              .bytes = static_cast<std::uint32_t>(contents.back().size())});
        ring.publish(++position);
    }
    std::vector<std::string> read(std::size_t limit = 100) {
        std::vector<std::string> out;
        const std::size_t count = reader.read(
            limit,
            [&](const std::byte* bytes, std::uint32_t size, std::uint64_t number, protocol::Packet*) {
                std::string text = std::to_string(number) + ":";
                for (std::uint32_t i = 0; i < size; ++i) {
                    text += static_cast<char>(bytes[i]);
                }
                out.push_back(text);
            },
            [&](const PeerEvent& e) {
                out.push_back(e.kind == Kind::up     ? "up"
                              : e.kind == Kind::down ? "down"
                              : e.kind == Kind::opened
                                  ? "gap " + std::to_string(e.first) + ".." + std::to_string(e.last)
                                  : "undelivered");
            });
        EXPECT_EQ(count, out.size());
        reader.finish_batch();
        return out;
    }
    using Out = std::vector<std::string>;

    std::array<ReceiveRing::Slot, 64> slots;
    std::array<std::byte, 32> assembly{};
    ReceiveRing ring;
    SpscRing<PeerEvent> events{32};
    MessageReader reader;
    std::list<std::vector<std::byte>> contents;
    std::uint64_t position = 0;
};

TEST_F(MessageReaderTest, UnpacksAndNumbersMessages) {
    opened(5);
    arrives(Packing().whole("a").whole("").whole("bc"));
    arrives(Packing().whole("d"));
    EXPECT_TRUE(reader.has_work());
    EXPECT_EQ(read(), (Out{"5:a", "6:", "7:bc", "8:d"}));
    EXPECT_FALSE(reader.has_work());
    EXPECT_EQ(reader.next_message(), 9U);
    EXPECT_EQ(ring.consumed(), 2U);
}

TEST_F(MessageReaderTest, StopsAtTheLimitInTheMiddleOfAPacketAndGoesOnThere) {
    opened(1);
    arrives(Packing().whole("a").whole("b").whole("c"));
    EXPECT_EQ(read(2), (Out{"1:a", "2:b"}));
    EXPECT_EQ(ring.consumed(), 0U);  // the packet is still needed
    EXPECT_TRUE(reader.has_work());
    EXPECT_EQ(read(2), Out{"3:c"});
    EXPECT_EQ(ring.consumed(), 1U);
}

TEST_F(MessageReaderTest, PutsFragmentsTogetherAcrossBatches) {
    opened(1);
    arrives(Packing().whole("a").first("xx", 7));
    EXPECT_EQ(read(), Out{"1:a"});
    arrives(Packing().middle("yyy"));
    EXPECT_EQ(read(), Out{});
    arrives(Packing().last("zz").whole("b"));
    EXPECT_EQ(read(), (Out{"2:xxyyyzz", "3:b"}));
}

TEST_F(MessageReaderTest, OneMessageOfFragmentsABatchSinceTheyShareTheBuffer) {
    opened(1);
    arrives(Packing().first("aa", 3));
    arrives(Packing().last("a").whole("x").first("bb", 3));
    arrives(Packing().last("b"));
    EXPECT_EQ(read(), (Out{"1:aaa", "2:x"}));
    EXPECT_TRUE(reader.has_work());
    EXPECT_EQ(read(), Out{"3:bbb"});
    EXPECT_FALSE(reader.has_work());
}

TEST_F(MessageReaderTest, HandsOutEventsBetweenTheMessagesThatTheyCameBetween) {
    event({.kind = Kind::restarted});
    event({.kind = Kind::up});
    opened(1);
    arrives(Packing().whole("a"));
    event({.kind = Kind::down});
    event({.kind = Kind::undelivered});
    event({.kind = Kind::restarted});
    event({.kind = Kind::up});
    opened(1);
    arrives(Packing().whole("b"));
    EXPECT_EQ(read(1), Out{"up"});
    EXPECT_EQ(read(2), (Out{"1:a", "down"}));
    EXPECT_EQ(read(), (Out{"undelivered", "up", "1:b"}));
}

TEST_F(MessageReaderTest, ReportsAGapOnceAndForgetsTheHalfMessageBeforeIt) {
    opened(1);
    arrives(Packing().whole("a").first("xx", 9));
    opened(6);
    arrives(Packing().whole("f"));
    opened(7);  // where it is: no gap
    arrives(Packing().whole("g"));
    EXPECT_EQ(read(), (Out{"1:a", "gap 2..5", "6:f", "7:g"}));
}

TEST_F(MessageReaderTest, APeerThatContradictsItselfCostsItsOwnMessagesOnly) {
    opened(1);
    arrives(Packing().last("tail of nothing").whole("b"));  // number 1 was lost with its head
    arrives(Packing().first("cc", 3));
    arrives(Packing().middle("too much of it"));
    arrives(Packing().last("c").whole("d"));
    arrives(Packing().first("ee", 9));
    arrives(Packing().last("e").whole("f"));  // ends before its length
    EXPECT_EQ(read(), (Out{"2:b", "4:d", "6:f"}));
}

}  // namespace
}  // namespace bowline::dataplane
