#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bowline/result.hpp"
#include "dataplane/dpdk/device.hpp"
#include "dataplane/dpdk/interrupt_thread.hpp"
#include "dataplane/dpdk/memif_socket.hpp"

namespace bowline::dataplane::dpdk {

/// The coming and going of a memif's peer.
///
/// The driver leaves two things to be done. A client connects when it is started, once: it is started again until its
/// server is there, and when that has gone. And the driver tears a connection down on DPDK's interrupt thread without
/// regard to the worker: so that thread is held as long as the link is up, and let go, with the workers standing aside,
/// when the peer has something to say, which on a connected memif is only ever goodbye.
///
/// States, each tend() one step: down (workers aside, interrupts run) -> up (interrupts held, workers run) -> leaving
/// (interrupts held, workers asked aside) -> down.
class MemifLink {
public:
    /// `open_devices`: how many the process has. While there is another, which may need DPDK's interrupt thread, that
    /// is left alone, and a peer's end may hit a worker in the middle of a burst as it does in any DPDK program.
    MemifLink(MemifSocket socket, std::string path, const std::atomic<int>& open_devices);
    ~MemifLink();
    MemifLink(const MemifLink&) = delete;
    MemifLink& operator=(const MemifLink&) = delete;

    [[nodiscard]] MemifRole role() const { return socket_.role(); }

    /// The port, configured and not started, and the gates of its queues. A server that does not start is an error.
    Result<void> start(std::uint16_t port_id, std::vector<std::unique_ptr<PortGate>>& gates);
    /// One step, without waiting. True when packets can pass.
    bool tend();
    [[nodiscard]] bool up() const { return up_; }
    /// True once the port has been started and not stopped since.
    [[nodiscard]] bool started() const { return started_; }

private:
    [[nodiscard]] bool connected() const;
    [[nodiscard]] bool gates_aside() const;
    /// Opens the way for the workers, the interrupt thread held if that is ours to do.
    void come_up();
    void connect_again();
    [[nodiscard]] bool peer_speaks() const;
    void stop_watching();

    MemifSocket socket_;
    std::string path_;
    const std::atomic<int>& open_devices_;
    std::uint16_t port_id_ = 0;
    std::vector<std::unique_ptr<PortGate>>* gates_ = nullptr;
    bool started_ = false;
    bool was_connected_ = false;                        ///< since it was started
    std::chrono::steady_clock::time_point give_up_at_;  ///< a client's attempt to connect
    bool up_ = false;
    bool leaving_ = false;
    int watch_fd_ = -1;  ///< a duplicate of the driver's connection; -1: none
    std::optional<InterruptHold> hold_;
};

}  // namespace bowline::dataplane::dpdk
