#include "engine/control_thread.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

namespace bowline::engine {

using protocol::Duration;
using protocol::Time;

namespace {

// A device that is coming up is looked at often, one that is up seldom: nobody waits for the latter.
constexpr Duration kTendDown = Duration::ms(1);
constexpr Duration kTendUp = Duration::ms(100);
// While commands wait for room in the worker's ring.
constexpr Duration kFullRing = Duration::us(50);
// While somebody waits for the worker's figures: it wakes nobody when it has copied them, so that its turns need not
// look whether there is anybody.
constexpr Duration kSnapshot = Duration::us(200);

}  // namespace

void ControlThread::run() {
    while (!end_.load(std::memory_order_acquire)) {
        const Time now = clock_.now();
        if (!step(now)) {
            sleep(now);
        }
    }
    refuse_all();
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
    if (inbox_.check()) {
        do_requests(now);
        worked = true;
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
    snapshots_.collect([this](Answer& answer) { answer.give(make_report_(&snapshots_.snapshot())); });
    publish_view();
    push_commands(worked);
    if (stopping_ && controller_.stop_said()) {
        farewell_said_.store(true, std::memory_order_release);
    }
    return worked;
}

void ControlThread::sleep(Time now) {
    parker_.prepare();
    const bool asked = end_.load(std::memory_order_seq_cst) || inbox_.has_posted() ||
                       (!stopping_ && stop_asked_.load(std::memory_order_seq_cst));
    if (commands_.free() == 0) {
        parker_.park(kFullRing);
    } else if (asked || !notices_.empty()) {
        parker_.cancel();
    } else {
        const Duration idle = std::max(earlier(controller_.next_deadline(), tend_at_) - now, Duration::ns(0));
        parker_.park(snapshots_.awaited() ? std::min(idle, kSnapshot) : idle);
    }
}

void ControlThread::push_commands(bool& worked) {
    while (dataplane::Command* slot = commands_.try_claim()) {
        if (!controller_.poll_command(*slot) && !snapshots_.poll_command(*slot)) {
            break;
        }
        commands_.publish();
        worked = true;
    }
}

// — requests —

void ControlThread::do_requests(Time now) {
    ControlRequest request;
    while (controller_.takes_notice()) {
        if (!inbox_.take(request)) {
            return;
        }
        obey(now, request);
        request = {};
    }
    inbox_.check_again();
}

void ControlThread::obey(Time now, ControlRequest& request) {
    using Kind = ControlRequest::Kind;
    std::optional<Error> refused;
    const auto if_associated = [&](const char* what) {
        const bool associated = controller_.associated(request.peer);
        if (!associated) {
            refused =
                Error{Error::Kind::system, std::string("the peer is not associated: there is nothing to ") + what};
        }
        return associated;
    };
    if (stopping_ && request.kind != Kind::view && request.kind != Kind::report) {
        refused = Error{Error::Kind::misuse, "the engine stops"};
    } else {
        switch (request.kind) {
            case Kind::install_view:
                controller_.install_view(now, request.peers);
                break;
            case Kind::exclude:
                controller_.exclude(now, request.peer);
                break;
            case Kind::close:
                if (if_associated("close")) {
                    controller_.close(now, request.peer);
                }
                break;
            case Kind::rotate:
                if (if_associated("rotate")) {
                    controller_.rotate(now, request.peer);
                }
                break;
            case Kind::forget:
                controller_.forget(now, request.peer);
                break;
            case Kind::view:
                break;
            case Kind::report:
                return snapshots_.want(std::move(request.answer));
        }
    }
    publish_view();
    if (request.answer != nullptr) {
        request.answer->give(refused ? Result<Report>(*refused) : make_report_(nullptr));
    }
}

/// Before an answer and before the commands that tell the worker of it: who has heard of a view finds it.
void ControlThread::publish_view() {
    if (view_.id != controller_.view().id) {
        const std::lock_guard lock(view_mutex_);
        view_ = controller_.view();
    }
}

/// The end: whoever waits or has come too late is told.
void ControlThread::refuse_all() {
    const Error stopped{Error::Kind::misuse, "the engine has stopped"};
    inbox_.close();
    ControlRequest request;
    while (inbox_.take(request)) {
        if (request.answer != nullptr) {
            request.answer->give(stopped);
        }
        request = {};
    }
    for (const std::shared_ptr<Answer>& answer : snapshots_.take_waiting()) {
        answer->give(stopped);
    }
}

}  // namespace bowline::engine
