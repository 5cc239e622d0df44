#include "dataplane/large_buffer.hpp"

#include <utility>

#include <gtest/gtest.h>

namespace bowline::dataplane {
namespace {

TEST(LargeBuffer, IsZeroedRoomOfItsSizeAndMovesWithItsOwner) {
    EXPECT_TRUE(LargeBuffer().bytes().empty());
    LargeBuffer buffer(100'000);
    ASSERT_EQ(buffer.bytes().size(), 100'000U);
    EXPECT_EQ(buffer.bytes()[99'999], std::byte{0});
    buffer.bytes()[99'999] = std::byte{7};
    LargeBuffer moved(std::move(buffer));
    EXPECT_EQ(moved.bytes()[99'999], std::byte{7});
    LargeBuffer assigned;
    assigned = std::move(moved);
    EXPECT_EQ(assigned.bytes()[99'999], std::byte{7});
}

TEST(LargeBuffer, IsEmptyWhenTheAddressSpaceIsRefused) {
    EXPECT_TRUE(LargeBuffer(std::size_t{1} << 60U).bytes().empty());
}

}  // namespace
}  // namespace bowline::dataplane
