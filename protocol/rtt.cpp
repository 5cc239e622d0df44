#include "protocol/rtt.hpp"

#include <algorithm>

namespace bowline::protocol {

void Rtt::sample(Duration rtt) {
    // A clock of finite resolution may read the same twice; the estimator divides by nothing, but 0 means "no sample".
    const Duration measured = std::max(rtt, Duration::ns(1));
    backoff_ = 0;
    min_rtt_ = std::min(min_rtt_, measured);
    if (srtt_.ns() == 0) {
        srtt_ = measured;  // RFC 6298 §2.2
        rttvar_ = measured / 2;
        return;
    }
    // RFC 6298 §2.3, alpha = 1/8, beta = 1/4.
    const Duration error = measured > srtt_ ? measured - srtt_ : srtt_ - measured;
    rttvar_ = rttvar_ + (error - rttvar_) / 4;
    srtt_ = std::max(srtt_ + (measured - srtt_) / 8, Duration::ns(1));
}

Duration Rtt::base_rto(Duration ack_delay) const {
    if (!has_sample()) {
        return std::max(kInitialRto, rto_min_);
    }
    // RFC 6298 §2.3 has max(G, K * RTTVAR), where G is what the clock cannot tell apart. Here that is the time for
    // which either side may be scheduled away, and the floor is made for it: on a path with a steady round trip the
    // variance decays to nothing, and without this the first hiccup would expire everything in flight.
    return srtt_ + std::max(rttvar_ * 4, rto_min_) + ack_delay;
}

Duration Rtt::rto(Duration ack_delay) const {
    const Duration base = base_rto(ack_delay);
    const Duration ceiling = std::max(rto_max_, base);
    if (base.ns() > (ceiling.ns() >> backoff_)) {
        return ceiling;
    }
    return Duration::ns(base.ns() << backoff_);
}

}  // namespace bowline::protocol
