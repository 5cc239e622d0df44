#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bowline/result.hpp"
#include "dataplane/dpdk/device_spec.hpp"

struct rte_mempool;

namespace bowline::dataplane::dpdk {

/// What is wanted of a device. Everything is cut down to what it can do, except the MTU, which is refused.
struct DeviceOptions {
    std::uint32_t mtu = 1500;  ///< bytes, the largest IP packet
    std::uint16_t queue_pairs = 1;
    std::uint16_t rx_descriptors = 2048;  ///< a queue
    std::uint16_t tx_descriptors = 2048;
    std::uint32_t pool_packets = 16384;  ///< a queue pair; at least what the rings hold is added
    bool checksum_offload = true;        ///< use it where there is some
    bool promiscuous = false;            ///< for addresses that the device was not told of
};

/// What a device turned out to be.
struct DeviceInfo {
    std::string name;    ///< DPDK's
    std::string driver;  ///< net_memif, net_ixgbe, ...
    int numa_node = -1;  ///< -1: unknown or none
    std::array<std::uint8_t, 6> mac{};
    std::uint32_t mtu = 0;
    std::uint16_t queue_pairs = 0;
    std::uint16_t rx_descriptors = 0;
    std::uint16_t tx_descriptors = 0;
    std::uint32_t pool_packets = 0;               ///< a queue pair
    bool tx_checksum_offload = false;             ///< UDP
    bool rx_checksum_offload = false;             ///< IPv4 and UDP
    MemifRole memif_role = MemifRole::automatic;  ///< as settled, when it is a memif
    std::vector<std::string> warnings;            ///< for the user: what was asked for and falls back to software
};

/// The device's own counters, since it was opened.
struct DeviceStats {
    std::uint64_t rx_packets = 0;
    std::uint64_t rx_bytes = 0;
    std::uint64_t tx_packets = 0;
    std::uint64_t tx_bytes = 0;
    std::uint64_t rx_missed = 0;  ///< dropped by the device: nobody fetched them in time
    std::uint64_t rx_errors = 0;
    std::uint64_t tx_errors = 0;
    std::uint64_t rx_no_buffer = 0;  ///< dropped for want of a packet in the pool
};

/// Whether a worker may touch the device at this moment. The control thread asks the worker to stand aside while a
/// device is started again; the worker does so between bursts.
class alignas(64) PortGate {
public:
    /// Worker: one load on each burst.
    [[nodiscard]] bool open() const { return state_.load(std::memory_order_acquire) == State::open; }
    /// Worker, when open() is false: it will not touch the device until it is true again.
    void stand_aside() {
        State asked = State::asked;
        state_.compare_exchange_strong(asked, State::aside, std::memory_order_acq_rel);
    }

    /// Control: asks; aside() tells when the worker has heard.
    void close() {
        State was = State::open;
        state_.compare_exchange_strong(was, State::asked, std::memory_order_acq_rel);
    }
    [[nodiscard]] bool aside() const { return state_.load(std::memory_order_acquire) == State::aside; }
    void reopen() { state_.store(State::open, std::memory_order_release); }

private:
    enum class State : std::uint8_t { open, asked, aside };
    std::atomic<State> state_{State::aside};  // closed until the device has started
};

/// An open device with its queues and packet pools, started. EAL must run.
///
/// Made, tended and destroyed on one thread (control); DpdkPorts on its queues are used by their workers, and are gone
/// or idle before it is destroyed. Every packet is back by then: those that a worker still holds die with the pool.
class Device {
public:
    /// Opens and starts. Errors say what the device lacks, with asked and offered side by side, or what is in the way
    /// (no such interface, no privilege, in use) and what to do.
    static Result<std::unique_ptr<Device>> open(const DeviceSpec& spec, const DeviceOptions& options);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    [[nodiscard]] const DeviceInfo& info() const;
    [[nodiscard]] const DeviceSpec& spec() const;

    /// Call every few milliseconds: does what the device needs from time to time, such as connecting a memif to its
    /// server, again when that comes back. Never waits. Returns link_up().
    bool tend();
    /// True when packets can pass. A device that does not know its link is up.
    [[nodiscard]] bool link_up() const;
    [[nodiscard]] DeviceStats stats() const;
    /// Packets of the queue's pool that nobody holds, those in caches included. Slow: for tests and metrics.
    [[nodiscard]] std::uint32_t pool_available(std::uint16_t queue = 0) const;

    // For DpdkPort.
    [[nodiscard]] std::uint16_t port_id() const;
    [[nodiscard]] rte_mempool* pool(std::uint16_t queue) const;
    [[nodiscard]] PortGate& gate(std::uint16_t queue);
    /// Bytes that one packet buffer has for a frame.
    [[nodiscard]] std::uint32_t buffer_bytes() const;

private:
    struct State;
    explicit Device(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace bowline::dataplane::dpdk
