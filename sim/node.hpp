#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "control/controller.hpp"
#include "dataplane/control_messages.hpp"
#include "dataplane/spsc_ring.hpp"
#include "protocol/inspector.hpp"
#include "protocol/random.hpp"
#include "protocol/settings.hpp"
#include "sim/application.hpp"
#include "sim/clock.hpp"
#include "sim/network.hpp"
#include "sim/oracle.hpp"
#include "sim/sim_port.hpp"

namespace bowline::sim {

/// What a simulated node is.
struct NodeConfig {
    std::string name;
    protocol::Settings settings;
    ApplicationConfig application;
    SimPortConfig port;
    std::uint16_t packet_bytes_max = 1472;  ///< UDP payload
    std::uint32_t pool_packets = 4096;
    std::uint32_t data_packets_max = 2048;
    Duration turn = Duration::ns(500);  ///< of its loop: between the beginnings of two turns
    Duration clock_offset;              ///< its clock minus the simulation's
};

/// A process on a simulated machine: the shipping worker and controller, the rings between them, an application, and a
/// device. Both threads of the engine run here by turns: first the worker receives, then control acts, then the
/// application reads and sends, then the worker sends.
///
/// It takes turns only when something could be done in one (a frame, a deadline, a command, an offer), which is how a
/// loop that polls all the time looks from outside.
class Node final : public FrameSink {
public:
    /// `peers`: the names of all nodes of the simulation, this one included, in their order.
    Node(const NodeConfig& config, NodeId id, const std::vector<std::string>& names, Clock& clock, Network& network,
         Oracle& oracle, PacketPool& pool, protocol::Random random);
    ~Node();
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    // — the process —

    /// Starts as a new incarnation. Only when it does not run.
    void start();
    /// Ends it from one instruction to the next. Only when it runs.
    void crash();
    /// Begins an orderly stop, as the engine's: refuses messages, waits until what is accepted is through, at most for
    /// `linger`, says good-bye, and reports to the application what is left. `then_end`: with that the process ends.
    void begin_stop(Duration linger = Duration::max(), bool then_end = false);
    [[nodiscard]] bool stopped() const { return stop_ == Stop::done; }
    /// The whole process stands still; packets wait at the device.
    void set_paused(bool paused);
    [[nodiscard]] bool alive() const { return process_ != nullptr; }
    [[nodiscard]] std::uint64_t incarnation() const { return alive() ? process_->incarnation : 0; }

    // — what its application, or an operator, tells it: done in its next turns, in this order; what is sent behind one
    // of these is offered when that is in effect —

    /// These nodes, and itself, are the members of its view.
    void install_view(std::span<const NodeId> members);
    void close(NodeId peer);
    void forget(NodeId peer);
    void rotate(NodeId peer);

    // — its application and device —

    void send(const SendJob& job);
    void set_stalled(bool stalled);
    void set_exhausted(bool exhausted);
    [[nodiscard]] bool paused() const { return paused_; }
    [[nodiscard]] const Application& application() const { return application_; }
    [[nodiscard]] const SimPort& port() const { return port_; }

    // — the simulation's side —

    void on_frame(std::span<const std::byte> frame) override;
    /// The event of kind wake for this node, planned for `at`.
    void on_wake(Time at);
    /// The node is to take a turn soon.
    void wake() { wake_at(clock_.now()); }

    // — what is known; only when alive() —

    [[nodiscard]] const SimWorker& worker() const { return process_->worker; }
    [[nodiscard]] const control::Controller& controller() const { return process_->controller; }
    [[nodiscard]] dataplane::PeerIndex peer_of(NodeId node) const { return application_.peer_of(node); }
    /// Associated with `node`, and no handshake under way.
    [[nodiscard]] bool settled_with(NodeId node) const;
    /// Nothing is to be done: all that was sent is acknowledged, all that came is read, no ack is owed.
    [[nodiscard]] bool idle() const { return busy_with() == nullptr; }
    /// In words: what there is to do; nullptr: nothing.
    [[nodiscard]] const char* busy_with() const;
    /// The same for a script, for which a stall or a pause is nothing to wait for: what stands still is not busy.
    [[nodiscard]] const char* owes() const;
    /// A handshake with `node` is under way.
    [[nodiscard]] bool greets(NodeId node) const;
    /// What the oracle compares.
    [[nodiscard]] SenderView sender_view(NodeId to) const;
    [[nodiscard]] ReceiverView receiver_view(NodeId from) const;
    [[nodiscard]] std::uint64_t turns() const { return turns_; }

    /// Called after every step of this node that could have changed what the oracle looks at.
    void set_observer(std::function<void(NodeId)> observer) { observer_ = std::move(observer); }
    void set_log(control::LogSink log) { log_ = std::move(log); }
    void set_listener(Application::Listener listener) { application_.set_listener(std::move(listener)); }

private:
    friend struct bowline::Inspector;
    struct Process {
        Process(const Node& node, std::uint64_t incarnation_of_it, SimPort& port,
                std::span<const control::PeerSpec> peers, Time now);

        std::uint64_t incarnation;
        std::vector<dataplane::PeerActivity> activity;
        dataplane::SpscRing<dataplane::Command> commands;
        dataplane::SpscRing<dataplane::Notice> notices;
        control::Controller controller;
        SimWorker worker;
    };
    enum class Stop : std::uint8_t { none, draining, saying, reporting, done };
    /// What the controller is to be told, or, behind that, the application.
    struct Order {
        enum class Kind : std::uint8_t { view, close, forget, rotate, send };
        Kind kind;
        NodeId peer = kNoNode;
        std::vector<dataplane::PeerIndex> members = {};
        SendJob job = {};
    };

    void turn();
    void order(Order order);
    void give_orders(Time local);
    void give(Time local, const Order& order);
    void run_control(Time local);
    void log_decision(const dataplane::Command& command) const;
    void run_application(Time local);
    void advance_stop(Time local);
    void plan_next(bool more, bool moved);
    void wake_at(Time at);
    [[nodiscard]] Time local(Time global) const { return global + config_.clock_offset; }
    [[nodiscard]] Time global(Time local_time) const {
        return local_time.is_never() ? local_time : local_time - config_.clock_offset;
    }

    NodeConfig config_;
    NodeId id_;
    Clock& clock_;
    Network& network_;
    Oracle& oracle_;
    PacketPool& pool_;
    protocol::Random random_;
    SimPort port_;
    Application application_;
    std::vector<control::PeerSpec> peers_;
    std::unique_ptr<Process> process_;
    std::function<void(NodeId)> observer_;
    control::LogSink log_;

    std::deque<Order> orders_;
    bool orders_under_way_ = false;  ///< the controller has been told, the worker has not heard all of it yet
    bool paused_ = false;
    Stop stop_ = Stop::none;
    Time stop_deadline_;
    bool end_when_stopped_ = false;
    Time next_turn_;                     ///< not before it
    Time wake_planned_ = Time::never();  ///< of the event that counts; others are stale
    std::uint32_t idle_turns_ = 0;       ///< in a row, though something seemed to be due
    std::uint64_t turns_ = 0;
};

}  // namespace bowline::sim
