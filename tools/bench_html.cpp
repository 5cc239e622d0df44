#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/bench_report.hpp"
#include "tools/progress.hpp"

// The page of `bowline bench`: facts, warnings, a table, and charts as inline SVG.
namespace bowline::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Bowline: measured</title><style>
body{font:15px/1.5 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#222;background:#fff}
table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .8em;border-bottom:1px solid #ddd;text-align:left}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}.warning{background:#fff4d6;padding:.3em .8em;margin:.3em 0}
svg{max-width:100%;height:auto;margin:.5em 0}svg text{font:12px system-ui,sans-serif;fill:#333}
.engine{fill:#1f6feb;stroke:#1f6feb}.raw{fill:#9aa4b0;stroke:#9aa4b0}polyline{fill:none!important;stroke-width:2}
.axis{stroke:#bbb}</style></head><body><h1>Bowline against the raw device</h1>
)";

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '&':
                out += "&amp;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

std::string text_of(const Json& value) { return escaped(value.is_string() ? value.get<std::string>() : value.dump()); }

double median(const Json& summary) { return summary.is_null() ? 0 : summary.at("median").get<double>(); }

std::string facts(const char* title, const Json& object) {
    std::string html = fmt::format("<h2>{}</h2><table>", title);
    for (const auto& [key, value] : object.items()) {
        std::string name = key;
        std::replace(name.begin(), name.end(), '_', ' ');
        html += fmt::format("<tr><th>{}</th><td>{}</td></tr>", escaped(name), text_of(value));
    }
    return html + "</table>\n";
}

std::string ratio_cell(const Json& summary) {
    return summary.is_null() ? "<td class=n>–</td>"
                             : fmt::format("<td class=n>{:.2f} <small>({:.2f} to {:.2f})</small></td>", median(summary),
                                           summary.at("min").get<double>(), summary.at("max").get<double>());
}

std::string row_begin(const Json& result) { return fmt::format("<tr><td>{}</td>", text_of(result.at("name"))); }
std::string row_end(const Json& result) {
    return fmt::format("<td class=n>{}</td><td class=n>{}</td></tr>", result.at("valid_pairs").get<int>(),
                       result.at("discarded_pairs").get<int>());
}

std::string latency_table(const std::vector<const Json*>& results) {
    std::string html =
        "<h2>Round trips</h2><table><tr><th></th><th class=n>p50</th><th class=n>raw p50</th><th class=n>p50 / raw</th>"
        "<th class=n>p99</th><th class=n>raw p99</th><th class=n>p99 / raw</th><th class=n>pairs</th>"
        "<th class=n>discarded</th></tr>";
    for (const Json* result : results) {
        html += row_begin(*result);
        for (const char* key : {"p50", "p99"}) {
            for (const char* side : {"engine", "raw"}) {
                const double ns = median(result->at(side).at("rtt_ns").at(key));
                html += fmt::format("<td class=n>{}</td>", ns > 0 ? human_ns(ns) : "–");
            }
            html += ratio_cell(result->at("ratios").at(key));
        }
        html += row_end(*result);
    }
    return html + "</table>\n";
}

std::string rate_table(const std::vector<const Json*>& results) {
    std::string html =
        "<h2>One way</h2><table><tr><th></th><th class=n>messages/s</th><th class=n>payload</th>"
        "<th class=n>raw packets/s</th><th class=n>raw</th><th class=n>messages / raw packets</th>"
        "<th class=n>payload / raw bits</th><th class=n>pairs</th><th class=n>discarded</th></tr>";
    for (const Json* result : results) {
        const Json& ratios = result->at("ratios");
        html += row_begin(*result);
        html += fmt::format("<td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td>",
                            human_count(median(result->at("engine").at("msgs_per_s"))),
                            human_bits_per_s(median(result->at("engine").at("payload_bits_per_s"))),
                            human_count(median(result->at("raw").at("packets_per_s"))),
                            human_bits_per_s(median(result->at("raw").at("bits_per_s"))));
        html += ratio_cell(ratios.value("messages", Json())) + ratio_cell(ratios.at("bits")) + row_end(*result);
    }
    return html + "</table>\n";
}

/// Percentiles to the right, each as far again as the one before it; time upwards, in powers of ten.
std::string latency_chart(const Json& result) {
    constexpr double left = 70;
    constexpr double top = 20;
    constexpr double width = 420;
    constexpr double height = 160;
    constexpr std::pair<const char*, double> points[] = {
        {"p50", 0.0}, {"p90", 0.25}, {"p99", 0.5}, {"p99.9", 0.75}, {"max", 1.0}};
    double least = HUGE_VAL;
    double most = 0;
    for (const char* side : {"engine", "raw"}) {
        for (const auto& [key, at] : points) {
            const double ns = median(result.at(side).at("rtt_ns").at(key));
            least = std::min(least, ns);
            most = std::max(most, ns);
        }
    }
    if (!(least > 0)) {
        return "";  // no valid pair
    }
    const double from = std::floor(std::log10(least));
    const double to = std::max(std::ceil(std::log10(most)), from + 1);
    const auto y_of = [&](double ns) { return top + height * (1 - (std::log10(ns) - from) / (to - from)); };
    std::string svg = fmt::format("<h3>{}</h3><svg width=\"560\" height=\"215\" role=\"img\" aria-label=\"latency\">",
                                  text_of(result.at("name")));
    for (double power = from; power <= to; ++power) {
        const double y = y_of(std::pow(10, power));
        svg += fmt::format(
            "<line class=axis x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text x=\"{}\" y=\"{:.1f}\" "
            "text-anchor=\"end\">{}</text>",
            left, left + width, y, y, left - 6, y + 4, human_ns(std::pow(10, power)));
    }
    for (const auto& [key, at] : points) {
        svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", left + at * width,
                           top + height + 18, key);
    }
    for (const char* side : {"raw", "engine"}) {
        std::string line;
        double end = 0;
        for (const auto& [key, at] : points) {
            end = y_of(median(result.at(side).at("rtt_ns").at(key)));
            line += fmt::format("{:.1f},{:.1f} ", left + at * width, end);
        }
        svg += fmt::format("<polyline class={} points=\"{}\"/><text x=\"{}\" y=\"{:.1f}\">{}</text>", side, line,
                           left + width + 6, end + (side[0] == 'r' ? 10 : 0), side);
    }
    return svg + "</svg>\n";
}

/// A pair of bars a result: the engine's and the raw device's.
std::string bar_chart(const std::vector<const Json*>& results, const char* title, const char* engine_key,
                      const char* raw_key, const std::function<std::string(double)>& human) {
    double most = 0;
    for (const Json* result : results) {
        most = std::max({most, median(result->at("engine").at(engine_key)), median(result->at("raw").at(raw_key))});
    }
    if (!(most > 0)) {
        return "";
    }
    constexpr double left = 170;
    constexpr double width = 400;
    constexpr double row = 44;
    std::string svg = fmt::format("<h3>{}</h3><svg width=\"700\" height=\"{:.0f}\" role=\"img\" aria-label=\"{}\">",
                                  title, row * static_cast<double>(results.size()), title);
    double y = 4;
    for (const Json* result : results) {
        svg += fmt::format("<text x=\"0\" y=\"{:.0f}\">{}</text>", y + 20, text_of(result->at("name")));
        for (const auto& [side, key, below] :
             {std::tuple("engine", engine_key, 0.0), std::tuple("raw", raw_key, 17.0)}) {
            const double value = median(result->at(side).at(key));
            svg += fmt::format(
                "<rect class={} x=\"{}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"14\"/><text x=\"{:.1f}\" y=\"{:.0f}\">"
                "{} {}</text>",
                side, left, y + below, value / most * width, left + value / most * width + 6, y + below + 12, side,
                escaped(human(value)));
        }
        y += row;
    }
    return svg + "</svg>\n";
}

}  // namespace

std::string html_page(const Json& report) {
    std::vector<const Json*> latencies;
    std::vector<const Json*> small;
    std::vector<const Json*> rates;
    for (const Json& result : report.at("results")) {
        if (result.at("kind") != "one way") {
            latencies.push_back(&result);
        } else {
            rates.push_back(&result);
            if (result.at("one_packet") == true) {
                small.push_back(&result);
            }
        }
    }
    std::string html = kHead;
    html += fmt::format("<p>{}; {:.0f} s. {}</p>", text_of(report.at("when")), report.at("seconds").get<double>(),
                        text_of(report.at("how")));
    for (const Json& warning : report.at("warnings")) {
        html += fmt::format("<p class=warning>{}</p>", text_of(warning));
    }
    const Json& distance = report.at("core_distance");
    html += fmt::format("<p>Core distance: {}; {} pairs discarded outside {:.0f} to {:.0f} ns.</p>\n",
                        distance.at("ns").is_null() ? "not probed" : human_ns(median(distance.at("ns"))),
                        distance.at("discarded_pairs").get<int>(), distance.at("min_ns").get<double>(),
                        distance.at("max_ns").get<double>());
    html += latency_table(latencies) + rate_table(rates);
    html += "<h2>Latency by percentile</h2>";
    for (const Json* result : latencies) {
        html += latency_chart(*result);
    }
    html += "<h2>Rates</h2>";
    html += bar_chart(small, "Messages, and raw packets of one message, a second", "msgs_per_s", "packets_per_s",
                      human_count);
    html += bar_chart(rates, "Payload, and bits of raw frames, a second", "payload_bits_per_s", "bits_per_s",
                      human_bits_per_s);
    html += facts("Machine", report.at("machine")) + facts("Build", report.at("build"));
    return html + "</body></html>\n";
}

}  // namespace bowline::tools
