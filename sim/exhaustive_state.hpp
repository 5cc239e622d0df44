#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "sim/clock.hpp"
#include "sim/node.hpp"
#include "sim/oracle.hpp"

namespace bowline::sim {

/// A hash of everything that decides what can happen from now on. Moments count by how far from now they are, to the
/// nanosecond.
class StateHash {
public:
    /// `with_times`: false leaves all moments out, so that it changes only when something has been done.
    StateHash(Time now, bool with_times) : now_(now), with_times_(with_times) {
        if (with_times) {
            add(static_cast<std::uint64_t>(now.ns()) % 256);  // where it stands in a unit of wire timestamps
        }
    }

    void add(std::uint64_t value) {
        hash_ = (std::rotl(hash_, 29) ^ value) * 0x9FB21C651E98DF25ULL;
        hash_ ^= hash_ >> 32U;
    }
    void add(Time time) {
        if (with_times_) {
            // As if it wrapped: some moments lie before all others.
            const std::uint64_t distance =
                static_cast<std::uint64_t>(time.ns()) - static_cast<std::uint64_t>(now_.ns());
            add(time.is_never() ? UINT64_MAX : distance);
        }
    }
    /// A moment that is of no matter once it is over.
    void add_future(Time time) { add(time > now_ ? time : now_); }
    /// How long something takes.
    void add_length(Duration length) {
        if (with_times_) {
            add(static_cast<std::uint64_t>(length.ns()));
        }
    }
    /// How old a packet's reading of a clock is.
    void add_timestamp(std::uint32_t timestamp);
    void add(std::span<const std::byte> bytes);
    [[nodiscard]] std::uint64_t value() const { return hash_; }
    [[nodiscard]] Time now() const { return now_; }

private:
    Time now_;
    bool with_times_;
    std::uint64_t hash_ = 0x243F6A8885A308D3ULL;
};

/// A node that does nothing at this moment: its streams with `peer`, its view, its handshake. `oldest_reading` of its
/// clock: that somebody may still send it back.
void add_node(StateHash& hash, const Node& node, NodeId peer, Time oldest_reading);
/// When the reading of the clock of `of` was taken that `holder` would echo now; never: none.
[[nodiscard]] Time reading_held_by(const Node& holder, NodeId of, Time now);
/// When that in a frame was taken: of its sender's clock, or the echo of its receiver's.
[[nodiscard]] Time reading_in(std::span<const std::byte> frame, bool of_sender, Time now);
/// What the oracle will still compare with.
void add_oracle(StateHash& hash, const Oracle& oracle);
/// A frame under way. Its checksums and clocks are left out, but for the age of its timestamp and echo.
void add_frame(StateHash& hash, std::span<const std::byte> frame);
/// What has become of the messages in the end, without how.
[[nodiscard]] std::uint64_t outcome_of(const Oracle& oracle);

}  // namespace bowline::sim
