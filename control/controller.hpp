#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/counters.hpp"
#include "control/deadline_queue.hpp"
#include "control/liveness.hpp"
#include "control/log.hpp"
#include "control/neighbours.hpp"
#include "control/token_bucket.hpp"
#include "control/view.hpp"
#include "dataplane/control_messages.hpp"
#include "protocol/association.hpp"
#include "protocol/inspector.hpp"
#include "protocol/random.hpp"
#include "protocol/ring_queue.hpp"
#include "protocol/settings.hpp"
#include "protocol/time.hpp"

namespace bowline::control {

/// Who and where this node is.
struct LocalNode {
    protocol::wire::NodeName name;
    std::uint64_t incarnation = 0;
    OwnAddress address;
    std::uint16_t udp_port = 7727;
    std::uint16_t vlan = protocol::wire::kNoVlan;
    std::uint16_t max_packet = 0;  ///< largest UDP payload that we take, bytes
};

/// A configured peer. Its number is its place in the configuration.
struct PeerSpec {
    protocol::wire::NodeName name;
    protocol::wire::Ipv4Address ip;
    std::optional<protocol::wire::MacAddress> static_mac;
};

/// The control thread's mind: what a worker reports goes in, what it shall do comes out. It keeps an association with
/// every configured peer that answers, and sequences the parts that know how: Handshake, Neighbours, Liveness.
///
/// Owner: the control thread, which drives it in this order, again and again:
///
///     while (controller.takes_notice() && notices.pop(notice)) controller.on_notice(now, notice);
///     if (controller.next_deadline() <= now) controller.on_deadline(now);
///     while (commands.has_room() && controller.poll_command(command)) commands.push(command);
///
/// Every packet that a notice carries comes back in exactly one command. Commands are bounded: what does not fit now is
/// left due, and next_deadline() stays in the past until it has been said. Allocates only when it is made, and for the
/// words of the log.
class Controller {
public:
    /// A power of two; and how many of them one notice can need.
    static constexpr std::size_t kCommandsMax = 512;
    static constexpr std::size_t kCommandsPerNotice = 16;

    /// At most 32,767 peers, with distinct names and addresses; `activity`: one a peer, outlives this.
    Controller(const protocol::Settings& settings, const LocalNode& local, std::span<const PeerSpec> peers,
               protocol::Random random, std::span<const dataplane::PeerActivity> activity, LogSink log);

    /// Tells the network where we are and begins to greet every peer.
    void start(protocol::Time now);
    /// Tells every associated peer that we stop (CLOSE), and greets and answers nobody from now on. stop_said(): the
    /// worker has all of it.
    void begin_stop(protocol::Time now);
    [[nodiscard]] bool stop_said() const { return stopping_ && closes_left_ == 0 && commands_.empty(); }

    /// True when on_notice() may be called: there is room for whatever follows from it.
    [[nodiscard]] bool takes_notice() const { return room() >= kCommandsPerNotice; }
    void on_notice(protocol::Time now, const dataplane::Notice& notice);

    void on_deadline(protocol::Time now);
    [[nodiscard]] protocol::Time next_deadline() const;

    // — views, and an operator's word; between notices —

    /// These peers, in this order, and this node are the members from now on (a peer that is new is greeted at once).
    /// Their association is left alone; messages flow only between members.
    void install_view(protocol::Time now, std::span<const dataplane::PeerIndex> peers);
    [[nodiscard]] const View& view() const { return view_; }
    /// The present view without this peer.
    void exclude(protocol::Time now, dataplane::PeerIndex peer);
    /// Closes the connections with the peer, both directions, as idle expiry does (CLOSE); the next message opens anew.
    void close(protocol::Time now, dataplane::PeerIndex peer);
    /// A new conn-id for the connection to the peer; everything unacknowledged is sent again under it (R7).
    void rotate(protocol::Time now, dataplane::PeerIndex peer);
    /// Drops the association with the peer and what is remembered of its stream (R5).
    void forget(protocol::Time now, dataplane::PeerIndex peer);

    /// The next command for the worker; false: none.
    [[nodiscard]] bool poll_command(dataplane::Command& command);

    /// Readable from any thread.
    [[nodiscard]] const Counters& counters() const { return counters_; }
    [[nodiscard]] bool associated(dataplane::PeerIndex peer) const { return peers_[peer].handshake.in_use(); }
    [[nodiscard]] const protocol::Handshake& handshake(dataplane::PeerIndex peer) const {
        return peers_[peer].handshake;
    }

    void check_invariants() const;

private:
    friend struct bowline::Inspector;
    struct Peer {
        PeerSpec spec;
        protocol::Handshake handshake;
        TokenBucket resets;
        /// Source of the HELLO that is being answered, which is where the answer goes; zero: none is.
        protocol::wire::MacAddress greeted_from{};
        std::optional<std::uint64_t> incarnation{};  ///< of its latest association
        bool endpoints_due = true;                   ///< the worker does not have the latest
        bool close_due = false;
        bool in_view = false;
        bool worker_has_in_view = false;                                     ///< what the worker has been told
        dataplane::DownReason out_reason = dataplane::DownReason::excluded;  ///< why it is out of view
        bool close_connections_due = false;
        bool rotate_due = false;
        bool forget_due = false;
        std::uint64_t data_packets = 0;  ///< as last looked at, for idle expiry
        protocol::Time busy_at{};        ///< when that last changed
    };

    /// What becomes of a notice's packet: goes out again with so many bytes, or, 0, back to its pool.
    using ReplyBytes = std::uint32_t;

