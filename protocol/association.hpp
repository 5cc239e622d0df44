#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "protocol/inspector.hpp"
#include "protocol/random.hpp"
#include "protocol/time.hpp"
#include "protocol/wire/control_body.hpp"
#include "protocol/wire/header.hpp"

namespace bowline::protocol {

/// Why a HELLO, HELLO_ACK, HELLO_DONE or confirmation had no effect. Each kind has its own counter.
enum class HandshakeRefusal : std::uint8_t {
    none,                ///< it was of use
    own_name,            ///< the sender bears our name: a reflection, or a second node of that name
    wrong_name,          ///< from or to another than the two of this handshake
    bad_parameters,      ///< tag 0, nonce 0, or packets too small to carry the protocol
    dead_incarnation,    ///< of a process that a verified later one has replaced
    other_incarnation,   ///< of another process than the one whose handshake has just begun
    old_nonce,           ///< of an earlier handshake than the latest known
    duplicate,           ///< a copy of what has been answered and is in use
    simultaneous,        ///< both greet: ours stands, and goes out again
    wrong_nonce,         ///< answers no greeting of ours that is open
    stale_confirmation,  ///< of an association that is no longer expected
    stopped,             ///< after stop()
};
inline constexpr std::size_t kHandshakeRefusals = 12;

/// The counter's name, such as "old_nonce"; static storage.
[[nodiscard]] const char* name_of(HandshakeRefusal refusal);

/// What never changes about a pair of nodes.
struct HandshakeIdentity {
    wire::NodeName own_name;
    wire::NodeName peer_name;
    std::uint64_t own_incarnation = 0;
    std::uint16_t slot_base = 0;   ///< ours for this peer are this one and the next
    std::uint16_t max_packet = 0;  ///< largest UDP payload that we take, bytes
    std::uint32_t ack_delay_us = 0;
    std::uint32_t message_max = 0;  ///< longest message that we take, bytes
};

/// An association as one end knows it.
struct Agreement {
    std::uint16_t local_slot = 0;
    std::uint32_t local_tag = 0;
    std::uint64_t local_nonce = 0;
    bool initiator = false;  ///< we greeted, and the peer answered
    Duration rtt;      ///< HELLO to HELLO_ACK, initiator only, and only of a HELLO sent once (Karn); 0: not measured
    wire::Hello peer;  ///< as the peer said: incarnation, tag, slot, sizes, stream, memory
};

/// The three-way handshake with one peer (§4 of docs/PROTOCOL.md).
///
///     initiator                                  responder
///     HELLO(nonce a, tag, slot)          ->      a candidate beside what is in use: `expect`
///     in use at once: `associate`        <-      HELLO_ACK(nonce b, echo a, tag, slot)
///     HELLO_DONE(a, b), or data          ->      the candidate is in use: on_confirmed()
///
/// What makes it safe:
///  - A HELLO alone starts at most one candidate. What is in use goes only when somebody has proved, by echoing a fresh
///    nonce or using a fresh tag, that it is there now.
///  - The nonces of an incarnation increase (upper half: a count; lower half: random), so that a copy of an earlier
///    HELLO is known for one; incarnations that a verified later one has replaced are remembered.
///  - When both greet, the greeting of the smaller name stands. The other side answers it and holds its own back for a
///    while; the one that stands is sent again at once when the other's arrives, so that neither loss stalls.
///
/// Owner: the control thread. Sans-IO, no allocation. After every call the caller drains poll_action(), and
/// poll_transmit() as soon as frames can leave: what waits is always the newest, stamped when it is taken.
class Handshake {
public:
    /// Between two transmissions of HELLO or HELLO_ACK: twice the RTT, not less than min, doubling up to max. What is
    /// repeated measures nothing, so that min is also the longest round trip that the first handshake tells: beyond it,
    /// the timeout before any sample (10 ms) is short enough, measured in round trips.
    static constexpr Duration kRetryMin = Duration::ms(5);
    static constexpr Duration kRetryMax = Duration::s(1);
    /// How long what has begun is left alone: by a HELLO of another incarnation, by an own greeting that yields.
    static constexpr Duration kHold = Duration::ms(50);
    /// greet() sends again at once what has last been sent so long ago.
    static constexpr Duration kHastenAfter = Duration::ms(100);
    /// A candidate is given up when it is not confirmed and its HELLO is not repeated for so long.
    static constexpr Duration kHalfOpen = Duration::s(1);
    /// Packets below this cannot carry header, extensions and a useful frame.
    static constexpr std::uint16_t kPacketBytesMin = 256;

    /// `random` outlives the handshake.
    Handshake(const HandshakeIdentity& identity, Random& random);

    // — input —

