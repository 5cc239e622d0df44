#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/time.hpp"

namespace bowline::sim {

/// `a, b, c`.
[[nodiscard]] std::string join(const std::vector<std::string_view>& words);

/// The words of one line of a scenario, and how far they have been read. `=` and comparisons are words of their own
/// whether or not there is space around them; the arrows of links are not.
///
/// What cannot be read leaves the first complaint in error(), and reads as something harmless from then on.
class LineReader {
public:
    explicit LineReader(std::string_view line);

    [[nodiscard]] bool empty() const { return words_.empty(); }
    [[nodiscard]] bool done() const { return at_ == words_.size(); }
    /// The next word; empty at the end.
    [[nodiscard]] std::string_view peek(std::size_t ahead = 0) const {
        return at_ + ahead < words_.size() ? words_[at_ + ahead] : std::string_view();
    }
    std::string_view next() { return done() ? std::string_view() : words_[at_++]; }
    /// Takes the next word if it is this one.
    bool take(std::string_view word);

    // — what must come; `what` names it for a complaint —

    std::string_view word(std::string_view what);
    void keyword(std::string_view word);
    std::uint64_t number(std::string_view what, std::uint64_t least = 0);
    protocol::Duration duration(std::string_view what);
    /// Nothing more may come.
    void end();

    // — complaints —

    void fail(std::string text);
    /// `found` is none of `known`; the nearest is offered.
    void fail_unknown(std::string_view what, std::string_view found, const std::vector<std::string_view>& known);
    [[nodiscard]] bool failed() const { return error_.has_value(); }
    [[nodiscard]] const std::optional<std::string>& error() const { return error_; }

private:
    std::vector<std::string_view> words_;
    std::size_t at_ = 0;
    std::optional<std::string> error_;
};

}  // namespace bowline::sim
