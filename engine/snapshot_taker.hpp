#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "dataplane/connection_snapshot.hpp"
#include "dataplane/control_messages.hpp"
#include "engine/answer.hpp"

namespace bowline::engine {

/// Has the worker copy its figures, a piece of its peers at a time, for everybody who waits for them.
///
/// Owner: the control thread. poll_command() says what to ask of the worker; collect() must be called now and then
/// while awaited(), for a worker that has answered wakes nobody.
class SnapshotTaker {
public:
    /// `snapshot` outlives the worker.
    explicit SnapshotTaker(dataplane::WorkerSnapshot& snapshot) : snapshot_(snapshot) {}

    /// For this one a copy that begins after now.
    void want(std::shared_ptr<Answer> answer);
    /// The next command for the worker; false: none.
    [[nodiscard]] bool poll_command(dataplane::Command& command);
    /// Looks whether the worker has answered. When its figures are complete, `complete` gets whoever waited for them.
    template <typename Complete>
    void collect(Complete&& complete) {
        if (state_ != State::asked || !snapshot_.filled.load(std::memory_order_acquire)) {
            return;
        }
        snapshot_.first += dataplane::WorkerSnapshot::kPiece;
        state_ = State::due;
        if (snapshot_.first >= snapshot_.peers.size()) {
            for (const std::shared_ptr<Answer>& answer : served_) {
                complete(*answer);
            }
            served_.clear();
            state_ = State::idle;
        }
    }
    /// The worker has been asked, and somebody still waits for its answer.
    [[nodiscard]] bool awaited() const;
    /// Everybody who still waits.
    [[nodiscard]] std::vector<std::shared_ptr<Answer>> take_waiting();
    [[nodiscard]] const dataplane::WorkerSnapshot& snapshot() const { return snapshot_; }

private:
    enum class State : std::uint8_t { idle, due, asked };

    dataplane::WorkerSnapshot& snapshot_;
    State state_ = State::idle;
    std::vector<std::shared_ptr<Answer>> served_;   ///< by the copy that is being made
    std::vector<std::shared_ptr<Answer>> waiting_;  ///< for the next
};

}  // namespace bowline::engine
