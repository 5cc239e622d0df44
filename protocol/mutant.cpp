#include "protocol/mutant.hpp"

#include <array>
#include <cstddef>

namespace bowline::protocol {

const char* name_of(Mutant mutant) {
    static constexpr std::array names = {
        "none",
        "r1_ack_discarded",
        "r1_ack_over_gap",
        "r1_ack_before_ring",
        "r2_reopen_same_conn",
        "r2_take_lower_conn",
        "r3_guess_first",
        "r3_say_first_once",
        "r4_any_conn_ack",
        "r4_any_tag",
        "r4_any_close",
        "r5_no_tombstone",
        "r5_dirty_taken_clean",
        "r5_sacked_is_done",
        "r5_memory_by_tag",
        "r6_never_ask",
        "r6_admit_excluded",
        "r6_ask_always",
        "r7_same_conn",
        "r7_first_is_nxt",
        "r7_obey_stale",
        "r8_replay",
        "r8_silent_restart",
        "r9_no_timeout",
        "r9_one_gap",
        "r9_never_give_up",
        "r10_no_window_bound",
    };
    static_assert(names.size() == static_cast<std::size_t>(Mutant::count));
    return names[static_cast<std::size_t>(mutant)];
}

}  // namespace bowline::protocol