    /// Sees to it that a handshake runs: begins one, or hurries the one that waits. What is in use stays.
    void greet(Time now) { greet_after(now, Duration()); }
    /// The same, not before `delay`.
    void greet_after(Time now, Duration delay);
    HandshakeRefusal on_hello(Time now, const wire::Hello& hello);
    HandshakeRefusal on_hello_ack(Time now, const wire::Hello& hello);
    /// `tag`: the packet header's.
    HandshakeRefusal on_hello_done(Time now, std::uint32_t tag, const wire::HelloDone& done);
    /// A packet with this tag, which was expected, has arrived: that association is in use.
    HandshakeRefusal on_confirmed(Time now, std::uint32_t local_tag);
    void on_deadline(Time now);
    /// The association in use has ended (its peer is silent or stopped); a candidate goes with it, so that what the
    /// worker may have confirmed a moment ago ends, too.
    void on_dissociated();
    /// The same, when what we remember of the peer has been dropped as well: an open greeting goes, too, since its
    /// HELLO has said that we remember it. greet() begins another.
    void on_forgotten();
    /// From now on nothing is sent or accepted.
    void stop();

    // — output —

    struct Action {
        enum class Kind : std::uint8_t {
            cancel,     ///< what was expected is no longer
            associate,  ///< in use at once
            expect,     ///< in use once a packet with its tag arrives
        };
        Kind kind = Kind::cancel;
        Agreement agreement;  ///< of associate and expect
    };
    /// The next thing to be done, in order; false: nothing.
    [[nodiscard]] bool poll_action(Action& action);

    struct Outgoing {
        wire::Type type = wire::Type::hello;
        std::uint16_t slot = 0;  ///< header: the receiver's, 0 in a HELLO
        std::uint32_t tag = 0;
        wire::Hello hello;     ///< of HELLO and HELLO_ACK; window, stream and memory are left to who knows them
        wire::HelloDone done;  ///< of HELLO_DONE
    };
    /// What is waiting to be sent.
    [[nodiscard]] bool has_transmit() const { return done_due_ || answer_due_ || hello_due_; }
    /// Takes one packet to send, which leaves at `now`; false: nothing waits.
    [[nodiscard]] bool poll_transmit(Time now, Outgoing& out);

    /// When on_deadline() has something to do.
    [[nodiscard]] Time next_deadline() const;

    // — state —

    [[nodiscard]] bool in_use() const { return live_.has_value(); }
    /// Only when in_use().
    [[nodiscard]] const Agreement& agreement() const { return *live_; }
    [[nodiscard]] bool greeting() const { return greeting_.active; }
    [[nodiscard]] bool half_open() const { return candidate_.has_value(); }

    void check_invariants() const;

private:
    friend struct bowline::Inspector;
    /// Our own HELLO, as long as it is not answered.
    struct Greeting {
        bool active = false;
        bool renew = false;  ///< it has yielded: the next one is another, with a nonce above what was said meanwhile
        std::uint64_t nonce = 0;
        std::uint32_t tag = 0;
        std::uint32_t sent = 0;
        Time last_sent;
        Time next_at = Time::never();
    };
    /// The peer's HELLO that we have answered, as long as that is not confirmed.
    struct Candidate {
        Agreement agreement;
        Time begun;
        Time expires;
        std::uint32_t sent = 0;
        Time next_at = Time::never();
    };

    [[nodiscard]] HandshakeRefusal check_hello(const wire::Hello& hello) const;
    [[nodiscard]] HandshakeRefusal check_history(Time now, const wire::Hello& hello) const;
    [[nodiscard]] bool is_dead(std::uint64_t incarnation) const;
    [[nodiscard]] bool keeps_greeting() const;
    [[nodiscard]] std::uint64_t fresh_nonce();
    [[nodiscard]] std::uint32_t fresh_tag();
    [[nodiscard]] std::uint16_t free_slot() const;
    [[nodiscard]] Duration retry_after(std::uint32_t sent);
    [[nodiscard]] wire::Hello own_hello(std::uint64_t nonce, std::uint32_t tag) const;
    void renew_greeting();
    void hasten(Time now, Duration not_within);
    void begin_candidate(Time now, const wire::Hello& hello);
    void drop_candidate();
    void settle(const Agreement& agreement);
    void take_hello(Time now, Outgoing& out);
    void take_answer(Time now, Outgoing& out);
    void take_done(Outgoing& out);

    HandshakeIdentity identity_;
    Random* random_;

    std::optional<Agreement> live_;
    std::uint16_t last_slot_;  ///< of the latest association that was in use
    Greeting greeting_;
    std::optional<Candidate> candidate_;
    std::optional<Agreement> superseded_;  ///< the candidate before this one: its confirmation may be on its way

    // What is certain about the peer, whatever happens to associations.
    std::optional<std::uint64_t> verified_incarnation_;
    std::uint64_t verified_nonce_ = 0;  ///< nonces of its HELLOs up to this one are history
    static constexpr std::size_t kDeadRemembered = 4;
    std::array<std::uint64_t, kDeadRemembered> dead_{};  ///< the latest, in a ring
    std::size_t dead_count_ = 0;                         ///< ever

    std::uint32_t nonce_count_ = 0;
    Duration rtt_;
    bool stopped_ = false;

    bool cancel_due_ = false;
    bool associate_due_ = false;
    bool expect_due_ = false;
    bool hello_due_ = false;
    bool answer_due_ = false;
    bool done_due_ = false;
};

}  // namespace bowline::protocol
