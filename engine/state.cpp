#include "engine/state.hpp"

#include <algorithm>

#include <sched.h>

#include "dataplane/counter_names.hpp"

namespace bowline::detail {

using dataplane::PeerEvent;
using dataplane::PeerIndex;

namespace {

Event::Down down_of(dataplane::DownReason reason) {
    switch (reason) {
        case dataplane::DownReason::none:
            return Event::Down::none;
        case dataplane::DownReason::stopped:
            return Event::Down::stopped;
        case dataplane::DownReason::silent:
            return Event::Down::silent;
        case dataplane::DownReason::restarted:
            return Event::Down::restarted;
        case dataplane::DownReason::gave_up:
            return Event::Down::gave_up;
        case dataplane::DownReason::excluded:
            return Event::Down::excluded;
    }
    return Event::Down::none;
}

}  // namespace

EngineState::~EngineState() { tear_down(); }

void EngineState::add_message(PeerIndex peer, const std::byte* bytes, std::uint32_t size, std::uint64_t number,
                              protocol::Packet* packet) {
    items.push_back({.data = bytes,
                     .number = number,
                     .peer = peers[peer].get(),
                     .buffer = static_cast<Opaque*>(static_cast<void*>(packet)),
                     .size = size,
                     .reserved = 0});
    peers[peer]->delivered = number;
}

void EngineState::add_event(PeerIndex index, const PeerEvent& event) {
    PeerState& peer = *peers[index];
    Event& out = events.emplace_back();
    out.peer.state_ = &peer;
    out.first = event.first;
    out.last = event.last;
    switch (event.kind) {
        case PeerEvent::Kind::up:
            out.kind = Event::Kind::peer_up;
            peer.up = true;
            peer.incarnation = event.first;
            break;
        case PeerEvent::Kind::down:
            out.kind = Event::Kind::peer_down;
            out.down = down_of(event.down);
            peer.up = false;
            break;
        case PeerEvent::Kind::undelivered:
            out.kind = Event::Kind::undelivered;
            out.certainty = event.certain ? Certainty::undelivered : Certainty::uncertain;
            break;
        case PeerEvent::Kind::view_changed:
            out.kind = Event::Kind::view_changed;
            break;
        case PeerEvent::Kind::opened:
        case PeerEvent::Kind::restarted:
        case PeerEvent::Kind::forgotten:
            out.kind = Event::Kind::gap;
            break;
    }
    items.push_back({.data = static_cast<const std::byte*>(static_cast<const void*>(&out)),
                     .number = 0,
                     .peer = &peer,
                     .buffer = nullptr,
                     .size = 0,
                     .reserved = 0});
}

std::span<const Item> EngineState::begin_poll(std::size_t limit) {
    items.clear();
    events.clear();
    if (worker == nullptr) {
        return {};
    }
    if (!is_dedicated()) {
        // Read before the device is looked at, so that a packet that has come does not wait for the clock.
        now = clock.now();
        if (worker->has_to_send()) {
            // Sent since the last turn: it leaves first, and the device is looked at while it is on its way.
            worker->send(now);
        }
        idle_turn = !worker->fetch() && !worker->readable() && !worker->due(now);
        if (idle_turn) {
            return {};
        }
    } else {
        now = clock.now();
    }
    const std::size_t most = std::min(limit, items.capacity());
    const auto on_message = [this](PeerIndex peer, const std::byte* bytes, std::uint32_t size, std::uint64_t number,
                                   protocol::Packet* packet) { add_message(peer, bytes, size, number, packet); };
    const auto on_event = [this](PeerIndex peer, const PeerEvent& event) { add_event(peer, event); };
    if (is_dedicated()) {
        application->read(most, on_message, on_event);
    } else {
        worker->receive(now);
        worker->read(most, on_message, on_event);
    }
    return items;
}

void EngineState::end_poll() {
    if (worker == nullptr) {
        return;
    }
    if (is_dedicated()) {
        application->finish_batch();
        return;
    }
    if (!idle_turn) {
        // Answers leave before anything else; the buffers that they answer go back while they are on their way.
        worker->send(now);
        worker->finish_batch();
    }
    control->worker_turned();
}

// — dedicated mode —

void EngineState::run_dedicated() {
    if (config.cpu >= 0) {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET(static_cast<std::size_t>(config.cpu), &cpus);
        sched_setaffinity(0, sizeof cpus, &cpus);  // start() has seen to it that the CPU exists
    }
    const dataplane::dpdk::WorkerThread registration;
    while (!dedicated_end.load(std::memory_order_acquire)) {
        const protocol::Time turn = clock.now();
        worker->receive(turn);
        to_worker->answer([&](PeerIndex peer) { worker->on_doorbell(peer); });
        worker->send(turn);
        if (report_asked.load(std::memory_order_relaxed) && !report_done.load(std::memory_order_relaxed)) [[unlikely]] {
            worker->report_all(turn);
            worker->take_ready([&](PeerIndex peer) { from_worker->ring(peer); });
            report_done.store(true, std::memory_order_release);
        }
        worker->take_ready([&](PeerIndex peer) { from_worker->ring(peer); });
        if (snapshot_asked.load(std::memory_order_acquire)) [[unlikely]] {
            fill_snapshot();
            snapshot_asked.store(false, std::memory_order_release);
        }
        control->worker_turned();
    }
}

void EngineState::fill_snapshot() {
    for (std::size_t i = 0; i < snapshot->peers.size(); ++i) {
        snapshot->peers[i] = detail::status_of(*worker, static_cast<PeerIndex>(i));
    }
    worker->copy_figures(snapshot->figures, 0, worker->peer_count());
    snapshot->drained = worker->drained();
}

const Snapshot& EngineState::take_snapshot() {
    if (dedicated.joinable()) {
        snapshot_asked.store(true, std::memory_order_release);
        while (snapshot_asked.load(std::memory_order_acquire)) {
            std::this_thread::yield();  // the worker's next turn answers
        }
    }
    return *snapshot;
}

Result<void> EngineState::post(engine::ControlRequest request) {
    if (!on_owner_thread()) {
        return Error{Error::Kind::misuse, "called from a thread that does not own this engine"};
    }
    const bool running = stop == Stop::running;
    const auto posted = running ? control->post(std::move(request)) : engine::ControlInbox::Posted::closed;
    switch (posted) {
        case engine::ControlInbox::Posted::yes:
            return {};
        case engine::ControlInbox::Posted::full:
            return Error{Error::Kind::system, "too many requests wait for the engine already: poll and ask again"};
        case engine::ControlInbox::Posted::closed:
            break;
    }
    return Error{Error::Kind::misuse, "the engine stops or has stopped"};
}

// — stopping —

bool EngineState::drained() { return is_dedicated() ? take_snapshot().drained : worker->drained(); }

void EngineState::step_stop() {
    const protocol::Time time = clock.now();
    const bool late = time >= stop_deadline;
    switch (stop) {
        case Stop::running:
        case Stop::done:
            break;
        case Stop::draining:
            if (drained() || late) {
                // What the peers are told now stays true: nothing is admitted after it.
                control->begin_stop();
                stop = Stop::saying_farewell;
                stop_deadline = time + protocol::Duration::ms(200);
            }
            break;
        case Stop::saying_farewell:
            if ((control->farewell_said() && commands->empty()) || late) {
                report_asked.store(true, std::memory_order_release);
                if (!is_dedicated()) {
                    worker->send(time);
                    worker->report_all(time);
                }
                stop = Stop::reporting;
                stop_deadline = time + protocol::Duration::ms(200);
            }
            break;
        case Stop::reporting: {
            const bool said = !is_dedicated() || report_done.load(std::memory_order_acquire);
            // The last reports are handed out by the polls of this loop; when one brings nothing, they have been.
            if ((said && items.empty()) || late) {
                stop = Stop::done;
            }
            break;
        }
    }
}

void EngineState::tear_down() {
    stop = Stop::done;
    if (dedicated.joinable()) {
        dedicated_end.store(true, std::memory_order_release);
        dedicated.join();
    }
    if (control != nullptr) {
        control->join();
    }
    // Frames that control has not given back come home with the notices' ring.
    if (notices != nullptr && port != nullptr) {
        while (dataplane::Notice* notice = notices->front()) {
            if (notice->packet != nullptr) {
                port->free(notice->packet);
            }
            notices->pop();
        }
    }
    controller.reset();
    application.reset();
    worker.reset();
    worker_thread.reset();
    port.reset();
    device.reset();
    if (eal_started) {
        dataplane::dpdk::stop_eal();
        eal_started = false;
    }
}

// — figures —

PeerStatus status_of(const EngineWorker& worker, PeerIndex index) {
    const dataplane::Peer& peer = worker.peer(index);
    PeerStatus status;
    status.up = peer.up;
    status.acknowledged = peer.send.acknowledged_message();
    status.queued_packets = peer.send.window().queued_pkts();
    status.in_flight_packets = peer.send.window().unacked_pkts();
    status.packets_sent = peer.send.counters().packets;
    status.retransmits = peer.send.counters().retransmits;
    status.acks_received = peer.send.counters().acks;
    status.srtt_ns = peer.send.rtt().srtt().ns();
    return status;
}

std::vector<Counter> EngineState::counters_with(const dataplane::WorkerSnapshot& worker_figures) const {
    std::vector<Counter> counters = counters_of(worker_figures);
    controller->counters().for_each([&](const char* group, const char* name, std::uint64_t value) {
        counters.push_back({std::string(group) + "_" + name, value});
    });
    counters.push_back({"control_requests_refused", control->requests_refused()});
    const dataplane::dpdk::DeviceStats stats = device->stats();
    counters.push_back({"device_rx_packets", stats.rx_packets});
    counters.push_back({"device_tx_packets", stats.tx_packets});
    counters.push_back({"device_rx_missed", stats.rx_missed});
    counters.push_back({"device_rx_errors", stats.rx_errors});
    counters.push_back({"device_tx_errors", stats.tx_errors});
    counters.push_back({"device_rx_no_buffer", stats.rx_no_buffer});
    for (const dataplane::dpdk::NamedCounter& counter : dataplane::dpdk::kPortCounters) {
        counters.push_back({std::string(counter.name), port->counters().*counter.value});
    }
    return counters;
}

/// On the control thread.
engine::Report EngineState::make_report(const dataplane::WorkerSnapshot* worker_figures) const {
    engine::Report report;
    report.name = config.name;
    report.address = config.address;
    report.incarnation = incarnation;
    report.external_views = config.views == Config::Views::external;
    report.view_id = controller->view().id;
    for (std::size_t i = 0; i < config.peers.size(); ++i) {
        const auto index = static_cast<PeerIndex>(i);
        engine::PeerReport& peer = report.peers.emplace_back();
        peer.name = config.peers[i].name;
        peer.address = config.peers[i].address;
        peer.associated = controller->associated(index);
        peer.incarnation = peer.associated ? controller->handshake(index).agreement().peer.incarnation : 0;
        if (worker_figures != nullptr) {
            peer.connection = worker_figures->peers[i];
        }
    }
    for (const PeerIndex member : controller->view().peers) {
        report.peers[member].in_view = true;
    }
    if (worker_figures != nullptr) {
        report.counters = counters_with(*worker_figures);
    }
    return report;
}

std::vector<Counter> counters_of(const dataplane::WorkerSnapshot& figures) {
    std::vector<Counter> out;
    for (const auto& counter : dataplane::kWorkerCounterNames) {
        out.push_back({counter.name, figures.counters.*counter.value});
    }
    const auto sum = [&](const auto& names, auto counters_of_peer) {
        for (const auto& counter : names) {
            std::uint64_t value = 0;
            for (const dataplane::ConnectionSnapshot& peer : figures.peers) {
                value += counters_of_peer(peer).*counter.value;
            }
            out.push_back({counter.name, value});
        }
    };
    sum(dataplane::kSendCounterNames, [](const dataplane::ConnectionSnapshot& peer) { return peer.send.counters; });
    sum(dataplane::kReceiveCounterNames,
        [](const dataplane::ConnectionSnapshot& peer) { return peer.receive.counters; });
    for (std::size_t i = 1; i < protocol::wire::kDecodeErrors; ++i) {
        const auto error = static_cast<protocol::wire::DecodeError>(i);
        out.push_back(
            {std::string(dataplane::kMalformedPrefix) + protocol::wire::name_of(error), figures.decode_errors[i]});
    }
    for (std::size_t i = 1; i < protocol::wire::kStrays; ++i) {
        const auto stray = static_cast<protocol::wire::Stray>(i);
        out.push_back({std::string(dataplane::kStrayPrefix) + protocol::wire::name_of(stray), figures.strays[i]});
    }
    return out;
}

}  // namespace bowline::detail
