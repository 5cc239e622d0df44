// The limits of a device, measured without any protocol: what an engine on it can at best come near to. Uses the same
// device code as the engine, so that both run with equal options.

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <thread>

#include <CLI/CLI.hpp>
#include <sched.h>

#include "bench/limit/frame.hpp"
#include "bench/limit/options.hpp"
#include "bench/limit/run.hpp"
#include "dataplane/dpdk/device.hpp"
#include "dataplane/dpdk/device_spec.hpp"
#include "dataplane/dpdk/dpdk_port.hpp"
#include "dataplane/dpdk/eal.hpp"

namespace {

using bowline::bench::LimitOptions;
namespace dpdk = bowline::dataplane::dpdk;

constexpr int kFailed = 1;
constexpr int kUsage = 2;

int complain(const bowline::Error& error) {
    std::fprintf(stderr, "limit: %s\n", error.message.c_str());
    return error.kind == bowline::Error::Kind::configuration ? kUsage : kFailed;
}

bool pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(cpu), &set);
    return sched_setaffinity(0, sizeof(set), &set) == 0;
}

/// Adds what every role takes.
void add_common(CLI::App& command, LimitOptions& o) {
    command.add_option("--device", o.device, "device, as the engine names it")->required();
    command.add_option("--size", o.size, "bytes of a frame, Ethernet header included")->capture_default_str();
    command.add_option("--mtu", o.mtu, "bytes")->capture_default_str();
    command.add_option("--descriptors", o.descriptors, "of each ring")->capture_default_str();
    command.add_option("--hugepages", o.hugepages, "auto, on or off")
        ->check(CLI::IsMember({"auto", "on", "off"}))
        ->capture_default_str();
    command.add_option("--memory-mb", o.memory_mb, "DPDK's memory; 0: by itself")->capture_default_str();
    command.add_option("--cpu", o.cpu, "CPU to pin the polling thread to");
    command.add_option("--wait", o.wait_seconds, "seconds to wait for the link and the first packet")
        ->capture_default_str();
    command.add_flag("-v,--verbose", o.verbose, "say how DPDK was started and what the device is");
}

void add_time(CLI::App& command, LimitOptions& o, const char* help) {
    command.add_option("--time", o.seconds, help)
        ->transform(CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1.0}, {"ms", 1e-3}},
                                          CLI::AsNumberWithUnit::UNIT_OPTIONAL));
}

bool wait_for_link(dpdk::Device& device, double seconds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!device.tend()) {
        if (std::chrono::steady_clock::now() > deadline || bowline::bench::stop_requested != 0) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

int run_on_device(const LimitOptions& options, const dpdk::DeviceSpec& spec) {
    dpdk::DeviceOptions device_options;
    device_options.mtu = options.mtu;
    device_options.rx_descriptors = static_cast<std::uint16_t>(options.descriptors);
    device_options.tx_descriptors = static_cast<std::uint16_t>(options.descriptors);
    auto device = dpdk::Device::open(spec, device_options);
    if (!device) {
        return complain(device.error());
    }
    const dpdk::DeviceInfo& info = (*device)->info();
    if (options.verbose) {
        std::fprintf(stderr, "limit: %s (%s), %u+%u descriptors, pool of %u packets, buffers of %u bytes\n",
                     info.name.c_str(), info.driver.c_str(), info.rx_descriptors, info.tx_descriptors,
                     info.pool_packets, (*device)->buffer_bytes());
    }
    dpdk::DpdkPort port(**device);
    if (options.size < bowline::bench::kFrameBytesMin || options.size > options.mtu + 14 ||
        options.size > port.payload_capacity()) {
        std::fprintf(stderr, "limit: --size asked for: %u, possible: %u to %u\n", options.size,
                     bowline::bench::kFrameBytesMin, options.mtu + 14);
        return kUsage;
    }
    if (!wait_for_link(**device, options.wait_seconds)) {
        std::fprintf(stderr, "limit: the link of '%s' did not come up: is the other end running?\n", spec.text.c_str());
        return kFailed;
    }
    if (options.cpu >= 0 && !pin(options.cpu)) {
        std::fprintf(stderr, "limit: there is no CPU %d that this process may run on\n", options.cpu);
        return kUsage;
    }
    const dpdk::WorkerThread worker;
    return bowline::bench::run_role(options, **device, port);
}

void on_signal(int /*signal*/) { bowline::bench::stop_requested = 1; }

}  // namespace

int main(int argc, char** argv) {
    LimitOptions options;
    CLI::App app{"The limits of a device without any protocol: raw round trips and one-way packets.", "limit"};
    app.require_subcommand(1);
    struct Role {
        const char* name;
        const char* help;
        LimitOptions::Role role;
        const char* time_help;
        double seconds;
    };
    static constexpr std::array kRoles{
        Role{"ping", "round trips of single packets, answered by pong", LimitOptions::Role::ping, "seconds to run", 5},
        Role{"pong", "answers ping", LimitOptions::Role::pong, "seconds to run; 0: until told to stop", 0},
        Role{"flood", "sends as fast as the device takes", LimitOptions::Role::flood, "seconds to run", 5},
        Role{"sink", "counts what arrives", LimitOptions::Role::sink, "seconds to count; 0: until the flood ends", 0},
    };
    for (const Role& role : kRoles) {
        CLI::App* command = app.add_subcommand(role.name, role.help);
        add_common(*command, options);
        add_time(*command, options, role.time_help);
        command->preparse_callback([&options, &role](std::size_t) {
            options.role = role.role;
            options.seconds = role.seconds;
        });
    }
    app.get_subcommand("flood")->add_option("--burst", options.burst, "packets handed over at once, 1 to 64");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : kUsage;
    }
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);

    const auto spec = dpdk::parse_device_spec(options.device);
    if (!spec) {
        return complain(spec.error());
    }
    dpdk::EalOptions eal;
    eal.cpu = options.cpu;
    eal.memory_mb = options.memory_mb;
    eal.hugepages = options.hugepages == "on"    ? dpdk::EalOptions::Hugepages::on
                    : options.hugepages == "off" ? dpdk::EalOptions::Hugepages::off
                                                 : dpdk::EalOptions::Hugepages::automatic;
    const auto started = dpdk::start_eal(eal, std::span(&*spec, 1));
    if (!started) {
        return complain(started.error());
    }
    if (options.verbose) {
        std::fprintf(stderr, "limit: DPDK started with: %s\n", started->line.c_str());
    }
    for (const std::string& warning : started->warnings) {
        std::fprintf(stderr, "limit: warning: %s\n", warning.c_str());
    }
    const int code = run_on_device(options, *spec);
    dpdk::stop_eal();
    return code;
}
