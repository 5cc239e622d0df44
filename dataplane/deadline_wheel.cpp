#include "dataplane/deadline_wheel.hpp"

#include <algorithm>
#include <bit>

#include "protocol/check.hpp"

namespace bowline::dataplane {

using protocol::Time;

DeadlineWheel::DeadlineWheel(std::size_t peers, Time now) : entries_(peers), tick_(tick_of(now)) {
    heads_.fill(kNoPeer);
}

void DeadlineWheel::insert(PeerIndex peer, Time deadline) {
    Entry& entry = entries_[peer];
    if (!entry.scheduled.is_never()) {
        unlink(peer);
    }
    entry.scheduled = deadline;
    place(peer);
    // A slot of a higher level is looked at when time enters it, which is before its entries are due.
    find_next();
}

void DeadlineWheel::place(PeerIndex peer) {
    Entry& entry = entries_[peer];
    constexpr std::int64_t horizon = (std::int64_t{1} << (kSlotBits * kLevels)) - 1;
    const std::int64_t delta = std::clamp<std::int64_t>(tick_up(entry.scheduled) - tick_, 1, horizon);
    const std::int64_t tick = tick_ + delta;
    unsigned level = 0;
    while (delta >> (kSlotBits * (level + 1)) != 0) {
        ++level;
    }
    const auto index = static_cast<std::uint32_t>(tick >> (kSlotBits * level)) % kSlots;
    const std::uint32_t slot = level * kSlots + index;
    entry.slot = static_cast<std::uint16_t>(slot);
    entry.previous = kNoPeer;
    entry.next = heads_[slot];
    if (entry.next != kNoPeer) {
        entries_[entry.next].previous = peer;
    }
    heads_[slot] = peer;
    occupied_[level][index / 64] |= std::uint64_t{1} << (index % 64);
}

void DeadlineWheel::unlink(PeerIndex peer) {
    Entry& entry = entries_[peer];
    if (entry.next != kNoPeer) {
        entries_[entry.next].previous = entry.previous;
    }
    if (entry.previous != kNoPeer) {
        entries_[entry.previous].next = entry.next;
    } else {
        heads_[entry.slot] = entry.next;
        if (entry.next == kNoPeer) {
            const std::uint32_t index = entry.slot % kSlots;
            occupied_[entry.slot / kSlots][index / 64] &= ~(std::uint64_t{1} << (index % 64));
        }
    }
    entry.next = kNoPeer;
    entry.previous = kNoPeer;
    entry.scheduled = Time::never();
}

std::int64_t DeadlineWheel::next_occupied(unsigned level) const {
    // The slot that time is in has been handed out or spread over the lower levels: the search begins behind it and
    // ends with it, a whole round later.
    const std::int64_t current = tick_ >> (kSlotBits * level);
    for (std::uint32_t step = 1; step <= kSlots;) {
        const auto index = static_cast<std::uint32_t>(current + step) % kSlots;
        const std::uint64_t word = occupied_[level][index / 64] >> (index % 64);
        if (word != 0) {
            const std::uint32_t found = step + static_cast<std::uint32_t>(std::countr_zero(word));
            return found <= kSlots ? (current + found) << (kSlotBits * level) : INT64_MAX;
        }
        step += 64 - index % 64;
    }
    return INT64_MAX;
}

void DeadlineWheel::find_next() {
    next_tick_ = INT64_MAX;
    for (unsigned level = 0; level < kLevels; ++level) {
        next_tick_ = std::min(next_tick_, next_occupied(level));
    }
    next_ = next_tick_ == INT64_MAX ? Time::never() : Time::at_ns(next_tick_ << kTickShift);
}

void DeadlineWheel::turn_to_next() {
    tick_ = next_tick_;
    for (unsigned level = kLevels - 1; level > 0; --level) {
        if ((tick_ & ((std::int64_t{1} << (kSlotBits * level)) - 1)) != 0) {
            continue;  // time has not entered a slot of this level
        }
        const std::uint32_t index = static_cast<std::uint32_t>(tick_ >> (kSlotBits * level)) % kSlots;
        const std::uint32_t slot = level * kSlots + index;
        PeerIndex peer = heads_[slot];
        heads_[slot] = kNoPeer;
        occupied_[level][index / 64] &= ~(std::uint64_t{1} << (index % 64));
        while (peer != kNoPeer) {
            const PeerIndex following = entries_[peer].next;
            if (tick_up(entries_[peer].scheduled) <= tick_) {
                // Due in this very tick.
                Entry& entry = entries_[peer];
                const std::uint32_t due = static_cast<std::uint32_t>(tick_) % kSlots;
                entry.slot = static_cast<std::uint16_t>(due);
                entry.previous = kNoPeer;
                entry.next = heads_[due];
                if (entry.next != kNoPeer) {
                    entries_[entry.next].previous = peer;
                }
                heads_[due] = peer;
                occupied_[0][due / 64] |= std::uint64_t{1} << (due % 64);
            } else {
                place(peer);
            }
            peer = following;
        }
    }
}

PeerIndex DeadlineWheel::pop_due() {
    const PeerIndex peer = heads_[static_cast<std::uint32_t>(tick_) % kSlots];
    if (peer != kNoPeer) {
        unlink(peer);
    }
    return peer;
}

void DeadlineWheel::check_invariants() const {
    // By entries, not by slots: the simulator looks after every step, and most slots are empty.
    std::size_t lists = 0;
    for (std::size_t peer = 0; peer < entries_.size(); ++peer) {
        const Entry& entry = entries_[peer];
        if (entry.scheduled.is_never()) {
            continue;
        }
        const std::uint32_t index = entry.slot % kSlots;
        BOWLINE_CHECK(((occupied_[entry.slot / kSlots][index / 64] >> (index % 64)) & 1U) != 0);
        if (entry.previous == kNoPeer) {
            BOWLINE_CHECK(heads_[entry.slot] == peer);
            ++lists;
        } else {
            BOWLINE_CHECK(entries_[entry.previous].next == peer && entries_[entry.previous].slot == entry.slot);
        }
        BOWLINE_CHECK(entry.next == kNoPeer || entries_[entry.next].previous == peer);
    }
    std::size_t occupied = 0;
    for (const auto& level : occupied_) {
        for (const std::uint64_t word : level) {
            occupied += static_cast<std::size_t>(std::popcount(word));
        }
    }
    BOWLINE_CHECK(occupied == lists);
}

}  // namespace bowline::dataplane
