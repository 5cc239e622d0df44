#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "protocol/wire/ethernet.hpp"
#include "worker_pair.hpp"

namespace bowline::dataplane {
namespace {

namespace wire = protocol::wire;

class WorkerReceive : public WorkerPair {
protected:
    /// The next frame that A sends is kept from B and returned.
    Bytes capture(std::size_t size) {
        Bytes frame;
        a().port.fault = [&](std::span<std::byte> bytes) {
            frame.assign(bytes.begin(), bytes.end());
            return Fate::drop;
        };
        EXPECT_TRUE(a().send(now_, size));
        turns(1);
        a().port.fault = nullptr;
        EXPECT_FALSE(frame.empty());
        return frame;
    }
    void arrives(const Bytes& frame) {
        a().port.inject(frame);
        b().worker().receive(now_);
    }
    std::uint64_t decode_errors() {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < wire::kDecodeErrors; ++i) {
            sum += b().worker().decode_errors(static_cast<wire::DecodeError>(i));
        }
        return sum;
    }
    std::uint64_t strays() {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < wire::kStrays; ++i) {
            sum += b().worker().strays(static_cast<wire::Stray>(i));
        }
        return sum;
    }
    /// All that B has refused, by whatever counter.
    std::uint64_t refused() {
        return decode_errors() + strays() + b().worker().counters().rx_other_address +
               b().worker().counters().rx_unknown_tag;
    }
    static void fill_checksum(Bytes& frame) {
        const std::size_t udp = wire::kEthernetBytes + wire::kIpv4Bytes;
        std::byte* const datagram = frame.data() + udp;
        wire::store_be16(datagram + 6, 0);
        const std::uint64_t sum = wire::checksum_add(
            wire::pseudo_header_sum({wire::load_be32(frame.data() + wire::kEthernetBytes + 12)},
                                    {wire::load_be32(frame.data() + wire::kEthernetBytes + 16)}, frame.size() - udp),
            {datagram, frame.size() - udp});
        wire::store_le16(datagram + 6, static_cast<std::uint16_t>(~wire::checksum_fold(sum)));
    }
    static constexpr std::size_t kBowlineAt = wire::kEthernetBytes + wire::kIpv4Bytes + wire::kUdpBytes;
};

TEST_F(WorkerReceive, RubbishIsCountedByKindAndFreed) {
    associate_and_clear();
    const Bytes good = capture(100);
    using wire::DecodeError;
    using wire::Stray;
    const auto changed = [&](std::size_t at, unsigned value, bool with_checksum = false) {
        Bytes frame = good;
        frame[at] = static_cast<std::byte>(value);
        if (with_checksum) {
            fill_checksum(frame);
        }
        return frame;
    };
    arrives(Bytes(5));
    EXPECT_EQ(b().worker().strays(Stray::truncated), 1U);
    arrives(changed(12, 0x86));
    EXPECT_EQ(b().worker().strays(Stray::other_ethertype), 1U);
    arrives(changed(14, 0x35));
    EXPECT_EQ(b().worker().strays(Stray::bad_ip_header), 1U);
    arrives(changed(24, 0xAB));
    EXPECT_EQ(b().worker().strays(Stray::bad_ip_checksum), 1U);
    arrives(changed(kBowlineAt + 50, 0xAB));
    EXPECT_EQ(b().worker().strays(Stray::bad_udp_checksum), 1U);
    Bytes unsummed = good;
    wire::store_be16(unsummed.data() + kBowlineAt - 2, 0);
    arrives(unsummed);
    EXPECT_EQ(b().worker().strays(Stray::no_udp_checksum), 1U);
    arrives(changed(wire::kEthernetBytes + wire::kIpv4Bytes + 3, 0x11, true));  // another port
    EXPECT_EQ(b().worker().counters().rx_other_address, 1U);
    arrives(changed(kBowlineAt, 0xC1, true));
    EXPECT_EQ(b().worker().decode_errors(DecodeError::bad_magic), 1U);
    arrives(changed(kBowlineAt, 0xB7, true));
    EXPECT_EQ(b().worker().decode_errors(DecodeError::bad_version), 1U);
    arrives(changed(kBowlineAt + 1, 0, true));
    EXPECT_EQ(b().worker().decode_errors(DecodeError::bad_type), 1U);
    arrives(changed(kBowlineAt + 35, 1, true));
    EXPECT_EQ(b().worker().decode_errors(DecodeError::reserved_set), 1U);
    const std::size_t frames_at = kBowlineAt + wire::kHeaderBytes + wire::kFirstExtensionBytes;
    arrives(changed(frames_at, 0xFF, true));
    EXPECT_EQ(b().worker().decode_errors(DecodeError::bad_frame), 1U);
    EXPECT_EQ(refused(), 12U);
    EXPECT_EQ(b().worker().counters().rx_packets, 12U);
    EXPECT_EQ(b().port.free_packets(), b().port.packets());
    turns(1);
    EXPECT_TRUE(b().take_handed().empty());
    ASSERT_TRUE(settle());  // the good one comes again
    EXPECT_EQ(b().take_handed(), std::vector<Handed>{message(1, 100)});
}

