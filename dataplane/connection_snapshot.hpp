#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/worker_config.hpp"
#include "protocol/receive_stream.hpp"
#include "protocol/send_stream.hpp"
#include "protocol/wire/decoded.hpp"
#include "protocol/wire/ethernet.hpp"

namespace bowline::dataplane {

/// The figures of both directions with one peer at one moment. Seqnos are of this node's stream in `Send`, of the
/// peer's in `Receive`.
struct ConnectionSnapshot {
    struct Send {
        bool open = false;
        bool opening = false;  ///< open, and the peer has not acknowledged the conn-id yet
        std::uint32_t conn_id = 0;
        std::uint64_t una = 0;
        std::uint64_t nxt = 0;
        std::uint64_t end = 0;  ///< behind the last queued packet
        std::uint64_t limit = 0;
        std::uint64_t in_flight_pkts = 0;
        std::uint64_t lost_pkts = 0;  ///< by the loss detector's judgement, not sent again yet
        std::uint64_t queued_pkts = 0;
        std::uint64_t acknowledged_message = 0;
        std::uint64_t next_message = 1;
        std::int64_t srtt_ns = 0;  ///< 0: not measured
        std::int64_t rto_ns = 0;   ///< as of now, backoff and the peer's ack delay included
        std::uint32_t cwnd_pkts = 0;
        protocol::SendCounters counters;
    };
    struct Receive {
        bool open = false;
        bool known = false;  ///< without `open`: a tombstone, by which the stream would go on
        std::uint32_t conn_id = 0;
        std::uint64_t rcv_nxt = 0;
        std::uint32_t out_of_order_pkts = 0;
        std::uint32_t free_pkts = 0;
        std::uint64_t unread_pkts = 0;  ///< published and not yet taken by the application
        protocol::ReceiveCounters counters;
    };

    bool in_view = false;
    bool up = false;  ///< as the application has been or is being told
    bool associated = false;
    Send send;
    Receive receive;
};

/// A worker's figures, copied by it between bursts (Command::snapshot) into memory that is taken at start.
///
/// Owner: the control thread, but from the moment the command is given until `filled`: the worker.
struct WorkerSnapshot {
    explicit WorkerSnapshot(std::size_t peer_count) : peers(peer_count) {}

    /// Peers that one command copies at most, so that no turn is much longer for it.
    static constexpr std::size_t kPiece = 64;

    std::size_t first = 0;  ///< which peers the command asks for: kPiece from here on
    std::atomic<bool> filled{false};

    WorkerCounters counters;
    std::array<std::uint64_t, protocol::wire::kDecodeErrors> decode_errors{};
    std::array<std::uint64_t, protocol::wire::kStrays> strays{};
    std::vector<ConnectionSnapshot> peers;  ///< in the order of the worker's
};

}  // namespace bowline::dataplane
