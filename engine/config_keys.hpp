#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "bowline/config.hpp"
#include "protocol/near_word.hpp"

namespace bowline::engine {

// The table of configuration keys: what TOML files, `-o KEY=VALUE` and the documentation know of a key stands there
// once. Pure; any thread.

/// How a key's value is written.
enum class ValueKind : std::uint8_t {
    text,
    number,
    size,      ///< bytes: a number or `64KiB`
    duration,  ///< `500us`
    decimal,   ///< `0.8`: in thousandths
    choice,    ///< one of `choices`
};

/// The field that a key fills. Numbers of every width are set from one 64-bit value that is in range.
using Field = std::variant<std::string Config::*, std::uint16_t Config::*, std::uint32_t Config::*,
                           std::int64_t Config::*, int Config::*, Config::Mode Config::*, Config::Integrity Config::*,
                           Config::Hugepages Config::*, Config::Views Config::*, Config::Exclusion Config::*,
                           Config::OnUncertain Config::*, Config::Congestion Config::*>;

struct Key {
    std::string_view name;
    ValueKind kind;
    Field field;
    std::string_view help;
    std::int64_t min = 0;  ///< of numbers, sizes (bytes), durations (nanoseconds) and decimals (thousandths)
    std::int64_t max = 0;
    std::int64_t unit = 1;      ///< what one in the field stands for: 1 MiB for memory
    bool zero_allowed = false;  ///< 0 below `min` means "decide for me"
    bool power_of_two = false;
    std::span<const std::string_view> choices = {};  ///< in the order of the enumerators; a text field takes the word
    std::string_view shape = {};                     ///< of texts: what they must be, for a person
    bool (*legal)(std::string_view text) = nullptr;  ///< of texts: whether they are
};

/// All keys, in the order in which the documentation shows them. The `[[peer]]` tables are not among them.
std::span<const Key> config_keys();

/// The key of that name, or nullptr.
const Key* find_key(std::string_view name);

/// 1 to 63 printable ASCII characters without space: what the wire's names hold.
bool is_legal_name(std::string_view name);

using protocol::closest;

/// A value as it came: TOML has types, text has none.
using Value = std::variant<std::string, std::int64_t, bool>;

/// Sets `key` in `config`. From `typed` sources (TOML) a number must be a number; else text is converted. The answer is
/// what is wrong with the value, for a person (`must be 1 to 65535, not 70000`), or nothing.
std::optional<std::string> assign(Config& config, const Key& key, const Value& value, bool typed);

/// The value that `config` has for `key`, as it would be written.
std::string value_text(const Config& config, const Key& key);

/// What `key` may be set to, for a person: `500us to 10s`, `a power of two, 2 to 16384`, `auto, on or off`.
std::string allowed_text(const Key& key);

/// The reference page of all keys in Markdown: docs/CONFIGURATION.md.
std::string configuration_reference();

}  // namespace bowline::engine