TEST_F(WorkerReceive, AFrameCutShortAnywhereIsRefused) {
    associate_and_clear();
    const Bytes good = capture(60);
    for (std::size_t length = 0; length < good.size(); ++length) {
        arrives(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length)));
        EXPECT_EQ(refused(), length + 1);
    }
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), std::vector<Handed>{message(1, 60)});
}

TEST_F(WorkerReceive, AFlippedBitAnywhereBehindTheEthernetAddressesIsRefused) {
    associate_and_clear();
    const Bytes good = capture(40);
    std::uint64_t flips = 0;
    for (std::size_t bit = 12 * 8; bit < good.size() * 8; ++bit) {
        Bytes frame = good;
        frame[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        arrives(frame);
        EXPECT_EQ(refused(), ++flips) << "bit " << bit;
        Notice notice;
        while (b().take_notice(notice)) {
        }
    }
    b().read();
    EXPECT_TRUE(b().take_handed().empty());
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), std::vector<Handed>{message(1, 40)});
}

TEST_F(WorkerReceive, AnythingAtAllInABowlinePacketHarmsNobody) {
    // With right checksums and the right tag, so that it reaches the streams; the peer lies, its own messages may
    // suffer.
    EXPECT_TRUE(rc::check([this] {
        start();
        associate_and_clear();
        const Bytes good = capture(200);
        const auto packets = *rc::gen::inRange(1, 60);
        for (int i = 0; i < packets; ++i) {
            Bytes frame = good;
            const auto changes = *rc::gen::inRange(0, 6);
            for (int change = 0; change < changes; ++change) {
                // Header and extensions more often than content, but for slot and tag.
                const auto at = *rc::gen::oneOf(rc::gen::inRange<std::size_t>(kBowlineAt + 8, kBowlineAt + 56),
                                                rc::gen::inRange(kBowlineAt + 8, good.size()),
                                                rc::gen::just(kBowlineAt + 1), rc::gen::just(kBowlineAt + 34));
                frame[at] = static_cast<std::byte>(*rc::gen::oneOf(rc::gen::inRange(0, 12), rc::gen::inRange(0, 256)));
            }
            fill_checksum(frame);
            a().port.inject(frame);
            now_ = now_ + kTurn;
            b().turn(now_);
            Notice notice;
            while (b().take_notice(notice)) {
            }
        }
        // The other direction has nothing to do with it.
        b().take_handed();
        for (int i = 0; i < 20; ++i) {
            RC_ASSERT(b().send(now_, 900));
            turns(1);
        }
        turns(100);
        RC_ASSERT(a().take_handed().size() == 20U);
    }));
}

TEST_F(WorkerReceive, AConnectionThatBeginsAgainAndAgainIsBoundedByTheRoomForItsEvents) {
    associate_and_clear();
    b().reading = false;
    const Bytes good = capture(10);
    for (std::uint32_t conn = 1; conn <= 200; ++conn) {
        Bytes frame = good;
        wire::store_le32(frame.data() + kBowlineAt + wire::offset::kConnId, conn);
        wire::store_le32(frame.data() + kBowlineAt + wire::offset::kSeqno, conn * 10);
        wire::encode_first_extension({.first_seqno = conn * 10, .first_message = conn * 10},
                                     frame.data() + kBowlineAt + wire::kHeaderBytes);
        fill_checksum(frame);
        arrives(frame);
    }
    EXPECT_GT(b().worker().counters().events_full, 0U);
    b().read();
    EXPECT_EQ(b().handed[0],
              (Handed{.kind = Handed::Kind::message, .first = 10, .last = 10, .bytes = make_message(1, 10)}));
    EXPECT_EQ(b().handed[1], gap(11, 19));
    b().give(Command::Kind::dissociate, DownReason::silent);
    b().worker().receive(now_);
    b().read();
    EXPECT_EQ(b().handed.back(), down(DownReason::silent));
    // What A hears of all this is not what it has sent.
    while (ba_.front() != nullptr) {
        ba_.pop();
    }
}

