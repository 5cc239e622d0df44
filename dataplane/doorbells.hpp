#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "dataplane/control_messages.hpp"
#include "dataplane/spsc_ring.hpp"

namespace bowline::dataplane {

/// One bell a peer: "there is something for you to look at". Any number of threads ring; one thread answers. A summary
/// word for every 64 bells makes that idle peers cost their listener nothing: it looks at one word for 4,096 of them.
///
/// What was written before a ring() is visible to whoever answers it. A bell that is rung while it is being answered
/// rings again.
class Doorbells {
public:
    explicit Doorbells(std::size_t peers)
        : words_((peers + 63) / 64),
          summaries_((words_ + 63) / 64),
          bells_(std::make_unique<std::atomic<std::uint64_t>[]>(words_)),
          summary_(std::make_unique<std::atomic<std::uint64_t>[]>(summaries_)) {}

    void ring(PeerIndex peer) {
        const std::uint64_t bell = std::uint64_t{1} << (peer % 64U);
        const std::size_t word = peer / 64U;
        // Ringing twice says no more than once: a busy peer's bell costs one update. That one cannot be spared, since
        // it is what makes the latest writes visible to whoever silences the bell. The order of the two updates
        // matters: a listener that takes the summary first finds the bell.
        if ((bells_[word].fetch_or(bell, std::memory_order_acq_rel) & bell) != 0) {
            return;
        }
        summary_[word / 64].fetch_or(std::uint64_t{1} << (word % 64), std::memory_order_release);
    }

    /// Hands every peer whose bell has rung to `answer(peer)`, bells silenced first. Returns how many.
    template <typename Answer>
    std::size_t answer(Answer&& answer) {
        std::size_t count = 0;
        for (std::size_t s = 0; s < summaries_; ++s) {
            if (summary_[s].load(std::memory_order_relaxed) == 0) {
                continue;
            }
            for (std::uint64_t words = summary_[s].exchange(0, std::memory_order_acq_rel); words != 0;
                 words &= words - 1) {
                const std::size_t word = s * 64 + static_cast<std::size_t>(std::countr_zero(words));
                for (std::uint64_t bells = bells_[word].exchange(0, std::memory_order_acq_rel); bells != 0;
                     bells &= bells - 1) {
                    answer(static_cast<PeerIndex>(word * 64 + static_cast<std::size_t>(std::countr_zero(bells))));
                    ++count;
                }
            }
        }
        return count;
    }

private:
    std::size_t words_;
    std::size_t summaries_;
    std::unique_ptr<std::atomic<std::uint64_t>[]> bells_;
    alignas(kCacheLine) std::unique_ptr<std::atomic<std::uint64_t>[]> summary_;
};

}  // namespace bowline::dataplane
