#include "tools/peer_watch.hpp"

#include <fmt/format.h>

namespace bowline::tools {

namespace {

const char* reason(Event::Down down) {
    switch (down) {
        case Event::Down::stopped:
            return "it stopped in order";
        case Event::Down::silent:
            return "it has gone silent";
        case Event::Down::restarted:
            return "it has restarted";
        case Event::Down::gave_up:
            return "messages to it were not acknowledged within give_up";
        case Event::Down::excluded:
            return "it is not in the view";
        case Event::Down::none:
            break;
    }
    return "no reason given";
}

}  // namespace

std::string describe(const Event& event) {
    const std::string_view name = event.peer.name();
    switch (event.kind) {
        case Event::Kind::peer_up:
            return fmt::format("peer '{}' is up", name);
        case Event::Kind::peer_down:
            return fmt::format("peer '{}' is down: {}", name, reason(event.down));
        case Event::Kind::undelivered:
            return fmt::format(
                "messages {}..{} to '{}' were not delivered ({})", event.first, event.last, name,
                event.certainty == Certainty::undelivered ? "never sent" : "sent, but never acknowledged");
        case Event::Kind::gap:
            return fmt::format("messages {}..{} from '{}' were given up by it", event.first, event.last, name);
        case Event::Kind::view_changed:
            return fmt::format("view {} is in force", event.first);
    }
    return "";
}

void PeerWatch::on_event(const Event& event) {
    if (!(event.peer == peer_) || event.kind == Event::Kind::view_changed) {
        return;
    }
    if (event.kind == Event::Kind::peer_up) {
        silent_since_.reset();
        return;
    }
    // A peer that leaves the view may come back into it, and goes on where it was.
    if (event.kind == Event::Kind::peer_down &&
        (event.down == Event::Down::silent || event.down == Event::Down::excluded)) {
        silent_since_ = Clock::now();
        return;
    }
    stopped_ = stopped_ || (event.kind == Event::Kind::peer_down && event.down == Event::Down::stopped);
    // The first event is the cause, what follows its consequence; but "down" says less than the numbers that come with
    // it.
    if (!failure_) {
        failure_ = describe(event);
    } else if (event.kind != Event::Kind::peer_down) {
        *failure_ += "; " + describe(event);
    }
}

std::chrono::nanoseconds PeerWatch::silent_for() const {
    return silent_since_ ? Clock::now() - *silent_since_ : std::chrono::nanoseconds::zero();
}

void PeerWatch::reset() {
    failure_.reset();
    silent_since_.reset();
    stopped_ = false;
}

}  // namespace bowline::tools
