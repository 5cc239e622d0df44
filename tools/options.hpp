#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bowline/config.hpp"
#include "bowline/result.hpp"
#include "protocol/time.hpp"

namespace bowline::tools {

using protocol::Duration;

/// What every subcommand that runs an engine takes.
struct CommonOptions {
    std::string config_file;
    std::string name;
    std::string device;
    std::string address;
    std::vector<std::string> peers;      ///< NAME=ADDRESS[,MAC]
    std::vector<std::string> overrides;  ///< KEY=VALUE
    std::optional<int> cpu;              ///< for the thread that polls
    bool json = false;

    /// The configuration that they stand for, valid as a whole: the file's, then the options', then the overrides'.
    [[nodiscard]] Result<Config> config() const;
};

void bind_common(CLI::App& command, CommonOptions& options);
/// `--json`, for the subcommands that print figures.
void bind_json(CLI::App& command, bool& json);

// Options whose values are durations, sizes and rates as people write them. What the variable holds is the default.
CLI::Option* add_duration(CLI::App& command, const std::string& name, Duration& value, const std::string& help);
CLI::Option* add_size(CLI::App& command, const std::string& name, std::uint64_t& value, const std::string& help);
/// A number, with k, M or G behind it for thousands, millions and so on. No default: `value` stays 0.
CLI::Option* add_rate(CLI::App& command, const std::string& name, double& value, const std::string& help);

/// `1.5M` is 1.5 million. Nothing for other text, and for what is not above 0.
std::optional<double> parse_rate(const std::string& text);

}  // namespace bowline::tools
