#include "dataplane/dpdk/device.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include <rte_bus_vdev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "dataplane/dpdk/device_check.hpp"
#include "dataplane/dpdk/dpdk_log.hpp"
#include "dataplane/dpdk/eal.hpp"
#include "dataplane/dpdk/interrupt_thread.hpp"
#include "dataplane/dpdk/memif_link.hpp"
#include "dataplane/dpdk/memif_socket.hpp"
#include "dataplane/dpdk/packet_pool.hpp"
#include "dataplane/dpdk/ring_pair.hpp"
#include "dataplane/port.hpp"

namespace bowline::dataplane::dpdk {
namespace {

constexpr std::uint32_t kMtuLeast = 576;    // RFC 791: what every host must take
constexpr std::uint32_t kMtuMost = 16'000;  // a frame with its headroom fits a packet buffer's 16-bit sizes amply
constexpr std::uint32_t kEthernetBytes = RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN;
constexpr std::uint32_t kBufferLeast = 2048;  // some drivers refuse less

/// The largest frame, and room in front of its payload for any header, on whole cache lines.
std::uint32_t buffer_bytes_for(std::uint32_t mtu) {
    const std::uint32_t bytes = mtu + kEthernetBytes + static_cast<std::uint32_t>(kTxHeadroom);
    return std::max(kBufferLeast, (bytes + 63U) & ~63U);
}

/// A device that knows no MTU of its own: what limits it is our buffers.
bool software_device(DeviceKind kind) { return kind != DeviceKind::pci && kind != DeviceKind::mac; }

/// Whether the driver keeps packets of ours in its rings, for which the pool must be larger.
bool holds_packets(const DeviceSpec& spec) {
    switch (spec.kind) {
        case DeviceKind::af_packet:
        case DeviceKind::null:
        case DeviceKind::pcap:
            return false;
        case DeviceKind::memif: {
            const std::string* zero_copy = spec.option("zero-copy");
            return zero_copy != nullptr && *zero_copy == "yes";
        }
        default:
            return true;
    }
}

/// Devices of this process that are open: a memif alone may hold DPDK's interrupt thread.
std::atomic<int> open_devices{0};

unsigned next_number() {
    static std::atomic<unsigned> number{0};
    return number.fetch_add(1);
}

}  // namespace

struct Device::State {
    DeviceSpec spec;
    DeviceOptions options;
    DeviceInfo info;
    std::uint16_t port_id = 0;
    std::uint32_t buffer_bytes = 0;
    std::optional<MemifLink> memif;
    RingEnd ring;
    std::string vdev_name;  ///< that we created; empty: none
    std::vector<rte_mempool*> pools;
    std::vector<std::unique_ptr<PortGate>> gates;
    bool counted = false;  ///< among the open devices
    bool have_port = false;
    bool started = false;

    ~State();

    [[nodiscard]] Error failed(const std::string& what, Error::Kind kind = Error::Kind::system) const {
        return {kind, "device '" + spec.text + "': " + what};
    }
    /// `what` with DPDK's reason and its log.
    [[nodiscard]] Error failed_with_log(const std::string& what, int error) const {
        const std::string log = DpdkLogCapture::text();
        return failed(what + ": " + rte_strerror(error < 0 ? -error : error) + (log.empty() ? "" : " (" + log + ")"));
    }