TEST_F(WorkerReceive, UnknownTagsGoToControlWithTheirFrame) {
    associate_and_clear();
    const Bytes good = capture(10);
    for (const auto& [at, value] : {std::pair{wire::offset::kTag, 0xEE}, std::pair{wire::offset::kTag, 0},
                                    std::pair{wire::offset::kSlot, 9}, std::pair{wire::offset::kSlot, 0}}) {
        Bytes frame = good;
        frame[kBowlineAt + at] = static_cast<std::byte>(value);
        fill_checksum(frame);
        arrives(frame);
        Notice notice;
        ASSERT_TRUE(b().take_notice(notice));
        EXPECT_EQ(notice.kind, Notice::Kind::unknown_tag);
        EXPECT_EQ(notice.length, frame.size());
        EXPECT_EQ(std::memcmp(notice.bytes, frame.data(), frame.size()), 0);
    }
    EXPECT_EQ(b().worker().counters().rx_unknown_tag, 4U);
    b().worker().receive(now_);
    EXPECT_EQ(b().port.free_packets(), b().port.packets());
}

TEST_F(WorkerReceive, ANoticeRingThatIsFullCostsPacketsThatAreCountedAndLeavesRoomForWhatControlMustHear) {
    associate_and_clear();
    Bytes frame = capture(10);
    frame[kBowlineAt + wire::offset::kTag] = std::byte{0xEE};
    fill_checksum(frame);
    for (int i = 0; i < 100; ++i) {
        arrives(frame);
    }
    EXPECT_EQ(b().worker().counters().notices_refused, 100U - (b().options().notices - kNoticesPerPeer));
    EXPECT_EQ(b().notices.free(), kNoticesPerPeer);
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), std::vector<Handed>{message(1, 10)});
}

TEST_F(WorkerReceive, ArpAndGreetingsGoToControlAndItsAnswerGoesOut) {
    Bytes request(wire::kEthernetFrameMin);
    wire::encode_arp_frame(wire::make_arp_request(a().endpoints().src_mac, Node::address(1), Node::address(2)),
                           wire::kNoVlan, request.data());
    arrives(request);
    Notice* const notice = b().notices.front();
    ASSERT_NE(notice, nullptr);
    EXPECT_EQ(notice->kind, Notice::Kind::frame);
    Command answer;
    answer.kind = Command::Kind::transmit_packet;
    answer.packet = notice->packet;
    answer.packet_bytes = notice->length;
    notice->bytes[20] = std::byte{0};
    notice->bytes[21] = std::byte{2};
    b().notices.pop();
    b().give(answer);
    b().turn(now_);
    WireFrame out;
    if (const WireFrame* frame = ba_.front()) {
        out = *frame;
    }
    EXPECT_EQ(out.length, wire::kEthernetFrameMin);
    EXPECT_EQ(out.bytes[21], std::byte{2});
    EXPECT_EQ(b().port.free_packets(), b().port.packets());
}

TEST_F(WorkerReceive, AHeldPacketKeepsItsBytesAndItsSlotIsFree) {
    associate_and_clear();
    ASSERT_TRUE(a().send(now_, 500));
    a().turn(now_);
    b().worker().receive(now_);
    Packet* held = nullptr;
    const std::byte* bytes = nullptr;
    b().worker().read(
        10,
        [&](PeerIndex, const std::byte* at, std::uint32_t, std::uint64_t, Packet* packet) {
            held = packet;
            bytes = at;
            if (packet != nullptr) {
                b().port.ref(packet);
            }
        },
        [](PeerIndex, const PeerEvent&) {});
    b().worker().finish_batch();
    ASSERT_NE(held, nullptr);
    for (int i = 0; i < 300; ++i) {
        ASSERT_TRUE(a().send(now_, 700));
        turns(1);
    }
    const Bytes expected = make_message(1, 500);
    EXPECT_EQ(std::memcmp(bytes, expected.data(), expected.size()), 0);
    EXPECT_EQ(b().take_handed().size(), 300U);
    b().port.free(held);
}

TEST_F(WorkerReceive, ABatchStopsAtItsLimitAndTheRestIsStillThere) {
    associate_and_clear();
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(a().send(now_, 10));
    }
    b().read_limit = 3;
    a().turn(now_);
    for (const std::size_t expected : {3U, 6U, 9U, 10U, 10U}) {
        b().turn(now_);
        EXPECT_EQ(b().handed.size(), expected);
    }
}

TEST_F(WorkerReceive, CopiesAndReorderingAreNotSeen) {
    associate_and_clear();
    int count = 0;
    a().port.fault = [&](std::span<std::byte>) {
        ++count;
        return count % 3 == 0 ? Fate::twice : count % 3 == 1 ? Fate::behind_the_next : Fate::pass;
    };
    std::vector<Handed> expected;
    for (int i = 0; i < 200; ++i) {
        ASSERT_TRUE(a().send(now_, 1000));
        expected.push_back(message(a().sent, 1000));
        if (i % 3 == 2) {
            turns(1);
        }
    }
    ASSERT_TRUE(settle());
    EXPECT_EQ(b().take_handed(), expected);
    EXPECT_GT(b().peer().receive.counters().duplicates, 0U);
    EXPECT_GT(b().peer().receive.counters().out_of_order, 0U);
}

}  // namespace
}  // namespace bowline::dataplane
