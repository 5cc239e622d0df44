#include "dataplane/peer.hpp"

#include <bit>

namespace bowline::dataplane {

namespace {

std::uint32_t sent_capacity(const protocol::Settings& settings) {
    return std::bit_ceil(settings.window_pkts + settings.send_queue_pkts);
}

}  // namespace

PeerStorage::PeerStorage(const protocol::Settings& settings)
    : sent(sent_capacity(settings)),
      resent(std::size_t{2} * sent_capacity(settings)),
      lost(std::size_t{2} * sent_capacity(settings)),
      window_bits((settings.window_pkts + 63) / 64),
      slots(settings.window_pkts),
      assembly(settings.message_max),
      outgoing(settings.message_max) {}

}  // namespace bowline::dataplane
