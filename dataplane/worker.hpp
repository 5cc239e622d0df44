#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/connection_snapshot.hpp"
#include "dataplane/control_messages.hpp"
#include "dataplane/deadline_wheel.hpp"
#include "dataplane/offer.hpp"
#include "dataplane/peer.hpp"
#include "dataplane/port.hpp"
#include "dataplane/spsc_ring.hpp"
#include "dataplane/worker_config.hpp"
#include "protocol/mutant.hpp"
#include "protocol/random.hpp"
#include "protocol/time.hpp"
#include "protocol/wire/control_body.hpp"
#include "protocol/wire/header.hpp"
#include "protocol/wire/plain_data.hpp"

namespace bowline::dataplane {

/// A polling worker: one device queue pair, and the streams of its peers, which it owns outright. It runs the protocol;
/// what control decides reaches it as commands.
///
/// One turn is receive() - commands, a burst, admission - and send() - what is queued, lost packets, acks, deadlines,
/// one burst out. Between the two the application reads (in inline mode) and may send. A turn looks only at peers that
/// have work: its cost does not grow with idle ones. Nothing here locks, allocates, logs or calls the system.
///
/// Thread: one, its owner, for every function. `now` never goes back.
template <Port P>
class Worker {
public:
    /// `activity`: one a peer, shared with control. The rings outlive the worker.
    Worker(P& port, const WorkerConfig& config, SpscRing<Command>& commands, SpscRing<Notice>& notices,
           std::span<PeerActivity> activity, protocol::Random random, protocol::Time now);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // — the turn —

    /// Takes a burst from the device, for receive() to deal with. True when this turn has something to do, deadlines
    /// apart: where it has not, nothing is readable() and nothing due(), the caller may leave out the rest of it.
    bool fetch();
    [[nodiscard]] bool due(protocol::Time now) const { return wheel_.due(now); }
    void receive(protocol::Time now);
    void send(protocol::Time now);
    /// When send() next has something to do if nothing happens before; the simulator sleeps until then.
    [[nodiscard]] protocol::Time next_deadline() const;

    // — sending; any time between turns and while reading —

    /// Accepts a message and gives it a number, or refuses it without a trace.
    Offer offer(PeerIndex peer, protocol::Time now, const std::byte* bytes, std::size_t size, std::uint64_t& number);
    /// Room for `size` bytes in the open packet; commit_claim() or abandon it (by doing nothing) before the next call.
    Offer try_claim(PeerIndex peer, protocol::Time now, std::size_t size, std::byte*& at);
    std::uint64_t commit_claim(PeerIndex peer, std::size_t size);
    [[nodiscard]] std::size_t claim_max(PeerIndex peer) const {
        return peers_[peer]->frames_bytes_max - kClaimOverhead;
    }

    // — reading, on the worker's own thread (inline mode) —

    /// Hands out at most `limit` messages and events of all peers; see MessageReader. finish_batch() before receive().
    template <typename OnMessage, typename OnEvent>
    std::size_t read(std::size_t limit, OnMessage&& on_message, OnEvent&& on_event);
    void finish_batch();
    [[nodiscard]] bool readable() const { return ready_count_ > 0; }
    /// The application has sent something, or something else waits to leave.
    [[nodiscard]] bool has_to_send() const { return dirty_count_ > 0 || tx_count_ > 0; }

    // — working for an application on another thread (dedicated mode) —

    /// Gives every peer a send ring of `bytes`, before the first turn.
    void open_inboxes(std::size_t bytes);
    /// The application has sent to the peer or has read what it had received: between receive() and send().
    void on_doorbell(PeerIndex peer);
    /// Hands every peer that has had something new to read since the last call to `ready(peer)`.
    template <typename Ready>
    void take_ready(Ready&& ready);

    // — stopping —

    /// Refuses new messages.
    void begin_stop() { stopping_ = true; }
    /// Reports what is left as undelivered, peer by peer, as events for a last read().
    void report_all(protocol::Time now);
    /// Nothing is queued or unacknowledged, no ack is owed and the device has taken everything.
    [[nodiscard]] bool drained() const;

    // — what is known —

    [[nodiscard]] Peer& peer(PeerIndex index) { return *peers_[index]; }
    [[nodiscard]] const Peer& peer(PeerIndex index) const { return *peers_[index]; }
    /// With the node itself, which is the last one: what it sends to itself comes out of its own ring.
    [[nodiscard]] std::size_t peer_count() const { return peers_.size(); }
    [[nodiscard]] PeerIndex self() const { return config_.peers; }
    [[nodiscard]] const WorkerCounters& counters() const { return counters_; }
    [[nodiscard]] std::uint64_t decode_errors(protocol::wire::DecodeError e) const {
        return decode_errors_[static_cast<std::size_t>(e)];
    }
    [[nodiscard]] std::uint64_t strays(protocol::wire::Stray s) const { return strays_[static_cast<std::size_t>(s)]; }
    [[nodiscard]] std::uint64_t data_packets() const { return data_packets_; }
    /// Copies the worker's own figures and those of `count` peers from `first` on.
    void copy_figures(WorkerSnapshot& out, std::size_t first, std::size_t count) const;

