#include "dataplane/dpdk/interrupt_thread.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include <rte_alarm.h>

namespace bowline::dataplane::dpdk {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(100);

struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    int holds = 0;
    bool asked = false;   ///< an alarm is set that has not run yet
    bool inside = false;  ///< the interrupt thread waits in our alarm
};

Shared& shared() {
    static Shared* s = new Shared;  // the interrupt thread may outlive static destruction
    return *s;
}

/// An alarm runs on the interrupt thread like any handler: while this one waits, no other runs.
void wait_in_alarm(void* /*unused*/) {
    Shared& s = shared();
    std::unique_lock lock(s.mutex);
    s.asked = false;
    s.inside = s.holds > 0;
    s.changed.notify_all();
    s.changed.wait(lock, [&s] { return s.holds == 0; });
    s.inside = false;
    s.changed.notify_all();
}

}  // namespace

InterruptHold::InterruptHold() {
    Shared& s = shared();
    std::unique_lock lock(s.mutex);
    ++s.holds;
    if (!s.inside && !s.asked) {
        s.asked = rte_eal_alarm_set(1, wait_in_alarm, nullptr) == 0;
    }
    held_ = s.changed.wait_for(lock, kPatience, [&s] { return s.inside; });
    if (!held_) {
        --s.holds;  // an alarm that is still on its way finds no hold and goes
        s.changed.notify_all();
    }
}

InterruptHold::~InterruptHold() {
    if (held_) {
        Shared& s = shared();
        const std::lock_guard lock(s.mutex);
        --s.holds;
        s.changed.notify_all();
    }
}

}  // namespace bowline::dataplane::dpdk