    Result<void> find_port();
    Result<void> create_vdev();
    Result<void> find_by_mac();
    Result<void> fit(const rte_eth_dev_info& dev);
    Result<void> configure();
    Result<void> make_queues(const rte_eth_dev_info& dev, const rte_eth_conf& conf);
    Result<void> start();
};

Device::State::~State() {
    if (have_port) {
        const DpdkLogCapture capture;
        const InterruptHold still;  // a driver's handler must not find the device half gone
        if (started || (memif && memif->started())) {
            rte_eth_dev_stop(port_id);
        }
        if (vdev_name.empty()) {
            rte_eth_dev_close(port_id);
        } else {
            rte_vdev_uninit(vdev_name.c_str());
        }
        memif.reset();
    }
    open_devices.fetch_sub(counted ? 1 : 0);
    ring.close();
    for (rte_mempool* pool : pools) {
        retire_packet_pool(pool);
    }
}

Result<void> Device::State::create_vdev() {
    DriverNeeds needs;
    needs.frame_bytes = options.mtu + kEthernetBytes;
    needs.buffer_bytes = buffer_bytes;
    needs.queue_pairs = options.queue_pairs;
    needs.descriptors = std::bit_floor(std::max(options.rx_descriptors, options.tx_descriptors));
    needs.role = info.memif_role;
    const std::string name = spec.driver_name(next_number());
    const std::string args = spec.driver_args(needs);
    const int result = rte_vdev_init(name.c_str(), args.c_str());
    if (result < 0) {
        if (result == -EEXIST) {
            return failed("a device of the name " + name + " is open in this process already");
        }
        const std::string log = DpdkLogCapture::text();
        if (log.find("no driver") != std::string::npos || (spec.kind == DeviceKind::vdev && log.empty())) {
            return failed("DPDK has no driver for '" + name + "'", Error::Kind::configuration);
        }
        return failed_with_log("the driver refuses it [" + name + "," + args + "]", result);
    }
    vdev_name = name;
    if (rte_eth_dev_get_port_by_name(name.c_str(), &port_id) != 0) {
        return failed("the driver made no network port of it", Error::Kind::configuration);
    }
    have_port = true;
    return {};
}

Result<void> Device::State::find_by_mac() {
    std::string found;
    for (std::uint16_t port = 0; port < RTE_MAX_ETHPORTS; ++port) {
        rte_ether_addr mac{};
        char text[RTE_ETHER_ADDR_FMT_SIZE] = {};
        if (rte_eth_dev_is_valid_port(port) != 0 && rte_eth_macaddr_get(port, &mac) == 0) {
            rte_ether_format_addr(text, sizeof(text), &mac);
            std::string lower = text;
            std::ranges::transform(lower, lower.begin(),
                                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
            if (lower == spec.target) {
                port_id = port;
                have_port = true;
                return {};
            }
            found += (found.empty() ? "" : ", ") + lower;
        }
    }
    return failed("no device that DPDK can use has this address; there are: " + (found.empty() ? "none" : found) +
                      "; is it bound to vfio-pci? ('bowline devices' tells)",
                  Error::Kind::configuration);
}

Result<void> Device::State::find_port() {
    switch (spec.kind) {
        case DeviceKind::ring: {
            auto end = RingEnd::open(spec.target, options.queue_pairs, std::bit_floor(options.rx_descriptors));
            if (!end) {
                return end.error();
            }
            ring = std::move(*end);
            port_id = ring.port_id();
            have_port = true;
            return {};
        }
        case DeviceKind::mac:
            return find_by_mac();
        case DeviceKind::pci:
            if (rte_eth_dev_get_port_by_name(spec.target.c_str(), &port_id) != 0) {
                return failed(
                    "DPDK found no driver for it, or the driver failed: see the log with log_level = \"debug\"");
            }
            have_port = true;
            return {};
        case DeviceKind::memif: {
            auto socket = MemifSocket::claim(spec.target, spec.role);
            if (!socket) {
                return socket.error();
            }
            info.memif_role = socket->role();
            memif.emplace(std::move(*socket), spec.target, open_devices);
            return create_vdev();
        }
        default:
            return create_vdev();
    }
}

/// Cuts the options down to what the device does, or says side by side what is asked for and what there is.
Result<void> Device::State::fit(const rte_eth_dev_info& dev) {
    const std::uint16_t queues_most = std::min(dev.max_rx_queues, dev.max_tx_queues);
    if (options.queue_pairs > queues_most) {
        return failed("queue pairs asked for: " + std::to_string(options.queue_pairs) +
                          ", of the device: " + std::to_string(queues_most),
                      Error::Kind::configuration);
    }
    if (!software_device(spec.kind) && (options.mtu < dev.min_mtu || options.mtu > dev.max_mtu)) {
        return failed("mtu asked for: " + std::to_string(options.mtu) +
                          ", of the device: " + std::to_string(dev.min_mtu) + " to " + std::to_string(dev.max_mtu),
                      Error::Kind::configuration);
    }
    constexpr std::uint64_t kRxChecksums = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
    info.rx_checksum_offload = options.checksum_offload && (dev.rx_offload_capa & kRxChecksums) == kRxChecksums;
    info.tx_checksum_offload = options.checksum_offload && (dev.tx_offload_capa & RTE_ETH_TX_OFFLOAD_UDP_CKSUM) != 0;
    if (options.checksum_offload && !spec.shares_memory() && spec.kind != DeviceKind::null &&
        !(info.rx_checksum_offload && info.tx_checksum_offload)) {
        info.warnings.push_back("device '" + spec.text + "' computes no UDP checksums" +
                                (info.tx_checksum_offload   ? " on receive"
                                 : info.rx_checksum_offload ? " on transmit"
                                                            : "") +
                                ": done in software");
    }
    return {};
}

Result<void> Device::State::configure() {
    if (spec.kind == DeviceKind::memif && holds_packets(spec)) {
        // The driver closes the file of DPDK's own memory with the connection (as of DPDK 22.11).
        info.warnings.push_back(
            "device '" + spec.text +
            "': zero-copy=yes connects once: when the other end has gone, or is not ready yet, this "
            "process must be started again too");
    }
    rte_eth_dev_info dev{};
    if (const int result = rte_eth_dev_info_get(port_id, &dev); result != 0) {
        return failed_with_log("the driver does not describe it", result);
    }
    if (auto fits = fit(dev); !fits) {
        return fits;
    }
    rte_eth_conf conf{};
    conf.rxmode.mtu = software_device(spec.kind) ? 0 : options.mtu;
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
    if (info.rx_checksum_offload) {
        conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
    }
    if (info.tx_checksum_offload) {
        conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
    }
    const std::uint16_t queues = options.queue_pairs;
    if (const int result = rte_eth_dev_configure(port_id, queues, queues, &conf); result != 0) {
        return failed_with_log(
            "the driver refuses " + std::to_string(queues) + " queue pairs with MTU " + std::to_string(options.mtu),
            result);
    }
    return make_queues(dev, conf);
}

Result<void> Device::State::make_queues(const rte_eth_dev_info& dev, const rte_eth_conf& conf) {
    std::uint16_t rx = options.rx_descriptors;
    std::uint16_t tx = options.tx_descriptors;
    if (const int result = rte_eth_dev_adjust_nb_rx_tx_desc(port_id, &rx, &tx); result != 0) {
        return failed_with_log("descriptors asked for: " + std::to_string(options.rx_descriptors) + " and " +
                                   std::to_string(options.tx_descriptors),
                               result);
    }
    info.rx_descriptors = rx;
    info.tx_descriptors = tx;
    info.queue_pairs = options.queue_pairs;
    info.pool_packets = options.pool_packets + (holds_packets(spec) ? std::uint32_t{rx} + tx : 0U);
    const int node = rte_eth_dev_socket_id(port_id);
    rte_eth_rxconf rx_conf = dev.default_rxconf;
    rx_conf.offloads = conf.rxmode.offloads;
    rte_eth_txconf tx_conf = dev.default_txconf;
    // Never MBUF_FAST_FREE: packets stay with the send window while the device has them.
    tx_conf.offloads = conf.txmode.offloads;
    for (std::uint16_t queue = 0; queue < options.queue_pairs; ++queue) {
        const std::string name = "bl_pool_" + std::to_string(next_number());
        auto pool = make_packet_pool(name, info.pool_packets, buffer_bytes, node);
        if (!pool) {
            return failed(pool.error().message);
        }
        pools.push_back(*pool);
        gates.push_back(std::make_unique<PortGate>());
        const auto socket = static_cast<unsigned>(node);
        if (const int result = rte_eth_rx_queue_setup(port_id, queue, rx, socket, &rx_conf, *pool); result != 0) {
            return failed_with_log("receive queue of " + std::to_string(rx) + " descriptors", result);
        }
        if (const int result = rte_eth_tx_queue_setup(port_id, queue, tx, socket, &tx_conf); result != 0) {
            return failed_with_log("transmit queue of " + std::to_string(tx) + " descriptors", result);
        }
    }
    return {};
}

Result<void> Device::State::start() {
    if (memif) {
        auto begun = memif->start(port_id, gates);
        return begun ? begun : failed(begun.error().message);
    }
    if (const int result = rte_eth_dev_start(port_id); result != 0) {
        return failed_with_log("it does not start", result);
    }
    started = true;
    if (options.promiscuous && rte_eth_promiscuous_enable(port_id) != 0) {
        info.warnings.push_back("device '" + spec.text +
                                "' has no promiscuous mode: frames to other addresses are lost");
    }
    for (const auto& gate : gates) {
        gate->reopen();
    }
    return {};
}

Device::Device(std::unique_ptr<State> state) : state_(std::move(state)) {}
Device::~Device() = default;

Result<std::unique_ptr<Device>> Device::open(const DeviceSpec& spec, const DeviceOptions& options) {
    auto state = std::make_unique<State>();
    state->spec = spec;
    state->options = options;
    if (!eal_running()) {
        return Error{Error::Kind::misuse, "device '" + spec.text + "': DPDK does not run: start_eal() comes first"};
    }
    if (options.mtu < kMtuLeast || options.mtu > kMtuMost) {
        return state->failed("mtu asked for: " + std::to_string(options.mtu) +
                                 ", possible: " + std::to_string(kMtuLeast) + " to " + std::to_string(kMtuMost),
                             Error::Kind::configuration);
    }
    if (options.queue_pairs == 0 || options.rx_descriptors < 64 || options.tx_descriptors < 64) {
        return state->failed("at least one queue pair and 64 descriptors are needed", Error::Kind::configuration);
    }
    if (auto checked = check_device(spec, options.mtu); !checked) {
        return checked.error();
    }
    state->buffer_bytes = buffer_bytes_for(options.mtu);
    open_devices.fetch_add(1);
    state->counted = true;
    const DpdkLogCapture capture;
    for (const auto step : {&State::find_port, &State::configure, &State::start}) {
        if (auto done = (state.get()->*step)(); !done) {
            return done.error();
        }
    }
    DeviceInfo& info = state->info;
    rte_eth_dev_info dev{};
    char name[RTE_ETH_NAME_MAX_LEN] = {};
    rte_ether_addr mac{};
    if (rte_eth_dev_info_get(state->port_id, &dev) == 0 && dev.driver_name != nullptr) {
        info.driver = dev.driver_name;
    }
    if (rte_eth_dev_get_name_by_port(state->port_id, name) == 0) {
        info.name = name;
    }
    if (rte_eth_macaddr_get(state->port_id, &mac) == 0) {
        std::memcpy(info.mac.data(), mac.addr_bytes, info.mac.size());
    }
    info.numa_node = rte_eth_dev_socket_id(state->port_id);
    info.mtu = options.mtu;
    return std::unique_ptr<Device>(new Device(std::move(state)));
}

const DeviceInfo& Device::info() const { return state_->info; }
const DeviceSpec& Device::spec() const { return state_->spec; }
std::uint16_t Device::port_id() const { return state_->port_id; }
rte_mempool* Device::pool(std::uint16_t queue) const { return state_->pools.at(queue); }
PortGate& Device::gate(std::uint16_t queue) { return *state_->gates.at(queue); }
std::uint32_t Device::buffer_bytes() const { return state_->buffer_bytes; }

bool Device::tend() {
    if (state_->memif) {
        const DpdkLogCapture capture;
        return state_->memif->tend();
    }
    return link_up();
}

bool Device::link_up() const {
    const State& s = *state_;
    if (s.memif) {
        return s.memif->up();
    }
    if (!s.started) {
        return false;
    }
    if (s.spec.kind == DeviceKind::af_packet || s.spec.kind == DeviceKind::af_xdp || s.spec.kind == DeviceKind::pcap) {
        return interface_state(s.spec.target).running;  // these drivers say "up" whatever the kernel says
    }
    rte_eth_link link{};
    return rte_eth_link_get_nowait(s.port_id, &link) != 0 || link.link_status == RTE_ETH_LINK_UP;
}

DeviceStats Device::stats() const {
    rte_eth_stats stats{};
    if (rte_eth_stats_get(state_->port_id, &stats) != 0) {
        return {};
    }
    return {.rx_packets = stats.ipackets,
            .rx_bytes = stats.ibytes,
            .tx_packets = stats.opackets,
            .tx_bytes = stats.obytes,
            .rx_missed = stats.imissed,
            .rx_errors = stats.ierrors,
            .tx_errors = stats.oerrors,
            .rx_no_buffer = stats.rx_nombuf};
}

std::uint32_t Device::pool_available(std::uint16_t queue) const {
    return rte_mempool_avail_count(state_->pools.at(queue));
}

}  // namespace bowline::dataplane::dpdk
