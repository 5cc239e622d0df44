#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace bowline::tools {

/// A node's answer to `command` as text for a person; the answer is one with `"ok": true`. What an answer lacks
/// (another version's) is left out or shown as `-`.
std::string answer_text(std::string_view command, const nlohmann::ordered_json& answer);

/// `21.3us`, `1.5ms`, `2s`; `-` for 0, which says that nothing has been measured.
std::string time_text(std::int64_t ns);

}  // namespace bowline::tools
