#include "sim/application.hpp"

#include <algorithm>

#include "protocol/check.hpp"

namespace bowline::sim {

using dataplane::Offer;
using dataplane::PeerEvent;
using dataplane::PeerIndex;

namespace {

/// How long an application without an association waits for one rather than put two messages into a packet.
constexpr Duration kPatience = Duration::ms(100);

}  // namespace

bool Application::read(SimWorker& worker, SimPort& port, Time local) {
    release_due(port, local);
    if (stalled_) {
        return false;
    }
    const std::size_t count = worker.read(
        config_.read_limit,
        [&](PeerIndex peer, const std::byte* bytes, std::uint32_t size, std::uint64_t number, Packet* packet) {
            ++read_messages_;
            const NodeId from = node_of(peer);
            oracle_.on_message(self_, from, number, {bytes, size});
            if (packet != nullptr && chance(config_.hold_ppm)) {
                // As Message::hold() does: the packet stays, whatever becomes of the ring's reference.
                port.ref(packet);
                held_.push_back(
                    {.packet = packet,
                     .bytes = {bytes, size},
                     .key = {.incarnation = oracle_.sender_incarnation(self_, from), .to = self_, .number = number},
                     .until = local + config_.hold_for});
            }
        },
        [&](PeerIndex peer, const PeerEvent& event) { on_event(peer, event); });
    worker.finish_batch();
    return count >= config_.read_limit;
}

void Application::on_event(PeerIndex peer, const PeerEvent& event) {
    const NodeId node = node_of(peer);
    if (listener_) {
        listener_(node, event);
    }
    switch (event.kind) {
        case PeerEvent::Kind::up:
            return oracle_.on_up(self_, node, event.first);
        case PeerEvent::Kind::down:
            return oracle_.on_down(self_, node);
        case PeerEvent::Kind::undelivered:
            return oracle_.on_undelivered(self_, node, event.first, event.last, event.certain);
        case PeerEvent::Kind::opened:
            return oracle_.on_gap(self_, node, event.first, event.last);
        case PeerEvent::Kind::view_changed:
            return;
        case PeerEvent::Kind::restarted:
        case PeerEvent::Kind::forgotten:
            BOWLINE_CHECK(event.kind == PeerEvent::Kind::up);  // the reader keeps these for itself
    }
}

void Application::release_due(SimPort& port, Time local) {
    while (!held_.empty() && held_.front().until <= local) {
        const Held& held = held_.front();
        BOWLINE_CHECK(holds_content(held.key, held.bytes));
        port.free(held.packet);
        held_.pop_front();
    }
}

bool Application::offer(SimWorker& worker, Time local, std::uint64_t incarnation) {
    if (jobs_.empty()) {
        return false;
    }
    std::size_t budget = config_.offers_max;
    std::size_t blocked = 0;
    // Jobs for other peers go on when one peer's stop: those of one peer stay in order.
    for (std::size_t i = 0; i < jobs_.size() && budget > 0;) {
        SendJob& job = jobs_[i];
        const auto bit = std::size_t{1} << job.to % 64;
        if ((blocked & bit) != 0) {
            ++i;
            continue;
        }
        const Offered offered = offer_one(worker, local, incarnation, job);
        if (offered == Offered::later) {
            blocked |= bit;
            ++i;
            continue;
        }
        --budget;
        if (offered == Offered::never) {
            oracle_.on_refused(self_, job.to, job.count);  // and so would the rest be, one by one
        }
        if (offered == Offered::never || --job.count == 0) {
            jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    return budget == 0;
}

/// Whether the next message would have a packet of its own. While there is no association packets are only filled, and
/// a peer that never answers must not keep messages from being accepted: then they share them.
bool Application::goes_alone(const dataplane::Peer& peer, Time local, SendJob& job) {
    if (peer.open.packet == nullptr || !peer.open.has_frames()) {
        job.alone_until = Time::never();
        return true;
    }
    if (peer.associated) {
        return false;
    }
    job.alone_until = protocol::earlier(job.alone_until, local + kPatience);
    return local >= job.alone_until;
}

Application::Offered Application::offer_one(SimWorker& worker, Time local, std::uint64_t incarnation, SendJob& job) {
    const PeerIndex peer = peer_of(job.to);
    if (peer >= worker.peer_count()) {
        return Offered::never;
    }
    if (!job.packed && !goes_alone(worker.peer(peer), local, job)) {
        return Offered::later;
    }
    const std::uint64_t expected = worker.peer(peer).next_message;
    const std::uint64_t spread = std::uint64_t{job.size_max} - job.size_min + 1;
    // The size belongs to the number, so that an offer that is repeated is the same message.
    const auto size = static_cast<std::uint32_t>(
        job.size_min + protocol::Random(incarnation ^ expected * 0x2545F4914F6CDD1DULL).next() % spread);
    const ContentKey key{.incarnation = incarnation, .to = job.to, .number = expected};
    Offer offer = Offer::accepted;
    std::uint64_t number = 0;
    if (worker.peer(peer).associated && size <= worker.claim_max(peer) && chance(config_.claim_ppm)) {
        std::byte* at = nullptr;
        offer = worker.try_claim(peer, local, size, at);
        if (offer == Offer::accepted) {
            fill_content(key, {at, size});
            if (chance(250'000)) {
                return Offered::later;  // thought better of it: the claim must leave no trace
            }
            number = worker.commit_claim(peer, size);
        }
    } else {
        if (buffer_.size() < std::max<std::size_t>(size, 1)) {
            buffer_.resize(std::max<std::size_t>(size, 1));
        }
        if (!(buffered_ == key) || buffered_size_ != size) {  // else it was refused before, and is still there
            fill_content(key, std::span(buffer_).first(size));
            buffered_ = key;
            buffered_size_ = size;
        }
        offer = worker.offer(peer, local, buffer_.data(), size, number);
    }
    switch (offer) {
        case Offer::accepted:
            oracle_.on_accepted(self_, job.to, number, size);
            return Offered::accepted;
        case Offer::back_pressured:
            return Offered::later;
        case Offer::excluded:
            if (job.persistent) {
                return Offered::later;
            }
            break;
        case Offer::closed:
        case Offer::too_large:
            break;
    }
    return Offered::never;
}

Time Application::next_deadline(Time local) const {
    Time next = held_.empty() ? Time::never() : held_.front().until;
    // An application that was refused tries again now and then; what usually lets it go on is that something arrives.
    if (!jobs_.empty()) {
        next = protocol::earlier(next, local + Duration::ms(5));
    }
    return next;
}

void Application::end(SimPort& port) {
    release_due(port, Time::never());
    jobs_.clear();
    stalled_ = false;
}

}  // namespace bowline::sim
