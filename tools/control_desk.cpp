#include "tools/control_desk.hpp"

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/control_answer.hpp"
#include "tools/control_call.hpp"
#include "tools/stop_flag.hpp"

namespace bowline::tools {

namespace {

using Json = nlohmann::ordered_json;

template <typename Write>
Result<Json> written(const Result<engine::Report>& report, Write&& write) {
    return report ? Result<Json>(write(*report)) : Result<Json>(report.error());
}

Result<Json> done(const Result<engine::Report>& report) {
    return written(report, [](const engine::Report& r) { return Json{{"ok", true}, {"node", r.name}}; });
}

Result<Json> counters(engine::Admin& admin, bool reset) {
    const Result<std::vector<Counter>> counters = admin.counters(reset);
    return counters ? Result<Json>(counters_answer(*counters)) : Result<Json>(counters.error());
}

Result<Json> perform(engine::Admin& admin, const ControlCall& call) {
    if (call.command == "peers") {
        return written(admin.peers(), peers_answer);
    }
    if (call.command == "connections") {
        return written(admin.peers(), connections_answer);
    }
    if (call.command == "view") {
        return written(admin.view(), view_answer);
    }
    if (call.command == "install-view") {
        const std::vector<std::string_view> members(call.members.begin(), call.members.end());
        return written(admin.install_view(members), view_answer);
    }
    if (call.command == "exclude") {
        return written(admin.exclude(call.peer), view_answer);
    }
    if (call.command == "rotate") {
        return done(admin.rotate(call.peer));
    }
    if (call.command == "close") {
        return done(admin.close(call.peer));
    }
    if (call.command == "forget") {
        return done(admin.forget(call.peer));
    }
    if (call.command == "counters") {
        return counters(admin, call.reset);
    }
    request_stop();
    return Json{{"ok", true}};
}

}  // namespace

std::string answer_call(engine::Admin& admin, std::string_view line) {
    const Result<ControlCall> call = parse_call(line);
    if (!call) {
        return write_refusal(call.error());
    }
    const Result<Json> answer = perform(admin, *call);
    return answer ? answer->dump(-1, ' ', false, Json::error_handler_t::replace) : write_refusal(answer.error());
}

Result<std::unique_ptr<ControlServer>> open_control(const Config& config, bool by_default) {
    const bool is_auto = config.control_socket == "auto";
    if (config.control_socket == "none" || (is_auto && !by_default)) {
        return std::unique_ptr<ControlServer>();
    }
    const Result<std::string> path =
        is_auto ? choose_socket_path(config.name, control_folders()) : Result<std::string>(config.control_socket);
    if (!path) {
        return path.error();
    }
    Result<ListeningSocket> socket = ListeningSocket::at(*path);
    return socket ? Result<std::unique_ptr<ControlServer>>(std::make_unique<ControlServer>(*std::move(socket)))
                  : Result<std::unique_ptr<ControlServer>>(socket.error());
}

void serve_control(ControlServer& server, engine::Admin& admin) {
    server.serve([&admin](std::string_view line) { return answer_call(admin, line); },
                 [](std::string_view reason) {
                     return write_refusal({Error::Kind::system, std::string(reason)});
                 });
}

}  // namespace bowline::tools
