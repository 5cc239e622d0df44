#include "control/liveness.hpp"

#include <algorithm>
#include <atomic>

namespace bowline::control {

using dataplane::PeerIndex;
using protocol::Duration;
using protocol::Time;

Liveness::Liveness(const protocol::Settings& settings, std::span<const dataplane::PeerActivity> activity,
                   Counters& counters)
    : heartbeat_(settings.heartbeat),
      suspect_after_(settings.suspect_after),
      probe_spacing_(std::max(settings.suspect_after / kProbeSpacing, Duration::ns(1))),
      activity_(activity),
      counters_(&counters),
      watches_(activity.size()),
      deadlines_(activity.size()) {}

void Liveness::watch(Time now, PeerIndex peer) {
    watches_[peer] = Watch{};
    watches_[peer].active = true;
    watches_[peer].since = now;
    arm(peer);
}

void Liveness::keep_alive(Time now, PeerIndex peer) {
    watches_[peer] = Watch{};
    watches_[peer].active = true;
    watches_[peer].suspected = false;
    watches_[peer].since = now;
    arm(peer);
}

void Liveness::unwatch(PeerIndex peer) {
    watches_[peer].active = false;
    deadlines_.remove(peer);
}

Time Liveness::heard(PeerIndex peer) const {
    const Time by_worker = Time::at_ns(activity_[peer].last_heard_ns.load(std::memory_order_relaxed));
    return std::max(watches_[peer].since, by_worker);
}

Time Liveness::sent(PeerIndex peer) const {
    const Watch& watch = watches_[peer];
    const Time by_worker = Time::at_ns(activity_[peer].last_sent_ns.load(std::memory_order_relaxed));
    // What has been asked for counts as sent, or it would be asked for again before the worker can have done it.
    return std::max({watch.since, watch.heartbeat_at, by_worker});
}

void Liveness::arm(PeerIndex peer) {
    const Watch& watch = watches_[peer];
    const Time suspicion = !watch.suspected    ? Time::never()
                           : watch.probes == 0 ? heard(peer) + suspect_after_
                                               : watch.judge_at;
    deadlines_.set(peer, earlier(suspicion, sent(peer) + heartbeat_));
}

bool Liveness::poll(Time now, Due& due) {
    DeadlineQueue::Index thing = 0;
    while (deadlines_.pop_due(now, thing)) {
        if (look(now, static_cast<PeerIndex>(thing), due)) return true;
    }
    return false;
}

bool Liveness::look(Time now, PeerIndex peer, Due& due) {
    ++looks_;
    due.peer = peer;
    Watch& watch = watches_[peer];
    if (watch.probes > 0 && heard(peer) > watch.heard_at_suspicion) {
        watch.probes = 0;
        counters_->add(Counter::suspicions_refuted);
    }
    if (watch.suspected && suspect(now, peer, due)) {
        if (due.verdict == Verdict::silent) {
            unwatch(peer);
        } else {
            arm(peer);
        }
        return true;
    }
    const bool beats = sent(peer) + heartbeat_ <= now;
    if (beats) {
        watch.heartbeat_at = now;
        due.verdict = Verdict::heartbeat;
        counters_->add(Counter::heartbeats);
    }
    arm(peer);
    return beats;
}

bool Liveness::suspect(Time now, PeerIndex peer, Due& due) {
    Watch& watch = watches_[peer];
    const Time heard_at = heard(peer);
    const std::int64_t sent_ns = activity_[peer].last_sent_ns.load(std::memory_order_relaxed);
    if (watch.probes == 0) {
        if (heard_at + suspect_after_ > now) return false;
        watch.heard_at_suspicion = heard_at;
        counters_->add(Counter::suspicions);
    } else {
        if (watch.judge_at > now) return false;
        // A worker that has not turned since (its thread is held up, or the application does not poll) has neither sent
        // the probe nor heard an answer: that is no fault of the peer's.
        const bool probe_left = sent_ns > watch.sent_before_ns;
        if (!probe_left && now < heard_at + suspect_after_ * kUnsentPatience) {
            watch.judge_at = now + probe_spacing_;
            return false;
        }
        if (watch.probes >= kProbes) {
            due.verdict = Verdict::silent;
            counters_->add(Counter::peers_silent);
            return true;
        }
    }
    ++watch.probes;
    watch.judge_at = now + probe_spacing_;
    watch.sent_before_ns = sent_ns;
    due.verdict = Verdict::probe;
    counters_->add(Counter::probes);
    return true;
}

}  // namespace bowline::control
