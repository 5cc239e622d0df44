#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "control/controller.hpp"
#include "dataplane/control_messages.hpp"
#include "dataplane/dpdk/device.hpp"
#include "dataplane/spsc_ring.hpp"
#include "engine/clock.hpp"
#include "engine/control_inbox.hpp"
#include "engine/parker.hpp"
#include "engine/report.hpp"
#include "engine/snapshot_taker.hpp"

namespace bowline::engine {

/// The thread that drives the Controller: notices of the worker in, commands out, deadlines; tends the device; and does
/// what the application and operators ask (post()). It sleeps when there is nothing to do, and whoever has something
/// for it wakes it (worker_turned(), begin_stop(), post()): no decision waits for a tick.
class ControlThread {
public:
    /// What the engine has to say to an operator, asked on this thread; with the worker's figures, or nullptr.
    using MakeReport = std::function<Report(const dataplane::WorkerSnapshot* figures)>;

    ControlThread(control::Controller& controller, dataplane::dpdk::Device& device,
                  dataplane::SpscRing<dataplane::Command>& commands, dataplane::SpscRing<dataplane::Notice>& notices,
                  const Clock& clock, dataplane::WorkerSnapshot& snapshot, MakeReport make_report)
        : controller_(controller),
          device_(device),
          commands_(commands),
          notices_(notices),
          clock_(clock),
          snapshots_(snapshot),
          make_report_(std::move(make_report)),
          view_(controller.view()) {}
    ~ControlThread() { join(); }

    void start() {
        thread_ = std::thread([this] { run(); });
    }
    /// Worker: after each turn; wakes the thread if there are notices for it.
    void worker_turned() {
        if (parker_.asleep() && !notices_.empty()) [[unlikely]] {
            parker_.wake();
        }
    }
    /// Owner: the peers are to be told that we stop. farewell_said(): the worker has the commands for it.
    void begin_stop() {
        stop_asked_.store(true, std::memory_order_release);
        parker_.wake();
    }
    [[nodiscard]] bool farewell_said() const { return farewell_said_.load(std::memory_order_acquire); }
    /// Any thread: queues a request and wakes this thread.
    [[nodiscard]] ControlInbox::Posted post(ControlRequest request) {
        const ControlInbox::Posted posted = inbox_.post(std::move(request));
        if (posted == ControlInbox::Posted::yes) {
            parker_.wake();
        }
        return posted;
    }
    [[nodiscard]] std::uint64_t requests_refused() const { return inbox_.refused(); }
    /// Any thread: the latest view, as of a moment ago. Locks for as long as copying it takes.
    [[nodiscard]] control::View view() const {
        const std::lock_guard lock(view_mutex_);
        return view_;
    }
    void join() {
        if (thread_.joinable()) {
            end_.store(true, std::memory_order_release);
            parker_.wake();
            thread_.join();
        }
    }

private:
    void run();
    bool step(protocol::Time now);
    void sleep(protocol::Time now);
    void do_requests(protocol::Time now);
    void obey(protocol::Time now, ControlRequest& request);
    void publish_view();
    void push_commands(bool& worked);
    void refuse_all();

    control::Controller& controller_;
    dataplane::dpdk::Device& device_;
    dataplane::SpscRing<dataplane::Command>& commands_;
    dataplane::SpscRing<dataplane::Notice>& notices_;
    Clock clock_;
    Parker parker_;
    ControlInbox inbox_;
    SnapshotTaker snapshots_;
    MakeReport make_report_;
    mutable std::mutex view_mutex_;
    control::View view_;    ///< the controller's, for other threads
    bool started_ = false;  ///< the controller has begun: once the link is up
    bool stopping_ = false;
    protocol::Time tend_at_;
    std::atomic<bool> stop_asked_{false};
    std::atomic<bool> farewell_said_{false};
    std::atomic<bool> end_{false};
    std::thread thread_;
};

}  // namespace bowline::engine
