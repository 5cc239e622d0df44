#include "protocol/wire/header_template.hpp"

namespace bowline::protocol::wire {

HeaderTemplate::HeaderTemplate(const Endpoints& endpoints) {
    const bool tagged = endpoints.vlan != kNoVlan;
    BOWLINE_CHECK(!tagged || endpoints.vlan <= kVlanIdMax);
    BOWLINE_CHECK(endpoints.dscp < 64);
    size_ = static_cast<std::uint32_t>(kEthernetBytes + (tagged ? kVlanBytes : 0) + kIpFromEnd);

    std::byte* const ethernet = bytes_.data() + kWriteBytes - size_;
    endpoints.dst_mac.store(ethernet);
    endpoints.src_mac.store(ethernet + 6);
    if (tagged) {
        store_be16(ethernet + 12, kEtherTypeVlan);
        store_be16(ethernet + 14, endpoints.vlan);
    }
    std::byte* const ip = bytes_.data() + kWriteBytes - kIpFromEnd;
    store_be16(ip - 2, kEtherTypeIpv4);

    constexpr std::uint16_t dont_fragment = 0x4000;
    constexpr std::uint8_t ttl = 64;
    store_u8(ip, 0x45);
    store_u8(ip + 1, static_cast<std::uint8_t>(endpoints.dscp << 2U));
    store_be16(ip + 6, dont_fragment);
    store_u8(ip + 8, ttl);
    store_u8(ip + 9, kIpProtocolUdp);
    store_be32(ip + 12, endpoints.src_ip.value);
    store_be32(ip + 16, endpoints.dst_ip.value);
    ip_sum_ = checksum_add(0, {ip, kIpv4Bytes});

    std::byte* const udp = ip + kIpv4Bytes;
    store_be16(udp, endpoints.src_port);
    store_be16(udp + 2, endpoints.dst_port);
    pseudo_sum_ = pseudo_header_sum(endpoints.src_ip, endpoints.dst_ip, 0);
}

}  // namespace bowline::protocol::wire
