#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bowline/config.hpp"
#include "bowline/result.hpp"

namespace bowline {

class Engine;

namespace engine {
class Admin;
Admin& admin_of(Engine& engine);
}  // namespace engine

class HeldMessage;
class Message;

namespace detail {
struct EngineState;
struct PeerState;
struct Item;
struct Access;  // the C interface's way behind the handles
struct Opaque;  // a packet buffer
}  // namespace detail

/// What became of a message that was offered. Nothing but `accepted` leaves a trace: what is refused has no number.
enum class SendStatus : std::uint8_t {
    accepted,
    back_pressured,  ///< queue, window or packet pool full: poll and offer again
    excluded,        ///< the peer is not in view
    closed,          ///< the engine stops or has stopped
    too_large,       ///< larger than message_max (for a claim: than claim_max())
    wrong_thread,    ///< called from a thread that does not own this engine
};
const char* to_string(SendStatus status);

struct SendResult {
    SendStatus status = SendStatus::closed;
    std::uint64_t number = 0;  ///< of the accepted message, from 1 on, without holes

    [[nodiscard]] bool accepted() const { return status == SendStatus::accepted; }
    explicit operator bool() const { return accepted(); }
};

/// Room for one message in the packet that will carry it, to be filled in place. Dropped unless committed.
///
/// Thread: the owner's. One claim a peer at a time, ended before the next send to that peer and before the next poll.
class Claim {
public:
    Claim(Claim&& other) noexcept : peer_(std::exchange(other.peer_, nullptr)), bytes_(other.bytes_) {}
    Claim& operator=(Claim&&) = delete;
    ~Claim();

    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
    /// Sends what was filled in; `closed` once the engine stops.
    SendResult commit();

private:
    friend class Peer;
    Claim(detail::PeerState* peer, std::span<std::byte> bytes) : peer_(peer), bytes_(bytes) {}
    detail::PeerState* peer_;
    std::span<std::byte> bytes_;
};

/// What is known of a peer, as of the last poll. Numbers are message numbers; 0 means none yet.
struct PeerStatus {
    bool up = false;                      ///< associated and answering
    std::uint64_t sent = 0;               ///< last message accepted by send
    std::uint64_t acknowledged = 0;       ///< all up to here stand in the peer's ring
    std::uint64_t delivered = 0;          ///< last message of the peer's handed to this application
    std::uint64_t queued_packets = 0;     ///< not yet sent
    std::uint64_t in_flight_packets = 0;  ///< sent and not yet acknowledged
    std::uint64_t packets_sent = 0;       ///< data packets, resent ones included
    std::uint64_t retransmits = 0;
    std::uint64_t acks_received = 0;
    std::int64_t srtt_ns = 0;  ///< smoothed round trip (RFC 6298), 0: not measured yet
};

/// A handle of a peer: cheap to copy, valid as long as its engine.
///
/// Thread: the owner's (the thread that polls). From any other thread send() answers `wrong_thread`.
class Peer {
public:
    Peer() = default;

    /// Accepts a message for exactly-once, in-order delivery, or refuses it. Never blocks; copies `bytes` once.
    SendResult send(std::span<const std::byte> bytes);
    SendResult send(std::string_view text) { return send(std::as_bytes(std::span(text.data(), text.size()))); }

    /// Room for a message of `size` bytes, or nothing when send() would refuse it (`why`, if given, says so).
    std::optional<Claim> try_claim(std::size_t size, SendStatus* why = nullptr);
    /// The largest size that try_claim grants, in bytes; 0 on another thread and once the engine stops.
    [[nodiscard]] std::size_t claim_max() const;

    // These three are asked of the control thread and return once the request is queued; what follows from it comes as
    // events, if anything does. Errors: another thread's call, an engine that stops, too many requests under way.

    /// Closes the connections with the peer, both directions, as if they had been idle for conn_expiry: the peer keeps
    /// its place in the view, nothing is lost, and the next message opens a new connection without delay.
    Result<void> close();
    /// Gives the connection to the peer a new id, under which everything unacknowledged is sent again.
    Result<void> rotate();
    /// Drops the association with the peer and what is remembered of its stream. If it is met again, it may have to
    /// report messages as uncertain that it had sent and of which no acknowledgement had reached it.
    Result<void> forget();

