#include "tools/cat.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocol/settings_text.hpp"
#include "tools/cat_frames.hpp"
#include "tools/command.hpp"
#include "tools/progress.hpp"

namespace bowline::tools {

namespace {

// Standard output may be the data's, so that figures go to standard error.
void print(const CatFigures& figures, const CatOptions& options) {
    const double bits_per_s = figures.seconds > 0 ? static_cast<double>(figures.bytes) * 8 / figures.seconds : 0;
    if (options.common.json) {
        const nlohmann::ordered_json json = {
            {"bytes", figures.bytes},   {"messages", figures.messages},       {"seconds", figures.seconds},
            {"bits_per_s", bits_per_s}, {"retransmits", figures.retransmits}, {"packets", figures.packets},
        };
        fmt::print(stderr, "{}\n", json.dump());
        return;
    }
    const bool sent = !options.to.empty();
    fmt::print(stderr, "{} {} in {} messages {} '{}': {:.3f} s, {}", sent ? "sent" : "received",
               human_bytes(static_cast<double>(figures.bytes)), figures.messages, sent ? "to" : "from",
               sent ? options.to : options.from, figures.seconds, human_bits_per_s(bits_per_s));
    if (sent) {
        fmt::print(stderr, ", {} packets, {} of them resent", figures.packets, figures.retransmits);
    }
    fmt::print(stderr, "\n");
}

Result<void> run(const CatOptions& options) {
    const bool sends = !options.to.empty();
    Result<Session> session =
        start_session(options.common, sends ? options.to : options.from, options.size, kCatDataHeader);
    if (!session) {
        return session.error();
    }
    const Result<Peer> peer = session->engine.peer(sends ? options.to : options.from);
    if (!peer) {
        return peer.error();
    }
    const Result<CatFigures> figures =
        sends ? cat_send(*session, *peer, options) : cat_receive(*session, *peer, options);
    session->engine.stop(IgnoringHandler());
    if (!figures) {
        return figures.error();
    }
    print(*figures, options);
    return {};
}

void bind(CLI::App& command, CatOptions& options) {
    CLI::Option_group* const direction = command.add_option_group("Direction", "one of them");
    direction->add_option("--to", options.to, "send standard input to this peer")->type_name("PEER");
    direction
        ->add_option("--from", options.from, "write what this peer sends to standard output, until it has finished")
        ->type_name("PEER");
    direction->require_option(1);
    bind_common(command, options.common);
    CLI::Option* const lines = command.add_flag("--lines", options.lines, "--to: a message a line");
    add_size(command, "--size", options.size, "--to: bytes a message, at most")
        ->default_str("16KiB")
        ->excludes(lines)
        ->check([](const std::string& text) {
            return protocol::parse_size(text) == 0U ? "--size: must be at least 1 byte" : std::string();
        });
    add_duration(command, "--wait", options.wait, "how long to wait for a peer that is away");
    add_duration(command, "--timeout", options.timeout, "how long the whole may take; 0: as long as it takes");
    bind_json(command, options.common.json);
    command.footer("Exits with 0 only when everything was delivered, written out and acknowledged.");
}

}  // namespace

Result<void> Deadline::check() const {
    const bool over =
        limit_ > Duration() && std::chrono::steady_clock::now() - start_ > std::chrono::nanoseconds(limit_.ns());
    return over ? Result<void>(system_error("not finished within --timeout " + protocol::format_duration(limit_)))
                : Result<void>();
}

void add_cat(CLI::App& root, Run& chosen) {
    add_command<CatOptions>(root, chosen, "cat", "send standard input to a peer, or write out what one sends", bind,
                            run);
}

}  // namespace bowline::tools
