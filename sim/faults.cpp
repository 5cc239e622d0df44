#include "sim/faults.hpp"

#include <algorithm>

namespace bowline::sim {

template <typename Visit>
void Faults::for_each_link(const LinkRef& link, Visit&& visit) {
    for (NodeId from = 0; from < nodes_; ++from) {
        for (NodeId to = 0; to < nodes_; ++to) {
            if (link.covers(from, to)) {
                visit(links_[from * nodes_ + to]);
            }
        }
    }
}

void Faults::arm(const Action& action) {
    const std::size_t place = armed_.size();
    armed_.push_back({.kind = action.kind,
                      .packet = action.packet,
                      .skip = action.nth - 1,
                      .left = action.count,
                      .by = action.time_by,
                      .held = action.kind == Action::Kind::hold ? place_of(action.name) : 0});
    for_each_link(action.link,
                  [&](OnLink& on) { (action.message == 0 ? on.any : on.by_message[action.message]).push_back(place); });
    network_.set_filter([this](const FrameInfo& frame) { return judge(frame); });
}

void Faults::clear(const LinkRef& link) {
    for_each_link(link, [](OnLink& on) { on = {}; });
}

std::size_t Faults::release(std::string_view name, std::uint64_t times) {
    const Held& held = held_[place_of(name)];
    for (std::uint64_t time = 0; time < times; ++time) {
        for (const HeldFrame& frame : held.frames) {
            network_.inject(frame.from, frame.to, frame.bytes);
        }
    }
    return held.frames.size();
}

std::size_t Faults::place_of(std::string_view name) {
    const auto found = std::find_if(held_.begin(), held_.end(), [&](const Held& held) { return held.name == name; });
    if (found != held_.end()) {
        return static_cast<std::size_t>(found - held_.begin());
    }
    held_.push_back({.name = std::string(name), .frames = {}});
    return held_.size() - 1;
}

/// Adds those that match a packet of this type, and drops those that are used up.
void Faults::gather(std::vector<std::size_t>& places, PacketKind type) {
    std::size_t kept = 0;
    for (const std::size_t place : places) {
        const Armed& armed = armed_[place];
        if (armed.left == 0) {
            continue;
        }
        places[kept++] = place;
        if (armed.packet == kAnyPacket || armed.packet == type) {
            matching_.push_back(place);
        }
    }
    places.resize(kept);
}

FilterVerdict Faults::judge(const FrameInfo& frame) {
    FilterVerdict verdict;
    if (!frame.header.has_value()) {
        return verdict;  // ARP is no kind of packet that a script knows
    }
    OnLink& on = links_[frame.from * nodes_ + frame.to];
    const auto type = static_cast<PacketKind>(frame.header->type);
    matching_.clear();
    gather(on.any, type);
    if (frame.header->type == protocol::wire::Type::data && !on.by_message.empty()) {
        const NumberRange messages = messages_of_(frame);
        for (std::uint64_t message = messages.first; message != 0 && message <= messages.last; ++message) {
            if (const auto found = on.by_message.find(message); found != on.by_message.end()) {
                gather(found->second, type);
            }
        }
        std::sort(matching_.begin(), matching_.end());  // in the order in which they were armed
    }
    bool dealt_with = false;
    for (const std::size_t place : matching_) {
        Armed& armed = armed_[place];
        if (armed.skip > 0) {
            --armed.skip;
        } else if (!dealt_with) {
            dealt_with = true;
            verdict = due(armed, frame);
        }
    }
    return verdict;
}

FilterVerdict Faults::due(Armed& armed, const FrameInfo& frame) {
    using Kind = FilterVerdict::Kind;
    armed.left -= armed.left == kEvery ? 0U : 1U;
    switch (armed.kind) {
        case Action::Kind::dup:
            return {.kind = Kind::duplicate, .by = {}};
        case Action::Kind::corrupt:
            return {.kind = Kind::corrupt, .by = {}};
        case Action::Kind::delay:
            return {.kind = Kind::delay, .by = armed.by};
        case Action::Kind::hold:
            held_[armed.held].frames.push_back(
                {.from = frame.from, .to = frame.to, .bytes = {frame.bytes.begin(), frame.bytes.end()}});
            return {.kind = Kind::hold, .by = {}};
        default:
            return {.kind = Kind::drop, .by = {}};
    }
}

}  // namespace bowline::sim
