#include "engine/sizing.hpp"

#include <bit>

#include <gtest/gtest.h>

namespace bowline::engine {
namespace {

Config with_peers(std::size_t peers) {
    Config config;
    config.peers.resize(peers);
    return config;
}

TEST(Sizing, GivesOnePeerWhatIsConfigured) {
    const Result<Sizing> sizing = size_engine(with_peers(1));
    ASSERT_TRUE(sizing);
    EXPECT_EQ(sizing->window_pkts, Config().window);
    EXPECT_EQ(sizing->send_queue_pkts, Config().send_queue);
    EXPECT_FALSE(sizing->warning.has_value());
}

TEST(Sizing, NoPeerCanTakeWhatAnotherWasPromised) {
    for (const std::size_t peers : {1U, 2U, 7U, 20U, 33U, 100U, 1000U, 4096U}) {
        for (const std::uint32_t pool : {0U, 30'000U, 60'000U, 1'000'000U}) {
            Config config = with_peers(peers);
            config.packet_pool = pool;
            const Result<Sizing> sizing = size_engine(config);
            ASSERT_TRUE(sizing) << sizing.error().message;
            // Every ring full, every window full, every queue full and a packet being filled for each peer, and what
            // the application may hold: all of it fits.
            const std::uint64_t promised =
                config.held_max + peers * (2 * std::uint64_t{sizing->window_pkts} + sizing->send_queue_pkts + 1);
            EXPECT_LT(promised, sizing->pool_pkts) << peers << " peers, pool " << pool;
            EXPECT_LE(peers * (std::uint64_t{sizing->window_pkts} + sizing->send_queue_pkts + 1),
                      sizing->data_pkts_max);
            EXPECT_GE(sizing->window_pkts, 2U);
            EXPECT_TRUE(std::has_single_bit(sizing->window_pkts));
            EXPECT_GE(sizing->send_queue_pkts, 1U);
            EXPECT_EQ(sizing->warning.has_value(), sizing->window_pkts < config.window);
        }
    }
}

TEST(ProtocolSettings, AreThoseOfTheConfigurationAndTheSameByDefault) {
    Config config = with_peers(1);
    const auto settings = [&config] { return protocol_settings(config, *size_engine(config)); };
    using protocol::CongestionAlgorithm;
    using protocol::Duration;
    const protocol::SwiftSettings defaults;
    EXPECT_EQ(settings().congestion, CongestionAlgorithm::fixed);
    EXPECT_EQ(settings().swift, defaults);
    config.congestion = Config::Congestion::swift;
    config.swift_base_target_ns = 1;
    config.swift_fs_range_ns = 2;
    config.swift_fs_min_cwnd_milli = 3;
    config.swift_fs_max_cwnd_milli = 4;
    config.swift_ai_milli = 5;
    config.swift_beta_milli = 6;
    config.swift_max_mdf_milli = 7;
    config.swift_min_cwnd_milli = 8;
    EXPECT_EQ(settings().congestion, CongestionAlgorithm::swift);
    EXPECT_EQ(settings().swift, (protocol::SwiftSettings{.base_target = Duration::ns(1),
                                                         .fs_range = Duration::ns(2),
                                                         .fs_min_cwnd_milli = 3,
                                                         .fs_max_cwnd_milli = 4,
                                                         .ai_milli = 5,
                                                         .beta_milli = 6,
                                                         .max_mdf_milli = 7,
                                                         .min_cwnd_milli = 8}));
}

TEST(Sizing, SaysWhichKeyToRaiseWhenThePoolIsTooSmall) {
    Config config = with_peers(100);
    config.packet_pool = 1500;
    const Result<Sizing> sizing = size_engine(config);
    ASSERT_FALSE(sizing);
    EXPECT_NE(sizing.error().message.find("packet_pool = 1500"), std::string::npos) << sizing.error().message;
    EXPECT_EQ(sizing.error().kind, Error::Kind::configuration);
}

}  // namespace
}  // namespace bowline::engine
