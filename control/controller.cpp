#include "control/controller.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "control/control_frame.hpp"
#include "protocol/check.hpp"

namespace bowline::control {

namespace wire = protocol::wire;
using dataplane::Command;
using dataplane::DownReason;
using dataplane::Notice;
using dataplane::PeerIndex;
using protocol::Duration;
using protocol::Handshake;
using protocol::HandshakeRefusal;
using protocol::Time;

namespace {

// Rates of what is answered to anybody. They bound the work that a stranger can cause, not what a neighbour needs.
constexpr Duration kEchoInterval = Duration::us(500);
constexpr std::uint32_t kEchoBurst = 256;
constexpr Duration kArpReplyInterval = Duration::ms(1);
constexpr std::uint32_t kArpReplyBurst = 256;
constexpr Duration kResetInterval = Duration::ms(10);  // for each peer
constexpr std::uint32_t kResetBurst = 16;
constexpr Duration kWarningInterval = Duration::s(1);
constexpr std::uint32_t kWarningBurst = 5;

std::vector<Neighbours::Wanted> wanted_of(std::span<const PeerSpec> peers) {
    std::vector<Neighbours::Wanted> wanted;
    wanted.reserve(peers.size());
    for (const PeerSpec& peer : peers) wanted.push_back({.ip = peer.ip, .static_mac = peer.static_mac});
    return wanted;
}

const char* words_of(DownReason reason) {
    switch (reason) {
        case DownReason::stopped:
            return "it stops";
        case DownReason::silent:
            return "it is silent";
        case DownReason::restarted:
            return "it has restarted";
        case DownReason::gave_up:
            return "it has acknowledged nothing for the give-up time";
        case DownReason::excluded:
            return "it is not in the view";
        case DownReason::none:
            break;
    }
    return "no reason given";
}

}  // namespace

Controller::Controller(const protocol::Settings& settings, const LocalNode& local, std::span<const PeerSpec> peers,
                       protocol::Random random, std::span<const dataplane::PeerActivity> activity, LogSink log)
    : settings_(settings),
      local_(local),
      random_(random),
      log_(std::move(log)),
      neighbours_(local.address, wanted_of(peers), random_, counters_),
      liveness_(settings, activity, counters_),
      by_ip_(peers.size()),
      due_(peers.size()),
      command_storage_(kCommandsMax),
      echoes_(kEchoInterval, kEchoBurst),
      arp_replies_(kArpReplyInterval, kArpReplyBurst),
      warnings_(kWarningInterval, kWarningBurst),
      idle_(peers.size()),
      activity_(activity) {
    constexpr std::size_t peers_max = 0x7FFF;  // slots have 16 bits, two for each peer
    BOWLINE_CHECK(peers.size() <= peers_max && activity.size() == peers.size());
    commands_.attach(command_storage_);
    peers_.reserve(peers.size());
    for (const PeerSpec& spec : peers) {
        const protocol::HandshakeIdentity identity = {
            .own_name = local.name,
            .peer_name = spec.name,
            .own_incarnation = local.incarnation,
            .slot_base = static_cast<std::uint16_t>(2 * peers_.size()),
            .max_packet = local.max_packet,
            .ack_delay_us = static_cast<std::uint32_t>(settings.ack_delay.ns() / 1'000),
            .message_max = settings.message_max,
        };
        peers_.push_back(Peer{.spec = spec,
                              .handshake = Handshake(identity, random_),
                              .resets = TokenBucket(kResetInterval, kResetBurst)});
        peers_.back().in_view = peers_.back().worker_has_in_view = is_static();
        if (is_static()) view_.peers.push_back(static_cast<PeerIndex>(peers_.size() - 1));
    }
    view_.id = view_said_ = is_static() ? 1 : 0;
    std::iota(by_ip_.begin(), by_ip_.end(), PeerIndex{0});
    std::ranges::sort(by_ip_, {}, [this](PeerIndex index) { return peers_[index].spec.ip; });
}

// — start and stop —

void Controller::start(Time now) {
    transmit(make_arp_frame(neighbours_.announcement(), wire::MacAddress::broadcast(), local_.vlan));
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        if (neighbours_.hop_of(i) == Neighbours::kNoHop) {
            log(LogLevel::error,
                fmt::format("peer '{}' at {} cannot be reached: the address is outside {}/{} and no gateway is "
                            "configured; set `gateway`, or give the peer's `mac`",
                            peers_[i].spec.name.view(), peers_[i].spec.ip.to_string(), local_.address.ip.to_string(),
                            local_.address.prefix_bits));
        }
        if (peers_[i].in_view) {
            peers_[i].handshake.greet(now);
            due_.set(static_cast<DeadlineQueue::Index>(i), now);
        }
        if (settings_.conn_expiry.ns() > 0) {
            idle_.set(static_cast<DeadlineQueue::Index>(i), now + settings_.conn_expiry);
        }
    }
}

void Controller::begin_stop(Time now) {
    if (stopping_) return;
    stopping_ = true;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        Peer& peer = peers_[i];
        peer.handshake.stop();
        peer.close_due = peer.handshake.in_use();
        closes_left_ += peer.close_due ? 1 : 0;
        liveness_.unwatch(static_cast<PeerIndex>(i));
        due_.set(static_cast<DeadlineQueue::Index>(i), now);
    }
}

