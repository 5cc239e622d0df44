#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "bowline/result.hpp"

namespace bowline::tools {

/// What a subcommand does once its options are read. Error::Kind::configuration makes the process exit with 2, any
/// other error with 1, no error with 0; the message is printed on standard error behind `bowline SUBCOMMAND: `.
using Run = std::function<Result<void>()>;

// Each adds its subcommand to `root`, which sets `chosen` when it is the one that was called.
void add_cat(CLI::App& root, Run& chosen);
void add_echo(CLI::App& root, Run& chosen);
void add_ping(CLI::App& root, Run& chosen);
void add_sink(CLI::App& root, Run& chosen);
void add_flood(CLI::App& root, Run& chosen);
void add_bench(CLI::App& root, Run& chosen);
void add_node(CLI::App& root, Run& chosen);
void add_ctl(CLI::App& root, Run& chosen);
void add_devices(CLI::App& root, Run& chosen);
void add_sim(CLI::App& root, Run& chosen);
void add_keys(CLI::App& root, Run& chosen);
void add_version(CLI::App& root, Run& chosen);

/// The usual way to do so: an Options of the subcommand's own, bound by `bind` and handed to `run`.
template <typename Options>
void add_command(CLI::App& root, Run& chosen, const char* name, const char* help, void (*bind)(CLI::App&, Options&),
                 Result<void> (*run)(const Options&)) {
    CLI::App* const command = root.add_subcommand(name, help);
    const auto options = std::make_shared<Options>();
    bind(*command, *options);
    command->callback([options, run, &chosen] { chosen = [options, run] { return run(*options); }; });
}

}  // namespace bowline::tools
