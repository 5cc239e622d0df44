#include "engine/snapshot_taker.hpp"

#include <algorithm>
#include <utility>

namespace bowline::engine {

void SnapshotTaker::want(std::shared_ptr<Answer> answer) {
    // Those who gave up waiting are forgotten here, so that a worker that is never turned lets nothing pile up.
    const auto gone = [](const std::shared_ptr<Answer>& waiting) { return waiting->abandoned(); };
    std::erase_if(waiting_, gone);
    std::erase_if(served_, gone);
    waiting_.push_back(std::move(answer));
}

bool SnapshotTaker::poll_command(dataplane::Command& command) {
    if (state_ == State::idle && !waiting_.empty()) {
        served_ = std::exchange(waiting_, {});
        snapshot_.first = 0;
        state_ = State::due;
    }
    if (state_ != State::due) {
        return false;
    }
    state_ = State::asked;
    snapshot_.filled.store(false, std::memory_order_relaxed);
    command = {};
    command.kind = dataplane::Command::Kind::snapshot;
    command.snapshot = &snapshot_;
    return true;
}

bool SnapshotTaker::awaited() const {
    const auto waits = [](const std::shared_ptr<Answer>& answer) { return !answer->abandoned(); };
    return state_ == State::asked &&
           (std::any_of(served_.begin(), served_.end(), waits) || std::any_of(waiting_.begin(), waiting_.end(), waits));
}

std::vector<std::shared_ptr<Answer>> SnapshotTaker::take_waiting() {
    std::vector<std::shared_ptr<Answer>> all = std::exchange(served_, {});
    for (std::shared_ptr<Answer>& answer : std::exchange(waiting_, {})) {
        all.push_back(std::move(answer));
    }
    return all;
}

}  // namespace bowline::engine
