#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "control/counters.hpp"
#include "control/deadline_queue.hpp"
#include "dataplane/control_messages.hpp"
#include "protocol/settings.hpp"
#include "protocol/time.hpp"

namespace bowline::control {

/// Says when a peer needs a heartbeat, when it is suspect, and when it is silent: no sign of it for `suspect_after`,
/// and none in answer to several probes either.
///
/// Owner: the control thread. Sans-IO; what the worker has heard and sent is read from its PeerActivity. A peer costs
/// something only when one of its deadlines is due.
class Liveness {
public:
    /// Probes without an answer before a peer is silent, and the part of suspect_after between them.
    static constexpr std::uint32_t kProbes = 3;
    static constexpr std::int64_t kProbeSpacing = 8;
    /// A probe that the worker has not sent says nothing about the peer. After so many times suspect_after without a
    /// sign, a worker that cannot send (its link is down) is no reason to wait longer.
    static constexpr std::int64_t kUnsentPatience = 4;

    /// One PeerActivity a peer; all outlive this.
    Liveness(const protocol::Settings& settings, std::span<const dataplane::PeerActivity> activity, Counters& counters);

    /// The peer's association has come into use now: a sign in itself.
    void watch(protocol::Time now, dataplane::PeerIndex peer);
    /// The same, but it is only sent signs of life, and not suspected.
    void keep_alive(protocol::Time now, dataplane::PeerIndex peer);
    void unwatch(dataplane::PeerIndex peer);
    [[nodiscard]] bool watches(dataplane::PeerIndex peer) const { return watches_[peer].active; }

    enum class Verdict : std::uint8_t { heartbeat, probe, silent };
    struct Due {
        dataplane::PeerIndex peer = dataplane::kNoPeer;
        Verdict verdict = Verdict::heartbeat;
    };
    /// The next thing that is due; false: nothing is. A peer that is silent is no longer watched.
    [[nodiscard]] bool poll(protocol::Time now, Due& due);
    [[nodiscard]] protocol::Time next_deadline() const { return deadlines_.next(); }

    /// How often a peer has been looked at.
    [[nodiscard]] std::uint64_t looks() const { return looks_; }

private:
    struct Watch {
        bool active = false;
        bool suspected = true;        ///< silence counts
        std::uint32_t probes = 0;     ///< without a sign since the first of them
        protocol::Time since;         ///< watched; a sign in itself
        protocol::Time heartbeat_at;  ///< of the last heartbeat that was asked for
        protocol::Time heard_at_suspicion;
        protocol::Time judge_at;          ///< when the last probe should have been answered
        std::int64_t sent_before_ns = 0;  ///< the worker's last_sent when that was asked for
    };

    [[nodiscard]] bool look(protocol::Time now, dataplane::PeerIndex peer, Due& due);
    [[nodiscard]] bool suspect(protocol::Time now, dataplane::PeerIndex peer, Due& due);
    void arm(dataplane::PeerIndex peer);
    [[nodiscard]] protocol::Time heard(dataplane::PeerIndex peer) const;
    [[nodiscard]] protocol::Time sent(dataplane::PeerIndex peer) const;

    protocol::Duration heartbeat_;
    protocol::Duration suspect_after_;
    protocol::Duration probe_spacing_;
    std::span<const dataplane::PeerActivity> activity_;
    Counters* counters_;
    std::vector<Watch> watches_;
    DeadlineQueue deadlines_;
    std::uint64_t looks_ = 0;
};

}  // namespace bowline::control
