#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "dataplane/worker.hpp"
#include "protocol/inspector.hpp"
#include "protocol/random.hpp"
#include "sim/clock.hpp"
#include "sim/content.hpp"
#include "sim/oracle.hpp"
#include "sim/sim_port.hpp"

namespace bowline::sim {

using SimWorker = dataplane::Worker<SimPort>;

/// Messages that an application is to send.
struct SendJob {
    NodeId to = kNoNode;
    std::uint64_t count = 1;
    std::uint32_t size_min = 32;  ///< bytes; each message has a size between the two
    std::uint32_t size_max = 32;
    bool packed = false;               ///< several to a packet, as many as fit; else a packet each
    bool persistent = false;           ///< offered again also when the peer is excluded; else that ends the job
    Time alone_until = Time::never();  ///< the application's: from when on it no longer insists on a packet each
};

/// How an application behaves.
struct ApplicationConfig {
    std::size_t read_limit = 64;    ///< messages and events a batch
    std::uint32_t offers_max = 64;  ///< messages a turn and peer
    std::uint32_t claim_ppm = 0;    ///< sends by try_claim() and commit_claim() instead of offer()
    std::uint32_t hold_ppm = 0;     ///< keeps a message's packet for `hold_for` after its batch
    Duration hold_for = Duration::us(100);
};

/// The application of a simulated process: sends what it is told to, reads what comes, checks every byte by way of the
/// oracle, and can stop reading.
class Application {
public:
    /// `nodes`: of the simulation; the last of the worker's peers is the node itself.
    Application(const ApplicationConfig& config, NodeId self, std::size_t nodes, Oracle& oracle,
                protocol::Random random)
        : config_(config), self_(self), nodes_(static_cast<NodeId>(nodes)), oracle_(oracle), random_(random) {}

    // — what it is to do —

    void send(const SendJob& job) { jobs_.push_back(job); }
    void set_stalled(bool stalled) { stalled_ = stalled; }
    [[nodiscard]] bool stalled() const { return stalled_; }
    [[nodiscard]] bool has_nothing_to_send() const { return jobs_.empty(); }
    /// What it has to send goes out together.
    [[nodiscard]] bool packs() const {
        return std::all_of(jobs_.begin(), jobs_.end(), [](const SendJob& job) { return job.packed; });
    }
    /// Nothing more to send, and nothing kept.
    [[nodiscard]] bool idle() const { return jobs_.empty() && held_.empty(); }
    [[nodiscard]] std::uint64_t read_messages() const { return read_messages_; }

    // — in a turn of its worker, whose moment `local` is —

    /// Reads a batch. True: there may be more.
    bool read(SimWorker& worker, SimPort& port, Time local);
    /// Offers what is to be sent. True: more could be offered at once.
    bool offer(SimWorker& worker, Time local, std::uint64_t incarnation);
    /// When it wants a turn of itself.
    [[nodiscard]] Time next_deadline(Time local) const;
    /// The process ends: gives back what it holds, forgets what it was to do.
    void end(SimPort& port);

    /// The number of `node` among the peers of this one, and back.
    [[nodiscard]] dataplane::PeerIndex peer_of(NodeId node) const {
        return static_cast<dataplane::PeerIndex>(node < self_ ? node : node == self_ ? nodes_ - 1 : node - 1);
    }
    [[nodiscard]] NodeId node_of(dataplane::PeerIndex peer) const {
        return static_cast<NodeId>(peer + 1 == nodes_ ? self_ : peer < self_ ? peer : peer + 1);
    }
    /// Hears of every event that the application is told of.
    using Listener = std::function<void(NodeId peer, const dataplane::PeerEvent& event)>;
    void set_listener(Listener listener) { listener_ = std::move(listener); }

private:
    friend struct bowline::Inspector;
    struct Held {
        Packet* packet;
        std::span<const std::byte> bytes;
        ContentKey key;
        Time until;
    };
    enum class Offered : std::uint8_t { accepted, later, never };

    void on_event(dataplane::PeerIndex peer, const dataplane::PeerEvent& event);
    void release_due(SimPort& port, Time local);
    Offered offer_one(SimWorker& worker, Time local, std::uint64_t incarnation, SendJob& job);
    [[nodiscard]] static bool goes_alone(const dataplane::Peer& peer, Time local, SendJob& job);
    [[nodiscard]] bool chance(std::uint32_t ppm) { return ppm != 0 && random_.below(1'000'000) < ppm; }

    ApplicationConfig config_;
    NodeId self_;
    NodeId nodes_;
    Oracle& oracle_;
    protocol::Random random_;
    Listener listener_;
    bool stalled_ = false;
    std::deque<SendJob> jobs_;
    std::vector<std::byte> buffer_;
    ContentKey buffered_;  ///< what stands in it
    std::uint32_t buffered_size_ = 0;
    std::deque<Held> held_;
    std::uint64_t read_messages_ = 0;
};

}  // namespace bowline::sim