// — time —

Time Controller::next_deadline() const {
    if (is_view_due()) return Time();
    return earlier(earlier(due_.next(), idle_.next()), earlier(neighbours_.next_deadline(), liveness_.next_deadline()));
}

void Controller::on_deadline(Time now) {
    // Whatever finds no room stays due.
    Liveness::Due verdict;
    while (has_room_for_deadline() && liveness_.poll(now, verdict)) on_liveness(now, verdict);

    DeadlineQueue::Index index = 0;
    while (has_room_for_deadline() && due_.pop_due(now, index)) service(now, static_cast<PeerIndex>(index));

    while (has_room_for_deadline() && idle_.pop_due(now, index)) look_for_idle(now, static_cast<PeerIndex>(index));

    if (has_room_for_deadline()) say_view_changed();

    Neighbours::Request request;
    while (has_room_for_deadline() && neighbours_.poll_request(now, request)) {
        transmit(make_arp_frame(request.arp, request.to, local_.vlan));
    }
}

void Controller::on_liveness(Time now, const Liveness::Due& due) {
    switch (due.verdict) {
        case Liveness::Verdict::heartbeat:
            return say(Command::Kind::heartbeat, due.peer);
        case Liveness::Verdict::probe:
            return say(Command::Kind::probe, due.peer);
        case Liveness::Verdict::silent:
            return leave(now, due.peer, DownReason::silent);
    }
}

// — notices —

void Controller::on_notice(Time now, const Notice& notice) {
    BOWLINE_CHECK(takes_notice());
    ReplyBytes reply_bytes = 0;
    switch (notice.kind) {
        case Notice::Kind::frame:
            reply_bytes = on_frame(now, notice);
            break;
        case Notice::Kind::unknown_tag:
            on_unknown_tag(now, notice);
            break;
        case Notice::Kind::reset:
            on_reset(now, notice);
            break;
        case Notice::Kind::associated:
            on_confirmed(now, notice);
            break;
        case Notice::Kind::close:
            on_close(now, notice);
            break;
        case Notice::Kind::wanted:
            BOWLINE_CHECK(notice.peer < peers_.size());
            if (!peers_[notice.peer].handshake.in_use()) {
                peers_[notice.peer].handshake.greet(now);
                service(now, notice.peer);
            }
            break;
        case Notice::Kind::gave_up:
            BOWLINE_CHECK(notice.peer < peers_.size());
            counters_.add(Counter::peers_gave_up);
            leave(now, notice.peer, DownReason::gave_up);
            break;
        case Notice::Kind::heard:
            BOWLINE_CHECK(notice.peer < peers_.size());
            on_heard(now, notice.peer);
            break;
        case Notice::Kind::need_first:
            BOWLINE_CHECK(notice.peer < peers_.size());
            counters_.add(Counter::rotations_asked);
            say(Command::Kind::rotate, notice.peer, notice.conn_id);
            log(LogLevel::debug, fmt::format("peer '{}' has no window for conn-id {}: it is rotated",
                                             peers_[notice.peer].spec.name.view(), notice.conn_id));
            break;
    }
    // The one place where packets go back.
    if (notice.packet == nullptr) return;
    Command command;
    command.kind = reply_bytes > 0 ? Command::Kind::transmit_packet : Command::Kind::release_packet;
    command.packet = notice.packet;
    command.packet_bytes = reply_bytes;
    push(command);
}

