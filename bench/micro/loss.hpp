#pragma once

#include <cstdint>
#include <vector>

#include "protocol/random.hpp"

namespace bowline::bench {

/// Which packets of a benchmark are lost: the same in every run, drawn beforehand so that it costs a load.
class LossPattern {
public:
    explicit LossPattern(std::int64_t percent) : lost_(kPeriod) {
        protocol::Random random(1);
        for (std::uint8_t& lost : lost_) {
            lost = random.below(100) < static_cast<std::uint64_t>(percent) ? 1 : 0;
        }
    }
    bool next() { return lost_[at_++ % kPeriod] != 0; }

private:
    static constexpr std::size_t kPeriod = 4096;
    std::vector<std::uint8_t> lost_;
    std::size_t at_ = 0;
};

}  // namespace bowline::bench
