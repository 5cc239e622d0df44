#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>

#include "dataplane/dpdk/device.hpp"
#include "dataplane/port.hpp"
#include "protocol/check.hpp"
#include "protocol/packet.hpp"

namespace bowline::dataplane::dpdk {

/// What a port refused, and why. Written by the worker; read by anybody, a little late.
struct PortCounters {
    std::uint64_t rx_chained = 0;    ///< received packets spread over several buffers: larger than the MTU, dropped
    std::uint64_t rx_short = 0;      ///< received packets shorter than an Ethernet header, dropped
    std::uint64_t alloc_failed = 0;  ///< the pool was empty
};

/// One counter with the name that metrics and tools show.
struct NamedCounter {
    std::string_view name;
    std::uint64_t PortCounters::*value;
};
inline constexpr NamedCounter kPortCounters[] = {
    {"port_rx_chained", &PortCounters::rx_chained},
    {"port_rx_short", &PortCounters::rx_short},
    {"port_alloc_failed", &PortCounters::alloc_failed},
};

/// A queue pair of a DPDK device as a dataplane::Port. A Packet is an rte_mbuf of the queue's own pool.
///
/// Used by one worker thread, which holds a WorkerThread (eal.hpp) meanwhile. The Device outlives it.
class DpdkPort {
public:
    explicit DpdkPort(Device& device, std::uint16_t queue = 0)
        : gate_(&device.gate(queue)),
          pool_(device.pool(queue)),
          // A sealed frame never outgrows what the other end's ring has for it, however long its headers are.
          payload_capacity_(device.buffer_bytes() - static_cast<std::uint32_t>(kTxHeadroom)),
          port_id_(device.port_id()),
          queue_(queue),
          tx_checksum_(device.info().tx_checksum_offload),
          rx_checksum_(device.info().rx_checksum_offload) {}

    std::uint16_t rx_burst(Packet** packets, std::uint16_t count) {
        if (!gate_->open()) [[unlikely]] {
            gate_->stand_aside();
            return 0;
        }
        const std::uint16_t received = rte_eth_rx_burst(port_id_, queue_, mbufs(packets), count);
        std::uint16_t kept = 0;
        for (std::uint16_t i = 0; i < received; ++i) {
            packets[kept] = packets[i];
            kept = static_cast<std::uint16_t>(kept + (acceptable(mbuf(packets[i])) ? 1 : 0));
        }
        return kept;
    }

    std::uint16_t tx_burst(Packet** packets, std::uint16_t count) {
        if (!gate_->open()) [[unlikely]] {
            gate_->stand_aside();
            return 0;
        }
        return rte_eth_tx_burst(port_id_, queue_, mbufs(packets), count);
    }

    Packet* alloc() {
        rte_mbuf* m = rte_pktmbuf_alloc(pool_);
        if (m == nullptr) [[unlikely]] {
            ++counters_.alloc_failed;
        }
        return packet(m);
    }

    void free(Packet* p) { rte_pktmbuf_free(mbuf(p)); }
    void free_bulk(Packet** packets, std::uint32_t count) { rte_pktmbuf_free_bulk(mbufs(packets), count); }
    void ref(Packet* p) { rte_mbuf_refcnt_update(mbuf(p), 1); }
    bool exclusive(Packet* p) { return rte_mbuf_refcnt_read(mbuf(p)) == 1; }

    RxFrame rx_frame(Packet* p) {
        const rte_mbuf* m = mbuf(p);
        RxFrame frame{rte_pktmbuf_mtod(m, std::byte*), m->data_len, RxChecksum::unknown, RxChecksum::unknown};
        if (rx_checksum_) {
            frame.ip_checksum = verdict(m->ol_flags, RTE_MBUF_F_RX_IP_CKSUM_MASK, RTE_MBUF_F_RX_IP_CKSUM_GOOD,
                                        RTE_MBUF_F_RX_IP_CKSUM_BAD);
            frame.udp_checksum = verdict(m->ol_flags, RTE_MBUF_F_RX_L4_CKSUM_MASK, RTE_MBUF_F_RX_L4_CKSUM_GOOD,
                                         RTE_MBUF_F_RX_L4_CKSUM_BAD);
        }
        return frame;
    }

    std::byte* payload(Packet* p) { return static_cast<std::byte*>(mbuf(p)->buf_addr) + kTxHeadroom; }
    [[nodiscard]] std::uint32_t payload_capacity() const { return payload_capacity_; }

    void seal(Packet* p, std::uint32_t header_bytes, std::uint32_t payload_bytes) {
        BOWLINE_DCHECK(header_bytes <= kTxHeadroom && payload_bytes <= payload_capacity_);
        rte_mbuf* m = mbuf(p);
        m->data_off = static_cast<std::uint16_t>(kTxHeadroom - header_bytes);
        m->data_len = static_cast<std::uint16_t>(header_bytes + payload_bytes);
        m->pkt_len = header_bytes + payload_bytes;
        m->ol_flags = 0;
    }

    void seal_with_checksum(Packet* p, std::uint32_t header_bytes, std::uint32_t payload_bytes) {
        seal(p, header_bytes, payload_bytes);
        rte_mbuf* m = mbuf(p);
        // Where IP starts stands in our own frame: behind the VLAN tag if there is one.
        const auto* ether = rte_pktmbuf_mtod(m, const std::uint8_t*);
        const bool tagged = ether[12] == 0x81 && ether[13] == 0x00;
        const std::uint32_t ip_at = tagged ? RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN : RTE_ETHER_HDR_LEN;
        const std::uint32_t version = ether[ip_at] >> 4U;
        m->tx_offload = 0;
        m->l2_len = ip_at & 0x7FU;
        m->l3_len = (version == 4 ? (ether[ip_at] & 0x0FU) * 4U : sizeof(rte_ipv6_hdr)) & 0x1FFU;
        m->ol_flags = (version == 4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6) | RTE_MBUF_F_TX_UDP_CKSUM;
    }

    [[nodiscard]] bool checksum_offload() const { return tx_checksum_; }

    [[nodiscard]] const PortCounters& counters() const { return counters_; }

private:
    static rte_mbuf* mbuf(Packet* p) { return reinterpret_cast<rte_mbuf*>(p); }
    static Packet* packet(rte_mbuf* m) { return reinterpret_cast<Packet*>(m); }
    static rte_mbuf** mbufs(Packet** p) { return reinterpret_cast<rte_mbuf**>(p); }
    static RxChecksum verdict(std::uint64_t flags, std::uint64_t mask, std::uint64_t good, std::uint64_t bad) {
        const std::uint64_t said = flags & mask;
        return said == good ? RxChecksum::good : said == bad ? RxChecksum::bad : RxChecksum::unknown;
    }
    /// Frees what is not, and counts it.
    bool acceptable(rte_mbuf* m) {
        if (m->nb_segs == 1 && m->data_len >= RTE_ETHER_HDR_LEN) [[likely]] {
            return true;
        }
        refuse(m);
        return false;
    }
    [[gnu::cold]] void refuse(rte_mbuf* m);

    PortGate* gate_;
    rte_mempool* pool_;
    std::uint32_t payload_capacity_;
    std::uint16_t port_id_;
    std::uint16_t queue_;
    bool tx_checksum_;
    bool rx_checksum_;
    PortCounters counters_;
};

static_assert(kTxHeadroom == RTE_PKTMBUF_HEADROOM, "payload() is where a new mbuf's data starts");
static_assert(Port<DpdkPort>);

}  // namespace bowline::dataplane::dpdk