void Controller::on_confirmed(Time now, const Notice& notice) {
    BOWLINE_CHECK(notice.peer < peers_.size());
    Peer& peer = peers_[notice.peer];
    const HandshakeRefusal refusal = peer.handshake.on_confirmed(now, notice.local_tag);
    // The HELLO_DONE that confirmed it has been here already.
    if (refusal == HandshakeRefusal::duplicate) return;
    if (refusal != HandshakeRefusal::none) return counters_.add(refusal);
    // Whoever uses the tag has had the answer that was sent there.
    if (!peer.greeted_from.is_zero()) on_reachable(now, notice.peer, peer.greeted_from);
    on_associated(now, notice.peer);
}

// — peers —

void Controller::on_associated(Time now, PeerIndex index) {
    Peer& peer = peers_[index];
    const std::uint64_t incarnation = peer.handshake.agreement().peer.incarnation;
    const bool was_known = peer.incarnation.has_value();
    const bool has_restarted = was_known && *peer.incarnation != incarnation;
    if (has_restarted) counters_.add(Counter::peers_restarted);
    const bool was_up = liveness_.watches(index) && !has_restarted;
    peer.incarnation = incarnation;
    peer.greeted_from = {};
    counters_.add(Counter::associations);
    if (is_static() && !peer.in_view) {
        set_in_view(now, index, true, DownReason::none);
        change_view(now);
    }
    liveness_.watch(now, index);
    log(was_up ? LogLevel::debug : LogLevel::info,
        fmt::format("peer '{}' at {} is {}", peer.spec.name.view(), peer.spec.ip.to_string(),
                    was_up          ? "associated anew"
                    : has_restarted ? "up; it has restarted"
                                    : "up"));
    service(now, index);
}

void Controller::dissociate(Time now, PeerIndex index, DownReason reason, Duration greet_after) {
    Peer& peer = peers_[index];
    if (!peer.handshake.in_use()) return;
    if (is_static() && peer.in_view) {
        set_in_view(now, index, false, reason);
        change_view(now);
        say_view(now, index);
    }
    Command command;
    command.kind = Command::Kind::dissociate;
    command.peer = index;
    command.down_reason = reason;
    command.association = make_association(peer.handshake.agreement(), local_.max_packet);
    peer.handshake.on_dissociated();
    // First what was expected is cancelled: whether or not the worker has found it confirmed meanwhile, nothing is left
    // afterwards on either side.
    say_actions(index);
    push(command);
    liveness_.unwatch(index);
    if (peer.close_due) {
        peer.close_due = false;
        --closes_left_;
    }
    log(LogLevel::info,
        fmt::format("peer '{}' at {} is down: {}", peer.spec.name.view(), peer.spec.ip.to_string(), words_of(reason)));
    if (is_static() || peer.in_view) peer.handshake.greet_after(now, greet_after);
    service(now, index);
}

/// Says and sends whatever is due for the peer, and notes when there is more.
void Controller::service(Time now, PeerIndex index) {
    Peer& peer = peers_[index];
    if (peer.close_due) {
        peer.close_due = false;
        --closes_left_;
        say(Command::Kind::send_close, index);
    }
    peer.handshake.on_deadline(now);
    say_endpoints(index);
    say_operators_word(now, index);
    say_view(now, index);
    say_actions(index);
    transmit_handshake(now, index);
    if (!peer.handshake.half_open()) peer.greeted_from = {};
    due_.set(index, peer.handshake.next_deadline());
}

/// Before the association that uses them.
void Controller::say_endpoints(PeerIndex index) {
    const Neighbours::Hop hop = neighbours_.hop_of(index);
    Peer& peer = peers_[index];
    if (!peer.endpoints_due || hop == Neighbours::kNoHop) return;
    const std::optional<wire::MacAddress> mac = neighbours_.mac_of(hop);
    if (!mac) return;
    peer.endpoints_due = false;
    Command command;
    command.kind = Command::Kind::set_endpoints;
    command.peer = index;
    command.endpoints = endpoints_to(peer.spec.ip, *mac);
    push(command);
}

void Controller::say_actions(PeerIndex index) {
    Handshake::Action action;
    while (peers_[index].handshake.poll_action(action)) {
        Command command;
        command.peer = index;
        switch (action.kind) {
            case Handshake::Action::Kind::cancel:
                command.kind = Command::Kind::cancel_expected;
                break;
            case Handshake::Action::Kind::associate:
                command.kind = Command::Kind::associate;
                command.association = association_of(index, action.agreement);
                break;
            case Handshake::Action::Kind::expect:
                command.kind = Command::Kind::expect;
                command.association = association_of(index, action.agreement);
                break;
        }
        push(command);
    }
}

