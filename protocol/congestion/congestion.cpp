#include "protocol/congestion/congestion.hpp"

#include <algorithm>

namespace bowline::protocol {

Congestion::Algorithm Congestion::choose(const Settings& settings) {
    switch (settings.congestion) {
        case CongestionAlgorithm::swift:
            // A sender that waits for its turn must not look as if it had nothing to show for the give-up time.
            return SwiftCongestion(settings.swift, settings.window_pkts,
                                   std::min(settings.rto_max, settings.give_up / 8));
        case CongestionAlgorithm::fixed:
            break;
    }
    return FixedCongestion(settings.window_pkts);
}

}  // namespace bowline::protocol
