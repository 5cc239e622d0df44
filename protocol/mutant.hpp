#pragma once

#include <cstdint>

namespace bowline::protocol {

/// Ways to break the rules R1 to R10 (§9 of docs/PROTOCOL.md), each as a protocol has really got it wrong or well
/// might. Only the build for mutation tests (`-Dmutants=true`) can switch one on; in every other build mutated() is the
/// constant false and nothing is left of it. A test shows that simulation finds each.
enum class Mutant : std::uint8_t {
    none,
    // R1: admit, then acknowledge
    r1_ack_discarded,    ///< JGRP-126: data that finds no window is dropped, and acknowledged
    r1_ack_over_gap,     ///< the cumulative ack covers what is held out of order
    r1_ack_before_ring,  ///< what does not fit in the window is acknowledged as if it did
    // R2: a conn-id opens one window
    r2_reopen_same_conn,  ///< a conn-id opens a window again after it was closed
    r2_take_lower_conn,   ///< an earlier connection opens a window again
    // R3: the first seqno is said
    r3_guess_first,     ///< JGRP-348: the window opens at the first packet seen
    r3_say_first_once,  ///< only the first packet of a connection says where it begins
    // R4: an ack is bound to what it acknowledges
    r4_any_conn_ack,  ///< JGRP-1873: an ack of an earlier connection counts
    r4_any_tag,       ///< a packet is taken by its slot, whatever its tag
    r4_any_close,     ///< a CLOSE ends the connections that are open, whichever it names
    // R5: closing forgets nothing
    r5_no_tombstone,       ///< a closed window's rcv_nxt and conn-id are forgotten
    r5_dirty_taken_clean,  ///< a memory that was dropped dirty is not said to be
    r5_sacked_is_done,     ///< SACKed packets are not sent again when the receiver has dropped them
    r5_memory_by_tag,      ///< every handshake forgets the stream
    // R6: no window, no ack: ask
    r6_never_ask,       ///< nobody asks for the first seqno
    r6_admit_excluded,  ///< data of a peer that is out of view is admitted
    r6_ask_always,      ///< each packet without a window is answered
    // R7: rotation
    r7_same_conn,     ///< rotation keeps the conn-id
    r7_first_is_nxt,  ///< the new connection begins at snd_nxt
    r7_obey_stale,    ///< NEED_FIRST for an earlier conn-id rotates as well
    // R8: restarts
    r8_replay,          ///< what was unacknowledged is sent to the new incarnation
    r8_silent_restart,  ///< what was unacknowledged is dropped without a report
    // R9: deadlines
    r9_no_timeout,     ///< no retransmission timeout and no tail probe
    r9_one_gap,        ///< one gap is repaired a round trip
    r9_never_give_up,  ///< the give-up time is not looked at
    // R10: bounds
    r10_no_window_bound,  ///< the sender ignores the receiver's window, and the receiver its own
    count
};
[[nodiscard]] const char* name_of(Mutant mutant);

#ifdef BOWLINE_MUTANTS
/// The rule that is broken now, in all threads. Set between runs.
inline Mutant active_mutant = Mutant::none;
[[nodiscard]] inline bool mutated(Mutant mutant) { return active_mutant == mutant; }
[[nodiscard]] inline bool any_mutant() { return active_mutant != Mutant::none; }
#else
[[nodiscard]] constexpr bool mutated(Mutant /*mutant*/) { return false; }
[[nodiscard]] constexpr bool any_mutant() { return false; }
#endif

}  // namespace bowline::protocol
