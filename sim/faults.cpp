#include "sim/faults.hpp"

#include <algorithm>

namespace bowline::sim {

void Faults::arm(const Action& action) {
    Armed armed{.kind = action.kind,
                .packet = action.packet,
                .message = action.message,
                .skip = action.nth - 1,
                .left = action.count,
                .by = action.time_by,
                .held = action.kind == Action::Kind::hold ? place_of(action.name) : 0,
                .links = std::vector<bool>(nodes_ * nodes_)};
    for (NodeId from = 0; from < nodes_; ++from) {
        for (NodeId to = 0; to < nodes_; ++to) {
            armed.links[from * nodes_ + to] = action.link.covers(from, to);
        }
    }
    armed_.push_back(std::move(armed));
    network_.set_filter([this](const FrameInfo& frame) { return judge(frame); });
}

void Faults::clear(const LinkRef& link) {
    for (Armed& armed : armed_) {
        for (NodeId from = 0; from < nodes_; ++from) {
            for (NodeId to = 0; to < nodes_; ++to) {
                if (link.covers(from, to)) {
                    armed.links[from * nodes_ + to] = false;
                }
            }
        }
    }
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

bool Faults::matches(const Armed& armed, const FrameInfo& frame) const {
    const auto type = static_cast<PacketKind>(frame.header->type);
    if (armed.left == 0 || !armed.links[frame.from * nodes_ + frame.to] ||
        (armed.packet != kAnyPacket && armed.packet != type)) {
        return false;
    }
    return armed.message == 0 || (frame.header->type == protocol::wire::Type::data && carries_(frame, armed.message));
}

FilterVerdict Faults::judge(const FrameInfo& frame) {
    FilterVerdict verdict;
    if (!frame.header.has_value()) {
        return verdict;  // ARP is no kind of packet that a script knows
    }
    bool dealt_with = false;
    for (Armed& armed : armed_) {
        if (!matches(armed, frame)) {
            continue;
        }
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
