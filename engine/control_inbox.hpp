#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <tbb/concurrent_queue.h>

#include "dataplane/control_messages.hpp"

namespace bowline::engine {

class Answer;

/// What the application and operators ask of the control thread.
struct ControlRequest {
    enum class Kind : std::uint8_t {
        install_view,  ///< peers
        exclude,       ///< peer
        close,         ///< peer
        rotate,        ///< peer
        forget,        ///< peer
        view,          ///< what control itself knows
        report,        ///< and the worker's figures
    };

    Kind kind = Kind::view;
    dataplane::PeerIndex peer = dataplane::kNoPeer;
    std::vector<dataplane::PeerIndex> peers;
    std::shared_ptr<Answer> answer;  ///< nullptr: nobody waits, what follows are events
};

/// Requests on their way to the control thread: bounded, from any number of threads. What finds no room is refused and
/// counted. Whoever has posted wakes the control thread.
class ControlInbox {
public:
    static constexpr std::size_t kCapacity = 256;

    enum class Posted : std::uint8_t { yes, full, closed };

    // — any thread —

    Posted post(ControlRequest request) {
        if (closed_.load(std::memory_order_seq_cst)) {
            return Posted::closed;
        }
        if (size_.fetch_add(1, std::memory_order_relaxed) >= kCapacity) {
            size_.fetch_sub(1, std::memory_order_relaxed);
            refused_.fetch_add(1, std::memory_order_relaxed);
            return Posted::full;
        }
        queue_.push(std::move(request));
        posted_.store(true, std::memory_order_seq_cst);
        // Closed meanwhile: the control thread's last look may have missed it.
        return closed_.load(std::memory_order_seq_cst) ? Posted::closed : Posted::yes;
    }
    [[nodiscard]] std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

    // — control thread —

    /// True when something has been posted since the last call: take() until there is nothing. One load if not.
    bool check() {
        return posted_.load(std::memory_order_seq_cst) && posted_.exchange(false, std::memory_order_seq_cst);
    }
    /// What is left is for another time.
    void check_again() { posted_.store(true, std::memory_order_relaxed); }
    /// For the sleeper: whether check() would be true.
    [[nodiscard]] bool has_posted() const { return posted_.load(std::memory_order_seq_cst); }
    bool take(ControlRequest& request) {
        if (!queue_.try_pop(request)) {
            return false;
        }
        size_.fetch_sub(1, std::memory_order_relaxed);
        return true;
    }
    /// Nothing is taken any more: take() what is left.
    void close() { closed_.store(true, std::memory_order_seq_cst); }

private:
    tbb::concurrent_queue<ControlRequest> queue_;
    std::atomic<std::size_t> size_{0};
    std::atomic<std::uint64_t> refused_{0};
    std::atomic<bool> posted_{false};
    std::atomic<bool> closed_{false};
};

}  // namespace bowline::engine
