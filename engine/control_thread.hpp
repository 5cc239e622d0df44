#pragma once

#include <atomic>
#include <thread>

#include "control/controller.hpp"
#include "dataplane/control_messages.hpp"
#include "dataplane/dpdk/device.hpp"
#include "dataplane/spsc_ring.hpp"
#include "engine/clock.hpp"
#include "engine/parker.hpp"

namespace bowline::engine {

/// The thread that drives the Controller: notices of the worker in, commands out, deadlines; and tends the device. It
/// sleeps when there is nothing to do, and whoever has something for it wakes it (worker_turned(), begin_stop()): no
/// decision waits for a tick.
class ControlThread {
public:
    ControlThread(control::Controller& controller, dataplane::dpdk::Device& device,
                  dataplane::SpscRing<dataplane::Command>& commands, dataplane::SpscRing<dataplane::Notice>& notices,
                  const Clock& clock)
        : controller_(controller), device_(device), commands_(commands), notices_(notices), clock_(clock) {}
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

    control::Controller& controller_;
    dataplane::dpdk::Device& device_;
    dataplane::SpscRing<dataplane::Command>& commands_;
    dataplane::SpscRing<dataplane::Notice>& notices_;
    Clock clock_;
    Parker parker_;
    bool started_ = false;  ///< the controller has begun: once the link is up
    bool stopping_ = false;
    protocol::Time tend_at_;
    std::atomic<bool> stop_asked_{false};
    std::atomic<bool> farewell_said_{false};
    std::atomic<bool> end_{false};
    std::thread thread_;
};

}  // namespace bowline::engine
