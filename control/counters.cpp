#include "control/counters.hpp"

namespace bowline::control {

const char* name_of(Counter counter) {
    static constexpr std::array names = {
        "arp_requests_sent",
        "arp_replies_sent",
        "arp_learned",
        "arp_unknown_sender",
        "bad_source_mac",
        "arp_static_ignored",
        "arp_rate_limited",
        "duplicate_address",
        "own_frame",
        "echo_replies_sent",
        "echo_rate_limited",
        "wrong_vlan",
        "not_for_us",
        "unexpected_type",
        "hello_unknown_address",
        "hello_name_mismatch",
        "hello_sent",
        "hello_ack_sent",
        "hello_done_sent",
        "resets_sent",
        "reset_unknown_address",
        "reset_rate_limited",
        "reset_obeyed",
        "reset_stale",
        "associations",
        "peers_restarted",
        "peers_stopped",
        "peers_silent",
        "peers_gave_up",
        "close_stale",
        "close_unsupported",
        "rotations_asked",
        "peers_forgotten",
        "heartbeats",
        "probes",
        "suspicions",
        "suspicions_refuted",
        "warnings_suppressed",
    };
    static_assert(names.size() == kCounters);
    return names[static_cast<std::size_t>(counter)];
}

}  // namespace bowline::control
