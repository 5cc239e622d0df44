#include "tools/options.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "protocol/settings_text.hpp"

namespace bowline::tools {

namespace {

Error usage_error(std::string message) { return {Error::Kind::configuration, std::move(message)}; }

Result<void> set(Config& config, std::string_view key, const std::string& value, const std::string& option) {
    if (Result<void> done = config.set(key, value); !done) {
        return usage_error(option + ": " + done.error().message);
    }
    return {};
}

Result<void> apply(Config& config, const CommonOptions& options) {
    const std::pair<const char*, const std::string&> named[] = {
        {"name", options.name}, {"device", options.device}, {"address", options.address}};
    for (const auto& [key, value] : named) {
        if (value.empty()) {
            continue;
        }
        if (Result<void> done = set(config, key, value, fmt::format("--{}", key)); !done) {
            return done;
        }
    }
    for (const std::string& peer : options.peers) {
        if (Result<void> done = set(config, "peer", peer, "--peer"); !done) {
            return done;
        }
    }
    for (const std::string& text : options.overrides) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos) {
            return usage_error(fmt::format("-o {}: must be KEY=VALUE; `bowline keys` lists the keys", text));
        }
        if (Result<void> done = set(config, text.substr(0, equals), text.substr(equals + 1), "-o"); !done) {
            return done;
        }
    }
    return {};
}

// Adds an option whose text `parse` turns into a value or nothing; `expected` says what it must be.
template <typename Value, typename Parse>
CLI::Option* add_parsed(CLI::App& command, const std::string& name, Value& value, const std::string& help, Parse parse,
                        const char* type, const char* expected) {
    return command
        .add_option_function<std::string>(
            name,
            [&value, name, parse, expected](const std::string& text) {
                const auto parsed = parse(text);
                if (!parsed) {
                    throw CLI::ValidationError(name, fmt::format("must be {}, not '{}'", expected, text));
                }
                value = *parsed;
            },
            help)
        ->type_name(type);
}

}  // namespace

Result<Config> CommonOptions::config() const {
    Result<Config> config = config_file.empty() ? Result<Config>(Config()) : Config::load(config_file);
    if (!config) {
        return config;
    }
    if (const Result<void> done = apply(*config, *this); !done) {
        return done.error();
    }
    if (const Result<void> valid = config->validate(); !valid) {
        const std::string where = config_file.empty() ? "" : config_file + ": ";
        return usage_error(where + valid.error().message);
    }
    return config;
}

void bind_common(CLI::App& command, CommonOptions& options) {
    const char* const group = "Engine";
    command.add_option("--config", options.config_file, "TOML file with this node's configuration")
        ->type_name("FILE")
        ->group(group);
    command.add_option("--name", options.name, "this node's name")->type_name("NAME")->group(group);
    command
        .add_option("--device", options.device,
                    "device to run on: memif:PATH, af_packet:IFACE, ... (see `bowline devices`)")
        ->type_name("DEVICE")
        ->group(group);
    command.add_option("--address", options.address, "this node's IPv4 address and its network's prefix length")
        ->type_name("A.B.C.D/N")
        ->group(group);
    command.add_option("--peer", options.peers, "a peer; may be repeated")
        ->type_name("NAME=ADDRESS[,MAC]")
        ->allow_extra_args(false)
        ->group(group);
    command
        .add_option("-o", options.overrides, "sets any configuration key; may be repeated; `bowline keys` lists them")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->group(group);
    command.add_option("--cpu", options.cpu, "CPU to pin this command's polling thread to")
        ->type_name("N")
        ->group(group);
}

void bind_json(CLI::App& command, bool& json) { command.add_flag("--json", json, "print figures as JSON"); }

CLI::Option* add_duration(CLI::App& command, const std::string& name, Duration& value, const std::string& help) {
    return add_parsed(command, name, value, help, protocol::parse_duration, "DURATION",
                      "a duration such as '500us', '10ms' or '5s'")
        ->default_str(protocol::format_duration(value));
}

CLI::Option* add_size(CLI::App& command, const std::string& name, std::uint64_t& value, const std::string& help) {
    return add_parsed(command, name, value, help, protocol::parse_size, "BYTES", "a size such as 64, '16KiB' or '1MiB'")
        ->default_str(protocol::format_size(value));
}

CLI::Option* add_rate(CLI::App& command, const std::string& name, double& value, const std::string& help) {
    return add_parsed(command, name, value, help, parse_rate, "RATE", "a rate above 0 such as 5000, '100k' or '1.5M'");
}

std::optional<double> parse_rate(const std::string& text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{}) {
        return std::nullopt;
    }
    const std::string_view unit(stopped, static_cast<std::size_t>(end - stopped));
    const double factor = unit.empty() ? 1.0 : unit == "k" ? 1e3 : unit == "M" ? 1e6 : unit == "G" ? 1e9 : 0.0;
    value *= factor;
    return std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt;
}

}  // namespace bowline::tools
