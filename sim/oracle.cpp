#include "sim/oracle.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "protocol/check.hpp"
#include "protocol/seqno.hpp"

namespace bowline::sim {

Oracle::Oracle(const Clock& clock, std::size_t nodes) : clock_(clock), nodes_(nodes) {
    for (Node& node : nodes_) {
        node.out.resize(nodes, nullptr);
        node.in.resize(nodes);
    }
}

void Oracle::fail(NodeId node, NodeId peer, const std::string& what) {
    if (violation_.empty()) {
        const auto name = [this](NodeId id) { return id < names_.size() ? names_[id] : fmt::format("node {}", id); };
        violation_ =
            fmt::format("at {} ns, {} with {}: {}", (clock_.now() - origin_).ns(), name(node), name(peer), what);
    }
}

void Oracle::set_words(std::vector<std::string> names, Time origin) {
    names_ = std::move(names);
    origin_ = origin;
}

void Oracle::on_start(NodeId node, std::uint64_t incarnation) {
    Node& it = nodes_[node];
    BOWLINE_CHECK(!it.alive);
    it.alive = true;
    it.incarnation = incarnation;
    incarnations_.push_back(incarnation);
    for (std::size_t to = 0; to < nodes_.size(); ++to) {
        it.in[to] = {};
        streams_.push_back(std::make_unique<Stream>());
        Stream& stream = *streams_.back();
        stream.incarnation = incarnation;
        stream.from = node;
        stream.to = static_cast<NodeId>(to);
        it.out[to] = &stream;
        if (to == node) {
            // A node is always up to itself, and has heard all of its own stream.
            it.in[to].up = true;
            it.in[to].stream = &stream;
            it.in[to].next = 1;
        }
    }
}

void Oracle::on_forget(NodeId node, NodeId from) {
    if (!nodes_[from].resends) {
        return;
    }
    // Which of the sender's streams the worker knows, an application that lags behind may not have been told yet.
    for (const std::unique_ptr<Stream>& stream : streams_) {
        if (stream->from == from && stream->to == node) {
            stream->twice_through = stream->messages.size();
            ++stream->repeats;  // once the application has read what came before
        }
    }
}

void Oracle::on_crash(NodeId node) {
    Node& it = nodes_[node];
    BOWLINE_CHECK(it.alive);
    it.alive = false;
    for (Stream* stream : it.out) {
        if (stream != nullptr) {
            stream->alive = false;
        }
    }
}

Oracle::Stream* Oracle::find(std::uint64_t incarnation, NodeId from, NodeId to) {
    for (const std::unique_ptr<Stream>& stream : streams_) {
        if (stream->incarnation == incarnation && stream->from == from && stream->to == to) {
            return stream.get();
        }
    }
    return nullptr;
}

void Oracle::on_accepted(NodeId node, NodeId to, std::uint64_t number, std::uint32_t size) {
    Stream& stream = *nodes_[node].out[to];
    if (number != stream.messages.size() + 1) {
        fail(node, to, fmt::format("message {} was accepted after {}", number, stream.messages.size()));
        return;
    }
    ++accepted_;
    stream.messages.push_back({.size = size, .fate = 0});
}

void Oracle::on_message(NodeId node, NodeId from, std::uint64_t number, std::span<const std::byte> bytes) {
    Inbound& in = nodes_[node].in[from];
    if (!in.up || in.stream == nullptr) {
        return fail(node, from, fmt::format("message {} came while the peer was not up", number));
    }
    Stream& stream = *in.stream;
    if (number == 0 || number > stream.messages.size()) {
        return fail(node, from, fmt::format("message {} came, of {} that were sent", number, stream.messages.size()));
    }
    Message& message = stream.messages[number - 1];
    if (message.is(Fate::delivered) && number > stream.twice_through) {
        return fail(node, from, fmt::format("message {} was delivered twice", number));
    }
    if (in.next != 0 && number != in.next) {
        if (stream.repeats == 0 || number > in.next) {
            return fail(node, from, fmt::format("message {} came in place of {}", number, in.next));
        }
        --stream.repeats;
    }
    if (message.is(Fate::reported_certain)) {
        return fail(node, from, fmt::format("message {} was reported as certainly undelivered, and came", number));
    }
    if (bytes.size() != message.size) {
        return fail(node, from, fmt::format("message {} has {} bytes, not {}", number, bytes.size(), message.size));
    }
    if (!holds_content({.incarnation = stream.incarnation, .to = node, .number = number}, bytes)) {
        return fail(node, from, fmt::format("message {} has other bytes than were sent", number));
    }
    message.set(Fate::delivered);
    in.next = number + 1;
    append(in.delivered, {.first = number, .last = number});
    ++delivered_;
}

void Oracle::on_refused(NodeId node, NodeId to, std::uint64_t count) { nodes_[node].out[to]->told.refused += count; }

void Oracle::on_up(NodeId node, NodeId peer, std::uint64_t incarnation) {
    Inbound& in = nodes_[node].in[peer];
    if (in.up) {
        return fail(node, peer, "the peer came up twice");
    }
    in.up = true;
    Stream* const stream = find(incarnation, peer, node);
    if (stream == nullptr) {
        return fail(node, peer, fmt::format("the peer came up as {:x}, which it never was", incarnation));
    }
    if (stream == in.stream) {
        return;
    }
    const auto order = [this](const Stream* s) {
        return std::find(incarnations_.begin(), incarnations_.end(), s->incarnation) - incarnations_.begin();
    };
    if (in.stream != nullptr && order(stream) < order(in.stream)) {
        return fail(node, peer, "the peer came up as an incarnation that was gone");
    }
    in.stream = stream;
    in.next = 0;
}

void Oracle::on_down(NodeId node, NodeId peer) {
    Inbound& in = nodes_[node].in[peer];
    if (!in.up) {
        return fail(node, peer, "the peer went down and was not up");
    }
    in.up = false;
}

void Oracle::on_gap(NodeId node, NodeId from, std::uint64_t first, std::uint64_t last) {
    Inbound& in = nodes_[node].in[from];
    // Before the first message it is the connection's word where the stream begins, of which nothing need have come.
    const bool repeats = in.stream != nullptr && in.stream->repeats > 0 && first < in.next;
    if (in.stream == nullptr || last < first || first == 0 || (in.next != 0 && first != in.next && !repeats)) {
        return fail(node, from, fmt::format("a gap {}..{} where {} comes next", first, last, in.next));
    }
    in.stream->repeats -= repeats ? 1U : 0U;
    if (last > in.stream->messages.size()) {
        return fail(node, from, fmt::format("a gap {}..{} of {} messages", first, last, in.stream->messages.size()));
    }
    for (std::uint64_t number = first; number <= last; ++number) {
        in.stream->messages[number - 1].set(Fate::gap);
    }
    in.next = last + 1;
}

void Oracle::on_undelivered(NodeId node, NodeId to, std::uint64_t first, std::uint64_t last, bool certain) {
    Stream& stream = *nodes_[node].out[to];
    if (last < first || first == 0 || last > stream.messages.size()) {
        return fail(node, to, fmt::format("a report of {}..{}, of {} messages", first, last, stream.messages.size()));
    }
    if (first <= stream.reported_through) {
        return fail(node, to,
                    fmt::format("a report of {}..{} after one up to {}", first, last, stream.reported_through));
    }
    for (const Stream::Acknowledged& range : stream.acknowledged) {
        if (first <= range.last && last >= range.first) {
            return fail(
                node, to,
                fmt::format("a report of {}..{}, and {}..{} is acknowledged", first, last, range.first, range.last));
        }
    }
    stream.reported_through = last;
    append(stream.told.undelivered, {.first = first, .last = last});
    if (!certain) {
        append(stream.told.uncertain, {.first = first, .last = last});
    }
    for (std::uint64_t number = first; number <= last; ++number) {
        Message& message = stream.messages[number - 1];
        if (certain && message.is(Fate::delivered)) {
            return fail(node, to, fmt::format("message {} is reported as certainly undelivered, and had come", number));
        }
        message.set(certain ? Fate::reported_certain : Fate::reported_uncertain);
        ++reported_;
    }
}

void Oracle::acknowledge(Stream& stream, std::uint64_t through, std::uint64_t receiver) {
    if (through <= stream.settled) {
        return;
    }
    if (!stream.acknowledged.empty() && stream.acknowledged.back().receiver == receiver &&
        stream.acknowledged.back().last == stream.settled) {
        stream.acknowledged.back().last = through;
    } else {
        stream.acknowledged.push_back({.first = stream.settled + 1, .last = through, .receiver = receiver});
    }
    stream.settled = through;
}

void Oracle::on_state(NodeId node, NodeId to, const SenderView& sender, const ReceiverView& receiver,
                      std::uint64_t receiver_incarnation, bool receiver_alive) {
    Stream& stream = *nodes_[node].out[to];
    if (sender.acknowledged_message > stream.messages.size()) {
        return fail(
            node, to,
            fmt::format("message {} is dealt with, of {}", sender.acknowledged_message, stream.messages.size()));
    }
    if (sender.given_up_last != stream.given_up_last) {
        acknowledge(stream, sender.given_up_first - 1, stream.peer_incarnation);
        stream.settled = std::max(stream.settled, sender.given_up_last);
        stream.given_up_last = sender.given_up_last;
        stream.given_up_una = sender.una;
    }
    stream.peer_incarnation = sender.peer_incarnation;
    acknowledge(stream, sender.acknowledged_message, sender.peer_incarnation);

    const auto after = [](std::uint64_t a, std::uint64_t b) { return protocol::Seqno(a).after(protocol::Seqno(b)); };
    const bool is_known = receiver_alive && receiver.known && receiver.incarnation == stream.incarnation &&
                          receiver_incarnation == sender.peer_incarnation;
    const bool given_up = stream.given_up_last != 0 && !after(sender.una, stream.given_up_una);
    if (is_known && !given_up && after(sender.una, receiver.rcv_nxt)) {
        fail(node, to,
             fmt::format("packets before {} are taken for acknowledged, and the peer has those before {}", sender.una,
                         receiver.rcv_nxt));
    }
}

void Oracle::on_end(NodeId node, NodeId to, bool owed) {
    const Stream& stream = *nodes_[node].out[to];
    const Node& receiver = nodes_[to];
    std::size_t range = 0;
    for (std::uint64_t number = 1; number <= stream.messages.size(); ++number) {
        const Message& message = stream.messages[number - 1];
        while (range < stream.acknowledged.size() && stream.acknowledged[range].last < number) {
            ++range;
        }
        if (message.is(Fate::gap) && !message.reported()) {
            return fail(node, to, fmt::format("message {} is a gap at the receiver and not reported", number));
        }
        if (message.is(Fate::delivered) || message.reported()) {
            continue;
        }
        if (range < stream.acknowledged.size() && stream.acknowledged[range].first <= number) {
            // An acknowledgement is a promise of the receiver's incarnation, for as long as it lives.
            if (receiver.alive && receiver.incarnation == stream.acknowledged[range].receiver) {
                return fail(node, to, fmt::format("message {} was acknowledged and has not come", number));
            }
            continue;
        }
        if (!owed) {
            return fail(node, to, fmt::format("message {} was accepted, and neither delivered nor reported", number));
        }
        return;  // it and what follows may still come
    }
}

}  // namespace bowline::sim
