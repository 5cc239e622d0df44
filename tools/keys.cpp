#include <fmt/format.h>

#include "engine/config_keys.hpp"
#include "tools/command.hpp"

namespace bowline::tools {

namespace {

struct KeysOptions {
    bool markdown = false;
};

Result<void> run(const KeysOptions& options) {
    if (options.markdown) {
        fmt::print("{}", engine::configuration_reference());
        return {};
    }
    const Config defaults;
    for (const engine::Key& key : engine::config_keys()) {
        const std::string value = engine::value_text(defaults, key);
        fmt::print("{}{}\n    {}\n    must be {}\n", key.name, value.empty() ? "" : fmt::format(" = {}", value),
                   key.help, engine::allowed_text(key));
    }
    return {};
}

void bind(CLI::App& command, KeysOptions& options) {
    command.add_flag("--markdown", options.markdown, "as the page docs/CONFIGURATION.md");
}

}  // namespace

void add_keys(CLI::App& root, Run& chosen) {
    add_command<KeysOptions>(root, chosen, "keys", "list the configuration keys and their defaults", bind, run);
}

}  // namespace bowline::tools
