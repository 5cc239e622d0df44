#pragma once

#include <cstdint>
#include <variant>

#include "protocol/congestion/fixed.hpp"
#include "protocol/congestion/interface.hpp"
#include "protocol/congestion/swift.hpp"
#include "protocol/inspector.hpp"
#include "protocol/settings.hpp"

namespace bowline::protocol {

/// The congestion control that a node is configured with: a closed choice, so that nothing here is a virtual call.
/// Every event answers with what packets and acks ask for until the next one; the stream keeps that beside what else
/// they touch, so that which algorithm it is costs them nothing.
///
/// Owner: the worker.
class Congestion {
public:
    struct Word {
        std::uint32_t cwnd_pkts = 0;  ///< may be in flight; 0: none before release_at()
        bool ignores_acks = false;    ///< on_acked() would change nothing
        bool operator==(const Word&) const = default;
    };

    explicit Congestion(const Settings& settings) : algorithm_(choose(settings)) {}

    [[nodiscard]] Word word() const {
        return std::visit([](const auto& algorithm) { return word_of(algorithm); }, algorithm_);
    }
    [[nodiscard]] Time release_at() const {
        return std::visit([](const auto& algorithm) { return algorithm.release_at(); }, algorithm_);
    }

    [[nodiscard]] Word on_acked(const CongestionView& view, const CongestionAck& ack) {
        return after([&](auto& algorithm) { algorithm.on_acked(view, ack); });
    }
    [[nodiscard]] Word on_lost(const CongestionView& view) {
        return after([&](auto& algorithm) { algorithm.on_lost(view); });
    }
    [[nodiscard]] Word on_timeout(const CongestionView& view) {
        return after([&](auto& algorithm) { algorithm.on_timeout(view); });
    }
    [[nodiscard]] Word on_recovered(const CongestionView& view) {
        return after([&](auto& algorithm) { algorithm.on_recovered(view); });
    }
    [[nodiscard]] Word on_opened(const CongestionView& view) {
        return after([&](auto& algorithm) { algorithm.on_opened(view); });
    }
    [[nodiscard]] Word on_release(const CongestionView& view) {
        return after([&](auto& algorithm) { algorithm.on_release(view); });
    }

    void check_invariants() const {
        std::visit([](const auto& algorithm) { algorithm.check_invariants(); }, algorithm_);
    }

private:
    friend struct bowline::Inspector;
    static_assert(CongestionControl<FixedCongestion> && CongestionControl<SwiftCongestion>);
    using Algorithm = std::variant<FixedCongestion, SwiftCongestion>;

    static Algorithm choose(const Settings& settings);
    template <CongestionControl Chosen>
    static Word word_of(const Chosen& algorithm) {
        return {.cwnd_pkts = algorithm.cwnd_pkts(), .ignores_acks = algorithm.ignores_acks()};
    }
    template <typename Event>
    Word after(Event&& event) {
        return std::visit(
            [&](auto& algorithm) {
                event(algorithm);
                return word_of(algorithm);
            },
            algorithm_);
    }

    Algorithm algorithm_;
};

}  // namespace bowline::protocol
