#include "protocol/settings_text.hpp"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace bowline::protocol {
namespace {

TEST(SettingsText, ReadsDurationsInEveryUnit) {
    EXPECT_EQ(parse_duration("0"), Duration());
    EXPECT_EQ(parse_duration("250ns"), Duration::ns(250));
    EXPECT_EQ(parse_duration("10us"), Duration::us(10));
    EXPECT_EQ(parse_duration("5ms"), Duration::ms(5));
    EXPECT_EQ(parse_duration("2s"), Duration::s(2));
    EXPECT_EQ(parse_duration("2min"), Duration::s(120));
    EXPECT_EQ(parse_duration("1h"), Duration::s(3600));
}

TEST(SettingsText, ReadsFractionsExactly) {
    EXPECT_EQ(parse_duration("1.5ms"), Duration::us(1500));
    EXPECT_EQ(parse_duration("0.000000001s"), Duration::ns(1));
    EXPECT_EQ(parse_duration("0.50us"), Duration::ns(500));
    EXPECT_EQ(parse_duration("0.0000000001s"), std::nullopt) << "finer than a nanosecond";
    EXPECT_EQ(parse_duration("0.5ns"), std::nullopt);
}

TEST(SettingsText, RefusesWhatIsNotADuration) {
    for (const char* text : {"", "s", "5", "-5ms", "+5ms", "5 ms", " 5ms", "5ms ", "5MS", "5.ms", ".5ms", "1e3ms", "5m",
                             "0.0", "9223372036854775808ns", "9223372037s", "99999999999999999999s"}) {
        EXPECT_EQ(parse_duration(text), std::nullopt) << text;
    }
}

TEST(SettingsText, ReadsSizes) {
    EXPECT_EQ(parse_size("0"), 0U);
    EXPECT_EQ(parse_size("1500"), 1500U);
    EXPECT_EQ(parse_size("64B"), 64U);
    EXPECT_EQ(parse_size("64KiB"), 65536U);
    EXPECT_EQ(parse_size("16MiB"), 16U << 20U);
    EXPECT_EQ(parse_size("2GiB"), std::uint64_t{2} << 30U);
}

TEST(SettingsText, RefusesWhatIsNotASize) {
    for (const char* text : {"", "KiB", "-1", "1.5KiB", "64 KiB", "64kB", "64MB", "64K", "64kib", "0x40",
                             "9223372036854775808", "9007199254740992MiB"}) {
        EXPECT_EQ(parse_size(text), std::nullopt) << text;
    }
}

TEST(SettingsText, ReadsWholeNumbers) {
    EXPECT_EQ(parse_integer("-1"), -1);
    EXPECT_EQ(parse_integer("7727"), 7727);
    for (const char* text : {"", "-", "+1", "1x", " 1", "1.0", "9223372036854775808"}) {
        EXPECT_EQ(parse_integer(text), std::nullopt) << text;
    }
}

TEST(SettingsText, ReadsThousandths) {
    EXPECT_EQ(parse_thousandths("0"), 0);
    EXPECT_EQ(parse_thousandths("100"), 100'000);
    EXPECT_EQ(parse_thousandths("0.8"), 800);
    EXPECT_EQ(parse_thousandths("1.050"), 1050);
    EXPECT_EQ(parse_thousandths("0.0010"), 1);
    for (const char* text : {"", ".", "1.", ".5", "-1", "+1", "1,5", "1.5x", "1.5.5", "1e3", " 1", "0.0005",
                             "9223372036854775.808", "9223372036854775808"}) {
        EXPECT_EQ(parse_thousandths(text), std::nullopt) << text;
    }
}

TEST(SettingsText, WritesDurationsAsAPersonWould) {
    EXPECT_EQ(format_duration(Duration()), "0");
    EXPECT_EQ(format_duration(Duration::us(500)), "500us");
    EXPECT_EQ(format_duration(Duration::us(1500)), "1.5ms");
    EXPECT_EQ(format_duration(Duration::s(60)), "1min");
    EXPECT_EQ(format_duration(Duration::s(90)), "90s");
    EXPECT_EQ(format_duration(Duration::ns(1234567)), "1234567ns");
    EXPECT_EQ(format_size(16U << 20U), "16MiB");
    EXPECT_EQ(format_size(1500), "1500");
    EXPECT_EQ(format_thousandths(0), "0");
    EXPECT_EQ(format_thousandths(100'000), "100");
    EXPECT_EQ(format_thousandths(800), "0.8");
    EXPECT_EQ(format_thousandths(1050), "1.05");
    EXPECT_EQ(format_thousandths(7), "0.007");
}

RC_GTEST_PROP(SettingsText, WhatIsWrittenReadsBackTheSame, ()) {
    const auto ns = *rc::gen::inRange<std::int64_t>(0, std::numeric_limits<std::int64_t>::max());
    // Coarser values reach the larger units, which a uniform draw never would.
    const auto coarse =
        *rc::gen::element<std::int64_t>(1, 100, 1'000, 100'000, 1'000'000, 1'000'000'000, 60'000'000'000);
    const Duration duration = Duration::ns(ns / coarse * coarse);
    RC_ASSERT(parse_duration(format_duration(duration)) == duration);
    const auto bytes = static_cast<std::uint64_t>(ns) & ~((std::uint64_t{1} << *rc::gen::inRange(0, 40)) - 1);
    RC_ASSERT(parse_size(format_size(bytes)) == bytes);
    RC_ASSERT(parse_thousandths(format_thousandths(ns / coarse)) == ns / coarse);
}

}  // namespace
}  // namespace bowline::protocol
