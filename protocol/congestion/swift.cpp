#include "protocol/congestion/swift.hpp"

#include <algorithm>
#include <cmath>

#include "protocol/check.hpp"

namespace bowline::protocol {

namespace {

constexpr std::uint64_t kOne = SwiftCongestion::kOne;
constexpr unsigned kShift = SwiftCongestion::kShift;

/// As a connection begins (RFC 6928); the paper does not say.
constexpr std::uint64_t kInitialCwnd = 10 * kOne;
/// Timeouts in a row after which the window is the smallest (RETX_RESET_THRESHOLD in the paper).
constexpr std::uint32_t kTimeoutsToReset = 5;
/// Longer delays count as this one: 2^36 ns are 69 s, and no product below overflows.
constexpr Duration kDelayMax = Duration::ns(std::int64_t{1} << 36);

constexpr std::uint64_t from_milli(std::uint32_t milli) { return ((std::uint64_t{milli} << kShift) + 500) / 1000; }

/// 1/sqrt(cwnd), all in 1/65536. IEEE's square root is exact to the last bit, and the whole numbers here are small
/// enough for a double, so that rounding down gives the same everywhere.
std::uint64_t inverse_root(std::uint64_t cwnd) {
    constexpr std::uint64_t one_cubed = std::uint64_t{1} << (3 * kShift);
    const std::uint64_t squared = one_cubed / cwnd;
    return static_cast<std::uint64_t>(std::sqrt(static_cast<double>(squared)));
}

}  // namespace

SwiftCongestion::SwiftCongestion(const SwiftSettings& settings, std::uint32_t window_pkts, Duration gap_max)
    : base_target_(settings.base_target),
      fs_range_(settings.fs_range),
      fs_inverse_root_min_(inverse_root(from_milli(settings.fs_max_cwnd_milli))),
      // Above the other in any case, so that the share between the two is always one: all or nothing at worst.
      fs_inverse_root_max_(std::max(inverse_root(from_milli(settings.fs_min_cwnd_milli)), fs_inverse_root_min_ + 1)),
      ai_(from_milli(settings.ai_milli)),
      beta_(from_milli(settings.beta_milli)),
      max_mdf_(from_milli(settings.max_mdf_milli)),
      min_cwnd_(std::max(from_milli(settings.min_cwnd_milli), std::uint64_t{1})),
      max_cwnd_(std::uint64_t{window_pkts} << kShift),
      gap_max_(gap_max),
      cwnd_(std::min(kInitialCwnd, max_cwnd_)),
      allowed_pkts_(static_cast<std::uint32_t>(cwnd_ >> kShift)) {
    BOWLINE_CHECK(min_cwnd_ <= max_cwnd_);
}

Duration SwiftCongestion::target_delay() const {
    // The paper's max(0, min(alpha / sqrt(cwnd) + beta, fs_range)), with alpha and beta written out: what lies between
    // the two ends, by the inverse root of the window.
    const std::uint64_t root = std::clamp(inverse_root(cwnd_), fs_inverse_root_min_, fs_inverse_root_max_);
    const std::uint64_t share =
        ((root - fs_inverse_root_min_) << kShift) / (fs_inverse_root_max_ - fs_inverse_root_min_);
    return base_target_ + Duration::ns((fs_range_.ns() * static_cast<std::int64_t>(share)) >> kShift);
}

void SwiftCongestion::grow(std::uint64_t pkts) {
    if (starting_) {
        cwnd_ += pkts << kShift;  // doubles in a round trip (RFC 5681 §3.1)
    } else {
        cwnd_ += ((ai_ * pkts) << kShift) / std::max(cwnd_, kOne);
    }
    cwnd_ = std::min(cwnd_, max_cwnd_);
}

void SwiftCongestion::decrease(Time now, std::uint64_t share) {
    cwnd_ = std::max(cwnd_ - ((cwnd_ * share) >> kShift), min_cwnd_);
    decreased_at_ = now;
}

void SwiftCongestion::on_acked(const CongestionView& view, const CongestionAck& ack) {
    timeouts_ = 0;
    granted_pkts_ = 0;
    if (ack.rtt.has_value()) {
        rtt_ = std::clamp(*ack.rtt, Duration::ns(1), kDelayMax);
        const Duration delay = std::max(rtt_ - ack.delay, Duration::ns(1));
        const Duration target = target_delay();
        if (delay < target) {
            // A window that is not used shows nothing of what the path would do with a larger one (RFC 7661).
            if (view.in_flight_pkts + ack.pkts >= allowed_pkts_) {
                grow(ack.pkts);
            }
        } else {
            starting_ = false;
            // With the round trip of this very packet: it was sent after the window had last shrunk.
            if (may_decrease(view.now, rtt_)) {
                const auto excess = (static_cast<std::uint64_t>((delay - target).ns()) << kShift) /
                                    static_cast<std::uint64_t>(delay.ns());
                decrease(view.now, std::min((beta_ * excess) >> kShift, max_mdf_));
            }
        }
    }
    settle(view);
}

void SwiftCongestion::on_lost(const CongestionView& view) {
    timeouts_ = 0;
    starting_ = false;
    if (may_decrease(view.now, rtt_)) {
        decrease(view.now, max_mdf_);
    }
    settle(view);
}

void SwiftCongestion::on_timeout(const CongestionView& view) {
    starting_ = false;
    if (++timeouts_ >= kTimeoutsToReset) {
        cwnd_ = min_cwnd_;
        decreased_at_ = view.now;
    } else if (may_decrease(view.now, rtt_)) {
        decrease(view.now, max_mdf_);
    }
    // What has not timed out must not keep back the one packet that a timeout resends (see FixedCongestion).
    // Where nothing is in flight, the window itself lets one go, now or when it is its turn.
    granted_pkts_ = view.in_flight_pkts == 0
                        ? 0
                        : static_cast<std::uint32_t>(std::min(view.in_flight_pkts + 1, max_cwnd_ >> kShift));
    settle(view);
}

void SwiftCongestion::on_opened(const CongestionView& view) {
    timeouts_ = 0;
    granted_pkts_ = 0;
    settle(view);
}

void SwiftCongestion::on_release(const CongestionView& view) {
    if (allowed_pkts_ == 0 && release_at_ <= view.now) {
        allowed_pkts_ = 1;
    }
}

/// What follows from the window: how many packets may fly, and when the next one may where it is less than one.
void SwiftCongestion::settle(const CongestionView& view) {
    allowed_pkts_ = static_cast<std::uint32_t>(cwnd_ >> kShift);
    if (cwnd_ < kOne) {
        const Duration rtt = std::min(rtt_.ns() > 0 ? rtt_ : view.srtt, kDelayMax);
        const Duration gap = Duration::ns((rtt.ns() << kShift) / static_cast<std::int64_t>(cwnd_));
        release_at_ = view.last_sent + std::min(gap, gap_max_);
        on_release(view);
    }
    allowed_pkts_ = std::max(allowed_pkts_, granted_pkts_);
}

void SwiftCongestion::check_invariants() const {
    BOWLINE_CHECK(cwnd_ >= min_cwnd_ && cwnd_ <= max_cwnd_);
    BOWLINE_CHECK(allowed_pkts_ <= (max_cwnd_ >> kShift));
    BOWLINE_CHECK(allowed_pkts_ > 0 || cwnd_ < kOne);
}

}  // namespace bowline::protocol
