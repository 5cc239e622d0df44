#include "control/neighbours.hpp"

#include <algorithm>

#include "protocol/check.hpp"

namespace bowline::control {

using protocol::Duration;
using protocol::Time;
using protocol::wire::Arp;
using protocol::wire::ArpOperation;
using protocol::wire::Ipv4Address;
using protocol::wire::MacAddress;

namespace {

bool is_station(MacAddress mac) { return !mac.is_zero() && !mac.is_multicast(); }

}  // namespace

Neighbours::Neighbours(const OwnAddress& own, std::span<const Wanted> wanted, protocol::Random& random,
                       Counters& counters)
    : own_(own), random_(&random), counters_(&counters), deadlines_(wanted.size() + 1) {
    BOWLINE_CHECK(wanted.size() < kNoHop && own.prefix_bits <= 32);
    entries_.reserve(wanted.size() + 1);
    for (const Wanted& peer : wanted) {
        if (peer.static_mac) {
            const Hop hop = add(peer.ip);
            entries_[hop].mac = *peer.static_mac;
            entries_[hop].known = true;
            entries_[hop].is_static = true;
            hop_of_peer_.push_back(hop);
        } else if (is_on_link(peer.ip)) {
            hop_of_peer_.push_back(add(peer.ip));
        } else {
            hop_of_peer_.push_back(own.gateway ? add(*own.gateway) : kNoHop);
        }
    }
}

bool Neighbours::is_on_link(Ipv4Address ip) const {
    const std::uint32_t mask = own_.prefix_bits == 0 ? 0 : ~std::uint32_t{0} << (32U - own_.prefix_bits);
    return ((ip.value ^ own_.ip.value) & mask) == 0;
}

Neighbours::Hop Neighbours::add(Ipv4Address ip) {
    const auto at = std::ranges::lower_bound(by_ip_, ip, {}, [this](Hop hop) { return entries_[hop].ip; });
    if (at != by_ip_.end() && entries_[*at].ip == ip) return *at;
    const auto hop = static_cast<Hop>(entries_.size());
    by_ip_.insert(at, hop);
    entries_.push_back(Entry{.ip = ip, .mac = {}, .known = false, .is_static = false, .asked = 0, .expires = {}});
    return hop;
}

Neighbours::Hop Neighbours::find(Ipv4Address ip) const {
    const auto at = std::ranges::lower_bound(by_ip_, ip, {}, [this](Hop hop) { return entries_[hop].ip; });
    return at != by_ip_.end() && entries_[*at].ip == ip ? *at : kNoHop;
}

std::optional<MacAddress> Neighbours::mac_of(Hop hop) const {
    if (!entries_[hop].known) return std::nullopt;
    return entries_[hop].mac;
}

void Neighbours::want(Time now, Hop hop) {
    if (entries_[hop].known || !deadlines_.deadline_of(hop).is_never()) return;
    entries_[hop].asked = 0;
    deadlines_.set(hop, now);
}

bool Neighbours::learn(Time now, Hop hop, MacAddress mac) {
    Entry& entry = entries_[hop];
    if (entry.is_static) return false;
    const bool changed = !entry.known || entry.mac != mac;
    if (changed) counters_->add(Counter::arp_learned);
    entry.mac = mac;
    entry.known = true;
    entry.asked = 0;
    entry.expires = now + kLifetime;
    // Early by chance, so that those who were learned together are not asked together.
    const auto early = static_cast<std::int64_t>(random_->below(static_cast<std::uint64_t>(kRefreshBefore.ns())));
    deadlines_.set(hop, entry.expires - kRefreshBefore - Duration::ns(early));
    return changed;
}

bool Neighbours::on_verified(Time now, Hop hop, MacAddress mac) { return is_station(mac) && learn(now, hop, mac); }

bool Neighbours::on_heard(Time now, Hop hop, MacAddress mac) {
    if (entries_[hop].known || !is_station(mac)) return false;
    const bool changed = learn(now, hop, mac);
    // Not verified: it is asked about at once, and forgotten soon.
    entries_[hop].expires = now + kRefreshBefore;
    deadlines_.set(hop, now);
    return changed;
}

Neighbours::Outcome Neighbours::on_arp(Time now, const Arp& arp) {
    Outcome outcome;
    if (!is_station(arp.sender_mac)) {
        counters_->add(Counter::bad_source_mac);
        return outcome;
    }
    if (arp.sender_mac == own_.mac) {
        counters_->add(Counter::own_frame);
        return outcome;
    }
    if (arp.sender_ip == own_.ip) {
        counters_->add(Counter::duplicate_address);
        outcome.conflict = true;
        return outcome;
    }
    learn_from(now, arp, outcome);
    if (arp.operation == ArpOperation::request && arp.target_ip == own_.ip) {
        outcome.reply = protocol::wire::make_arp_reply(arp, own_.mac);
    }
    return outcome;
}

void Neighbours::learn_from(Time now, const Arp& arp, Outcome& outcome) {
    const Hop hop = find(arp.sender_ip);
    if (hop == kNoHop) {
        // 0.0.0.0 asks whether an address is free (RFC 5227 §2.1) and tells nothing of its own.
        if (arp.sender_ip.value != 0) counters_->add(Counter::arp_unknown_sender);
        return;
    }
    if (entries_[hop].is_static) {
        if (entries_[hop].mac != arp.sender_mac) counters_->add(Counter::arp_static_ignored);
        return;
    }
    if (learn(now, hop, arp.sender_mac)) outcome.changed = hop;
}

Arp Neighbours::announcement() const {
    // RFC 5227 §3: an announcement is a request for one's own address.
    return protocol::wire::make_arp_request(own_.mac, own_.ip, own_.ip);
}

bool Neighbours::poll_request(Time now, Request& request) {
    DeadlineQueue::Index thing = 0;
    if (!deadlines_.pop_due(now, thing)) return false;
    Entry& entry = entries_[thing];
    const bool is_fresh = entry.known && entry.expires > now;
    request.arp = protocol::wire::make_arp_request(own_.mac, own_.ip, entry.ip);
    if (is_fresh) {
        request.to = entry.mac;
        deadlines_.set(thing, earlier(now + kRetryMax, entry.expires));
    } else {
        // What was known stays in use until somebody says otherwise: an address that is wrong by now is no worse than
        // none, and one that is right is better.
        request.to = MacAddress::broadcast();
        constexpr std::uint32_t doublings_max = 10;  // from kRetryMin past kRetryMax
        const Duration interval = kRetryMin * (std::int64_t{1} << std::min(entry.asked, doublings_max));
        deadlines_.set(thing, now + std::min(interval, kRetryMax));
        ++entry.asked;
    }
    counters_->add(Counter::arp_requests_sent);
    return true;
}

}  // namespace bowline::control
