#include "engine/control_thread.hpp"

#include <algorithm>

namespace bowline::engine {

using protocol::Duration;
using protocol::Time;

namespace {

// A device that is coming up is looked at often, one that is up seldom: nobody waits for the latter.
constexpr Duration kTendDown = Duration::ms(1);
constexpr Duration kTendUp = Duration::ms(100);
// While commands wait for room in the worker's ring.
constexpr Duration kFullRing = Duration::us(50);

}  // namespace

void ControlThread::run() {
    while (!end_.load(std::memory_order_acquire)) {
        const Time now = clock_.now();
        if (!step(now)) {
            sleep(now);
        }
    }
}

/// True when there may be more to do at once.
bool ControlThread::step(Time now) {
    bool worked = false;
    if (tend_at_ <= now) {
        const bool up = device_.tend();
        tend_at_ = now + (up ? kTendUp : kTendDown);
        if (up && !started_) {
            started_ = true;
            controller_.start(now);
        }
    }
    if (!stopping_ && stop_asked_.load(std::memory_order_acquire)) {
        stopping_ = true;
        controller_.begin_stop(now);
    }
    while (controller_.takes_notice()) {
        const dataplane::Notice* notice = notices_.front();
        if (notice == nullptr) {
            break;
        }
        controller_.on_notice(now, *notice);
        notices_.pop();
        worked = true;
    }
    if (controller_.next_deadline() <= now) {
        controller_.on_deadline(now);
        worked = true;
    }
    while (dataplane::Command* slot = commands_.try_claim()) {
        if (!controller_.poll_command(*slot)) {
            break;
        }
        commands_.publish();
        worked = true;
    }
    if (stopping_ && controller_.stop_said()) {
        farewell_said_.store(true, std::memory_order_release);
    }
    return worked;
}

void ControlThread::sleep(Time now) {
    parker_.prepare();
    const bool asked =
        end_.load(std::memory_order_seq_cst) || (!stopping_ && stop_asked_.load(std::memory_order_seq_cst));
    if (commands_.free() == 0) {
        parker_.park(kFullRing);
    } else if (asked || !notices_.empty()) {
        parker_.cancel();
    } else {
        parker_.park(std::max(earlier(controller_.next_deadline(), tend_at_) - now, Duration::ns(0)));
    }
}

}  // namespace bowline::engine
