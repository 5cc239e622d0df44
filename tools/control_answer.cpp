#include "tools/control_answer.hpp"

#include <fmt/format.h>

namespace bowline::tools {

namespace {

using Json = nlohmann::ordered_json;
using dataplane::ConnectionSnapshot;

Json incarnation_of(std::uint64_t incarnation) {
    return incarnation == 0 ? Json(nullptr) : Json(fmt::format("{:016x}", incarnation));
}

const char* state_of(const ConnectionSnapshot::Send& send) {
    return !send.open ? "closed" : send.opening ? "opening" : "open";
}

// Closed, but remembered: a connection that comes goes on where this one ended.
const char* state_of(const ConnectionSnapshot::Receive& receive) {
    return receive.open ? "open" : receive.known ? "tombstone" : "none";
}

Json answer_of(const engine::Report& report) { return {{"ok", true}, {"node", report.name}}; }

Json send_of(const ConnectionSnapshot::Send& send) {
    return {{"state", state_of(send)},
            {"conn_id", send.conn_id},
            {"snd_una", send.una},
            {"snd_nxt", send.nxt},
            {"snd_end", send.end},
            {"snd_limit", send.limit},
            {"in_flight", send.in_flight_pkts},
            {"lost", send.lost_pkts},
            {"queued", send.queued_pkts},
            {"acknowledged_message", send.acknowledged_message},
            {"next_message", send.next_message},
            {"srtt_ns", send.srtt_ns},
            {"rto_ns", send.rto_ns},
            {"cwnd", send.cwnd_pkts},
            {"packets", send.counters.packets},
            {"retransmits", send.counters.retransmits},
            {"timeouts", send.counters.timeouts},
            {"acks", send.counters.acks},
            {"stale_acks", send.counters.stale_acks}};
}

Json receive_of(const ConnectionSnapshot::Receive& receive) {
    return {{"state", state_of(receive)},          {"conn_id", receive.conn_id},
            {"rcv_nxt", receive.rcv_nxt},          {"out_of_order", receive.out_of_order_pkts},
            {"free", receive.free_pkts},           {"unread", receive.unread_pkts},
            {"packets", receive.counters.packets}, {"duplicates", receive.counters.duplicates},
            {"stale", receive.counters.stale},     {"no_window", receive.counters.no_window}};
}

}  // namespace

Json peers_answer(const engine::Report& report) {
    Json answer = answer_of(report);
    answer["view"] = report.view_id;
    Json peers = Json::array();
    for (const engine::PeerReport& peer : report.peers) {
        const ConnectionSnapshot& connection = peer.connection;
        peers.push_back({{"name", peer.name},
                         {"address", peer.address},
                         {"in_view", peer.in_view},
                         {"up", connection.up},
                         {"associated", peer.associated},
                         {"incarnation", incarnation_of(peer.incarnation)},
                         {"srtt_ns", connection.send.srtt_ns},
                         {"in_flight", connection.send.in_flight_pkts},
                         {"queued", connection.send.queued_pkts},
                         {"accepted_message", connection.send.next_message - 1},
                         {"acknowledged_message", connection.send.acknowledged_message},
                         {"unread", connection.receive.unread_pkts}});
    }
    answer["peers"] = std::move(peers);
    return answer;
}

Json connections_answer(const engine::Report& report) {
    Json answer = answer_of(report);
    Json connections = Json::array();
    for (const engine::PeerReport& peer : report.peers) {
        connections.push_back({{"peer", peer.name},
                               {"associated", peer.associated},
                               {"send", send_of(peer.connection.send)},
                               {"receive", receive_of(peer.connection.receive)}});
    }
    answer["connections"] = std::move(connections);
    return answer;
}

Json view_answer(const engine::Report& report) {
    Json members = Json::array();
    Json others = Json::array();
    for (const engine::PeerReport& peer : report.peers) {
        (peer.in_view ? members : others)
            .push_back({{"name", peer.name},
                        {"address", peer.address},
                        {"associated", peer.associated},
                        {"incarnation", incarnation_of(peer.incarnation)}});
    }
    Json answer = answer_of(report);
    answer["view"] = {
        {"id", report.view_id},
        {"views", report.external_views ? "external" : "static"},
        {"self",
         {{"name", report.name}, {"address", report.address}, {"incarnation", incarnation_of(report.incarnation)}}},
        {"members", std::move(members)},
        {"others", std::move(others)}};
    return answer;
}

Json counters_answer(std::span<const Counter> counters) {
    Json values = Json::object();
    for (const Counter& counter : counters) {
        values[counter.name] = counter.value;
    }
    return {{"ok", true}, {"counters", std::move(values)}};
}

}  // namespace bowline::tools
