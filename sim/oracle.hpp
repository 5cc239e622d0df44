#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "protocol/inspector.hpp"
#include "sim/clock.hpp"
#include "sim/content.hpp"
#include "sim/ranges.hpp"

namespace bowline::sim {

/// What a worker's sending direction shows of itself.
struct SenderView {
    std::uint64_t una = 0;
    std::uint64_t acknowledged_message = 0;
    std::uint64_t given_up_first = 1;  ///< messages of the latest giving up
    std::uint64_t given_up_last = 0;
    std::uint64_t peer_incarnation = 0;  ///< that it sends to; 0: none yet
};

/// What a worker's receiving direction remembers.
struct ReceiverView {
    bool known = false;
    std::uint64_t incarnation = 0;  ///< of the sender
    std::uint64_t rcv_nxt = 0;
};

/// Judges a run by the contract (§1 of the design), for each ordered pair of incarnations: what the applications were
/// told is compared with what they did, at each step and at the end. It knows nothing of the protocol but for the two
/// numbers in which an acknowledgement consists (una, rcv_nxt).
///
/// It only ever notes violations, the first of which is the one to look at. Thread: the one that runs the simulation.
class Oracle {
public:
    explicit Oracle(const Clock& clock, std::size_t nodes);
    /// What nodes are called, and the moment that counts as 0, in what is said of violations.
    void set_words(std::vector<std::string> names, Time origin);
    /// `node` sends again what a peer has had to forget: at least once, not exactly once.
    void set_resends(NodeId node, bool resends) { nodes_[node].resends = resends; }

    // — what happens to processes —

    void on_start(NodeId node, std::uint64_t incarnation);
    void on_crash(NodeId node);
    /// `node` forgets the stream of `from`: it goes on wherever its sender takes it up.
    void on_forget(NodeId node, NodeId from);

    // — what the application of `node` does and hears —

    /// send() has taken a message for `to`.
    void on_accepted(NodeId node, NodeId to, std::uint64_t number, std::uint32_t size);
    /// send() has refused messages for `to`, for another reason than pressure.
    void on_refused(NodeId node, NodeId to, std::uint64_t count);
    void on_message(NodeId node, NodeId from, std::uint64_t number, std::span<const std::byte> bytes);
    void on_up(NodeId node, NodeId peer, std::uint64_t incarnation);
    void on_down(NodeId node, NodeId peer);
    void on_gap(NodeId node, NodeId from, std::uint64_t first, std::uint64_t last);
    void on_undelivered(NodeId node, NodeId to, std::uint64_t first, std::uint64_t last, bool certain);

    // — what its worker shows, after each step —

    /// `receiver`: of the worker of `to`, as it stands now; `receiver_alive`: that process lives.
    void on_state(NodeId node, NodeId to, const SenderView& sender, const ReceiverView& receiver,
                  std::uint64_t receiver_incarnation, bool receiver_alive);

    // — the end —

    /// Everything has been said. `owed`: pairs where messages may still wait (a peer that cannot be reached).
    void on_end(NodeId node, NodeId to, bool owed);

    // — the verdict —

    [[nodiscard]] bool violated() const { return !violation_.empty(); }
    /// The first violation, or nothing.
    [[nodiscard]] const std::string& violation() const { return violation_; }

    // — what is known, for expectations and figures —

    /// Incarnation of the stream that `node` now has from `from`, as its application has been told; 0: none.
    [[nodiscard]] std::uint64_t sender_incarnation(NodeId node, NodeId from) const {
        const Stream* stream = nodes_[node].in[from].stream;
        return stream == nullptr ? 0 : stream->incarnation;
    }
    /// What `node` has had from `from` since it was started last, in the order in which it came.
    [[nodiscard]] const std::vector<NumberRange>& delivered_to(NodeId node, NodeId from) const {
        return nodes_[node].in[from].delivered;
    }
    /// What the latest incarnation of `node` has been told of its messages to `to`.
    struct Told {
        std::vector<NumberRange> undelivered;  ///< all
        std::vector<NumberRange> uncertain;    ///< of these, those that are perhaps delivered
        std::uint64_t refused = 0;
    };
    [[nodiscard]] const Told& told(NodeId node, NodeId to) const { return nodes_[node].out[to]->told; }
    [[nodiscard]] std::uint64_t accepted() const { return accepted_; }
    [[nodiscard]] std::uint64_t delivered() const { return delivered_; }
    [[nodiscard]] std::uint64_t reported() const { return reported_; }

private:
    friend struct bowline::Inspector;
    enum class Fate : std::uint8_t {
        delivered = 1,
        reported_certain = 2,
        reported_uncertain = 4,
        gap = 8,  ///< the receiver was told that it is missing
    };
    struct Message {
        std::uint32_t size = 0;
        std::uint8_t fate = 0;
        [[nodiscard]] bool is(Fate f) const { return (fate & static_cast<std::uint8_t>(f)) != 0; }
        void set(Fate f) { fate = static_cast<std::uint8_t>(fate | static_cast<std::uint8_t>(f)); }
        [[nodiscard]] bool reported() const { return is(Fate::reported_certain) || is(Fate::reported_uncertain); }
    };
    /// The messages of one sender's incarnation to one node.
    struct Stream {
        std::uint64_t incarnation = 0;
        NodeId from = kNoNode;
        NodeId to = kNoNode;
        bool alive = true;
        std::vector<Message> messages;  ///< number 1 first
        struct Acknowledged {
            std::uint64_t first = 1;
            std::uint64_t last = 0;
            std::uint64_t receiver = 0;  ///< incarnation
        };
        std::vector<Acknowledged> acknowledged;  ///< in order, without overlap
        std::uint64_t settled = 0;               ///< through this message: acknowledged, or given up
        std::uint64_t given_up_last = 0;
        std::uint64_t given_up_una = 0;  ///< packets before it need not have been acknowledged
        std::uint64_t peer_incarnation = 0;
        std::uint64_t reported_through = 0;
        std::uint64_t twice_through = 0;  ///< what had come of these before the receiver forgot them may come once more
        std::uint64_t repeats = 0;        ///< so often its numbers may begin again further down
        Told told;
    };
    /// What an incarnation of a receiver has from one node.
    struct Inbound {
        bool up = false;
        Stream* stream = nullptr;
        std::uint64_t next = 0;  ///< number; 0: any
        std::vector<NumberRange> delivered;
    };
    struct Node {
        bool alive = false;
        bool resends = false;
        std::uint64_t incarnation = 0;
        std::vector<Stream*> out;  ///< of the present incarnation
        std::vector<Inbound> in;
    };

    void fail(NodeId node, NodeId peer, const std::string& what);
    [[nodiscard]] Stream* find(std::uint64_t incarnation, NodeId from, NodeId to);
    static void acknowledge(Stream& stream, std::uint64_t through, std::uint64_t receiver);

    const Clock& clock_;
    Time origin_;
    std::vector<std::string> names_;
    std::vector<Node> nodes_;
    std::vector<std::unique_ptr<Stream>> streams_;
    std::vector<std::uint64_t> incarnations_;  ///< all that ever were
    std::string violation_;
    std::uint64_t accepted_ = 0;
    std::uint64_t delivered_ = 0;
    std::uint64_t reported_ = 0;
};

}  // namespace bowline::sim
