#include <algorithm>
#include <bit>
#include <charconv>

#include <sched.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/random.h>
#include <unistd.h>

#include "bowline/engine.hpp"
#include "dataplane/dpdk/device_spec.hpp"
#include "engine/config_address.hpp"
#include "engine/state.hpp"

namespace bowline {

namespace wire = protocol::wire;
using detail::EngineState;
using detail::PeerState;

namespace {

constexpr std::size_t kItemsMax = 1024;  // messages and events that one poll hands out at most
constexpr std::size_t kCommands = 1024;
constexpr std::size_t kFrameNotices = 1024;  // frames for control that may wait
constexpr std::size_t kInboxBytes = 1U << 18U;
constexpr std::uint32_t kIpUdpBytes = wire::kIpv4Bytes + wire::kUdpBytes;

std::uint64_t entropy() {
    std::uint64_t value = 0;
    if (getrandom(&value, sizeof value, 0) != sizeof value) {
        value = static_cast<std::uint64_t>(getpid()) ^ static_cast<std::uint64_t>(engine::Clock().now().ns());
    }
    return value;
}

/// Never 0, which says "nobody". Different for each start, since drawn from the kernel's entropy.
std::uint64_t new_incarnation() { return entropy() | 1U; }

dataplane::dpdk::EalOptions eal_options(const Config& config, const engine::Sizing& sizing) {
    dataplane::dpdk::EalOptions options;
    options.hugepages = config.hugepages == Config::Hugepages::on ? dataplane::dpdk::EalOptions::Hugepages::on
                        : config.hugepages == Config::Hugepages::off
                            ? dataplane::dpdk::EalOptions::Hugepages::off
                            : dataplane::dpdk::EalOptions::Hugepages::automatic;
    options.memory_mb = sizing.memory_mb;
    using Level = dataplane::dpdk::EalOptions::LogLevel;
    options.log_level = config.log_level == "error"   ? Level::error
                        : config.log_level == "info"  ? Level::info
                        : config.log_level == "debug" ? Level::debug
                                                      : Level::warning;
    return options;
}

std::shared_ptr<spdlog::logger> make_logger(const Config& config) {
    auto logger = std::make_shared<spdlog::logger>("bowline", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_pattern("bowline: %l: %v");
    logger->set_level(spdlog::level::from_str(config.log_level));
    return logger;
}

control::LogSink make_sink(std::shared_ptr<spdlog::logger> logger) {
    return [logger = std::move(logger)](control::LogLevel level, const std::string& text) {
        switch (level) {
            case control::LogLevel::error:
                logger->error(text);
                break;
            case control::LogLevel::warning:
                logger->warn(text);
                break;
            case control::LogLevel::info:
                logger->info(text);
                break;
            case control::LogLevel::debug:
                logger->debug(text);
                break;
        }
    };
}

Result<void> check_cpu(const Config& config) {
    if (config.cpu < 0) {
        return {};
    }
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    if (config.cpu >= CPU_SETSIZE || !CPU_ISSET(static_cast<std::size_t>(config.cpu), &allowed)) {
        return Error{Error::Kind::configuration, "cpu = " + std::to_string(config.cpu) +
                                                     ": this process may not run on that CPU; it has " +
                                                     std::to_string(CPU_COUNT(&allowed)) +
                                                     " (see `taskset -p $$`): name one of them, or leave cpu out"};
    }
    return {};
}

bool write_checksums(const Config& config, const dataplane::dpdk::DeviceSpec& spec) {
    switch (config.integrity) {
        case Config::Integrity::always:
            return true;
        case Config::Integrity::never:
            return false;
        case Config::Integrity::auto_:
            return !spec.shares_memory();
    }
    return true;
}

std::string describe_state(const EngineState& state, const dataplane::dpdk::EalInfo& eal, bool checksums) {
    const dataplane::dpdk::DeviceInfo& info = state.device->info();
    std::string text = state.config.name + " on " + state.config.device + " (" + info.driver + ", MTU " +
                       std::to_string(info.mtu) + ", " + std::to_string(info.rx_descriptors) + "/" +
                       std::to_string(info.tx_descriptors) + " descriptors, " +
                       (eal.hugepages ? "hugepages" : "no hugepages") + ", UDP checksums ";
    text += !checksums ? "skipped" : info.tx_checksum_offload ? "by the device" : "in software";
    return text + ", window " + std::to_string(state.sizing.window_pkts) + " packets)";
}

dataplane::WorkerConfig worker_config(const EngineState& state, const dataplane::dpdk::DeviceSpec& spec,
                                      std::uint64_t incarnation, std::uint32_t payload_capacity) {
    const Config& config = state.config;
    const bool checksums = write_checksums(config, spec);
    dataplane::WorkerConfig out;
    out.settings = engine::protocol_settings(config, state.sizing);
    out.peers = static_cast<std::uint16_t>(config.peers.size());
    out.incarnation = incarnation;
    out.ip = engine::Ipv4Network::parse(config.address)->address;
    out.udp_port = config.port;
    out.vlan = config.vlan == 0 ? wire::kNoVlan : config.vlan;
    out.write_checksums = checksums;
    out.verify_checksums = checksums;
    const std::uint32_t room = payload_capacity + wire::kHeaderBytes;
    out.packet_bytes_max = static_cast<std::uint16_t>(std::min({config.mtu - kIpUdpBytes, room, 65'507U}));
    // What the node sends to itself comes out of the reserve, so that no peer's share is less for it.
    out.data_packets_max = state.sizing.data_pkts_max + dataplane::kOwnPackets;
    return out;
}

void make_controller(EngineState& state, const dataplane::WorkerConfig& worker, std::uint64_t incarnation,
                     control::LogSink log) {
    const Config& config = state.config;
    const engine::Ipv4Network network = *engine::Ipv4Network::parse(config.address);
    control::LocalNode local;
    local.name = *wire::NodeName::make(config.name);
    local.incarnation = incarnation;
    local.address.mac = wire::MacAddress{state.device->info().mac};
    local.address.ip = network.address;
    local.address.prefix_bits = static_cast<std::uint8_t>(std::popcount(network.mask));
    if (!config.gateway.empty()) {
        local.address.gateway = *wire::Ipv4Address::parse(config.gateway);
    }
    local.udp_port = config.port;
    local.vlan = config.vlan == 0 ? wire::kNoVlan : config.vlan;
    local.max_packet = worker.packet_bytes_max;
    std::vector<control::PeerSpec> specs;
    for (const PeerConfig& peer : config.peers) {
        control::PeerSpec spec;
        spec.name = *wire::NodeName::make(peer.name);
        spec.ip = *wire::Ipv4Address::parse(peer.address);
        if (!peer.mac.empty()) {
            spec.static_mac = *wire::MacAddress::parse(peer.mac);
        }
        specs.push_back(spec);
    }
    state.controller = std::make_unique<control::Controller>(worker.settings, local, specs, protocol::Random(entropy()),
                                                             state.activity, std::move(log));
}

}  // namespace

Result<Engine> Engine::start(const Config& config) {
    if (Result<void> valid = config.validate(); !valid) {
        return valid.error();
    }
    if (Result<void> cpu = check_cpu(config); !cpu) {
        return cpu.error();
    }
    Result<dataplane::dpdk::DeviceSpec> spec = dataplane::dpdk::parse_device_spec(config.device);
    if (!spec) {
        return spec.error();
    }
    Result<engine::Sizing> sizing = engine::size_engine(config);
    if (!sizing) {
        return sizing.error();
    }
    if (dataplane::dpdk::eal_running()) {
        return Error{Error::Kind::misuse,
                     "this process has an engine already: a process has one, once. Run the second node in a process of "
                     "its own"};
    }
    // Start-up is a transaction: whatever fails below, the destructor of `state` takes back what was built.
    auto state = std::make_unique<EngineState>(config);
    state->sizing = *sizing;
    const std::shared_ptr<spdlog::logger> logger = make_logger(config);
    if (state->sizing.warning.has_value()) {
        logger->warn(*state->sizing.warning);
    }

    const dataplane::dpdk::DeviceSpec specs[] = {*spec};
    Result<dataplane::dpdk::EalInfo> eal = dataplane::dpdk::start_eal(eal_options(config, state->sizing), specs);
    if (!eal) {
        return eal.error();
    }
    state->eal_started = true;
    for (const std::string& warning : eal->warnings) {
        logger->warn(warning);
    }
    logger->info("EAL: {}", eal->line);

    dataplane::dpdk::DeviceOptions options;
    options.mtu = config.mtu;
    options.pool_packets = state->sizing.pool_pkts;
    Result<std::unique_ptr<dataplane::dpdk::Device>> device = dataplane::dpdk::Device::open(*spec, options);
    if (!device) {
        return device.error();
    }
    state->device = std::move(*device);
    for (const std::string& warning : state->device->info().warnings) {
        logger->warn(warning);
    }

    const std::uint64_t incarnation = new_incarnation();
    state->incarnation = incarnation;
    const auto peer_count = static_cast<std::uint16_t>(config.peers.size());
    state->port = std::make_unique<dataplane::dpdk::DpdkPort>(*state->device);
    state->commands = std::make_unique<dataplane::SpscRing<dataplane::Command>>(kCommands);
    state->notices = std::make_unique<dataplane::SpscRing<dataplane::Notice>>(
        std::bit_ceil(kFrameNotices + dataplane::kNoticesPerPeer * peer_count));
    state->activity = std::vector<dataplane::PeerActivity>(peer_count);
    state->now = state->clock.now();
    const dataplane::WorkerConfig wconfig = worker_config(*state, *spec, incarnation, state->port->payload_capacity());
    state->worker = std::make_unique<detail::EngineWorker>(*state->port, wconfig, *state->commands, *state->notices,
                                                           state->activity, protocol::Random(entropy()), state->now);
    // The last one is this node itself.
    for (std::uint16_t i = 0; i <= peer_count; ++i) {
        auto peer = std::make_unique<PeerState>();
        peer->engine = state.get();
        peer->index = i;
        peer->name = i < peer_count ? config.peers[i].name : config.name;
        state->peers.push_back(std::move(peer));
        const dataplane::PeerStorage& storage = state->worker->peer(i).storage;
        if (storage.assembly.bytes().size() != config.message_max ||
            storage.outgoing.bytes().size() != config.message_max) {
            return Error{Error::Kind::system,
                         "no address space for messages of message_max = " + std::to_string(config.message_max) +
                             " bytes from " + std::to_string(peer_count) +
                             " peers: lower message_max or raise the limit (ulimit -v)"};
        }
    }
    make_controller(*state, wconfig, incarnation, make_sink(logger));
    state->figures = std::make_unique<dataplane::WorkerSnapshot>(state->worker->peer_count());
    state->control = std::make_unique<engine::ControlThread>(
        *state->controller, *state->device, *state->commands, *state->notices, state->clock, *state->figures,
        [raw = state.get()](const dataplane::WorkerSnapshot* f) { return raw->make_report(f); });
    state->admin = std::make_unique<engine::Admin>(state->config, *state->control);
    state->items.reserve(kItemsMax);
    state->events.reserve(kItemsMax);
    state->snapshot = std::make_unique<detail::Snapshot>(state->peers.size());
    state->snapshot->peers.resize(state->peers.size());
    state->description = describe_state(*state, *eal, wconfig.write_checksums);
    logger->info(state->description);

    if (config.mode == Config::Mode::dedicated) {
        state->worker->open_inboxes(kInboxBytes);
        state->to_worker = std::make_unique<dataplane::Doorbells>(state->peers.size());
        state->from_worker = std::make_unique<dataplane::Doorbells>(state->peers.size());
        std::vector<dataplane::Peer*> peers;
        for (std::uint16_t i = 0; i <= peer_count; ++i) {
            peers.push_back(&state->worker->peer(i));
        }
        state->application =
            std::make_unique<dataplane::RemoteApplication>(std::move(peers), *state->to_worker, *state->from_worker);
        state->dedicated = std::thread([raw = state.get()] { raw->run_dedicated(); });
    } else {
        state->worker_thread = std::make_unique<dataplane::dpdk::WorkerThread>();
    }
    state->control->start();
    return Engine(std::move(state));
}

}  // namespace bowline
