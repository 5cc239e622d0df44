#include "bowline/engine.hpp"

#include <cstring>
#include <new>

#include "engine/admin.hpp"
#include "engine/state.hpp"
#include "engine/view_names.hpp"

namespace bowline {

using detail::EngineState;
using detail::PeerState;

namespace {

SendStatus status_of(dataplane::Offer offer) {
    switch (offer) {
        case dataplane::Offer::accepted:
            return SendStatus::accepted;
        case dataplane::Offer::back_pressured:
            return SendStatus::back_pressured;
        case dataplane::Offer::excluded:
            return SendStatus::excluded;
        case dataplane::Offer::closed:
            return SendStatus::closed;
        case dataplane::Offer::too_large:
            return SendStatus::too_large;
    }
    return SendStatus::closed;
}

}  // namespace

const char* to_string(SendStatus status) {
    switch (status) {
        case SendStatus::accepted:
            return "accepted";
        case SendStatus::back_pressured:
            return "back-pressured";
        case SendStatus::excluded:
            return "excluded";
        case SendStatus::closed:
            return "closed";
        case SendStatus::too_large:
            return "too large";
        case SendStatus::wrong_thread:
            return "wrong thread";
    }
    return "unknown";
}

const char* to_string(Event::Kind kind) {
    switch (kind) {
        case Event::Kind::peer_up:
            return "PeerUp";
        case Event::Kind::peer_down:
            return "PeerDown";
        case Event::Kind::undelivered:
            return "Undelivered";
        case Event::Kind::gap:
            return "Gap";
        case Event::Kind::view_changed:
            return "ViewChanged";
    }
    return "unknown";
}

const char* to_string(Event::Down down) {
    switch (down) {
        case Event::Down::none:
            return "none";
        case Event::Down::stopped:
            return "stopped";
        case Event::Down::silent:
            return "silent";
        case Event::Down::restarted:
            return "restarted";
        case Event::Down::gave_up:
            return "gave up";
        case Event::Down::excluded:
            return "excluded";
    }
    return "unknown";
}

const char* to_string(Certainty certainty) { return certainty == Certainty::undelivered ? "undelivered" : "uncertain"; }

// — Peer —

SendResult Peer::send(std::span<const std::byte> bytes) {
    EngineState& engine = *state_->engine;
    if (!engine.on_owner_thread()) [[unlikely]] {
        return {.status = SendStatus::wrong_thread, .number = 0};
    }
    if (engine.stop != EngineState::Stop::running) [[unlikely]] {
        return {.status = SendStatus::closed, .number = 0};
    }
    std::uint64_t number = 0;
    const dataplane::Offer offer =
        engine.is_dedicated() ? engine.application->offer(state_->index, bytes.data(), bytes.size(), number)
                              : engine.worker->offer(state_->index, engine.now, bytes.data(), bytes.size(), number);
    if (offer != dataplane::Offer::accepted) [[unlikely]] {
        return {.status = status_of(offer), .number = 0};
    }
    state_->accepted = number;
    return {.status = SendStatus::accepted, .number = number};
}

std::optional<Claim> Peer::try_claim(std::size_t size, SendStatus* why) {
    EngineState& engine = *state_->engine;
    SendStatus status = SendStatus::wrong_thread;
    if (engine.on_owner_thread()) [[likely]] {
        std::byte* at = nullptr;
        dataplane::Offer offer = dataplane::Offer::closed;
        if (engine.stop == EngineState::Stop::running) [[likely]] {
            offer = engine.is_dedicated() ? engine.application->try_claim(state_->index, size, at)
                                          : engine.worker->try_claim(state_->index, engine.now, size, at);
        }
        if (offer == dataplane::Offer::accepted) [[likely]] {
            return Claim(state_, {at, size});
        }
        status = status_of(offer);
    }
    if (why != nullptr) {
        *why = status;
    }
    return std::nullopt;
}

std::size_t Peer::claim_max() const {
    const EngineState& engine = *state_->engine;
    if (!engine.on_owner_thread() || engine.stop != EngineState::Stop::running) {
        return 0;
    }
    return engine.is_dedicated() ? engine.application->claim_max(state_->index)
                                 : engine.worker->claim_max(state_->index);
}

std::string_view Peer::name() const { return state_ != nullptr ? std::string_view(state_->name) : std::string_view(); }

PeerStatus Peer::status() const {
    EngineState& engine = *state_->engine;
    PeerStatus status;
    if (engine.worker == nullptr || !engine.on_owner_thread()) {
        return status;
    }
    status = engine.is_dedicated() ? engine.take_snapshot().peers[state_->index]
                                   : detail::status_of(*engine.worker, state_->index);
    status.up = state_->up;
    status.sent = state_->accepted;
    status.delivered = state_->delivered;
    return status;
}

namespace {

Result<void> ask_of_peer(PeerState& peer, engine::ControlRequest::Kind kind) {
    if (peer.index >= peer.engine->config.peers.size()) {
        return Error{Error::Kind::misuse, "'" + peer.name + "' is this node itself: there is no connection to it"};
    }
    engine::ControlRequest request;
    request.kind = kind;
    request.peer = peer.index;
    return peer.engine->post(std::move(request));
}

}  // namespace

Result<void> Peer::close() { return ask_of_peer(*state_, engine::ControlRequest::Kind::close); }
Result<void> Peer::rotate() { return ask_of_peer(*state_, engine::ControlRequest::Kind::rotate); }
Result<void> Peer::forget() { return ask_of_peer(*state_, engine::ControlRequest::Kind::forget); }

// — Claim —

Claim::~Claim() = default;  // nothing was published: what is not committed never was

SendResult Claim::commit() {
    PeerState* const peer = std::exchange(peer_, nullptr);
    if (peer == nullptr || !peer->engine->on_owner_thread()) {
        return {.status = SendStatus::wrong_thread, .number = 0};
    }
    EngineState& engine = *peer->engine;
    if (engine.stop != EngineState::Stop::running) [[unlikely]] {
        return {.status = SendStatus::closed, .number = 0};  // the room that was claimed may be gone
    }
    peer->accepted = engine.is_dedicated() ? engine.application->commit_claim(peer->index, bytes_.size())
                                           : engine.worker->commit_claim(peer->index, bytes_.size());
    return {.status = SendStatus::accepted, .number = peer->accepted};
}

// — Message —

std::optional<HeldMessage> Message::hold() const {
    EngineState& engine = *peer_.state_->engine;
    if (!engine.on_owner_thread() || engine.held >= engine.config.held_max) {
        return std::nullopt;
    }
    if (buffer_ != nullptr) {
        ++engine.held;
        engine.port->ref(static_cast<protocol::Packet*>(static_cast<void*>(buffer_)));
        return HeldMessage(peer_, number_, {data_, size_}, buffer_);
    }
    // Put together from several packets in a buffer that the next such message needs: this one moves out.
    auto* copy = new (std::nothrow) std::byte[size_];
    if (copy == nullptr) {
        return std::nullopt;
    }
    ++engine.held;
    std::memcpy(copy, data_, size_);
    return HeldMessage(peer_, number_, {copy, size_}, nullptr);
}

HeldMessage::HeldMessage(HeldMessage&& other) noexcept
    : peer_(std::exchange(other.peer_, Peer())),
      number_(other.number_),
      bytes_(other.bytes_),
      buffer_(std::exchange(other.buffer_, nullptr)) {}

HeldMessage& HeldMessage::operator=(HeldMessage&& other) noexcept {
    std::swap(peer_, other.peer_);
    std::swap(number_, other.number_);
    std::swap(bytes_, other.bytes_);
    std::swap(buffer_, other.buffer_);
    return *this;
}

HeldMessage::~HeldMessage() { release(); }

void HeldMessage::release() {
    if (peer_.state_ == nullptr) {
        return;
    }
    EngineState& engine = *peer_.state_->engine;
    --engine.held;
    if (buffer_ == nullptr) {
        delete[] bytes_.data();
    } else if (engine.port != nullptr) {  // else the engine has stopped, and the packet went with its pool
        engine.port->free(static_cast<protocol::Packet*>(static_cast<void*>(buffer_)));
    }
    peer_ = Peer();
}

// — Engine —

Engine::Engine(std::unique_ptr<EngineState> state) : state_(std::move(state)) {}
Engine::Engine(Engine&& other) noexcept = default;

Engine::~Engine() {
    if (state_ != nullptr && state_->stop != EngineState::Stop::done && state_->on_owner_thread()) {
        struct Ignore {
            void on_message(const Message& /*message*/) {}
            void on_event(const Event& /*event*/) {}
        };
        stop(Ignore());
    }
}

Result<Peer> Engine::peer(std::string_view name) const {
    std::string known;
    for (const std::unique_ptr<PeerState>& peer : state_->peers) {
        if (peer->name == name) {
            return Peer(peer.get());
        }
        if (peer->name != state_->config.name) {
            known += (known.empty() ? "" : ", ") + peer->name;
        }
    }
    return Error{
        Error::Kind::configuration,
        "no peer '" + std::string(name) + "' is configured" +
            (known.empty() ? "; there are none: add --peer NAME=ADDRESS or a [[peer]] table" : "; there is: " + known)};
}

std::vector<Peer> Engine::peers() const {
    std::vector<Peer> peers;
    for (const std::unique_ptr<PeerState>& peer : state_->peers) {
        if (peer->name != state_->config.name) {
            peers.push_back(Peer(peer.get()));
        }
    }
    return peers;
}

std::span<const detail::Item> Engine::begin_poll(std::size_t limit) {
    if (!state_->on_owner_thread()) [[unlikely]] {
        return {};
    }
    return state_->begin_poll(limit);
}

void Engine::end_poll() {
    if (state_->on_owner_thread()) [[likely]] {
        state_->end_poll();
    }
}

bool Engine::begin_stop(std::chrono::nanoseconds linger) {
    if (!state_->on_owner_thread() || state_->stop != EngineState::Stop::running) {
        return false;
    }
    state_->stop = EngineState::Stop::draining;
    state_->stop_deadline = state_->clock.now() + protocol::Duration::ns(linger.count());
    if (state_->is_dedicated()) {
        state_->application->begin_stop();
    }
    state_->stop_accepting.store(true, std::memory_order_release);
    return true;
}

bool Engine::stop_done() {
    state_->step_stop();
    return state_->stop == EngineState::Stop::done;
}

void Engine::finish_stop() { state_->tear_down(); }

std::vector<Counter> Engine::counters() const {
    if (state_->worker == nullptr || !state_->on_owner_thread()) {
        return {};
    }
    if (state_->is_dedicated()) {
        return state_->counters_with(state_->take_snapshot().figures);
    }
    dataplane::WorkerSnapshot figures(state_->worker->peer_count());
    state_->worker->copy_figures(figures, 0, figures.peers.size());
    return state_->counters_with(figures);
}

Result<void> Engine::install_view(std::span<const std::string_view> names) {
    Result<std::vector<dataplane::PeerIndex>> peers = engine::resolve_view(state_->config, names);
    if (!peers) {
        return peers.error();
    }
    engine::ControlRequest request;
    request.kind = engine::ControlRequest::Kind::install_view;
    request.peers = *std::move(peers);
    return state_->post(std::move(request));
}

View Engine::view() const {
    View view;
    view.self = state_->config.name;
    if (!state_->on_owner_thread()) {
        return view;
    }
    const control::View known = state_->control->view();
    view.id = known.id;
    for (const dataplane::PeerIndex index : known.peers) {
        const PeerState& peer = *state_->peers[index];
        view.members.push_back({.name = peer.name,
                                .address = state_->config.peers[index].address,
                                .incarnation = peer.incarnation,
                                .up = peer.up});
    }
    return view;
}

std::string Engine::describe() const { return state_->description; }

engine::Admin& engine::admin_of(Engine& engine) { return *engine.state_->admin; }

}  // namespace bowline
