#include <chrono>
#include <memory>
#include <string>

#include "engine/c_abi.hpp"
#include "engine/state.hpp"

using bowline::Engine;
using bowline::Event;
using bowline::Message;
using bowline::Peer;
using bowline::Result;
using bowline::c_abi::check_outside_handler;
using bowline::c_abi::check_running;
using bowline::c_abi::fail;
using bowline::c_abi::fail_null;
using bowline::c_abi::guarded;

namespace {

bowline_peer* handle_of(bowline_engine& engine, const Peer& peer) {
    return &engine.peers[bowline::detail::Access::state(peer).index];
}

/// Whether a handler is one that this library can call. NULL is.
bowline_status check_handler(const bowline_handler* handler) {
    return handler == nullptr || handler->size == sizeof(bowline_handler)
               ? BOWLINE_OK
               : fail(BOWLINE_INVALID_ARGUMENT,
                      "handler: `size` must be sizeof(bowline_handler), as in the bowline.h of this library's version");
}

/// Hands what the engine brings to a C handler, one turn after the other.
class Adapter {
public:
    Adapter(bowline_engine& engine, const bowline_handler* handler)
        : engine_(engine), handler_(handler != nullptr ? *handler : bowline_handler{}) {
        engine_.in_poll = true;
        ++engine_.turn;
    }
    Adapter(const Adapter&) = delete;
    Adapter& operator=(const Adapter&) = delete;
    ~Adapter() {
        engine_.in_poll = false;
        ++engine_.turn;
    }

    void on_message(const Message& message) {
        if (handler_.on_message == nullptr) {
            return;
        }
        const bowline_message out = {.size = sizeof(bowline_message),
                                     .peer = handle_of(engine_, message.peer()),
                                     .number = message.number(),
                                     .data = message.bytes().data(),
                                     .length = message.bytes().size(),
                                     .internal = &engine_};
        engine_.current = &message;
        call([&] { handler_.on_message(handler_.context, &out); });
        engine_.current = nullptr;
    }

    void on_event(const Event& event) {
        if (handler_.on_event == nullptr) {
            return;
        }
        const bowline_event out = {.size = sizeof(bowline_event),
                                   .peer = handle_of(engine_, event.peer),
                                   .first = event.first,
                                   .last = event.last,
                                   .kind = static_cast<std::uint32_t>(event.kind),
                                   .certainty = static_cast<std::uint32_t>(event.certainty),
                                   .down = static_cast<std::uint32_t>(event.down),
                                   .reserved = 0};
        call([&] { handler_.on_event(handler_.context, &out); });
    }

    [[nodiscard]] bowline_status result() const {
        return threw_ ? fail(BOWLINE_INTERNAL, "the handler has thrown an exception") : BOWLINE_OK;
    }

private:
    // An exception would leave the turn half done.
    template <typename Call>
    void call(Call&& handler) {
        try {
            handler();
        } catch (...) {
            threw_ = true;
        }
    }

    bowline_engine& engine_;
    bowline_handler handler_;
    bool threw_ = false;
};

/// Whether the engine may end: its memory goes, and with it the bytes of what is held.
bowline_status check_may_end(const bowline_engine& engine) {
    if (const bowline_status status = check_outside_handler(engine); status != BOWLINE_OK) {
        return status;
    }
    return engine.held == 0 ? BOWLINE_OK
                            : fail(BOWLINE_WRONG_STATE, std::to_string(engine.held) +
                                                            " messages are held: release them before the engine ends");
}

}  // namespace

