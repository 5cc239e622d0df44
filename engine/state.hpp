#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bowline/engine.hpp"
#include "control/controller.hpp"
#include "dataplane/connection_snapshot.hpp"
#include "dataplane/doorbells.hpp"
#include "dataplane/dpdk/device.hpp"
#include "dataplane/dpdk/dpdk_port.hpp"
#include "dataplane/dpdk/eal.hpp"
#include "dataplane/remote_application.hpp"
#include "dataplane/worker.hpp"
#include "engine/admin.hpp"
#include "engine/clock.hpp"
#include "engine/control_thread.hpp"
#include "engine/report.hpp"
#include "engine/sizing.hpp"

namespace bowline::detail {

using EngineWorker = dataplane::Worker<dataplane::dpdk::DpdkPort>;

/// What stands behind a Peer handle.
struct PeerState {
    EngineState* engine = nullptr;
    dataplane::PeerIndex index = 0;
    std::string name;
    std::uint64_t accepted = 0;  ///< number of the last message
    std::uint64_t delivered = 0;
    std::uint64_t incarnation = 0;  ///< the latest that the application has been told
    bool up = false;                ///< as the application has been told
};

/// A dedicated worker's figures, copied by it when asked: they are its own.
struct Snapshot {
    explicit Snapshot(std::size_t peer_count) : figures(peer_count) {}
    std::vector<PeerStatus> peers;
    dataplane::WorkerSnapshot figures;
    bool drained = false;
};

/// What an Engine is made of, in the order in which it is built; taken apart in reverse.
///
/// Thread: the owner's, but for what the comments give to others.
struct EngineState {
    explicit EngineState(const Config& c) : config(c) {}
    ~EngineState();
    EngineState(const EngineState&) = delete;
    EngineState& operator=(const EngineState&) = delete;

    [[nodiscard]] bool on_owner_thread() const { return owner == thread_token(); }
    /// An address that is another for every thread: one load and one compare tell whether a call is from the owner.
    static const void* thread_token() {
        thread_local char token = 0;
        return &token;
    }

    Config config;
    engine::Sizing sizing;
    engine::Clock clock;
    const void* owner = thread_token();
    bool eal_started = false;
    std::unique_ptr<dataplane::dpdk::Device> device;
    std::unique_ptr<dataplane::dpdk::WorkerThread> worker_thread;  ///< inline mode: the owner's
    std::unique_ptr<dataplane::dpdk::DpdkPort> port;
    std::unique_ptr<dataplane::SpscRing<dataplane::Command>> commands;
    std::unique_ptr<dataplane::SpscRing<dataplane::Notice>> notices;
    std::vector<dataplane::PeerActivity> activity;
    std::unique_ptr<EngineWorker> worker;                ///< owner: the worker's thread
    std::unique_ptr<control::Controller> controller;     ///< owner: the control thread
    std::unique_ptr<dataplane::WorkerSnapshot> figures;  ///< owner: the control thread, by turns with the worker
    std::unique_ptr<engine::ControlThread> control;      ///< joined at the end, and gone with this: others may hold it
    std::unique_ptr<engine::Admin> admin;                ///< any thread
    std::uint64_t incarnation = 0;                       ///< of this process
    std::vector<std::unique_ptr<PeerState>> peers;
    std::string description;

    // the batch that poll() is in
    protocol::Time now;
    std::vector<Item> items;
    std::vector<Event> events;
    std::size_t held = 0;
    bool idle_turn = false;

    // dedicated mode
    std::unique_ptr<dataplane::Doorbells> to_worker;
    std::unique_ptr<dataplane::Doorbells> from_worker;
    std::unique_ptr<dataplane::RemoteApplication> application;
    std::thread dedicated;
    std::atomic<bool> dedicated_end{false};
    std::atomic<bool> stop_accepting{false};
    std::atomic<bool> report_asked{false};
    std::atomic<bool> report_done{false};
    std::atomic<bool> snapshot_asked{false};
    std::unique_ptr<Snapshot> snapshot;  ///< the worker's while snapshot_asked, the owner's else

    // stopping
    enum class Stop : std::uint8_t { running, draining, saying_farewell, reporting, done };
    Stop stop = Stop::running;
    protocol::Time stop_deadline;

    [[nodiscard]] bool is_dedicated() const { return application != nullptr; }
    void run_dedicated();
    const Snapshot& take_snapshot();
    void fill_snapshot();
    [[nodiscard]] bool drained();
    std::span<const Item> begin_poll(std::size_t limit);
    void end_poll();
    /// Queues a request for the control thread; see ControlInbox.
    Result<void> post(engine::ControlRequest request);
    [[nodiscard]] engine::Report make_report(const dataplane::WorkerSnapshot* figures) const;
    /// The named counters of the whole engine, with the worker's figures as of `figures`.
    [[nodiscard]] std::vector<Counter> counters_with(const dataplane::WorkerSnapshot& figures) const;
    void step_stop();
    void tear_down();

private:
    void add_message(dataplane::PeerIndex peer, const std::byte* bytes, std::uint32_t size, std::uint64_t number,
                     protocol::Packet* packet);
    void add_event(dataplane::PeerIndex peer, const dataplane::PeerEvent& event);
};

/// What stands behind the handles of the C++ API, for the C interface.
struct Access {
    static const PeerState& state(const Peer& peer) { return *peer.state_; }
    static const EngineState& state(const Engine& engine) { return *engine.state_; }
};

PeerStatus status_of(const EngineWorker& worker, dataplane::PeerIndex index);
std::vector<Counter> counters_of(const dataplane::WorkerSnapshot& figures);

}  // namespace bowline::detail
