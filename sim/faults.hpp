#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/network.hpp"
#include "sim/ranges.hpp"
#include "sim/scenario.hpp"

namespace bowline::sim {

/// What a script has armed on the links of a network: which packets are dropped, doubled, corrupted, delayed or
/// withheld, and what is withheld.
///
/// A packet is dealt with by the first armed that it is due for; all that match count it. So `nth=1` and `nth=3` are
/// the first and the third packet, and the same line twice is the packet and its repetition.
///
/// Thread: the one that runs the simulation.
class Faults {
public:
    /// The first and last message of which a DATA packet that is being sent carries (a part of); 0: not known.
    using MessagesOf = std::function<NumberRange(const FrameInfo& frame)>;

    Faults(Network& network, std::size_t nodes, MessagesOf messages_of)
        : network_(network), nodes_(nodes), messages_of_(std::move(messages_of)), links_(nodes * nodes) {}
    Faults(const Faults&) = delete;
    Faults& operator=(const Faults&) = delete;
    ~Faults() { network_.set_filter({}); }

    /// An action of kind drop, dup, corrupt, delay or hold.
    void arm(const Action& action);
    /// Ends what is armed on these links; what is withheld stays so.
    void clear(const LinkRef& link);
    /// Sends copies of what is withheld under `name` on their way, in order, `times` over; on a link that is cut they
    /// are lost. Returns how many packets are withheld under it.
    std::size_t release(std::string_view name, std::uint64_t times);

private:
    struct Armed {
        Action::Kind kind;
        PacketKind packet;
        std::uint64_t skip;  ///< matching packets before the first that is due
        std::uint64_t left;  ///< due ones to come
        Duration by;
        std::size_t held;  ///< place in held_
    };
    /// What is armed on a link: places in armed_, in order. Scripts may arm tens of thousands.
    struct OnLink {
        std::vector<std::size_t> any;                                            ///< whatever the packet carries
        std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_message;  ///< that message
    };
    struct HeldFrame {
        NodeId from;
        NodeId to;
        std::vector<std::byte> bytes;
    };
    struct Held {
        std::string name;
        std::vector<HeldFrame> frames;
    };

    FilterVerdict judge(const FrameInfo& frame);
    void gather(std::vector<std::size_t>& places, PacketKind type);
    FilterVerdict due(Armed& armed, const FrameInfo& frame);
    std::size_t place_of(std::string_view name);
    template <typename Visit>
    void for_each_link(const LinkRef& link, Visit&& visit);

    Network& network_;
    std::size_t nodes_;
    MessagesOf messages_of_;
    std::vector<Armed> armed_;
    std::vector<OnLink> links_;  ///< from * nodes + to
    std::vector<std::size_t> matching_;
    std::vector<Held> held_;
};

}  // namespace bowline::sim
