#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "bowline/bowline.h"
#include "bowline/bowline.hpp"

// What stands behind the handles of bowline.h, and what its functions share.

struct bowline_config {
    bowline::Config config;
};

struct bowline_peer {
    bowline_engine* engine = nullptr;
    bowline::Peer peer;
    std::optional<bowline::Claim> claim;
    std::uint64_t claim_turn = 0;  ///< the engine's `turn` in which it was granted: it ends with that
};

/// Thread: the owner's.
struct bowline_engine {
    explicit bowline_engine(bowline::Engine e) : engine(std::move(e)) {}

    bowline::Engine engine;
    std::vector<bowline_peer> peers;            ///< by the engine's own index; the last one is this node
    const bowline::Message* current = nullptr;  ///< the one that a handler looks at
    std::uint64_t turn = 0;                     ///< grows where a poll begins and ends
    std::size_t held = 0;                       ///< messages
    bool in_poll = false;
};

struct bowline_held_message {
    bowline_engine* engine;
    bowline::HeldMessage message;
};

struct bowline_view {
    bowline::View view;
};

struct bowline_counters {
    std::vector<bowline::Counter> counters;
};

namespace bowline::c_abi {

/// Notes why this thread's call fails, and returns `status`. Allocates nothing.
bowline_status fail(bowline_status status, std::string_view why) noexcept;
/// The same, with the status in words for a reason.
bowline_status fail(bowline_status status) noexcept;
bowline_status fail(const Error& error) noexcept;
/// `what` is NULL.
bowline_status fail_null(const char* what) noexcept;

/// Runs the body of a function of the C interface: no exception comes out of it.
template <typename Body>
bowline_status guarded(Body&& body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return fail(BOWLINE_NO_MEMORY);
    } catch (const std::exception& error) {
        return fail(BOWLINE_INTERNAL, error.what());
    } catch (...) {
        return fail(BOWLINE_INTERNAL, "an exception of unknown type");
    }
}

/// BOWLINE_OK, or a failure: whether the owner's thread calls.
bowline_status check_owner(const bowline_engine& engine) noexcept;
/// The same, and whether it calls from outside any handler.
bowline_status check_outside_handler(const bowline_engine& engine) noexcept;
/// The same, whether nobody has stopped the engine.
bowline_status check_running(const bowline_engine& engine) noexcept;

/// Fills a caller's struct as far as both sides know it; `size` becomes how much that was.
template <typename Struct>
bowline_status fill(Struct& out, Struct known) noexcept {
    const std::size_t size = out.size < sizeof(Struct) ? out.size : sizeof(Struct);
    if (size < sizeof(out.size)) {
        return fail(BOWLINE_INVALID_ARGUMENT, "the struct's `size` is not set: set it to sizeof the struct");
    }
    known.size = size;
    std::memcpy(&out, &known, size);
    return BOWLINE_OK;
}

}  // namespace bowline::c_abi