    [[nodiscard]] std::string_view name() const;
    [[nodiscard]] PeerStatus status() const;

    bool operator==(const Peer&) const = default;

private:
    friend class Engine;
    friend class Message;
    friend class HeldMessage;
    friend struct detail::Item;
    friend struct detail::EngineState;
    friend struct detail::Access;
    explicit Peer(detail::PeerState* state) : state_(state) {}
    detail::PeerState* state_ = nullptr;
};

/// Bytes of a message that outlive the poll that brought them, until the engine has stopped. Gives its buffer back when
/// it is destroyed, which must happen on the owner's thread and before the engine is.
class HeldMessage {
public:
    HeldMessage(HeldMessage&& other) noexcept;
    HeldMessage& operator=(HeldMessage&& other) noexcept;
    ~HeldMessage();

    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
    [[nodiscard]] std::uint64_t number() const { return number_; }
    [[nodiscard]] Peer peer() const { return peer_; }

private:
    friend class Message;
    HeldMessage(Peer peer, std::uint64_t number, std::span<const std::byte> bytes, detail::Opaque* buffer)
        : peer_(peer), number_(number), bytes_(bytes), buffer_(buffer) {}
    void release();
    Peer peer_;
    std::uint64_t number_;
    std::span<const std::byte> bytes_;
    detail::Opaque* buffer_;
};

/// A message as the handler sees it: valid until the handler returns.
class Message {
public:
    [[nodiscard]] Peer peer() const { return peer_; }
    /// Its number in the sender's stream, from 1 on.
    [[nodiscard]] std::uint64_t number() const { return number_; }
    [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
    [[nodiscard]] std::string_view text() const {
        return {static_cast<const char*>(static_cast<const void*>(data_)), size_};
    }
    /// Keeps the bytes beyond the handler, without a copy. Nothing when too many are held already (`held_max`): what is
    /// held is taken from the pool that receives.
    [[nodiscard]] std::optional<HeldMessage> hold() const;

private:
    friend struct detail::Item;
    Message(Peer peer, std::uint64_t number, const std::byte* data, std::size_t size, detail::Opaque* buffer)
        : peer_(peer), number_(number), data_(data), size_(size), buffer_(buffer) {}
    Peer peer_;
    std::uint64_t number_;
    const std::byte* data_;
    std::size_t size_;
    detail::Opaque* buffer_;
};

/// What a sender can know of a message that it reports.
enum class Certainty : std::uint8_t {
    undelivered,  ///< never sent: certainly not delivered
    uncertain,    ///< sent and never acknowledged: perhaps delivered
};

struct Event {
    enum class Kind : std::uint8_t {
        peer_up,       ///< associated: messages flow
        peer_down,     ///< `down` says why
        undelivered,   ///< messages first..last to this peer, with `certainty`
        gap,           ///< messages first..last from this peer were given up by it
        view_changed,  ///< a view is in force from here on, `first` is its id; see Engine::view(). `peer`: this node
    };
    enum class Down : std::uint8_t {
        none,
        stopped,    ///< it has stopped in order
        silent,     ///< nothing has come from it for suspect_after
        restarted,  ///< another process has taken its place
        gave_up,    ///< it has acknowledged nothing for give_up
        excluded,   ///< it is not in the view that has been installed
    };

    Kind kind = Kind::peer_up;
    Peer peer;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    Certainty certainty = Certainty::undelivered;
    Down down = Down::none;
};
const char* to_string(Event::Kind kind);
const char* to_string(Event::Down down);
const char* to_string(Certainty certainty);

/// A node that is in the view, as this node knows it.
struct ViewMember {
    std::string name;
    std::string address;            ///< A.B.C.D
    std::uint64_t incarnation = 0;  ///< of its process, as last met; 0: never met
    bool up = false;                ///< as the latest event said
};

/// The members of the cluster as this node sees them. Another node's view may differ.
struct View {
    std::uint64_t id = 0;             ///< grows with each view of this node
    std::string self;                 ///< this node's name: always a member
    std::vector<ViewMember> members;  ///< the others, in order
};

/// One figure of the engine's.
struct Counter {
    std::string name;
    std::uint64_t value = 0;
};

/// An engine: one node of the cluster on one device.
///
/// Thread: started, polled, sent through and stopped by one thread, its owner. `inline` mode: poll() is the worker's
/// turn. `dedicated` mode: a worker of its own runs on another core and poll() only takes what it has received.
/// A process has one engine, once (DPDK's EAL starts once a process): a second start() answers with an error.
class Engine {
public:
    /// Starts on what `config` says, or explains what failed and what to do about it; then nothing is left behind.
    static Result<Engine> start(const Config& config);

