#pragma once

#include <array>
#include <cstdint>

#include "dataplane/worker_config.hpp"
#include "protocol/receive_stream.hpp"
#include "protocol/send_stream.hpp"

namespace bowline::dataplane {

// The names under which a worker's counters are shown, by the engine and by the simulator.

/// A counter of `Counters` and its name.
template <typename Counters>
struct CounterName {
    const char* name;
    std::uint64_t Counters::*value;
};

inline constexpr std::array kWorkerCounterNames = {
    CounterName<WorkerCounters>{"rx_packets", &WorkerCounters::rx_packets},
    CounterName<WorkerCounters>{"tx_packets", &WorkerCounters::tx_packets},
    CounterName<WorkerCounters>{"rx_other_address", &WorkerCounters::rx_other_address},
    CounterName<WorkerCounters>{"rx_wrong_vlan", &WorkerCounters::rx_wrong_vlan},
    CounterName<WorkerCounters>{"rx_unknown_tag", &WorkerCounters::rx_unknown_tag},
    CounterName<WorkerCounters>{"rx_ack_packets", &WorkerCounters::rx_ack_only},
    CounterName<WorkerCounters>{"rx_unexpected", &WorkerCounters::rx_unexpected},
    CounterName<WorkerCounters>{"notices_refused", &WorkerCounters::notices_refused},
    CounterName<WorkerCounters>{"no_packet", &WorkerCounters::no_packet},
    CounterName<WorkerCounters>{"events_full", &WorkerCounters::events_full},
    CounterName<WorkerCounters>{"tx_refused", &WorkerCounters::tx_refused},
    CounterName<WorkerCounters>{"tx_dropped", &WorkerCounters::tx_dropped},
    CounterName<WorkerCounters>{"turns", &WorkerCounters::turns},
    CounterName<WorkerCounters>{"excluded_data", &WorkerCounters::excluded_data},
    CounterName<WorkerCounters>{"need_first_sent", &WorkerCounters::need_first_sent},
    CounterName<WorkerCounters>{"need_first_received", &WorkerCounters::need_first_received},
    CounterName<WorkerCounters>{"need_first_stale", &WorkerCounters::need_first_stale},
    CounterName<WorkerCounters>{"asks_suppressed", &WorkerCounters::asks_suppressed},
    CounterName<WorkerCounters>{"rotations", &WorkerCounters::rotations},
    CounterName<WorkerCounters>{"closes_sent", &WorkerCounters::closes_sent},
    CounterName<WorkerCounters>{"closes_received", &WorkerCounters::closes_received},
    CounterName<WorkerCounters>{"closes_stale", &WorkerCounters::closes_stale},
    CounterName<WorkerCounters>{"forgotten_clean", &WorkerCounters::forgotten_clean},
    CounterName<WorkerCounters>{"forgotten_dirty", &WorkerCounters::forgotten_dirty},
    CounterName<WorkerCounters>{"expects_over_live", &WorkerCounters::expects_over_live},
};

static_assert(kWorkerCounterNames.size() * sizeof(std::uint64_t) == sizeof(WorkerCounters));

/// Of one peer; shown as the sum over all.
inline constexpr std::array kSendCounterNames = {
    CounterName<protocol::SendCounters>{"data_packets_sent", &protocol::SendCounters::packets},
    CounterName<protocol::SendCounters>{"retransmits", &protocol::SendCounters::retransmits},
    CounterName<protocol::SendCounters>{"tail_probes", &protocol::SendCounters::tail_probes},
    CounterName<protocol::SendCounters>{"timeouts", &protocol::SendCounters::timeouts},
    CounterName<protocol::SendCounters>{"window_probes", &protocol::SendCounters::window_probes},
    CounterName<protocol::SendCounters>{"acks_received", &protocol::SendCounters::acks},
    CounterName<protocol::SendCounters>{"stale_acks", &protocol::SendCounters::stale_acks},
    CounterName<protocol::SendCounters>{"packets_lost", &protocol::SendCounters::lost},
    CounterName<protocol::SendCounters>{"spurious_retransmits", &protocol::SendCounters::spurious},
};
inline constexpr std::array kReceiveCounterNames = {
    CounterName<protocol::ReceiveCounters>{"data_packets_admitted", &protocol::ReceiveCounters::packets},
    CounterName<protocol::ReceiveCounters>{"duplicates", &protocol::ReceiveCounters::duplicates},
    CounterName<protocol::ReceiveCounters>{"out_of_order", &protocol::ReceiveCounters::out_of_order},
    CounterName<protocol::ReceiveCounters>{"beyond_window", &protocol::ReceiveCounters::beyond_window},
    CounterName<protocol::ReceiveCounters>{"stale_data", &protocol::ReceiveCounters::stale},
    CounterName<protocol::ReceiveCounters>{"no_window", &protocol::ReceiveCounters::no_window},
    CounterName<protocol::ReceiveCounters>{"too_old", &protocol::ReceiveCounters::too_old},
    CounterName<protocol::ReceiveCounters>{"acks_sent", &protocol::ReceiveCounters::acks_sent},
};

static_assert(kSendCounterNames.size() * sizeof(std::uint64_t) == sizeof(protocol::SendCounters));
static_assert(kReceiveCounterNames.size() * sizeof(std::uint64_t) == sizeof(protocol::ReceiveCounters));

/// What stands before the names of malformed packets and of strays.
inline constexpr const char* kMalformedPrefix = "rx_malformed_";
inline constexpr const char* kStrayPrefix = "rx_stray_";

}  // namespace bowline::dataplane
