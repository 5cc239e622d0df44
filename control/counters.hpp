#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "protocol/association.hpp"
#include "protocol/wire/decoded.hpp"
#include "protocol/wire/ethernet.hpp"

namespace bowline::control {

/// What the control thread counts, beside the kinds of strays, decode errors and handshake refusals.
enum class Counter : std::uint8_t {
    arp_requests_sent,
    arp_replies_sent,
    arp_learned,         ///< an address was new or has changed
    arp_unknown_sender,  ///< ARP of an address that is nobody's here
    bad_source_mac,      ///< a frame that says to come from a group or from nobody
    arp_static_ignored,  ///< ARP that contradicts a configured MAC
    arp_rate_limited,
    duplicate_address,  ///< somebody else uses our IP address
    own_frame,          ///< a frame of our own has come back
    echo_replies_sent,
    echo_rate_limited,
    wrong_vlan,
    not_for_us,             ///< another's IP address or UDP port
    unexpected_type,        ///< a packet that is not for control
    hello_unknown_address,  ///< HELLO* from an address that is no peer's
    hello_name_mismatch,    ///< HELLO* from a peer's address with another name
    hello_sent,
    hello_ack_sent,
    hello_done_sent,
    resets_sent,
    reset_unknown_address,  ///< unknown tag from an address that is no peer's: no answer
    reset_rate_limited,
    reset_obeyed,  ///< a RESET of ours made us greet
    reset_stale,   ///< RESET for a tag no longer in use
    associations,  ///< that came into use
    peers_restarted,
    peers_stopped,
    peers_silent,
    peers_gave_up,
    close_stale,        ///< CLOSE for a tag no longer in use
    close_unsupported,  ///< CLOSE for another reason than an orderly stop
    rotations_asked,    ///< a peer had no window for our connection: it was rotated
    peers_forgotten,
    heartbeats,
    probes,
    suspicions,
    suspicions_refuted,
    warnings_suppressed,
};
inline constexpr std::size_t kCounters = static_cast<std::size_t>(Counter::warnings_suppressed) + 1;

/// The counter's name, such as "arp_learned"; static storage.
[[nodiscard]] const char* name_of(Counter counter);

/// The control thread's counters: written by it, read by any thread.
class Counters {
public:
    void add(Counter counter) { bump(counters_[static_cast<std::size_t>(counter)]); }
    void add(protocol::wire::Stray stray) { bump(strays_[static_cast<std::size_t>(stray)]); }
    void add(protocol::wire::DecodeError error) { bump(decode_errors_[static_cast<std::size_t>(error)]); }
    void add(protocol::HandshakeRefusal refusal) { bump(refusals_[static_cast<std::size_t>(refusal)]); }

    [[nodiscard]] std::uint64_t get(Counter counter) const {
        return read(counters_[static_cast<std::size_t>(counter)]);
    }
    [[nodiscard]] std::uint64_t get(protocol::wire::Stray stray) const {
        return read(strays_[static_cast<std::size_t>(stray)]);
    }
    [[nodiscard]] std::uint64_t get(protocol::wire::DecodeError error) const {
        return read(decode_errors_[static_cast<std::size_t>(error)]);
    }
    [[nodiscard]] std::uint64_t get(protocol::HandshakeRefusal refusal) const {
        return read(refusals_[static_cast<std::size_t>(refusal)]);
    }

    /// Calls visit(group, name, value) for each: groups are "control", "stray", "malformed" and "handshake_refused".
    template <typename Visit>
    void for_each(Visit&& visit) const {
        for (std::size_t i = 0; i < kCounters; ++i) {
            visit("control", name_of(static_cast<Counter>(i)), read(counters_[i]));
        }
        // The first kind of each of the others is "none".
        for (std::size_t i = 1; i < strays_.size(); ++i) {
            visit("stray", name_of(static_cast<protocol::wire::Stray>(i)), read(strays_[i]));
        }
        for (std::size_t i = 1; i < decode_errors_.size(); ++i) {
            visit("malformed", name_of(static_cast<protocol::wire::DecodeError>(i)), read(decode_errors_[i]));
        }
        for (std::size_t i = 1; i < refusals_.size(); ++i) {
            visit("handshake_refused", name_of(static_cast<protocol::HandshakeRefusal>(i)), read(refusals_[i]));
        }
    }

private:
    using Cell = std::atomic<std::uint64_t>;
    // One writer: a load and a store, not a locked add.
    static void bump(Cell& cell) { cell.store(read(cell) + 1, std::memory_order_relaxed); }
    static std::uint64_t read(const Cell& cell) { return cell.load(std::memory_order_relaxed); }

    std::array<Cell, kCounters> counters_{};
    std::array<Cell, protocol::wire::kStrays> strays_{};
    std::array<Cell, protocol::wire::kDecodeErrors> decode_errors_{};
    std::array<Cell, protocol::kHandshakeRefusals> refusals_{};
};

}  // namespace bowline::control
