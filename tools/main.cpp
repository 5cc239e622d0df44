#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/command.hpp"
#include "tools/stop_flag.hpp"

namespace bowline::tools {

namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;

// `bowline cat`, or `bowline` when no subcommand was named.
std::string command_line(const CLI::App& root) {
    const auto called = root.get_subcommands();
    return called.empty() ? "bowline" : "bowline " + called.front()->get_name();
}

int fail(const CLI::App& root, const std::string& message, int code) {
    const std::string command = command_line(root);
    fmt::print(stderr, "{}: {}\n", command, message);
    return code;
}

int parse(CLI::App& root, int argc, char** argv) {
    try {
        root.parse(argc, argv);
        return kDone;
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
            root.exit(error);  // --help, --version
            return kDone;
        }
        // CLI11 would say that a subcommand is required, and not that this is none.
        const auto called = root.get_subcommands();
        const auto left = called.empty() ? std::vector<std::string>() : called.front()->remaining();
        if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError) && !left.empty()) {
            return fail(root, fmt::format("there is no '{}' here (see `{} --help`)", left.front(), command_line(root)),
                        kUsage);
        }
        return fail(root, fmt::format("{} (see `{} --help`)", error.what(), command_line(root)), kUsage);
    }
}

int run(int argc, char** argv) {
    CLI::App root("Reliable, ordered, exactly-once messages between nodes, at the speed of the device.", "bowline");
    root.require_subcommand(1);
    root.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    Run chosen;
    for (const auto add : {add_cat, add_echo, add_ping, add_sink, add_flood, add_bench, add_node, add_ctl, add_devices,
                           add_sim, add_keys, add_version}) {
        add(root, chosen);
    }
    root.footer("Exit codes: 0 done, 1 failed, 2 wrong usage or configuration. Errors are on standard error.");
    // CLI11 would say that a subcommand is required, and not that this is none.
    const auto known = root.get_subcommands([](const CLI::App*) { return true; });
    if (argc > 1 && argv[1][0] != '-' &&
        std::none_of(known.begin(), known.end(), [&](const CLI::App* s) { return s->get_name() == argv[1]; })) {
        return fail(root, fmt::format("there is no subcommand '{}' (see `bowline --help`)", argv[1]), kUsage);
    }
    if (const int code = parse(root, argc, argv); code != kDone || !chosen) {
        return code;
    }
    catch_stop_signals();
    const Result<void> done = chosen();
    if (done) {
        // Output that could not be written (a full disk, a closed pipe) is not done.
        return std::fflush(stdout) == 0 ? kDone : fail(root, "cannot write standard output", kFailed);
    }
    return fail(root, done.error().message, done.error().kind == Error::Kind::configuration ? kUsage : kFailed);
}

}  // namespace

}  // namespace bowline::tools

int main(int argc, char** argv) {
    try {
        return bowline::tools::run(argc, argv);
    } catch (const std::exception& error) {
        fmt::print(stderr, "bowline: {}\n", error.what());
        return 1;
    }
}
