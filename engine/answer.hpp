#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "bowline/result.hpp"
#include "engine/report.hpp"
#include "protocol/time.hpp"

namespace bowline::engine {

/// One request's answer on its way from the control thread to the thread that waits for it.
class Answer {
public:
    /// Control thread, once.
    void give(Result<Report> report) {
        {
            const std::lock_guard lock(mutex_);
            report_ = std::move(report);
        }
        given_.notify_one();
    }

    /// Asker, once: the answer, or nothing when `patience` has passed; whatever comes then is for nobody.
    std::optional<Result<Report>> wait(protocol::Duration patience) {
        std::unique_lock lock(mutex_);
        if (!given_.wait_for(lock, std::chrono::nanoseconds(patience.ns()), [this] { return report_.has_value(); })) {
            abandoned_ = true;
            return std::nullopt;
        }
        return std::move(report_);
    }
    /// Control thread: nobody waits any longer.
    [[nodiscard]] bool abandoned() const {
        const std::lock_guard lock(mutex_);
        return abandoned_;
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable given_;
    std::optional<Result<Report>> report_;
    bool abandoned_ = false;
};

}  // namespace bowline::engine
