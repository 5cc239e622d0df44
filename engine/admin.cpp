#include "engine/admin.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "engine/answer.hpp"
#include "engine/view_names.hpp"

namespace bowline::engine {

namespace {

using Kind = ControlRequest::Kind;

Error refusal(ControlInbox::Posted posted) {
    return posted == ControlInbox::Posted::full
               ? Error{Error::Kind::system, "too many requests wait for the engine already: try again"}
               : Error{Error::Kind::misuse, "the engine has stopped"};
}

Error silence(const Config& config, Kind kind) {
    if (kind == Kind::report && config.mode == Config::Mode::inline_) {
        return {Error::Kind::system,
                "the application does not poll: in mode = inline the figures of connections are read on its polls, and "
                "there was none for 1s"};
    }
    return {Error::Kind::system, "the engine did not answer within 1s"};
}

}  // namespace

Result<Report> Admin::ask(ControlRequest request) {
    const auto answer = std::make_shared<Answer>();
    const Kind kind = request.kind;
    request.answer = answer;
    if (const ControlInbox::Posted posted = control_.post(std::move(request)); posted != ControlInbox::Posted::yes) {
        return refusal(posted);
    }
    std::optional<Result<Report>> report = answer->wait(kPatience);
    return report ? *std::move(report) : Result<Report>(silence(config_, kind));
}

Result<Report> Admin::ask_of_peer(Kind kind, std::string_view name) {
    const Result<dataplane::PeerIndex> peer = resolve_peer(config_, name);
    return peer ? ask({.kind = kind, .peer = *peer, .peers = {}, .answer = nullptr}) : Result<Report>(peer.error());
}

Result<Report> Admin::view() { return ask({.kind = Kind::view, .peers = {}, .answer = nullptr}); }
Result<Report> Admin::peers() { return ask({.kind = Kind::report, .peers = {}, .answer = nullptr}); }

Result<std::vector<Counter>> Admin::counters(bool reset) {
    Result<Report> report = peers();
    if (!report) {
        return report.error();
    }
    std::vector<Counter> counters = std::move(report->counters);
    const std::lock_guard lock(mutex_);
    for (Counter& counter : counters) {
        std::uint64_t& since = counted_[counter.name];
        const std::uint64_t now = counter.value;
        // Another asker's reset may lie after the copy that this answer is made of.
        counter.value = now > since ? now - since : 0;
        if (reset && now > since) {
            since = now;
        }
    }
    return counters;
}

Result<Report> Admin::install_view(std::span<const std::string_view> names) {
    Result<std::vector<dataplane::PeerIndex>> peers = resolve_view(config_, names);
    return peers ? ask({.kind = Kind::install_view, .peers = *std::move(peers), .answer = nullptr})
                 : Result<Report>(peers.error());
}

Result<Report> Admin::exclude(std::string_view name) {
    if (const auto external = resolve_view(config_, {}); !external) {
        return external.error();
    }
    return ask_of_peer(Kind::exclude, name);
}

Result<Report> Admin::close(std::string_view name) { return ask_of_peer(Kind::close, name); }
Result<Report> Admin::rotate(std::string_view name) { return ask_of_peer(Kind::rotate, name); }
Result<Report> Admin::forget(std::string_view name) { return ask_of_peer(Kind::forget, name); }

}  // namespace bowline::engine
