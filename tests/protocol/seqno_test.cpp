#include "protocol/seqno.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace bowline::protocol {
namespace {

TEST(Seqno, ExpandsToTheNearestNumberWithTheseLowBits) {
    EXPECT_EQ(Seqno::expand(0, Seqno(0xFFFF'FFFFU)), Seqno(0x1'0000'0000U));
    EXPECT_EQ(Seqno::expand(0xFFFF'FFFFU, Seqno(0x1'0000'0000U)), Seqno(0xFFFF'FFFFU));
    EXPECT_EQ(Seqno::expand(7, Seqno(0x5'0000'0003U)), Seqno(0x5'0000'0007U));
}

TEST(Seqno, ExpandInvertsTruncationWithinHalfTheSpace) {
    EXPECT_TRUE(rc::check([](std::uint64_t base, std::int32_t offset) {
        const Seqno near(base | (1ULL << 40U));
        const Seqno seqno(near.value() + static_cast<std::uint64_t>(static_cast<std::int64_t>(offset)));
        RC_ASSERT(Seqno::expand(seqno.wire(), near) == seqno);
    }));
}

TEST(Seqno, OrderHoldsAcrossTheWrapOfTheWireNumber) {
    const Seqno last(0xFFFF'FFFFU);
    EXPECT_TRUE(last.before(last + 1));
    EXPECT_FALSE(last.after(last + 1));
    EXPECT_EQ((last + 5).distance_from(last), 5);
    EXPECT_EQ(last.distance_from(last + 5), -5);
}

}  // namespace
}  // namespace bowline::protocol
