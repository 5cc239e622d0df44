// What a message costs on the wire, to the packet: deterministic, so that a change which makes it more is seen here and
// not in a benchmark's noise.
#include <cstddef>
#include <cstdint>

#include "pair.hpp"

namespace bowline::sim {
namespace {

using protocol::wire::Type;
using Verdict = FilterVerdict::Kind;

constexpr std::uint32_t kSize = 64;
constexpr std::uint64_t kMessages = 1000;

/// The connections of both are open: what a first packet says of its connection is said.
void open_connections(Pair& pair) {
    pair.meet();
    pair.a().send({.to = kB});
    pair.b().send({.to = kA});
    ASSERT_TRUE(pair->run_quiet(Duration::s(1)));
}

/// What has gone from A to B, and back, since it was set up.
struct Traffic {
    explicit Traffic(Pair& pair, std::uint64_t lose_every = 0) {
        pair.network().set_filter([this, lose_every](const FrameInfo& frame) -> FilterVerdict {
            if (!frame.header.has_value()) {
                return {};
            }
            const bool data = frame.header->type == Type::data;
            bytes[frame.from] += frame.bytes.size();
            packets[frame.from] += data ? 1U : 0U;
            acks[frame.from] += frame.header->type == Type::ack ? 1U : 0U;
            if (frame.from == kA && data && lose_every != 0 && packets[kA] % lose_every == 0) {
                ++lost;
                return {.kind = Verdict::drop, .by = {}};
            }
            return {};
        });
    }
    std::uint64_t bytes[2] = {};
    std::uint64_t packets[2] = {};
    std::uint64_t acks[2] = {};
    std::uint64_t lost = 0;
};

TEST(Cost, OfALoneMessageIsAPacketAndAnAck) {
    Pair pair;
    open_connections(pair);
    const Traffic traffic(pair);
    pair.a().send({.to = kB, .count = 1, .size_min = kSize, .size_max = kSize});
    pair.finish();
    EXPECT_EQ(traffic.packets[kA], 1U);
    EXPECT_EQ(traffic.acks[kA], 0U);
    EXPECT_EQ(traffic.packets[kB], 0U);
    EXPECT_EQ(traffic.acks[kB], 1U);
}

TEST(Cost, OfAThousandMessagesAtOnceIsThatOfTheirFullPackets) {
    std::vector<NodeConfig> nodes = Pair::configs({});
    nodes[kA].application.offers_max = kMessages;  // in one turn
    Pair pair(1, nodes);
    open_connections(pair);
    const Traffic traffic(pair);
    pair.a().send({.to = kB, .count = kMessages, .size_min = kSize, .size_max = kSize, .packed = true});
    pair.finish();
    EXPECT_EQ(traffic.packets[kA], 48U);  // 21 to a packet
    EXPECT_EQ(traffic.acks[kA], 0U);
    EXPECT_EQ(traffic.acks[kB], 2U);  // one for each burst of 32 that B has received
    // Ethernet, IP, UDP, Bowline and frame headers together.
    const std::uint64_t header_bytes = traffic.bytes[kA] - kMessages * kSize;
    EXPECT_EQ(header_bytes, 48 * (14 + 20 + 8 + 36) + 2 * kMessages);
    EXPECT_LE(header_bytes, 6 * kMessages);
    EXPECT_EQ(pair.sending(kA).retransmits, 0U);
}

TEST(Cost, OfAnswersIsNoAckOfTheirOwn) {
    Pair pair;
    open_connections(pair);
    const Traffic traffic(pair);
    for (std::uint64_t i = 0; i < 100; ++i) {
        pair.a().send({.to = kB, .count = 1, .size_min = kSize, .size_max = kSize});
        ASSERT_TRUE(pair->run_while_not(Duration::ms(1), [&] { return pair.delivered() == 2 * i + 3; }));
        pair.b().send({.to = kA, .count = 1, .size_min = kSize, .size_max = kSize});
        ASSERT_TRUE(pair->run_while_not(Duration::ms(1), [&] { return pair.delivered() == 2 * i + 4; }));
    }
    pair.finish();
    EXPECT_EQ(traffic.packets[kA], 100U);
    EXPECT_EQ(traffic.packets[kB], 100U);
    EXPECT_EQ(traffic.acks[kA], 1U);  // of the last answer
    EXPECT_EQ(traffic.acks[kB], 0U);
}

TEST(Cost, OfALostPacketIsOneMore) {
    for (const std::uint64_t every : {10U, 20U, 100U}) {
        Pair pair;
        open_connections(pair);
        const Traffic traffic(pair, every);
        pair.a().send({.to = kB, .count = 20'000, .size_min = kSize, .size_max = kSize, .packed = true});
        pair.finish();
        EXPECT_GE(traffic.lost, 9U);
        EXPECT_EQ(pair.sending(kA).retransmits, traffic.lost) << "every " << every;
        EXPECT_EQ(pair.sending(kA).spurious, 0U);
    }
}

}  // namespace
}  // namespace bowline::sim
