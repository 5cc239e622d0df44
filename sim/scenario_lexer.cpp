#include "sim/scenario_lexer.hpp"

#include <charconv>

#include <fmt/format.h>

#include "protocol/near_word.hpp"
#include "protocol/settings_text.hpp"

namespace bowline::sim {

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// The length of the operator at the front of `text`, or 0.
std::size_t operator_length(std::string_view text) {
    if (text.starts_with("<=") || text.starts_with(">=")) {
        return 2;
    }
    return text.front() == '=' || text.front() == '<' || text.front() == '>' ? 1 : 0;
}

std::size_t arrow_length(std::string_view text) { return text.starts_with("<->") ? 3 : text.starts_with("->") ? 2 : 0; }

std::string quoted(std::string_view word) { return word.empty() ? "the end of the line" : fmt::format("'{}'", word); }

}  // namespace

std::string join(const std::vector<std::string_view>& words) {
    std::string text;
    for (const std::string_view word : words) {
        text += text.empty() ? "" : ", ";
        text += word;
    }
    return text;
}

LineReader::LineReader(std::string_view line) {
    line = line.substr(0, line.find('#'));
    std::size_t begin = 0;
    const auto close = [&](std::size_t end) {
        if (end > begin) {
            words_.push_back(line.substr(begin, end - begin));
        }
    };
    for (std::size_t at = 0; at < line.size();) {
        const std::string_view rest = line.substr(at);
        if (is_space(line[at])) {
            close(at);
            begin = ++at;
        } else if (const std::size_t arrow = arrow_length(rest); arrow > 0) {
            at += arrow;
        } else if (const std::size_t length = operator_length(rest); length > 0) {
            close(at);
            words_.push_back(rest.substr(0, length));
            at += length;
            begin = at;
        } else {
            ++at;
        }
    }
    close(line.size());
}

bool LineReader::take(std::string_view word) {
    if (peek() != word || failed()) {
        return false;
    }
    ++at_;
    return true;
}

std::string_view LineReader::word(std::string_view what) {
    if (done()) {
        fail(fmt::format("{} is missing", what));
    }
    return next();
}

void LineReader::keyword(std::string_view word) {
    const std::string_view found = next();
    if (found != word) {
        fail(fmt::format("expected '{}', not {}", word, quoted(found)));
    }
}

std::uint64_t LineReader::number(std::string_view what, std::uint64_t least) {
    const std::string_view text = word(what);
    std::uint64_t value = 0;
    const char* const last = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), last, value);
    if (text.empty() || error != std::errc{} || stopped != last || value < least) {
        fail(fmt::format("{} must be a whole number{}, not {}", what,
                         least > 0 ? fmt::format(", at least {}", least) : "", quoted(text)));
        return least;
    }
    return value;
}

protocol::Duration LineReader::duration(std::string_view what) {
    const std::string_view text = word(what);
    const std::optional<protocol::Duration> value = protocol::parse_duration(text);
    if (!value) {
        fail(fmt::format("{} must be a duration such as 10us, 5ms or 2s, not {}", what, quoted(text)));
    }
    return value.value_or(protocol::Duration());
}

void LineReader::end() {
    if (!done()) {
        fail(fmt::format("nothing is expected here, but there is '{}'", peek()));
    }
}

void LineReader::fail(std::string text) {
    if (!error_) {
        error_ = std::move(text);
    }
}

void LineReader::fail_unknown(std::string_view what, std::string_view found,
                              const std::vector<std::string_view>& known) {
    const auto meant = protocol::closest(found, known);
    fail(fmt::format("unknown {} {}; {}expected one of: {}", what, quoted(found),
                     meant ? fmt::format("did you mean '{}'? ", *meant) : "", join(known)));
}

}  // namespace bowline::sim
