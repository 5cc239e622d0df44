#include "protocol/congestion/congestion.hpp"

#include <gtest/gtest.h>

namespace bowline::protocol {
namespace {

using Word = Congestion::Word;

CongestionView view_of(std::uint64_t in_flight, Duration srtt) {
    const Time now = Time::at_ns(1'000'000'000);
    return {.now = now, .last_sent = now, .srtt = srtt, .in_flight_pkts = in_flight};
}

TEST(Congestion, IsFixedUnlessConfiguredOtherwise) {
    Settings settings;
    settings.window_pkts = 64;
    Congestion congestion(settings);
    const CongestionView view = view_of(3, Duration::us(20));
    EXPECT_EQ(congestion.word(), (Word{64, true}));
    EXPECT_EQ(congestion.on_timeout(view), (Word{4, false}));
    EXPECT_EQ(congestion.on_acked(view, {.pkts = 2, .rtt = Duration::ms(9), .delay = {}}), (Word{6, false}));
    EXPECT_EQ(congestion.on_lost(view), (Word{6, false}));
    EXPECT_EQ(congestion.on_recovered(view), (Word{64, true}));
    EXPECT_EQ(congestion.on_opened(view), (Word{64, true}));
    EXPECT_TRUE(congestion.release_at().is_never());
}

TEST(Congestion, SwiftPacesWithinAnEighthOfTheGiveUpTimeAndTheLongestTimeout) {
    Settings settings;
    settings.congestion = CongestionAlgorithm::swift;
    settings.give_up = Duration::ms(80);
    Congestion congestion(settings);
    EXPECT_EQ(congestion.word(), (Word{10, false}));
    CongestionView view = view_of(0, Duration::ms(1));
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(congestion.on_timeout(view).ignores_acks, false);
    }
    EXPECT_EQ(congestion.on_timeout(view), (Word{0, false}));
    EXPECT_EQ(congestion.release_at(), view.now + Duration::ms(10));
    view.now = congestion.release_at();
    EXPECT_EQ(congestion.on_release(view), (Word{1, false}));
}

}  // namespace
}  // namespace bowline::protocol