    Engine(Engine&& other) noexcept;
    Engine& operator=(Engine&&) = delete;
    /// Stops as stop() does, waiting a second at most.
    ~Engine();

    /// The configured peer of that name.
    Result<Peer> peer(std::string_view name) const;
    [[nodiscard]] std::vector<Peer> peers() const;

    /// Makes these nodes, and this one, whose name may be among them or not, the members of the view. With `views =
    /// "external"` only. Returns once the request is queued, without waiting for anything: the control thread makes it
    /// so, and Event::view_changed tells when; peers that left go down (`excluded`) and those that came are greeted.
    /// Errors: a name that is not configured, or comes twice; `views = "static"`; another thread's call; an engine that
    /// stops; too many requests under way.
    Result<void> install_view(std::span<const std::string_view> names);
    /// The view in force, which may be newer than the latest Event::view_changed. For people and tests; it locks for a
    /// moment. Without members from another thread than the owner's.
    [[nodiscard]] View view() const;

    /// Takes a turn and hands what has arrived to `handler`, at most `limit` items, in order:
    /// `handler.on_message(const Message&)` and `handler.on_event(const Event&)`. The handler may send, not poll.
    /// Returns how many items there were; 0 from a thread that is not the owner.
    template <typename Handler>
    std::size_t poll(Handler&& handler, std::size_t limit = 256);

    /// Orderly end: refuses new messages, lets what was accepted be acknowledged (what is not within `linger` is
    /// reported), tells the peers, flushes acks, frees everything. `handler` gets what arrives meanwhile.
    template <typename Handler>
    void stop(Handler&& handler, std::chrono::nanoseconds linger = std::chrono::seconds(1));

    /// Named counters, for people and tests. Reads them at some cost: not for the hot path.
    [[nodiscard]] std::vector<Counter> counters() const;

    /// One line on the device: name, driver, MAC, what is done in software.
    [[nodiscard]] std::string describe() const;

private:
    friend engine::Admin& engine::admin_of(Engine& engine);
    friend struct detail::Access;
    explicit Engine(std::unique_ptr<detail::EngineState> state);
    std::span<const detail::Item> begin_poll(std::size_t limit);
    void end_poll();
    bool begin_stop(std::chrono::nanoseconds linger);
    bool stop_done();
    void finish_stop();

    std::unique_ptr<detail::EngineState> state_;
};

namespace detail {

/// A message or an event of one turn, in order.
struct Item {
    const std::byte* data;  ///< a message's bytes; of an event: its Event
    std::uint64_t number;   ///< 0: an event
    PeerState* peer;
    Opaque* buffer;
    std::uint32_t size;
    std::uint32_t reserved;

    [[nodiscard]] Message message() const { return {Peer(peer), number, data, size, buffer}; }
    [[nodiscard]] const Event& event() const { return *static_cast<const Event*>(static_cast<const void*>(data)); }
};

}  // namespace detail

template <typename Handler>
std::size_t Engine::poll(Handler&& handler, std::size_t limit) {
    const std::span<const detail::Item> items = begin_poll(limit);
    for (const detail::Item& item : items) {
        if (item.number != 0) [[likely]] {
            handler.on_message(item.message());
        } else {
            handler.on_event(item.event());
        }
    }
    const std::size_t count = items.size();
    end_poll();
    return count;
}

template <typename Handler>
void Engine::stop(Handler&& handler, std::chrono::nanoseconds linger) {
    if (!begin_stop(linger)) {
        return;
    }
    while (!stop_done()) {
        poll(handler);
    }
    finish_stop();
}

}  // namespace bowline
