#include <fmt/format.h>

#include "tools/command.hpp"

namespace bowline::tools {

namespace {

struct VersionOptions {};

Result<void> run(const VersionOptions&) {
    fmt::print("bowline {}\n", BOWLINE_VERSION);
    return {};
}

void bind(CLI::App&, VersionOptions&) {}

}  // namespace

void add_version(CLI::App& root, Run& chosen) {
    root.set_version_flag("--version", "bowline " BOWLINE_VERSION);
    add_command<VersionOptions>(root, chosen, "version", "print the version", bind, run);
}

}  // namespace bowline::tools
