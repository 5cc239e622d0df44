#include "protocol/association.hpp"

#include <algorithm>

#include "protocol/check.hpp"

namespace bowline::protocol {

const char* name_of(HandshakeRefusal refusal) {
    static constexpr std::array<const char*, kHandshakeRefusals> names = {
        "none",      "own_name",  "wrong_name",   "bad_parameters", "dead_incarnation",   "other_incarnation",
        "old_nonce", "duplicate", "simultaneous", "wrong_nonce",    "stale_confirmation", "stopped",
    };
    static_assert(static_cast<std::size_t>(HandshakeRefusal::stopped) + 1 == kHandshakeRefusals);
    return names[static_cast<std::size_t>(refusal)];
}

Handshake::Handshake(const HandshakeIdentity& identity, Random& random)
    : identity_(identity), random_(&random), last_slot_(static_cast<std::uint16_t>(identity.slot_base + 1)) {
    BOWLINE_CHECK(!identity.own_name.view().empty() && !identity.peer_name.view().empty());
    BOWLINE_CHECK(!(identity.own_name == identity.peer_name));
    BOWLINE_CHECK(identity.slot_base % 2 == 0 && identity.max_packet >= kPacketBytesMin);
}

// — fresh numbers —

std::uint64_t Handshake::fresh_nonce() {
    // From 1 on, so that no nonce is 0.
    ++nonce_count_;
    return (std::uint64_t{nonce_count_} << 32U) | (random_->next() & 0xFFFF'FFFFU);
}

std::uint32_t Handshake::fresh_tag() {
    for (;;) {
        const auto tag = static_cast<std::uint32_t>(random_->next());
        const bool taken =
            tag == 0 || (live_ && live_->local_tag == tag) || (greeting_.active && greeting_.tag == tag) ||
            (candidate_ && candidate_->agreement.local_tag == tag) || (superseded_ && superseded_->local_tag == tag);
        if (!taken) return tag;
    }
}

std::uint16_t Handshake::free_slot() const {
    // Also when nothing is in use any more: what still arrives for the last one finds no tag there that could match.
    return static_cast<std::uint16_t>(identity_.slot_base + (last_slot_ == identity_.slot_base ? 1 : 0));
}

Duration Handshake::retry_after(std::uint32_t sent) {
    const Duration first = std::clamp(rtt_ * 2, kRetryMin, kRetryMax);
    constexpr std::uint32_t doublings_max = 10;  // from kRetryMin past kRetryMax
    const std::uint32_t doublings = std::min(sent > 0 ? sent - 1 : 0, doublings_max);
    const Duration interval = std::min(first * (std::int64_t{1} << doublings), kRetryMax);
    // Never earlier than the interval, so that kRetryMax is a promise; later by up to a quarter, so that many who wait
    // for the same event do not go on in step.
    const auto jitter = static_cast<std::int64_t>(random_->below(static_cast<std::uint64_t>(interval.ns()) / 4 + 1));
    return interval + Duration::ns(jitter);
}

wire::Hello Handshake::own_hello(std::uint64_t nonce, std::uint32_t tag) const {
    wire::Hello hello;
    hello.features = wire::kFeatures;
    hello.incarnation = identity_.own_incarnation;
    hello.nonce = nonce;
    hello.tag = tag;
    hello.slot = free_slot();
    hello.max_packet = identity_.max_packet;
    hello.ack_delay_us = identity_.ack_delay_us;
    hello.message_max = identity_.message_max;
    hello.from = identity_.own_name;
    hello.to = identity_.peer_name;
    return hello;
}

// — greeting —

void Handshake::renew_greeting() {
    greeting_.renew = false;
    greeting_.nonce = fresh_nonce();
    greeting_.tag = fresh_tag();
    greeting_.sent = 0;
}

void Handshake::greet_after(Time now, Duration delay) {
    if (stopped_) return;
    Time at = now + delay;
    // The peer's greeting is being answered: most likely that is the handshake which is asked for.
    if (candidate_) at = std::max(at, candidate_->begun + kHold);
    if (greeting_.active) {
        if (at <= now) hasten(now, kHastenAfter);
        return;
    }
    greeting_ = Greeting{};
    renew_greeting();
    greeting_.active = true;
    if (at <= now) {
        hello_due_ = true;
    } else {
        greeting_.next_at = at;
    }
}

/// Sends the HELLO again now, unless it has been sent within that time: then as soon as that is over.
void Handshake::hasten(Time now, Duration not_within) {
    if (hello_due_) return;
    const Time at = greeting_.sent == 0 ? now : greeting_.last_sent + not_within;
    if (at > now) {
        greeting_.next_at = earlier(greeting_.next_at, at);
        return;
    }
    hello_due_ = true;
    greeting_.next_at = Time::never();
}

bool Handshake::keeps_greeting() const {
    // One that has not begun, because it waits for its time, is no reason to let the peer wait.
    const bool has_begun = greeting_.sent > 0 || hello_due_;
    return greeting_.active && has_begun && identity_.own_name.view() < identity_.peer_name.view();
}

// — what arrives —

bool Handshake::is_dead(std::uint64_t incarnation) const {
    const auto end = dead_.begin() + static_cast<std::ptrdiff_t>(std::min(dead_count_, kDeadRemembered));
    return std::find(dead_.begin(), end, incarnation) != end;
}

HandshakeRefusal Handshake::check_hello(const wire::Hello& hello) const {
    if (stopped_) return HandshakeRefusal::stopped;
    if (hello.from == identity_.own_name) return HandshakeRefusal::own_name;
    if (!(hello.from == identity_.peer_name) || !(hello.to == identity_.own_name)) return HandshakeRefusal::wrong_name;
    if (hello.tag == 0 || hello.nonce == 0 || hello.max_packet < kPacketBytesMin) {
        return HandshakeRefusal::bad_parameters;
    }
    if (is_dead(hello.incarnation)) return HandshakeRefusal::dead_incarnation;
    return HandshakeRefusal::none;
}

/// Whether a HELLO that repeats no candidate may start one.
HandshakeRefusal Handshake::check_history(Time now, const wire::Hello& hello) const {
    if (hello.incarnation == verified_incarnation_ && hello.nonce <= verified_nonce_) {
        return hello.nonce == verified_nonce_ ? HandshakeRefusal::duplicate : HandshakeRefusal::old_nonce;
    }
    if (!candidate_) return HandshakeRefusal::none;
    const wire::Hello& held = candidate_->agreement.peer;
    if (hello.incarnation == held.incarnation) {
        return hello.nonce < held.nonce ? HandshakeRefusal::old_nonce : HandshakeRefusal::none;
    }
    // Which of the two is the ghost cannot be told; the first has a little time to prove that it is not. The second is
    // sent again, if there is somebody to send it.
    return now - candidate_->begun < kHold ? HandshakeRefusal::other_incarnation : HandshakeRefusal::none;
}

HandshakeRefusal Handshake::on_hello(Time now, const wire::Hello& hello) {
    if (const HandshakeRefusal refusal = check_hello(hello); refusal != HandshakeRefusal::none) return refusal;
    if (candidate_ && candidate_->agreement.peer.incarnation == hello.incarnation &&
        candidate_->agreement.peer.nonce == hello.nonce) {
        // The peer has not had our answer: the same once more, so that it does not matter which of them arrives.
        candidate_->expires = now + kHalfOpen;
        answer_due_ = true;
        return HandshakeRefusal::none;
    }
    if (const HandshakeRefusal refusal = check_history(now, hello); refusal != HandshakeRefusal::none) return refusal;
    if (keeps_greeting()) {
        // The peer would be waiting for it, if it was lost.
        hasten(now, kRetryMin);
        return HandshakeRefusal::simultaneous;
    }
    begin_candidate(now, hello);
    return HandshakeRefusal::none;
}

void Handshake::begin_candidate(Time now, const wire::Hello& hello) {
    superseded_.reset();
    // If the worker knows the one before already, it may just have found it confirmed.
    if (candidate_ && !expect_due_) superseded_ = candidate_->agreement;
    if (greeting_.active) {
        // Yields. An answer to it still counts; but a repetition must not look older to the peer than this answer.
        greeting_.renew = true;
        greeting_.next_at = now + kHold;
        hello_due_ = false;
    }
    Candidate candidate;
    candidate.agreement.local_slot = free_slot();
    candidate.agreement.local_tag = fresh_tag();
    candidate.agreement.local_nonce = fresh_nonce();
    candidate.agreement.peer = hello;
    candidate.begun = now;
    candidate.expires = now + kHalfOpen;
    candidate_ = candidate;
    expect_due_ = true;
    answer_due_ = true;
}

HandshakeRefusal Handshake::on_hello_ack(Time now, const wire::Hello& hello) {
    if (const HandshakeRefusal refusal = check_hello(hello); refusal != HandshakeRefusal::none) return refusal;
    if (greeting_.active && greeting_.sent > 0 && hello.echo_nonce == greeting_.nonce) {
        Agreement agreement;
        agreement.local_slot = free_slot();
        agreement.local_tag = greeting_.tag;
        agreement.local_nonce = greeting_.nonce;
        agreement.initiator = true;
        // Karn (RFC 6298 §3): which of several transmissions is answered cannot be told.
        if (greeting_.sent == 1) agreement.rtt = std::max(now - greeting_.last_sent, Duration::ns(1));
        agreement.peer = hello;
        drop_candidate();
        settle(agreement);
        associate_due_ = true;
        done_due_ = true;
        return HandshakeRefusal::none;
    }
    const bool repeated = live_ && live_->initiator && hello.echo_nonce == live_->local_nonce &&
                          hello.nonce == live_->peer.nonce && hello.incarnation == live_->peer.incarnation;
    if (!repeated) return HandshakeRefusal::wrong_nonce;
    // The peer has had no HELLO_DONE.
    done_due_ = true;
    return HandshakeRefusal::duplicate;
}

HandshakeRefusal Handshake::on_hello_done(Time now, std::uint32_t tag, const wire::HelloDone& done) {
    if (stopped_) return HandshakeRefusal::stopped;
    const auto is_for = [&](const Agreement& agreement) {
        return agreement.local_tag == tag && agreement.local_nonce == done.echo_nonce &&
               agreement.peer.nonce == done.nonce;
    };
    if (live_ && is_for(*live_)) return HandshakeRefusal::duplicate;
    if (!candidate_ || !is_for(candidate_->agreement)) return HandshakeRefusal::wrong_nonce;
    return on_confirmed(now, tag);
}

HandshakeRefusal Handshake::on_confirmed(Time /*now*/, std::uint32_t local_tag) {
    if (stopped_) return HandshakeRefusal::stopped;
    if (live_ && live_->local_tag == local_tag) return HandshakeRefusal::duplicate;
    if (candidate_ && candidate_->agreement.local_tag == local_tag) {
        settle(Agreement(candidate_->agreement));
        return HandshakeRefusal::none;
    }
    if (!superseded_ || superseded_->local_tag != local_tag) return HandshakeRefusal::stale_confirmation;
    // It was confirmed before the worker heard that another takes its place. It stands in the other's slot: that one
    // goes, and if the peer means it, it greets again.
    const Agreement agreement = *superseded_;
    drop_candidate();
    settle(agreement);
    return HandshakeRefusal::none;
}

void Handshake::drop_candidate() {
    if (!candidate_) return;
    if (!expect_due_) cancel_due_ = true;
    expect_due_ = false;
    answer_due_ = false;
    candidate_.reset();
    superseded_.reset();
}

/// The agreement is in use: whatever else was under way is void.
void Handshake::settle(const Agreement& agreement) {
    if (verified_incarnation_ != agreement.peer.incarnation) {
        if (verified_incarnation_) dead_[dead_count_++ % kDeadRemembered] = *verified_incarnation_;
        verified_incarnation_ = agreement.peer.incarnation;
        verified_nonce_ = 0;
    }
    verified_nonce_ = std::max(verified_nonce_, agreement.peer.nonce);
    if (agreement.rtt.ns() > 0) rtt_ = agreement.rtt;
    live_ = agreement;
    last_slot_ = agreement.local_slot;
    greeting_ = Greeting{};
    candidate_.reset();
    superseded_.reset();
    hello_due_ = false;
    answer_due_ = false;
    expect_due_ = false;
    done_due_ = false;
}

void Handshake::on_dissociated() {
    live_.reset();
    drop_candidate();
    associate_due_ = false;
    done_due_ = false;
}

void Handshake::on_forgotten() {
    on_dissociated();
    greeting_ = Greeting{};
    hello_due_ = false;
}

void Handshake::stop() {
    stopped_ = true;
    drop_candidate();
    greeting_ = Greeting{};
    hello_due_ = false;
    done_due_ = false;
}

// — time —

void Handshake::on_deadline(Time now) {
    if (candidate_ && candidate_->expires <= now) {
        drop_candidate();
    } else if (candidate_ && candidate_->next_at <= now) {
        candidate_->next_at = Time::never();
        answer_due_ = true;
    }
    if (greeting_.active && greeting_.next_at <= now) {
        greeting_.next_at = Time::never();
        hello_due_ = true;
    }
}

Time Handshake::next_deadline() const {
    Time next = greeting_.active ? greeting_.next_at : Time::never();
    if (candidate_) next = earlier(next, earlier(candidate_->next_at, candidate_->expires));
    return next;
}

// — output —

bool Handshake::poll_action(Action& action) {
    if (cancel_due_) {
        cancel_due_ = false;
        action = {.kind = Action::Kind::cancel, .agreement = {}};
        return true;
    }
    if (associate_due_) {
        associate_due_ = false;
        action = {.kind = Action::Kind::associate, .agreement = *live_};
        return true;
    }
    if (expect_due_) {
        expect_due_ = false;
        action = {.kind = Action::Kind::expect, .agreement = candidate_->agreement};
        return true;
    }
    return false;
}

bool Handshake::poll_transmit(Time now, Outgoing& out) {
    // The last step of a handshake before the first one of another: it ends more.
    if (done_due_) {
        take_done(out);
        return true;
    }
    if (answer_due_) {
        take_answer(now, out);
        return true;
    }
    if (hello_due_) {
        take_hello(now, out);
        return true;
    }
    return false;
}

void Handshake::take_done(Outgoing& out) {
    done_due_ = false;
    out = {.type = wire::Type::hello_done,
           .slot = live_->peer.slot,
           .tag = live_->peer.tag,
           .hello = {},
           .done = {.nonce = live_->local_nonce, .echo_nonce = live_->peer.nonce}};
}

void Handshake::take_answer(Time now, Outgoing& out) {
    answer_due_ = false;
    ++candidate_->sent;
    candidate_->next_at = now + retry_after(candidate_->sent);
    const Agreement& agreement = candidate_->agreement;
    out = {.type = wire::Type::hello_ack,
           .slot = agreement.peer.slot,
           .tag = agreement.peer.tag,
           .hello = own_hello(agreement.local_nonce, agreement.local_tag),
           .done = {}};
    out.hello.echo_nonce = agreement.peer.nonce;
}

void Handshake::take_hello(Time now, Outgoing& out) {
    hello_due_ = false;
    if (greeting_.renew) renew_greeting();
    ++greeting_.sent;
    greeting_.last_sent = now;
    greeting_.next_at = now + retry_after(greeting_.sent);
    out = {
        .type = wire::Type::hello, .slot = 0, .tag = 0, .hello = own_hello(greeting_.nonce, greeting_.tag), .done = {}};
}

void Handshake::check_invariants() const {
    const auto is_ours = [&](const Agreement& agreement) {
        return agreement.local_tag != 0 && agreement.peer.tag != 0 &&
               (agreement.local_slot == identity_.slot_base || agreement.local_slot == identity_.slot_base + 1);
    };
    if (live_) {
        BOWLINE_CHECK(is_ours(*live_) && last_slot_ == live_->local_slot);
        BOWLINE_CHECK(verified_incarnation_ == live_->peer.incarnation && verified_nonce_ >= live_->peer.nonce);
    }
    if (candidate_) {
        const Agreement& agreement = candidate_->agreement;
        BOWLINE_CHECK(is_ours(agreement) && agreement.local_slot != last_slot_ && !is_dead(agreement.peer.incarnation));
        BOWLINE_CHECK(!live_ || agreement.local_tag != live_->local_tag);
        BOWLINE_CHECK(!greeting_.active || greeting_.tag != agreement.local_tag);
    }
    BOWLINE_CHECK(!greeting_.active || !live_ || greeting_.tag != live_->local_tag);
    BOWLINE_CHECK(!hello_due_ || greeting_.active);
    BOWLINE_CHECK(!answer_due_ || candidate_);
    BOWLINE_CHECK(!expect_due_ || candidate_);
    BOWLINE_CHECK(!done_due_ || (live_ && live_->initiator));
    BOWLINE_CHECK(!associate_due_ || live_);
    BOWLINE_CHECK(!superseded_ || candidate_);
    BOWLINE_CHECK(!verified_incarnation_ || !is_dead(*verified_incarnation_));
    // Whatever is open has either something to send or a time at which it goes on.
    BOWLINE_CHECK(!greeting_.active || hello_due_ || !greeting_.next_at.is_never());
    BOWLINE_CHECK(!candidate_ || !candidate_->expires.is_never());
}

}  // namespace bowline::protocol
