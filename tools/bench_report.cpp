#include "tools/bench_report.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "tools/bench_machine.hpp"
#include "tools/progress.hpp"

namespace bowline::tools {

namespace {

using Json = nlohmann::ordered_json;

// As `bowline ping` and `limit ping` both print them.
constexpr const char* kPercentiles[] = {"p50", "p90", "p99", "p99.9", "max"};

using Figure = std::function<double(const Json&)>;

/// One figure over all pairs of one side.
Json over(const std::vector<const BenchPair*>& pairs, const Json BenchPair::*side, const Figure& figure) {
    std::vector<double> values;
    for (const BenchPair* pair : pairs) {
        values.push_back(figure(pair->*side));
    }
    return summary_of(values);
}

/// The engine's figure over the raw device's, within each pair.
Json ratio(const std::vector<const BenchPair*>& pairs, const Figure& engine, const Figure& raw) {
    std::vector<double> values;
    for (const BenchPair* pair : pairs) {
        if (const double limit = raw(pair->raw); limit > 0) {
            values.push_back(engine(pair->engine) / limit);
        }
    }
    return summary_of(values);
}

Figure number(const char* key) {
    return [key](const Json& figures) { return figures.at(key).get<double>(); };
}
Figure percentile(const char* key) {
    return [key](const Json& figures) { return figures.at("rtt_ns").at(key).get<double>(); };
}

double median(const Json& summary) { return summary.is_null() ? 0 : summary.at("median").get<double>(); }

std::string ratio_text(const Json& summary) {
    return summary.is_null() ? "no valid pair"
                             : fmt::format("{:.2f} ({:.2f} to {:.2f})", median(summary),
                                           summary.at("min").get<double>(), summary.at("max").get<double>());
}

}  // namespace

bool BenchPair::is_valid() const {
    return std::all_of(core_distance_ns.begin(), core_distance_ns.end(),
                       [](double ns) { return ns >= kCoreDistanceMinNs && ns <= kCoreDistanceMaxNs; });
}

Json summary_of(std::vector<double> values) {
    if (values.empty()) {
        return nullptr;
    }
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
    return {{"median", median}, {"min", values.front()}, {"max", values.back()}};
}

Json case_report(const BenchCase& bench_case, const std::vector<BenchPair>& pairs) {
    std::vector<const BenchPair*> valid;
    Json list = Json::array();
    for (const BenchPair& pair : pairs) {
        const bool is_valid = pair.is_valid();
        if (is_valid) {
            valid.push_back(&pair);
        }
        list.push_back({{"raw", pair.raw},
                        {"engine", pair.engine},
                        {"core_distance_ns", pair.core_distance_ns},
                        {"discarded", !is_valid}});
    }
    Json report = {{"name", bench_case.name()},
                   {"medium", name_of(bench_case.medium)},
                   {"kind", name_of(bench_case.kind)},
                   {"size", bench_case.size},
                   {"rate", bench_case.rate},
                   {"raw_frame_bytes", bench_case.raw_frame_bytes()},
                   {"one_packet", bench_case.is_one_packet()},
                   {"valid_pairs", valid.size()},
                   {"discarded_pairs", pairs.size() - valid.size()}};
    Json engine;
    Json raw;
    Json ratios;
    if (bench_case.kind == BenchCase::Kind::one_way) {
        engine = {{"msgs_per_s", over(valid, &BenchPair::engine, number("msgs_per_s"))},
                  {"payload_bits_per_s", over(valid, &BenchPair::engine, number("payload_bits_per_s"))},
                  {"packets", over(valid, &BenchPair::engine, number("packets"))},
                  {"retransmits", over(valid, &BenchPair::engine, number("retransmits"))},
                  {"acks", over(valid, &BenchPair::engine, number("acks"))}};
        raw = {{"packets_per_s", over(valid, &BenchPair::raw, number("packets_per_s"))},
               {"bits_per_s", over(valid, &BenchPair::raw, number("bits_per_s"))}};
        ratios["bits"] = ratio(valid, number("payload_bits_per_s"), number("bits_per_s"));
        if (bench_case.is_one_packet()) {
            ratios["messages"] = ratio(valid, number("msgs_per_s"), number("packets_per_s"));
        }
    } else {
        for (const char* key : kPercentiles) {
            engine["rtt_ns"][key] = over(valid, &BenchPair::engine, percentile(key));
            raw["rtt_ns"][key] = over(valid, &BenchPair::raw, percentile(key));
            ratios[key] = ratio(valid, percentile(key), percentile(key));
        }
        engine["retransmits"] = over(valid, &BenchPair::engine, number("retransmits"));
    }
    report["engine"] = std::move(engine);
    report["raw"] = std::move(raw);
    report["ratios"] = std::move(ratios);
    report["pairs"] = std::move(list);
    return report;
}

std::string case_line(const Json& report) {
    const auto& name = report.at("name").get_ref<const std::string&>();
    const Json& engine = report.at("engine");
    const Json& raw = report.at("raw");
    const Json& ratios = report.at("ratios");
    const std::string discarded = report.at("discarded_pairs") == 0
                                      ? ""
                                      : fmt::format("; {} pairs discarded", report.at("discarded_pairs").get<int>());
    if (report.at("valid_pairs") == 0) {
        return fmt::format("{:32} no valid pair{}", name, discarded);
    }
    if (report.at("kind") != "one way") {
        return fmt::format("{:32} p50 {} against {} raw: {}{}", name, human_ns(median(engine.at("rtt_ns").at("p50"))),
                           human_ns(median(raw.at("rtt_ns").at("p50"))), ratio_text(ratios.at("p50")), discarded);
    }
    if (ratios.contains("messages")) {
        return fmt::format("{:32} {} msg/s against {} raw packets/s: {}{}", name,
                           human_count(median(engine.at("msgs_per_s"))), human_count(median(raw.at("packets_per_s"))),
                           ratio_text(ratios.at("messages")), discarded);
    }
    return fmt::format("{:32} {} against {} raw: {}{}", name, human_bits_per_s(median(engine.at("payload_bits_per_s"))),
                       human_bits_per_s(median(raw.at("bits_per_s"))), ratio_text(ratios.at("bits")), discarded);
}

}  // namespace bowline::tools
