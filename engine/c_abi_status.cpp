#include <algorithm>
#include <array>

#include "engine/c_abi.hpp"
#include "engine/state.hpp"

namespace bowline::c_abi {

namespace {

// Of each thread: bytes that need neither constructor nor heap, since a failure may be one of memory.
thread_local std::array<char, 2048> last_error{};
thread_local const char* last_error_text = "";

const char* text_of(bowline_status status) {
    switch (status) {
        case BOWLINE_OK:
            return "ok";
        case BOWLINE_BACK_PRESSURED:
            return to_string(SendStatus::back_pressured);
        case BOWLINE_EXCLUDED:
            return to_string(SendStatus::excluded);
        case BOWLINE_CLOSED:
            return to_string(SendStatus::closed);
        case BOWLINE_TOO_LARGE:
            return to_string(SendStatus::too_large);
        case BOWLINE_WRONG_THREAD:
            return to_string(SendStatus::wrong_thread);
        case BOWLINE_CONFIGURATION:
            return "wrong configuration";
        case BOWLINE_SYSTEM:
            return "refused by the system";
        case BOWLINE_MISUSE:
            return "misuse";
        case BOWLINE_INVALID_ARGUMENT:
            return "invalid argument";
        case BOWLINE_WRONG_STATE:
            return "wrong state";
        case BOWLINE_LIMIT_REACHED:
            return "limit reached";
        case BOWLINE_NO_MEMORY:
            return "out of memory";
        case BOWLINE_INTERNAL:
            return "internal error";
    }
    return "unknown";
}

}  // namespace

bowline_status fail(bowline_status status, std::string_view why) noexcept {
    const std::size_t size = std::min(why.size(), last_error.size() - 1);
    std::memmove(last_error.data(), why.data(), size);
    last_error[size] = '\0';
    last_error_text = last_error.data();
    return status;
}

bowline_status fail(bowline_status status) noexcept {
    last_error_text = text_of(status);
    return status;
}

bowline_status fail(const Error& error) noexcept {
    switch (error.kind) {
        case Error::Kind::configuration:
            return fail(BOWLINE_CONFIGURATION, error.message);
        case Error::Kind::system:
            return fail(BOWLINE_SYSTEM, error.message);
        case Error::Kind::misuse:
            break;
    }
    return fail(BOWLINE_MISUSE, error.message);
}

bowline_status fail_null(const char* what) noexcept {
    constexpr std::string_view ending = " is NULL";
    std::array<char, 64> text{};
    const std::size_t size = std::min(std::strlen(what), text.size() - ending.size());
    std::memcpy(text.data(), what, size);
    std::memcpy(text.data() + size, ending.data(), ending.size());
    return fail(BOWLINE_INVALID_ARGUMENT, std::string_view(text.data(), size + ending.size()));
}

bowline_status check_owner(const bowline_engine& engine) noexcept {
    return detail::Access::state(engine.engine).on_owner_thread()
               ? BOWLINE_OK
               : fail(BOWLINE_WRONG_THREAD, "called from a thread that does not own this engine");
}

bowline_status check_outside_handler(const bowline_engine& engine) noexcept {
    if (const bowline_status status = check_owner(engine); status != BOWLINE_OK) {
        return status;
    }
    return engine.in_poll ? fail(BOWLINE_WRONG_STATE, "called from within a handler: return from it first")
                          : BOWLINE_OK;
}

bowline_status check_running(const bowline_engine& engine) noexcept {
    if (const bowline_status status = check_owner(engine); status != BOWLINE_OK) {
        return status;
    }
    return detail::Access::state(engine.engine).stop == detail::EngineState::Stop::running
               ? BOWLINE_OK
               : fail(BOWLINE_CLOSED, "the engine stops or has stopped");
}

}  // namespace bowline::c_abi

using bowline::Certainty;
using bowline::Event;

static_assert(BOWLINE_EVENT_VIEW_CHANGED == static_cast<int>(Event::Kind::view_changed));
static_assert(BOWLINE_UNCERTAIN == static_cast<int>(Certainty::uncertain));
static_assert(BOWLINE_DOWN_EXCLUDED == static_cast<int>(Event::Down::excluded));

extern "C" {

const char* bowline_status_text(bowline_status status) { return bowline::c_abi::text_of(status); }

const char* bowline_last_error() { return bowline::c_abi::last_error_text; }

const char* bowline_version() { return BOWLINE_VERSION; }

const char* bowline_event_kind_text(uint32_t kind) {
    return kind <= BOWLINE_EVENT_VIEW_CHANGED ? to_string(static_cast<Event::Kind>(kind)) : "unknown";
}

const char* bowline_down_text(uint32_t down) {
    return down <= BOWLINE_DOWN_EXCLUDED ? to_string(static_cast<Event::Down>(down)) : "unknown";
}

const char* bowline_certainty_text(uint32_t certainty) {
    return certainty <= BOWLINE_UNCERTAIN ? to_string(static_cast<Certainty>(certainty)) : "unknown";
}

}  // extern "C"
