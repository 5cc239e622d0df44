#include "engine/parker.hpp"

#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bowline::engine {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t), "what futex(2) compares");

void Parker::park(protocol::Duration most) {
    if (most.ns() > 0) {
        const timespec timeout{.tv_sec = most.ns() / 1'000'000'000, .tv_nsec = most.ns() % 1'000'000'000};
        syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kAsleep, &timeout, nullptr, 0);
    }
    cancel();
}

void Parker::wake() {
    std::uint32_t asleep = kAsleep;
    if (state_.compare_exchange_strong(asleep, kAwake, std::memory_order_seq_cst)) {
        syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
}

}  // namespace bowline::engine