    void check_invariants() const;

private:
    static constexpr std::size_t kBurst = 32;
    static constexpr std::size_t kTxBatch = 64;
    static constexpr std::size_t kTurnPackets = 64;  ///< of one peer in one turn, so that none holds up the others
    /// Of a data packet, beside its frames.
    static constexpr std::uint32_t kPacketOverhead =
        protocol::wire::kHeaderBytes + protocol::wire::kFirstExtensionBytes;
    static constexpr std::size_t kClaimOverhead = protocol::wire::kFrameHeaderBytes;

    struct Slot {
        std::uint32_t tag = 0;  ///< 0: free
        bool expected = false;
    };

    // receive (worker_receive.hpp)
    void receive_packet(protocol::Time now, Packet* packet);
    void on_segment(protocol::Time now, Packet* packet, const RxFrame& frame, const protocol::wire::Segment& segment);
    bool on_data(protocol::Time now, Peer& peer, Packet* packet, const protocol::wire::Segment& segment);
    void on_ack(protocol::Time now, Peer& peer, const protocol::wire::Segment& segment);
    bool on_close(protocol::Time now, Peer& peer, Packet* packet, const RxFrame& frame,
                  const protocol::wire::Segment& segment);
    void on_need_first(Peer& peer, const protocol::wire::Segment& segment);
    void on_excluded_data(protocol::Time now, Peer& peer);
    bool ask_first(protocol::Time now, Peer& peer, std::uint32_t conn_id);
    void answer_probe(protocol::Time now, Peer& peer);
    void note_heard_out_of_view(Peer& peer);
    [[nodiscard]] bool is_known_tag(const protocol::wire::Header& header) const;
    void pass_to_control(Notice::Kind kind, PeerIndex peer, Packet* packet, const RxFrame& frame);

    // the way of nearly every packet (worker_fast_path.hpp)
    bool receive_next(protocol::Time now, Packet* packet);
    bool send_open_alone(protocol::Time now, Peer& peer);
    /// Applies the ack that receive_next() has put off, if there is one.
    void settle_ack(protocol::Time now) {
        if (Peer* const peer = std::exchange(ack_deferred_of_, nullptr); peer != nullptr) {
            peer->send.on_ack(now, deferred_ack_, [this](Packet* p) { release_data(p); });
        }
    }

    // commands (worker_commands.hpp)
    void apply_commands(protocol::Time now);
    void apply(protocol::Time now, const Command& command);
    void expect(Peer& peer, const Association& association);
    bool associate(protocol::Time now, Peer& peer, const Association& association);
    void resume_sending(protocol::Time now, Peer& peer, const Association& association, bool restarted);
    void dissociate(protocol::Time now, Peer& peer, DownReason reason);
    void drop_tags(Peer& peer);
    void forget(Peer& peer);
    void close_connections(protocol::Time now, Peer& peer);
    void report_abandoned(Peer& peer, bool nothing_uncertain);
    void report(Peer& peer, const protocol::Abandoned& abandoned);
    void push_event(Peer& peer, PeerEvent event);
    void transmit_frame(protocol::Time now, const ControlFrame& frame);
    void send_close(protocol::Time now, Peer& peer, protocol::wire::CloseReason reason);
    static void copy_peer(const Peer& peer, ConnectionSnapshot& out);

    // views (worker_views.hpp)
    void admit(protocol::Time now, Peer& peer);
    void enter_view(protocol::Time now, Peer& peer);
    void exclude(protocol::Time now, Peer& peer, DownReason reason);
    void rotate(protocol::Time now, Peer& peer, std::uint64_t conn_id);
    void come_up(protocol::Time now, Peer& peer);
    void tell_view(std::uint64_t id);
    void on_events_taken(Peer& peer);

    // packing (worker_pack.hpp)
    Offer check_offer(Peer& peer, std::size_t size);
    void ask_for_greeting(Peer& peer);
    Offer make_room(Peer& peer, protocol::Time now, std::size_t size, std::byte*& at);
    std::uint64_t commit(Peer& peer, std::size_t size);
    Offer offer_now(Peer& peer, protocol::Time now, const std::byte* bytes, std::size_t size, std::uint64_t& number);
    bool open_packet(Peer& peer);
    bool seal_open(protocol::Time now, Peer& peer);
    Offer offer_fragments(Peer& peer, protocol::Time now, const std::byte* bytes, std::size_t size);
    std::size_t cut(Peer& peer, protocol::Time now, const std::byte* bytes, std::size_t from, std::size_t total);
    void continue_large(protocol::Time now, Peer& peer);
    void drain_inbox(protocol::Time now, Peer& peer);
    void end_large(Peer& peer);