extern "C" {

bowline_status bowline_engine_start(const bowline_config* config, bowline_engine** engine) {
    if (engine == nullptr) {
        return fail_null("engine");
    }
    *engine = nullptr;
    if (config == nullptr) {
        return fail_null("config");
    }
    return guarded([&] {
        Result<Engine> started = Engine::start(config->config);
        if (!started) {
            return fail(started.error());
        }
        auto made = std::make_unique<bowline_engine>(*std::move(started));
        for (const bowline::PeerConfig& peer : config->config.peers) {
            made->peers.push_back({.engine = made.get(), .peer = *made->engine.peer(peer.name), .claim = {}});
        }
        const Result<Peer> self = made->engine.peer(config->config.name);
        made->peers.push_back({.engine = made.get(), .peer = *self, .claim = {}});
        *engine = made.release();
        return BOWLINE_OK;
    });
}

bowline_status bowline_engine_poll(bowline_engine* engine, const bowline_handler* handler, size_t limit,
                                   size_t* count) {
    if (count != nullptr) {
        *count = 0;
    }
    if (engine == nullptr || handler == nullptr) {
        return fail_null(engine == nullptr ? "engine" : "handler");
    }
    return guarded([&] {
        bowline_status status = check_outside_handler(*engine);
        status = status == BOWLINE_OK ? check_running(*engine) : status;
        status = status == BOWLINE_OK ? check_handler(handler) : status;
        if (status != BOWLINE_OK) {
            return status;
        }
        Adapter adapter(*engine, handler);
        const std::size_t items = engine->engine.poll(adapter, limit);
        if (count != nullptr) {
            *count = items;
        }
        return adapter.result();
    });
}

bowline_status bowline_engine_stop(bowline_engine* engine, const bowline_handler* handler, int64_t linger_ns) {
    if (engine == nullptr) {
        return fail_null("engine");
    }
    return guarded([&] {
        bowline_status status = check_may_end(*engine);
        status = status == BOWLINE_OK ? check_handler(handler) : status;
        if (status != BOWLINE_OK) {
            return status;
        }
        if (linger_ns < 0) {
            return fail(BOWLINE_INVALID_ARGUMENT, "linger_ns: must be 0 or more");
        }
        Adapter adapter(*engine, handler);
        engine->engine.stop(adapter, std::chrono::nanoseconds(linger_ns));
        return adapter.result();
    });
}

bowline_status bowline_engine_destroy(bowline_engine* engine) {
    if (engine == nullptr) {
        return BOWLINE_OK;
    }
    return guarded([&] {
        const bowline_status status = check_may_end(*engine);
        if (status == BOWLINE_OK) {
            delete engine;
        }
        return status;
    });
}

const char* bowline_engine_describe(const bowline_engine* engine) {
    return engine == nullptr ? nullptr : bowline::detail::Access::state(engine->engine).description.c_str();
}

bowline_status bowline_engine_peer(bowline_engine* engine, const char* name, bowline_peer** peer) {
    if (peer == nullptr) {
        return fail_null("peer");
    }
    *peer = nullptr;
    if (engine == nullptr || name == nullptr) {
        return fail_null(engine == nullptr ? "engine" : "name");
    }
    return guarded([&] {
        const Result<Peer> found = engine->engine.peer(name);
        if (!found) {
            return fail(found.error());
        }
        *peer = handle_of(*engine, *found);
        return BOWLINE_OK;
    });
}

size_t bowline_engine_peer_count(const bowline_engine* engine) {
    return engine == nullptr ? 0 : engine->peers.size() - 1;
}

bowline_peer* bowline_engine_peer_at(bowline_engine* engine, size_t index) {
    return index < bowline_engine_peer_count(engine) ? &engine->peers[index] : nullptr;
}

bowline_status bowline_engine_install_view(bowline_engine* engine, const char* const* names, size_t count) {
    if (engine == nullptr || (names == nullptr && count > 0)) {
        return fail_null(engine == nullptr ? "engine" : "names");
    }
    return guarded([&] {
        if (const bowline_status status = check_running(*engine); status != BOWLINE_OK) {
            return status;
        }
        std::vector<std::string_view> members;
        for (std::size_t i = 0; i < count; ++i) {
            if (names[i] == nullptr) {
                return fail_null("a name");
            }
            members.emplace_back(names[i]);
        }
        const Result<void> queued = engine->engine.install_view(members);
        return queued ? BOWLINE_OK : fail(queued.error());
    });
}

bowline_status bowline_message_hold(const bowline_message* message, bowline_held_message** held) {
    if (held == nullptr) {
        return fail_null("held");
    }
    *held = nullptr;
    if (message == nullptr || message->internal == nullptr) {
        return fail_null("message");
    }
    return guarded([&] {
        // The message came as const from the engine that is meant; what it points to here is that engine.
        auto& engine = *static_cast<bowline_engine*>(const_cast<void*>(message->internal));
        if (const bowline_status status = check_running(engine); status != BOWLINE_OK) {
            return status;
        }
        if (engine.current == nullptr || engine.current->bytes().data() != message->data ||
            engine.current->number() != message->number) {
            return fail(BOWLINE_WRONG_STATE, "this message's handler has returned: hold it from within");
        }
        std::optional<bowline::HeldMessage> kept = engine.current->hold();
        if (!kept) {
            const bool all = engine.held >= bowline::detail::Access::state(engine.engine).config.held_max;
            return all ? fail(BOWLINE_LIMIT_REACHED, "as many messages as held_max allows are held")
                       : fail(BOWLINE_NO_MEMORY);
        }
        *held = new bowline_held_message{&engine, *std::move(kept)};
        ++engine.held;
        return BOWLINE_OK;
    });
}

bowline_status bowline_held_message_release(bowline_held_message* held) {
    if (held == nullptr) {
        return BOWLINE_OK;
    }
    return guarded([&] {
        if (const bowline_status status = bowline::c_abi::check_owner(*held->engine); status != BOWLINE_OK) {
            return status;
        }
        --held->engine->held;
        delete held;
        return BOWLINE_OK;
    });
}

const void* bowline_held_message_data(const bowline_held_message* held) {
    return held == nullptr ? nullptr : held->message.bytes().data();
}
size_t bowline_held_message_length(const bowline_held_message* held) {
    return held == nullptr ? 0 : held->message.bytes().size();
}
uint64_t bowline_held_message_number(const bowline_held_message* held) {
    return held == nullptr ? 0 : held->message.number();
}
bowline_peer* bowline_held_message_peer(const bowline_held_message* held) {
    return held == nullptr ? nullptr : handle_of(*held->engine, held->message.peer());
}

}  // extern "C"
