#include "sim/node.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "protocol/check.hpp"

namespace bowline::sim {

namespace {

constexpr std::uint16_t kUdpPort = 7727;
constexpr std::size_t kCommands = 64;
/// How many turns that came to nothing double the time to the next one: a loop that cannot do what is due, such as
/// sending an ack without a packet, tries it as often as a real one would, for the simulator too often.
constexpr std::uint32_t kIdleDoublings = 6;

std::size_t notices_for(std::size_t peers) {
    return std::bit_ceil(std::max<std::size_t>((dataplane::kNoticesPerPeer + 4) * peers, 32));
}

protocol::wire::NodeName name_of(const std::string& text) {
    const auto name = protocol::wire::NodeName::make(text);
    BOWLINE_CHECK(name.has_value());
    return *name;
}

std::vector<control::PeerSpec> specs_of(NodeId self, const std::vector<std::string>& names) {
    std::vector<control::PeerSpec> specs;
    for (NodeId node = 0; node < names.size(); ++node) {
        if (node != self) {
            specs.push_back({.name = name_of(names[node]), .ip = Network::ip_of(node), .static_mac = std::nullopt});
        }
    }
    return specs;
}

}  // namespace

Node::Process::Process(const Node& node, std::uint64_t incarnation_of_it, SimPort& port,
                       std::span<const control::PeerSpec> peers, Time now)
    : incarnation(incarnation_of_it),
      activity(peers.size()),
      commands(kCommands),
      notices(notices_for(peers.size())),
      controller(node.config_.settings,
                 {.name = name_of(node.config_.name),
                  .incarnation = incarnation,
                  .address = {.mac = Network::mac_of(node.id_),
                              .ip = Network::ip_of(node.id_),
                              .prefix_bits = 24,
                              .gateway = std::nullopt},
                  .udp_port = kUdpPort,
                  .vlan = protocol::wire::kNoVlan,
                  .max_packet = node.config_.packet_bytes_max},
                 peers, protocol::Random(incarnation ^ 0xC0), activity,
                 [&node](control::LogLevel level, const std::string& text) {
                     if (node.log_) {
                         node.log_(level, text);
                     }
                 }),
      worker(port,
             {.settings = node.config_.settings,
              .peers = static_cast<std::uint16_t>(peers.size()),
              .incarnation = incarnation,
              .ip = Network::ip_of(node.id_),
              .udp_port = kUdpPort,
              .write_checksums = true,
              .verify_checksums = true,
              .short_cuts = node.id_ % 2 == 0,  // and the others do without: nobody may notice
              .packet_bytes_max = node.config_.packet_bytes_max,
              .data_packets_max = node.config_.data_packets_max},
             commands, notices, activity, protocol::Random(incarnation ^ 0xDA), now) {}

Node::Node(const NodeConfig& config, NodeId id, const std::vector<std::string>& names, Clock& clock, Network& network,
           Oracle& oracle, PacketPool& pool, protocol::Random random)
    : config_(config),
      id_(id),
      clock_(clock),
      network_(network),
      oracle_(oracle),
      pool_(pool),
      random_(random),
      port_(config.port, pool, network, id),
      application_(config.application, id, names.size(), oracle, protocol::Random(random_.next())),
      peers_(specs_of(id, names)) {
    pool.reset(config.pool_packets);
    network_.attach(id, *this);
    oracle.set_resends(id, config.settings.on_uncertain == protocol::OnUncertain::resend);
}

Node::~Node() {
    if (alive()) {
        crash();
    }
}

void Node::start() {
    BOWLINE_CHECK(!alive());
    const Time now = local(clock_.now());
    const std::uint64_t incarnation = random_.next() | 1U;
    oracle_.on_start(id_, incarnation);
    pool_.set_exhausted(false);  // a new process has a new pool
    stop_ = Stop::none;
    paused_ = false;
    orders_.clear();
    orders_under_way_ = false;
    process_ = std::make_unique<Process>(*this, incarnation, port_, peers_, now);
    process_->controller.start(now);
    if (config_.settings.views == protocol::ViewSource::external) {
        std::vector<NodeId> everybody(peers_.size() + 1);
        std::iota(everybody.begin(), everybody.end(), NodeId{0});
        install_view(everybody);
    }
    wake();
}

void Node::crash() {
    BOWLINE_CHECK(alive());
    oracle_.on_crash(id_);
    application_.end(port_);
    // The kernel takes everything back; here that is counted, so that a leak shows.
    dataplane::Command command;
    while (process_->controller.poll_command(command)) {
        if (command.packet != nullptr) {
            port_.free(command.packet);
        }
    }
    while (dataplane::Notice* notice = process_->notices.front()) {
        if (notice->packet != nullptr) {
            port_.free(notice->packet);
        }
        process_->notices.pop();
    }
    process_.reset();
    port_.clear();
    BOWLINE_CHECK(pool_.in_use() == 0);
}

void Node::begin_stop(Duration linger, bool then_end) {
    BOWLINE_CHECK(alive());
    process_->worker.begin_stop();
    stop_ = Stop::draining;
    stop_deadline_ = clock_.now() + linger;
    end_when_stopped_ = then_end;
    wake();
}

void Node::install_view(std::span<const NodeId> members) {
    Order view{.kind = Order::Kind::view};
    for (const NodeId member : members) {
        if (member != id_) {
            view.members.push_back(peer_of(member));
        }
    }
    order(std::move(view));
}

void Node::close(NodeId peer) { order({.kind = Order::Kind::close, .peer = peer}); }
void Node::forget(NodeId peer) { order({.kind = Order::Kind::forget, .peer = peer}); }
void Node::rotate(NodeId peer) { order({.kind = Order::Kind::rotate, .peer = peer}); }

void Node::order(Order order) {
    orders_.push_back(std::move(order));
    wake();
}

void Node::set_paused(bool paused) {
    paused_ = paused;
    wake();
}

void Node::send(const SendJob& job) {
    if (!orders_.empty() || orders_under_way_) {
        return order({.kind = Order::Kind::send, .job = job});
    }
    application_.send(job);
    wake();
}

void Node::set_stalled(bool stalled) {
    application_.set_stalled(stalled);
    wake();
}

void Node::set_exhausted(bool exhausted) {
    pool_.set_exhausted(exhausted);
    wake();
}

void Node::on_frame(std::span<const std::byte> frame) {
    if (alive()) {
        port_.receive(frame);
        wake();
    }
}

void Node::wake_at(Time at) {
    at = std::max(at, next_turn_);
    if (!alive() || at >= wake_planned_) {
        return;
    }
    wake_planned_ = at;
    clock_.plan(at, Event::Kind::wake, id_);
}

void Node::on_wake(Time at) {
    if (at != wake_planned_) {
        return;
    }
    wake_planned_ = Time::never();
    if (alive() && !paused_) {
        turn();
    }
}

void Node::turn() {
    ++turns_;
    const Time now = local(clock_.now());
    const std::uint64_t sent_before = port_.transmitted();
    const bool received = port_.has_received();
    next_turn_ = clock_.now() + config_.turn;
    port_.advance(clock_.now());

    process_->worker.receive(now);
    if (observer_) {
        observer_(id_);
    }
    if (!orders_.empty() || orders_under_way_) {
        give_orders(now);
    }
    run_control(now);
    bool more = application_.read(process_->worker, port_, now);
    run_application(now);
    process_->worker.send(now);
    advance_stop(now);
    process_->worker.check_invariants();
    if (observer_) {
        observer_(id_);
    }
    if (stop_ == Stop::done && end_when_stopped_) {
        return crash();  // nothing is left that its end could take with it
    }
    more = more || port_.has_received() || !process_->commands.empty() || !process_->notices.empty() ||
           stop_ == Stop::saying || stop_ == Stop::reporting || !orders_.empty() || orders_under_way_ ||
           (process_->worker.readable() && !application_.stalled());  // what a deadline has told the application
    plan_next(more, received || port_.transmitted() != sent_before);
}

/// Hands over what is due of orders and messages: each order waits until those before it are in effect.
void Node::give_orders(Time local_now) {
    const bool heard = process_->commands.empty() && process_->controller.next_deadline() > local_now;
    orders_under_way_ = orders_under_way_ && !heard;
    if (orders_under_way_) {
        return;
    }
    while (!orders_.empty() && orders_.front().kind == Order::Kind::send) {
        application_.send(orders_.front().job);
        orders_.pop_front();
    }
    if (orders_.empty()) {
        return;
    }
    run_application(local_now);
    while (!orders_.empty() && orders_.front().kind != Order::Kind::send) {
        give(local_now, orders_.front());
        orders_.pop_front();
    }
    orders_under_way_ = true;
}

void Node::give(Time local_now, const Order& order) {
    control::Controller& controller = process_->controller;
    switch (order.kind) {
        case Order::Kind::view:
            return controller.install_view(local_now, order.members);
        case Order::Kind::close:
            return controller.close(local_now, peer_of(order.peer));
        case Order::Kind::forget:
            oracle_.on_forget(id_, order.peer);
            return controller.forget(local_now, peer_of(order.peer));
        case Order::Kind::rotate:
            return controller.rotate(local_now, peer_of(order.peer));
        case Order::Kind::send:
            break;
    }
    BOWLINE_CHECK(order.kind != Order::Kind::send);  // the application's
}

void Node::run_control(Time local_now) {
    control::Controller& controller = process_->controller;
    while (controller.takes_notice()) {
        dataplane::Notice* notice = process_->notices.front();
        if (notice == nullptr) {
            break;
        }
        controller.on_notice(local_now, *notice);
        process_->notices.pop();
    }
    if (controller.next_deadline() <= local_now) {
        controller.on_deadline(local_now);
    }
    while (dataplane::Command* command = process_->commands.try_claim()) {
        if (!controller.poll_command(*command)) {
            break;
        }
        if (log_) {
            log_decision(*command);
        }
        process_->commands.publish();
    }
    controller.check_invariants();
}

/// What control has decided that no packet and no line of its own log shows.
void Node::log_decision(const dataplane::Command& command) const {
    const char* what = nullptr;
    switch (command.kind) {
        case dataplane::Command::Kind::dissociate:
            what = "is dissociated";
            break;
        case dataplane::Command::Kind::admit:
            what = "is admitted";
            break;
        case dataplane::Command::Kind::exclude:
            what = "is excluded";
            break;
        case dataplane::Command::Kind::close_connections:
            what = "has its connections closed";
            break;
        case dataplane::Command::Kind::rotate:
            what = "gets a new conn-id";
            break;
        default:
            return;
    }
    log_(control::LogLevel::debug, fmt::format("its worker hears: {} {}", peers_[command.peer].name.view(), what));
}

void Node::run_application(Time local_now) {
    // A packet for each message: the worker is let out between two offers, as in a loop that sends one at a time.
    for (int rounds = 0; rounds < 64; ++rounds) {
        const std::uint64_t before = port_.transmitted();
        application_.offer(process_->worker, local_now, process_->incarnation);
        if (application_.packs() || application_.has_nothing_to_send()) {
            return;
        }
        process_->worker.send(local_now);
        if (port_.transmitted() == before) {
            return;
        }
    }
}

void Node::advance_stop(Time local_now) {
    if (stop_ == Stop::draining && (process_->worker.drained() || clock_.now() >= stop_deadline_)) {
        process_->controller.begin_stop(local_now);
        stop_ = Stop::saying;
    } else if (stop_ == Stop::saying && process_->controller.stop_said() && process_->commands.empty()) {
        process_->worker.report_all(local_now);
        stop_ = Stop::reporting;
    } else if (stop_ == Stop::reporting && (!process_->worker.readable() || application_.stalled())) {
        stop_ = Stop::done;
    }
}

void Node::plan_next(bool more, bool moved) {
    Time next = protocol::earlier(process_->worker.next_deadline(), process_->controller.next_deadline());
    next = protocol::earlier(next, application_.next_deadline(local(clock_.now())));
    if (stop_ == Stop::draining) {
        next = protocol::earlier(next, local(stop_deadline_));
    }
    next = more ? clock_.now() : global(next);
    if (next > next_turn_) {
        idle_turns_ = 0;
        return wake_at(next);
    }
    idle_turns_ = moved ? 0 : std::min(idle_turns_ + 1, kIdleDoublings);
    wake_at(clock_.now() + config_.turn * (std::int64_t{1} << idle_turns_));
}

bool Node::settled_with(NodeId node) const {
    const protocol::Handshake& handshake = process_->controller.handshake(peer_of(node));
    const dataplane::Peer& peer = process_->worker.peer(peer_of(node));
    const bool is_static = config_.settings.views == protocol::ViewSource::fixed;
    return handshake.in_use() && !handshake.greeting() && !handshake.half_open() && peer.associated &&
           (peer.in_view || !is_static);
}

const char* Node::busy_with() const {
    if (application_.stalled() || paused_) {
        return "a stall";
    }
    if (!application_.idle()) {
        return "what its application has to send or holds";
    }
    if (port_.has_received() || !process_->commands.empty() || !process_->notices.empty()) {
        return "what it has just heard";
    }
    if (!process_->worker.drained()) {
        return "what is queued or not acknowledged";
    }
    for (dataplane::PeerIndex peer = 0; peer < peers_.size(); ++peer) {
        const dataplane::Peer& it = process_->worker.peer(peer);
        if (!it.send.drained()) {
            return "what waits for a peer";
        }
        if (it.reader.has_work()) {
            return "what its application has not read";
        }
        if (it.answer_probe) {
            return "a probe to answer";
        }
    }
    return nullptr;
}

bool Node::greets(NodeId node) const {
    const protocol::Handshake& handshake = process_->controller.handshake(peer_of(node));
    return handshake.greeting() || handshake.half_open();
}

const char* Node::owes() const {
    if (!paused_) {
        if (!orders_.empty() || orders_under_way_ || port_.has_received() || !process_->commands.empty() ||
            !process_->notices.empty()) {
            return "what it has just heard";
        }
        if (process_->worker.has_to_send()) {
            return "what it is about to send";
        }
        if (stop_ != Stop::none) {
            return "its stop";
        }
    }
    if (!application_.idle()) {
        return "what its application has to send or holds";
    }
    for (dataplane::PeerIndex peer = 0; peer < process_->worker.peer_count(); ++peer) {
        const dataplane::Peer& it = process_->worker.peer(peer);
        if (!it.send.drained() || it.open.has_frames() || it.large.active()) {
            return "what is queued or not acknowledged";
        }
        if (!application_.stalled() && !paused_ && it.reader.has_work()) {
            return "what its application has not read";
        }
        if (!paused_ && it.associated && (it.answer_probe || !it.receive.ack_deadline().is_never())) {
            return "an acknowledgement to send";
        }
    }
    return nullptr;
}

SenderView Node::sender_view(NodeId to) const {
    const dataplane::Peer& peer = process_->worker.peer(peer_of(to));
    return {.una = peer.send.window().una().value(),
            .acknowledged_message = peer.send.acknowledged_message(),
            .given_up_first = peer.send.given_up_first(),
            .given_up_last = peer.send.given_up_last(),
            .peer_incarnation = peer.incarnation};
}

ReceiverView Node::receiver_view(NodeId from) const {
    const protocol::StreamMemory memory = process_->worker.peer(peer_of(from)).receive.memory();
    return {.known = memory.known, .incarnation = memory.incarnation, .rcv_nxt = memory.rcv_nxt};
}

}  // namespace bowline::sim