    // send (worker_send.hpp)
    void serve_data(protocol::Time now, Peer& peer);
    void serve_self(protocol::Time now, Peer& own);
    bool open_for_data(protocol::Time now, Peer& peer);
    [[nodiscard]] bool has_something_to_send(const Peer& peer) const;
    void queue_what_waits(protocol::Time now, Peer& peer);
    void serve_acks(protocol::Time now, Peer& peer);
    void serve_deadline(protocol::Time now, Peer& peer);
    void give_up(protocol::Time now, Peer& peer);
    bool has_more(protocol::Time now, Peer& peer);
    bool send_data(protocol::Time now, Peer& peer, protocol::Seqno seqno);
    bool send_control(protocol::Time now, Peer& peer, protocol::wire::Type type, std::span<const std::byte> body = {},
                      std::uint32_t about_conn_id = 0);
#ifdef BOWLINE_MUTANTS
    void send_discarded_ack(protocol::Time now, Peer& peer, const protocol::wire::Header& discarded);
#endif
    bool send_ack(protocol::Time now, Peer& peer);
    protocol::wire::Header make_header(protocol::Time now, const Peer& peer, protocol::wire::Type type) const;
    void finish_packet(Peer& peer, Packet* packet, std::byte* bowline, std::size_t bowline_bytes);
    void enqueue(Packet* packet);
    void transmit();
    [[nodiscard]] bool tx_room() const { return tx_count_ < kTxBatch; }
    void note_sent(protocol::Time now, Peer& peer);

    void mark_dirty(Peer& peer) {
        if (!peer.dirty) {
            peer.dirty = true;
            dirty_[dirty_count_++] = peer.index;
        }
    }
    void mark_ready(Peer& peer) {
        if (!peer.ready) {
            peer.ready = true;
            ready_[ready_count_++] = peer.index;
        }
    }
    /// Drops our reference to a packet of a send window.
    void release_data(Packet* packet) {
        --data_packets_;
        port_.free(packet);
    }
    void drop_position(Peer& peer, std::uint64_t position) { port_.free(peer.ring.take(position)); }

    P& port_;
    WorkerConfig config_;
    protocol::wire::PlainDataMatcher plain_data_{config_.ip, config_.udp_port};
    bool may_send_alone_ = config_.short_cuts && !protocol::any_mutant();
    bool may_match_plain_ = may_send_alone_ && config_.vlan == protocol::wire::kNoVlan;
    SpscRing<Command>& commands_;
    SpscRing<Notice>& notices_;
    std::span<PeerActivity> activity_;
    std::vector<std::unique_ptr<Peer>> peers_;
    std::vector<Slot> slots_;
    DeadlineWheel wheel_;
    std::vector<PeerIndex> dirty_;  ///< peers to be served by the next send()
    std::size_t dirty_count_ = 0;
    std::vector<PeerIndex> ready_;  ///< peers with something to read
    std::size_t ready_count_ = 0;
    std::vector<PeerIndex> reading_;  ///< peers that the present batch has read from
    std::size_t reading_count_ = 0;
    std::array<Packet*, kBurst> burst_{};  ///< fetched, not yet dealt with
    std::uint16_t burst_count_ = 0;
    std::array<Packet*, kTxBatch> tx_{};
    std::size_t tx_count_ = 0;
    Peer* ack_deferred_of_ = nullptr;  ///< whose ack waits until what goes out is out; between receive() and send()
    protocol::AckInfo deferred_ack_;
    std::uint64_t data_packets_ = 0;  ///< of the pool, in open packets and send windows
    bool stopping_ = false;
    std::uint64_t view_untold_ = 0;  ///< id of a view of which there was no room to tell the application yet; 0: none
    WorkerCounters counters_;
    std::array<std::uint64_t, protocol::wire::kDecodeErrors> decode_errors_{};
    std::array<std::uint64_t, protocol::wire::kStrays> strays_{};
};

}  // namespace bowline::dataplane

#include "dataplane/worker_commands.hpp"   // IWYU pragma: export
#include "dataplane/worker_fast_path.hpp"  // IWYU pragma: export
#include "dataplane/worker_pack.hpp"       // IWYU pragma: export
#include "dataplane/worker_receive.hpp"    // IWYU pragma: export
#include "dataplane/worker_send.hpp"       // IWYU pragma: export
#include "dataplane/worker_snapshot.hpp"   // IWYU pragma: export
#include "dataplane/worker_views.hpp"      // IWYU pragma: export
