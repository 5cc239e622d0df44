#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "protocol/check.hpp"
#include "protocol/time.hpp"

namespace bowline::control {

/// One deadline for each of a fixed number of things, the next one at hand: a binary heap that knows where each of them
/// stands. Setting, moving and taking away cost O(log n); what is not due costs nothing. One thread; allocates only
/// when it is made.
class DeadlineQueue {
public:
    using Index = std::uint32_t;

    explicit DeadlineQueue(std::size_t things) : places_(things, kAbsent), times_(things) { heap_.reserve(things); }

    /// never(): taken out.
    void set(Index thing, protocol::Time deadline) {
        BOWLINE_DCHECK(thing < places_.size());
        if (deadline.is_never()) return remove(thing);
        times_[thing] = deadline;
        if (places_[thing] == kAbsent) {
            places_[thing] = static_cast<Index>(heap_.size());
            heap_.push_back(thing);
        }
        sift_up(places_[thing]);
        sift_down(places_[thing]);
    }
    /// Not later than this.
    void hasten(Index thing, protocol::Time deadline) {
        if (deadline < deadline_of(thing)) set(thing, deadline);
    }
    void remove(Index thing) {
        const Index place = places_[thing];
        if (place == kAbsent) return;
        const Index last = static_cast<Index>(heap_.size() - 1);
        swap_places(place, last);
        heap_.pop_back();
        places_[thing] = kAbsent;
        if (place != last) {
            sift_up(place);
            sift_down(place);
        }
    }

    [[nodiscard]] protocol::Time next() const {
        return heap_.empty() ? protocol::Time::never() : times_[heap_.front()];
    }
    [[nodiscard]] protocol::Time deadline_of(Index thing) const {
        return places_[thing] == kAbsent ? protocol::Time::never() : times_[thing];
    }
    /// Takes out the thing that is due first; false: none is.
    [[nodiscard]] bool pop_due(protocol::Time now, Index& thing) {
        if (heap_.empty() || times_[heap_.front()] > now) return false;
        thing = heap_.front();
        remove(thing);
        return true;
    }
    [[nodiscard]] std::size_t size() const { return heap_.size(); }

    void check_invariants() const {
        for (std::size_t i = 0; i < heap_.size(); ++i) {
            BOWLINE_CHECK(places_[heap_[i]] == i);
            BOWLINE_CHECK(i == 0 || times_[heap_[(i - 1) / 2]] <= times_[heap_[i]]);
        }
    }

private:
    static constexpr Index kAbsent = UINT32_MAX;

    [[nodiscard]] bool before(Index a, Index b) const { return times_[heap_[a]] < times_[heap_[b]]; }
    void swap_places(Index a, Index b) {
        std::swap(heap_[a], heap_[b]);
        places_[heap_[a]] = a;
        places_[heap_[b]] = b;
    }
    void sift_up(Index place) {
        while (place > 0 && before(place, (place - 1) / 2)) {
            swap_places(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }
    void sift_down(Index place) {
        for (;;) {
            Index least = place;
            for (Index child = 2 * place + 1; child <= 2 * place + 2 && child < heap_.size(); ++child) {
                if (before(child, least)) least = child;
            }
            if (least == place) return;
            swap_places(place, least);
            place = least;
        }
    }

    std::vector<Index> heap_;
    std::vector<Index> places_;  ///< in the heap
    std::vector<protocol::Time> times_;
};

}  // namespace bowline::control
