#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "dataplane/control_messages.hpp"
#include "protocol/time.hpp"

namespace bowline::dataplane {

/// When each peer next wants to be looked at: a hierarchical timing wheel (Varghese and Lauck, SOSP 1987) of four
/// levels of 256 slots, with a tick of 4.096 us. One entry a peer, constant cost, and no work for peers that wait.
///
/// Lazy: an entry is moved only to an earlier time. A peer whose deadline has moved away is found early, computes its
/// real deadline and is put back; so that sending a packet, which moves a timeout away, does not touch the wheel.
///
/// Owner: the worker.
class DeadlineWheel {
public:
    DeadlineWheel(std::size_t peers, protocol::Time now);

    /// Looks at `peer` at `deadline` (rounded up to a tick) or earlier. never() is no deadline.
    void schedule(PeerIndex peer, protocol::Time deadline) {
        if (deadline < entries_[peer].scheduled) {
            insert(peer, deadline);
        }
    }
    /// True when expire() would find something or move time on: one compare.
    [[nodiscard]] bool due(protocol::Time now) const { return now >= next_; }
    /// Hands every peer whose time has come to `expired(peer)`, unscheduled; it may schedule again, for later than now.
    template <typename Expired>
    void expire(protocol::Time now, Expired&& expired) {
        while (now >= next_) {
            turn_to_next();
            for (PeerIndex peer = pop_due(); peer != kNoPeer; peer = pop_due()) {
                expired(peer);
            }
            find_next();
        }
    }
    /// Nothing is due before it; never() when nothing is scheduled at all.
    [[nodiscard]] protocol::Time next() const { return next_; }

    void check_invariants() const;

private:
    static constexpr unsigned kTickShift = 12;  // ns
    static constexpr unsigned kLevels = 4;
    static constexpr unsigned kSlotBits = 8;
    static constexpr std::uint32_t kSlots = 1U << kSlotBits;

    struct Entry {
        protocol::Time scheduled = protocol::Time::never();
        PeerIndex next = kNoPeer;
        PeerIndex previous = kNoPeer;
        std::uint16_t slot = 0;  ///< level * kSlots + index
    };

    static std::int64_t tick_of(protocol::Time time) { return time.ns() >> kTickShift; }
    static std::int64_t tick_up(protocol::Time time) {
        constexpr std::int64_t below_tick = (std::int64_t{1} << kTickShift) - 1;
        return tick_of(time) + ((time.ns() & below_tick) != 0 ? 1 : 0);  // no overflow just before never()
    }

    void insert(PeerIndex peer, protocol::Time deadline);
    void place(PeerIndex peer);
    void unlink(PeerIndex peer);
    void turn_to_next();
    PeerIndex pop_due();
    [[nodiscard]] std::int64_t next_occupied(unsigned level) const;
    void find_next();

    std::vector<Entry> entries_;
    std::array<PeerIndex, kLevels * kSlots> heads_;
    std::array<std::array<std::uint64_t, kSlots / 64>, kLevels> occupied_{};
    std::int64_t tick_;  ///< the last one handed out: entries lie in later ones
    std::int64_t next_tick_ = 0;
    protocol::Time next_ = protocol::Time::never();
};

}  // namespace bowline::dataplane
