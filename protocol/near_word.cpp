#include "protocol/near_word.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bowline::protocol {

namespace {

// Slips between two words: letters put in, left out, replaced or swapped with the next.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            const std::size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
            }
        }
    }
    return cost[a.size()][b.size()];
}

}  // namespace

std::optional<std::string_view> closest(std::string_view word, std::span<const std::string_view> known) {
    std::optional<std::string_view> best;
    std::size_t best_distance = 3;
    for (const std::string_view candidate : known) {
        const std::size_t slips = distance(word, candidate);
        if (slips < best_distance && slips * 2 < candidate.size()) {
            best = candidate;
            best_distance = slips;
        }
    }
    return best;
}

}  // namespace bowline::protocol