void Controller::transmit_handshake(Time now, PeerIndex index) {
    Peer& peer = peers_[index];
    const Neighbours::Hop hop = neighbours_.hop_of(index);
    if (!peer.handshake.has_transmit() || hop == Neighbours::kNoHop) return;
    const std::optional<wire::MacAddress> mac = neighbours_.mac_of(hop);
    if (!mac) {
        // It waits in the handshake, which keeps the newest and counts no time that it was not under way.
        neighbours_.want(now, hop);
        return;
    }
    Handshake::Outgoing out;
    while (peer.handshake.poll_transmit(now, out)) {
        const bool is_answer = out.type == wire::Type::hello_ack;
        // Where the peer's HELLO came from is where it is, if that HELLO is its own: enough for what proves nothing.
        const bool goes_back = out.type != wire::Type::hello_done && !peer.greeted_from.is_zero();
        const wire::Endpoints endpoints = endpoints_to(peer.spec.ip, goes_back ? peer.greeted_from : *mac);
        transmit(make_handshake_frame(out, endpoints, index));
        counters_.add(is_answer                       ? Counter::hello_ack_sent
                      : out.type == wire::Type::hello ? Counter::hello_sent
                                                      : Counter::hello_done_sent);
    }
}

void Controller::on_reachable(Time now, PeerIndex index, wire::MacAddress mac) {
    if (is_own_hop(index) && neighbours_.on_verified(now, neighbours_.hop_of(index), mac)) {
        on_hop_changed(now, neighbours_.hop_of(index));
    }
}

void Controller::on_hop_changed(Time now, Neighbours::Hop hop) {
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        if (neighbours_.hop_of(i) != hop) continue;
        peers_[i].endpoints_due = true;
        due_.hasten(static_cast<DeadlineQueue::Index>(i), now);
    }
}

/// Whether the peer is its own next hop and its MAC can be learned: what comes from it tells where it is.
bool Controller::is_own_hop(PeerIndex index) const {
    const Neighbours::Hop hop = neighbours_.hop_of(index);
    return hop != Neighbours::kNoHop && neighbours_.ip_of(hop) == peers_[index].spec.ip && !neighbours_.is_static(hop);
}

PeerIndex Controller::find_peer(wire::Ipv4Address ip) const {
    const auto ip_of = [this](PeerIndex index) { return peers_[index].spec.ip; };
    const auto at = std::ranges::lower_bound(by_ip_, ip, {}, ip_of);
    return at != by_ip_.end() && ip_of(*at) == ip ? *at : dataplane::kNoPeer;
}

wire::Endpoints Controller::endpoints_to(wire::Ipv4Address ip, wire::MacAddress mac) const {
    return {.src_mac = local_.address.mac,
            .dst_mac = mac,
            .src_ip = local_.address.ip,
            .dst_ip = ip,
            .src_port = local_.udp_port,
            .dst_port = local_.udp_port,
            .vlan = local_.vlan,
            .dscp = 0};
}

dataplane::Association Controller::association_of(PeerIndex index, const protocol::Agreement& agreement) const {
    dataplane::Association association = make_association(agreement, local_.max_packet);
    // Whoever answers is in a static view again; spares the first message a question.
    association.admit = is_static() || peers_[index].in_view;
    return association;
}

// — output —

bool Controller::poll_command(Command& command) {
    if (commands_.empty()) return false;
    command = commands_.front();
    commands_.pop();
    return true;
}

void Controller::say(Command::Kind kind, PeerIndex index, std::uint64_t number) {
    Command command;
    command.kind = kind;
    command.peer = index;
    command.number = number;
    push(command);
}

void Controller::transmit(const dataplane::ControlFrame& frame) {
    Command command;
    command.kind = Command::Kind::transmit;
    command.frame = frame;
    push(command);
}

void Controller::warn(Time now, const std::string& text) {
    if (!warnings_.try_take(now)) return counters_.add(Counter::warnings_suppressed);
    log(LogLevel::warning, text);
}

void Controller::log(LogLevel level, const std::string& text) const {
    if (log_) log_(level, text);
}

void Controller::check_invariants() const {
    due_.check_invariants();
    std::size_t closes = 0;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        const Peer& peer = peers_[i];
        peer.handshake.check_invariants();
        const auto index = static_cast<PeerIndex>(i);
        BOWLINE_CHECK(stopping_ || liveness_.watches(index) == peer.handshake.in_use());
        BOWLINE_CHECK(due_.deadline_of(index) <= peer.handshake.next_deadline());
        closes += peer.close_due ? 1 : 0;
    }
    BOWLINE_CHECK(closes == closes_left_);
}

}  // namespace bowline::control
