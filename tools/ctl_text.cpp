#include "tools/ctl_text.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "tools/table.hpp"

namespace bowline::tools {

namespace {

using Json = nlohmann::ordered_json;

// A field as a cell of a table.
std::string cell(const Json& object, const char* field) {
    const auto at = object.find(field);
    if (at == object.end() || at->is_null()) {
        return "-";
    }
    return at->is_string() ? at->get<std::string>() : at->is_boolean() ? (at->get<bool>() ? "yes" : "no") : at->dump();
}

std::string time_cell(const Json& object, const char* field) {
    const auto at = object.find(field);
    return at != object.end() && at->is_number_integer() ? time_text(at->get<std::int64_t>()) : "-";
}

// The field's elements; none if it is missing.
const Json& list(const Json& object, const char* field) {
    static const Json none = Json::array();
    const auto at = object.find(field);
    return at != object.end() && at->is_array() ? *at : none;
}

const Json& part(const Json& object, const char* field) {
    static const Json none = Json::object();
    const auto at = object.find(field);
    return at != object.end() && at->is_object() ? *at : none;
}

std::string peers_text(const Json& answer) {
    Table table({"PEER", "ADDRESS", "UP", "IN-VIEW", "ASSOCIATED", "INCARNATION", "SRTT", "IN-FLIGHT", "QUEUED",
                 "ACCEPTED", "ACKED", "UNREAD"});
    for (const Json& peer : list(answer, "peers")) {
        table.add({cell(peer, "name"), cell(peer, "address"), cell(peer, "up"), cell(peer, "in_view"),
                   cell(peer, "associated"), cell(peer, "incarnation"), time_cell(peer, "srtt_ns"),
                   cell(peer, "in_flight"), cell(peer, "queued"), cell(peer, "accepted_message"),
                   cell(peer, "acknowledged_message"), cell(peer, "unread")});
    }
    return table.text();
}

std::string connections_text(const Json& answer) {
    Table send({"TO", "STATE", "CONN-ID", "SND-UNA", "SND-NXT", "SND-END", "LIMIT", "IN-FLIGHT", "LOST", "QUEUED",
                "ACKED", "NEXT", "SRTT", "RTO", "CWND", "RESENT"});
    Table receive({"FROM", "STATE", "CONN-ID", "RCV-NXT", "OUT-OF-ORDER", "FREE", "UNREAD", "DUPLICATES", "NO-WINDOW"});
    for (const Json& connection : list(answer, "connections")) {
        const std::string peer = cell(connection, "peer");
        const Json& out = part(connection, "send");
        send.add({peer, cell(out, "state"), cell(out, "conn_id"), cell(out, "snd_una"), cell(out, "snd_nxt"),
                  cell(out, "snd_end"), cell(out, "snd_limit"), cell(out, "in_flight"), cell(out, "lost"),
                  cell(out, "queued"), cell(out, "acknowledged_message"), cell(out, "next_message"),
                  time_cell(out, "srtt_ns"), time_cell(out, "rto_ns"), cell(out, "cwnd"), cell(out, "retransmits")});
        const Json& in = part(connection, "receive");
        receive.add({peer, cell(in, "state"), cell(in, "conn_id"), cell(in, "rcv_nxt"), cell(in, "out_of_order"),
                     cell(in, "free"), cell(in, "unread"), cell(in, "duplicates"), cell(in, "no_window")});
    }
    return send.text() + '\n' + receive.text();
}

std::string view_text(const Json& answer) {
    const Json& view = part(answer, "view");
    const Json& self = part(view, "self");
    Table table({"NODE", "ADDRESS", "IN-VIEW", "ASSOCIATED", "INCARNATION"});
    table.add({cell(self, "name"), cell(self, "address"), "self", "-", cell(self, "incarnation")});
    for (const char* const part_name : {"members", "others"}) {
        for (const Json& node : list(view, part_name)) {
            table.add({cell(node, "name"), cell(node, "address"),
                       part_name == std::string_view("members") ? "yes" : "no", cell(node, "associated"),
                       cell(node, "incarnation")});
        }
    }
    return fmt::format("view {} ({})\n{}", cell(view, "id"), cell(view, "views"), table.text());
}

std::string counters_text(const Json& answer) {
    Table table({"COUNTER", "VALUE"});
    for (const auto& [name, value] : part(answer, "counters").items()) {
        if (value != 0) {
            table.add({name, value.dump()});
        }
    }
    return table.text();
}

}  // namespace

std::string time_text(std::int64_t ns) {
    return ns == 0              ? "-"
           : ns < 1'000'000     ? fmt::format("{:.1f}us", static_cast<double>(ns) / 1e3)
           : ns < 1'000'000'000 ? fmt::format("{:.1f}ms", static_cast<double>(ns) / 1e6)
                                : fmt::format("{:.1f}s", static_cast<double>(ns) / 1e9);
}

std::string answer_text(std::string_view command, const Json& answer) {
    if (command == "peers") {
        return peers_text(answer);
    }
    if (command == "connections") {
        return connections_text(answer);
    }
    if (command == "view" || command == "install-view" || command == "exclude") {
        return view_text(answer);
    }
    if (command == "counters") {
        return counters_text(answer);
    }
    return "done\n";
}

}  // namespace bowline::tools
