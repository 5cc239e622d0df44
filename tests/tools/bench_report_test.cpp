#include "tools/bench_report.hpp"

#include <gtest/gtest.h>

namespace bowline::tools {
namespace {

using Json = nlohmann::ordered_json;

Json round_trips(double p50) {
    return {{"rtt_ns", {{"p50", p50}, {"p90", p50 * 2}, {"p99", p50 * 3}, {"p99.9", p50 * 4}, {"max", p50 * 5}}},
            {"retransmits", 0}};
}

BenchPair pair_of(double raw, double engine, std::vector<double> distances = {300, 300, 300}) {
    return {round_trips(raw), round_trips(engine), std::move(distances)};
}

TEST(BenchReport, SummaryIsMedianLeastAndLargest) {
    EXPECT_EQ(summary_of({3, 1, 2}), (Json{{"median", 2.0}, {"min", 1.0}, {"max", 3.0}}));
    EXPECT_EQ(summary_of({4, 1, 2, 3}).at("median"), 2.5);
    EXPECT_TRUE(summary_of({}).is_null());
}

TEST(BenchReport, ARatioIsTakenWithinEachPair) {
    const Json report = case_report({}, {pair_of(1000, 1100), pair_of(2000, 2600), pair_of(1000, 1200)});
    EXPECT_DOUBLE_EQ(report.at("ratios").at("p50").at("median"), 1.2);
    EXPECT_DOUBLE_EQ(report.at("ratios").at("p50").at("min"), 1.1);
    EXPECT_DOUBLE_EQ(report.at("ratios").at("p50").at("max"), 1.3);
    EXPECT_EQ(report.at("engine").at("rtt_ns").at("p50").at("median"), 1200.0);
    EXPECT_EQ(report.at("raw").at("rtt_ns").at("p50").at("median"), 1000.0);
}

TEST(BenchReport, PairsOutsideTheCoreDistanceAreDiscardedAndCounted) {
    EXPECT_TRUE(pair_of(1, 1, {150, 600}).is_valid());
    EXPECT_TRUE(pair_of(1, 1, {}).is_valid());  // no shared memory
    EXPECT_FALSE(pair_of(1, 1, {300, 149, 300}).is_valid());
    EXPECT_FALSE(pair_of(1, 1, {300, 300, 601}).is_valid());
    const Json report = case_report({}, {pair_of(1000, 1100), pair_of(1000, 9000, {300, 50, 300})});
    EXPECT_EQ(report.at("valid_pairs"), 1);
    EXPECT_EQ(report.at("discarded_pairs"), 1);
    EXPECT_DOUBLE_EQ(report.at("ratios").at("p50").at("max"), 1.1);
    EXPECT_EQ(report.at("pairs").size(), 2U);
    EXPECT_NE(case_line(report).find("1 pairs discarded"), std::string::npos);
}

TEST(BenchReport, ALargeMessageIsComparedByBitsAlone) {
    const BenchPair pair = {
        {{"packets_per_s", 1e6}, {"bits_per_s", 10e9}},
        {{"msgs_per_s", 1e3}, {"payload_bits_per_s", 8e9}, {"packets", 1}, {"retransmits", 0}, {"acks", 1}},
        {}};
    const Json large = case_report({BenchCase::Kind::one_way, BenchCase::Medium::memif, 1U << 20U}, {pair});
    EXPECT_DOUBLE_EQ(large.at("ratios").at("bits").at("median"), 0.8);
    EXPECT_FALSE(large.at("ratios").contains("messages"));
    const Json small = case_report({BenchCase::Kind::one_way, BenchCase::Medium::memif, 64}, {pair});
    EXPECT_DOUBLE_EQ(small.at("ratios").at("messages").at("median"), 0.001);
}

Json whole_report(Json results) {
    return {{"when", "now"},
            {"seconds", 1.0},
            {"how", "so"},
            {"warnings", {"<b>&"}},
            {"core_distance", {{"ns", nullptr}, {"min_ns", 150.0}, {"max_ns", 600.0}, {"discarded_pairs", 0}}},
            {"machine", {{"cpu", "\"X\""}}},
            {"build", Json::object()},
            {"results", std::move(results)}};
}

TEST(BenchReport, ThePageStandsAloneAndEscapesWhatItQuotes) {
    const std::string page = html_page(whole_report({case_report({}, {pair_of(1000, 1100)})}));
    EXPECT_NE(page.find("&lt;b&gt;&amp;"), std::string::npos);
    EXPECT_NE(page.find("&quot;X&quot;"), std::string::npos);
    EXPECT_NE(page.find("<polyline"), std::string::npos);
    for (const char* outside : {"http:", "https:", "<script", "<link", "<img", " src="}) {
        EXPECT_EQ(page.find(outside), std::string::npos) << outside;
    }
}

TEST(BenchReport, ACaseWithoutValidPairsHasALineAndNoChart) {
    const Json report = case_report({}, {pair_of(1000, 1100, {50, 50, 50})});
    EXPECT_NE(case_line(report).find("no valid pair"), std::string::npos);
    EXPECT_EQ(html_page(whole_report({report})).find("<polyline"), std::string::npos);
}

}  // namespace
}  // namespace bowline::tools
