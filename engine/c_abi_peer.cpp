#include "engine/c_abi.hpp"
#include "engine/state.hpp"

using bowline::PeerStatus;
using bowline::Result;
using bowline::SendResult;
using bowline::SendStatus;
using bowline::c_abi::check_owner;
using bowline::c_abi::check_running;
using bowline::c_abi::fail;
using bowline::c_abi::fail_null;
using bowline::c_abi::guarded;

namespace {

bowline_status status_of(SendStatus status) {
    switch (status) {
        case SendStatus::accepted:
            return BOWLINE_OK;
        case SendStatus::back_pressured:
            return fail(BOWLINE_BACK_PRESSURED);
        case SendStatus::excluded:
            return fail(BOWLINE_EXCLUDED);
        case SendStatus::closed:
            return fail(BOWLINE_CLOSED);
        case SendStatus::too_large:
            return fail(BOWLINE_TOO_LARGE);
        case SendStatus::wrong_thread:
            break;
    }
    return fail(BOWLINE_WRONG_THREAD);
}

void set_number(std::uint64_t* number, std::uint64_t value) {
    if (number != nullptr) {
        *number = value;
    }
}

bowline_status ask(bowline_peer* peer, Result<void> (bowline::Peer::*request)()) {
    if (peer == nullptr) {
        return fail_null("peer");
    }
    return guarded([&] {
        if (const bowline_status status = check_running(*peer->engine); status != BOWLINE_OK) {
            return status;
        }
        const Result<void> queued = (peer->peer.*request)();
        return queued ? BOWLINE_OK : fail(queued.error());
    });
}

}  // namespace

extern "C" {

const char* bowline_peer_name(const bowline_peer* peer) {
    return peer == nullptr ? nullptr : bowline::detail::Access::state(peer->peer).name.c_str();
}

bowline_status bowline_peer_send(bowline_peer* peer, const void* data, size_t length, uint64_t* number) {
    set_number(number, 0);
    if (peer == nullptr || (data == nullptr && length > 0)) {
        return fail_null(peer == nullptr ? "peer" : "data");
    }
    return guarded([&] {
        const SendResult sent = peer->peer.send({static_cast<const std::byte*>(data), length});
        if (sent.status == SendStatus::wrong_thread) {
            return status_of(sent.status);  // the claim is the owner's
        }
        peer->claim.reset();
        set_number(number, sent.number);
        return status_of(sent.status);
    });
}

bowline_status bowline_peer_try_claim(bowline_peer* peer, size_t length, void** data) {
    if (data == nullptr) {
        return fail_null("data");
    }
    *data = nullptr;
    if (peer == nullptr) {
        return fail_null("peer");
    }
    return guarded([&] {
        if (check_owner(*peer->engine) != BOWLINE_OK) {
            return BOWLINE_WRONG_THREAD;
        }
        peer->claim.reset();
        SendStatus why = SendStatus::closed;
        std::optional<bowline::Claim> claim = peer->peer.try_claim(length, &why);
        if (!claim) {
            return status_of(why);
        }
        peer->claim.emplace(*std::move(claim));
        peer->claim_turn = peer->engine->turn;
        *data = peer->claim->bytes().data();
        return BOWLINE_OK;
    });
}

bowline_status bowline_peer_commit(bowline_peer* peer, uint64_t* number) {
    set_number(number, 0);
    if (peer == nullptr) {
        return fail_null("peer");
    }
    return guarded([&] {
        if (const bowline_status status = check_running(*peer->engine); status != BOWLINE_OK) {
            return status;
        }
        if (!peer->claim || peer->claim_turn != peer->engine->turn) {
            peer->claim.reset();
            return fail(BOWLINE_WRONG_STATE,
                        "there is no claim: none was granted, or it has ended with a send to this peer or with a poll");
        }
        const SendResult sent = peer->claim->commit();
        peer->claim.reset();
        set_number(number, sent.number);
        return status_of(sent.status);
    });
}

bowline_status bowline_peer_abandon(bowline_peer* peer) {
    if (peer == nullptr) {
        return fail_null("peer");
    }
    if (const bowline_status status = check_owner(*peer->engine); status != BOWLINE_OK) {
        return status;
    }
    peer->claim.reset();
    return BOWLINE_OK;
}

size_t bowline_peer_claim_max(const bowline_peer* peer) { return peer == nullptr ? 0 : peer->peer.claim_max(); }

bowline_status bowline_peer_close(bowline_peer* peer) { return ask(peer, &bowline::Peer::close); }
bowline_status bowline_peer_rotate(bowline_peer* peer) { return ask(peer, &bowline::Peer::rotate); }
bowline_status bowline_peer_forget(bowline_peer* peer) { return ask(peer, &bowline::Peer::forget); }

bowline_status bowline_peer_get_status(const bowline_peer* peer, bowline_peer_status* status) {
    if (peer == nullptr || status == nullptr) {
        return fail_null(peer == nullptr ? "peer" : "status");
    }
    return guarded([&] {
        if (const bowline_status usable = check_running(*peer->engine); usable != BOWLINE_OK) {
            return usable;
        }
        const PeerStatus known = peer->peer.status();
        return bowline::c_abi::fill(*status, bowline_peer_status{.size = 0,
                                                                 .up = known.up ? 1U : 0U,
                                                                 .sent = known.sent,
                                                                 .acknowledged = known.acknowledged,
                                                                 .delivered = known.delivered,
                                                                 .queued_packets = known.queued_packets,
                                                                 .in_flight_packets = known.in_flight_packets,
                                                                 .packets_sent = known.packets_sent,
                                                                 .retransmits = known.retransmits,
                                                                 .acks_received = known.acks_received,
                                                                 .srtt_ns = known.srtt_ns});
    });
}

}  // extern "C"