    // — frames —
    [[nodiscard]] ReplyBytes on_frame(protocol::Time now, const dataplane::Notice& notice);
    [[nodiscard]] ReplyBytes on_echo_request(protocol::Time now, const dataplane::Notice& notice);
    void on_arp(protocol::Time now, const protocol::wire::ParsedFrame& frame);
    void on_greeting(protocol::Time now, const protocol::wire::ParsedFrame& frame);
    void on_hello(protocol::Time now, dataplane::PeerIndex index, const protocol::wire::ParsedFrame& frame,
                  const protocol::wire::Hello& hello);
    void on_hello_ack(protocol::Time now, dataplane::PeerIndex index, const protocol::wire::ParsedFrame& frame,
                      const protocol::wire::Hello& hello);
    void on_hello_done(protocol::Time now, dataplane::PeerIndex index, const protocol::wire::ParsedFrame& frame,
                       const protocol::wire::Segment& segment);
    void on_unknown_tag(protocol::Time now, const dataplane::Notice& notice);
    void on_reset(protocol::Time now, const dataplane::Notice& notice);
    void on_close(protocol::Time now, const dataplane::Notice& notice);
    [[nodiscard]] bool parse_ours(const dataplane::Notice& notice, protocol::wire::ParsedFrame& frame);
    [[nodiscard]] bool parse_datagram(const dataplane::Notice& notice, protocol::wire::ParsedFrame& frame,
                                      protocol::wire::Segment& segment);
    void refuse(protocol::Time now, protocol::HandshakeRefusal refusal, const Peer& peer,
                const protocol::wire::Hello& hello);

    // — views —
    [[nodiscard]] bool is_static() const { return settings_.views == protocol::ViewSource::fixed; }
    void set_in_view(protocol::Time now, dataplane::PeerIndex index, bool in_view, dataplane::DownReason reason);
    void change_view(protocol::Time now);
    void leave(protocol::Time now, dataplane::PeerIndex index, dataplane::DownReason reason);
    void on_heard(protocol::Time now, dataplane::PeerIndex index);
    void on_gave_up(protocol::Time now, dataplane::PeerIndex index);
    void say_view(protocol::Time now, dataplane::PeerIndex index);
    void say_operators_word(protocol::Time now, dataplane::PeerIndex index);
    [[nodiscard]] bool is_view_due() const { return memberships_left_ == 0 && view_said_ != view_.id; }
    void say_view_changed();
    void look_for_idle(protocol::Time now, dataplane::PeerIndex index);

    // — peers —
    void on_confirmed(protocol::Time now, const dataplane::Notice& notice);
    void on_associated(protocol::Time now, dataplane::PeerIndex index);
    void on_reachable(protocol::Time now, dataplane::PeerIndex index, protocol::wire::MacAddress mac);
    void on_hop_changed(protocol::Time now, Neighbours::Hop hop);
    void dissociate(protocol::Time now, dataplane::PeerIndex index, dataplane::DownReason reason,
                    protocol::Duration greet_after);
    void service(protocol::Time now, dataplane::PeerIndex index);
    void say_actions(dataplane::PeerIndex index);
    [[nodiscard]] dataplane::Association association_of(dataplane::PeerIndex index,
                                                        const protocol::Agreement& agreement) const;
    void say_endpoints(dataplane::PeerIndex index);
    void transmit_handshake(protocol::Time now, dataplane::PeerIndex index);
    void on_liveness(protocol::Time now, const Liveness::Due& due);
    [[nodiscard]] bool is_own_hop(dataplane::PeerIndex index) const;
    [[nodiscard]] dataplane::PeerIndex find_peer(protocol::wire::Ipv4Address ip) const;
    [[nodiscard]] protocol::wire::Endpoints endpoints_to(protocol::wire::Ipv4Address ip,
                                                         protocol::wire::MacAddress mac) const;

    // — output —
    [[nodiscard]] std::size_t room() const { return kCommandsMax - commands_.size(); }
    [[nodiscard]] bool has_room_for_deadline() const { return room() >= 2 * kCommandsPerNotice; }
    void push(const dataplane::Command& command) { commands_.push(command); }
    void say(dataplane::Command::Kind kind, dataplane::PeerIndex index, std::uint64_t number = 0);
    void transmit(const dataplane::ControlFrame& frame);
    void warn(protocol::Time now, const std::string& text);
    void log(LogLevel level, const std::string& text) const;

    protocol::Settings settings_;
    LocalNode local_;
    protocol::Random random_;
    LogSink log_;
    Counters counters_;
    Neighbours neighbours_;
    Liveness liveness_;
    std::vector<Peer> peers_;
    std::vector<dataplane::PeerIndex> by_ip_;  ///< sorted by address
    DeadlineQueue due_;                        ///< peers that service() has something to do for

    std::vector<dataplane::Command> command_storage_;
    protocol::RingQueue<dataplane::Command> commands_;

    TokenBucket echoes_;
    TokenBucket arp_replies_;
    TokenBucket warnings_;
    DeadlineQueue idle_;  ///< when the connections of a peer are to be looked at again
    std::span<const dataplane::PeerActivity> activity_;

    View view_;
    std::uint64_t view_said_ = 0;       ///< id of the view that the worker has been told of
    std::size_t memberships_left_ = 0;  ///< of the present view, that the worker has not been told of
    bool stopping_ = false;
    std::size_t closes_left_ = 0;
};

}  // namespace bowline::control
