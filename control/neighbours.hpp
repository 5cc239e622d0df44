#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "control/counters.hpp"
#include "control/deadline_queue.hpp"
#include "protocol/random.hpp"
#include "protocol/time.hpp"
#include "protocol/wire/address.hpp"
#include "protocol/wire/ethernet.hpp"

namespace bowline::control {

/// Where this node stands in its network.
struct OwnAddress {
    protocol::wire::MacAddress mac;
    protocol::wire::Ipv4Address ip;
    std::uint8_t prefix_bits = 24;                       ///< 0..32
    std::optional<protocol::wire::Ipv4Address> gateway;  ///< next hop of what is outside the network
};

/// The ARP table (RFC 826) of the peers' next hops: the peers themselves, or the gateway for those outside the network.
/// Only these are ever learned, so that it is as large as the configuration and no stranger fills it.
///
/// Owner: the control thread. Sans-IO: ARP packets in and out, no frames.
class Neighbours {
public:
    using Hop = std::uint16_t;  ///< the number of a next hop
    static constexpr Hop kNoHop = 0xFFFF;

    static constexpr protocol::Duration kRetryMin = protocol::Duration::ms(1);
    static constexpr protocol::Duration kRetryMax = protocol::Duration::s(1);
    static constexpr protocol::Duration kLifetime = protocol::Duration::s(30);
    /// Before its end the owner is asked directly, once each kRetryMax.
    static constexpr protocol::Duration kRefreshBefore = protocol::Duration::s(5);

    struct Wanted {
        protocol::wire::Ipv4Address ip;
        /// Where its frames go, whatever ARP says: never asked, never changed. Needs no gateway.
        std::optional<protocol::wire::MacAddress> static_mac;
    };
    /// `wanted`: one for each peer, in the order of their numbers. `random` and `counters` outlive this.
    Neighbours(const OwnAddress& own, std::span<const Wanted> wanted, protocol::Random& random, Counters& counters);

    /// kNoHop: outside the network, and there is no gateway.
    [[nodiscard]] Hop hop_of(std::size_t peer) const { return hop_of_peer_[peer]; }
    [[nodiscard]] std::size_t hops() const { return entries_.size(); }
    [[nodiscard]] protocol::wire::Ipv4Address ip_of(Hop hop) const { return entries_[hop].ip; }
    /// The hop with this address itself (no peer behind a gateway), or kNoHop.
    [[nodiscard]] Hop find(protocol::wire::Ipv4Address ip) const;
    [[nodiscard]] bool is_static(Hop hop) const { return entries_[hop].is_static; }
    /// Nothing as long as it is not known. Kept, once known, until another takes its place.
    [[nodiscard]] std::optional<protocol::wire::MacAddress> mac_of(Hop hop) const;

    /// A frame wants to go there: asks, unless it is known or being asked.
    void want(protocol::Time now, Hop hop);

    struct Outcome {
        std::optional<protocol::wire::Arp> reply;  ///< to be sent
        Hop changed = kNoHop;                      ///< has another MAC than before, or one for the first time
        bool conflict = false;                     ///< the sender uses our address
    };
    /// A received ARP packet.
    [[nodiscard]] Outcome on_arp(protocol::Time now, const protocol::wire::Arp& arp);
    /// `mac` has proved to be where `hop` is reached. True: that is a change.
    [[nodiscard]] bool on_verified(protocol::Time now, Hop hop, protocol::wire::MacAddress mac);
    /// A frame from `hop` came from `mac`, unverified: better than nothing. True: there was nothing.
    [[nodiscard]] bool on_heard(protocol::Time now, Hop hop, protocol::wire::MacAddress mac);

    /// Says whose address we have: to be sent at start, so that those who know another for it learn the new one.
    [[nodiscard]] protocol::wire::Arp announcement() const;

    struct Request {
        protocol::wire::Arp arp;
        protocol::wire::MacAddress to;  ///< broadcast, or the neighbour that is to confirm
    };
    /// The next request that is due; false: none is.
    [[nodiscard]] bool poll_request(protocol::Time now, Request& request);
    [[nodiscard]] protocol::Time next_deadline() const { return deadlines_.next(); }

private:
    struct Entry {
        protocol::wire::Ipv4Address ip;
        protocol::wire::MacAddress mac;
        bool known = false;
        bool is_static = false;
        std::uint32_t asked = 0;  ///< everybody, since an answer
        protocol::Time expires;   ///< the owner has not confirmed it for long: everybody is asked again
    };

    [[nodiscard]] bool is_on_link(protocol::wire::Ipv4Address ip) const;
    [[nodiscard]] Hop add(protocol::wire::Ipv4Address ip);
    void learn_from(protocol::Time now, const protocol::wire::Arp& arp, Outcome& outcome);
    [[nodiscard]] bool learn(protocol::Time now, Hop hop, protocol::wire::MacAddress mac);

    OwnAddress own_;
    protocol::Random* random_;
    Counters* counters_;
    std::vector<Entry> entries_;
    std::vector<Hop> by_ip_;  ///< sorted by address
    std::vector<Hop> hop_of_peer_;
    DeadlineQueue deadlines_;
};

}  // namespace bowline::control
