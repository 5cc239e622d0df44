#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataplane/dpdk/device_list.hpp"
#include "tools/command.hpp"
#include "tools/options.hpp"

namespace bowline::tools {

namespace {

using dataplane::dpdk::DeviceListing;

struct DevicesOptions {
    bool json = false;
};

constexpr std::size_t kColumns = 9;
using Row = std::array<std::string, kColumns>;

Row row_of(const DeviceListing& listing) {
    return {listing.device,
            listing.driver,
            listing.link,
            listing.mtu == 0 ? "-" : std::to_string(listing.mtu),
            listing.numa_node < 0 ? "-" : std::to_string(listing.numa_node),
            listing.mac.empty() ? "-" : listing.mac,
            listing.offloads,
            listing.usable ? "yes" : "no",
            listing.note};
}

void print_table(const std::vector<DeviceListing>& listings) {
    std::vector<Row> rows = {{"DEVICE", "DRIVER", "LINK", "MTU", "NUMA", "MAC", "OFFLOADS", "USABLE", "NOTE"}};
    for (const DeviceListing& listing : listings) {
        rows.push_back(row_of(listing));
    }
    std::array<std::size_t, kColumns> widths{};
    for (const Row& row : rows) {
        for (std::size_t column = 0; column < kColumns; ++column) {
            widths[column] = std::max(widths[column], row[column].size());
        }
    }
    for (const Row& row : rows) {
        std::string line;
        for (std::size_t column = 0; column < kColumns; ++column) {
            line += fmt::format("{:<{}}  ", row[column], widths[column]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        fmt::print("{}\n", line);
    }
}

void print_json(const std::vector<DeviceListing>& listings) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const DeviceListing& listing : listings) {
        list.push_back({{"device", listing.device},
                        {"driver", listing.driver},
                        {"link", listing.link},
                        {"mtu", listing.mtu},
                        {"numa_node", listing.numa_node},
                        {"mac", listing.mac},
                        {"offloads", listing.offloads},
                        {"usable", listing.usable},
                        {"note", listing.note}});
    }
    fmt::print("{}\n", list.dump(2));
}

Result<void> run(const DevicesOptions& options) {
    const std::vector<DeviceListing> listings = dataplane::dpdk::list_devices();
    options.json ? print_json(listings) : print_table(listings);
    return {};
}

void bind(CLI::App& command, DevicesOptions& options) { bind_json(command, options.json); }

}  // namespace

void add_devices(CLI::App& root, Run& chosen) {
    add_command<DevicesOptions>(root, chosen, "devices", "list the ports that could be used", bind, run);
}

}  // namespace bowline::tools
