#include "bowline/config.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <toml++/toml.h>

#include "engine/config_keys.hpp"
#include "engine/config_peer.hpp"
#include "protocol/settings_text.hpp"

namespace bowline {

namespace {

using engine::Key;
using engine::PeerField;
using engine::Value;

Error configuration_error(std::string message) { return {Error::Kind::configuration, std::move(message)}; }

// `FILE:LINE:COL: `, as editors and compilers have it.
std::string place(const std::string& source, const toml::source_position& at) {
    return source + ':' + std::to_string(at.line) + ':' + std::to_string(at.column) + ": ";
}

std::string about_key(std::string_view key, const std::string& wrong) {
    return "key '" + std::string(key) + "': " + wrong;
}

std::string unknown_key(std::string_view word, std::span<const std::string_view> known) {
    std::string wrong = "unknown key";
    if (const auto meant = engine::closest(word, known)) {
        wrong += "; did you mean '" + std::string(*meant) + "'?";
    }
    return about_key(word, wrong);
}

std::vector<std::string_view> key_names() {
    std::vector<std::string_view> names = {"peer"};
    for (const Key& key : engine::config_keys()) {
        names.push_back(key.name);
    }
    return names;
}

// A TOML node as a value that `key` may have, or nothing: dates, arrays and tables are no key's, and floats only
// some's.
std::optional<Value> scalar(const Key& key, const toml::node& node) {
    if (const auto* text = node.as_string()) {
        return Value(text->get());
    }
    if (const auto* number = node.as_integer()) {
        return Value(number->get());
    }
    if (const auto* flag = node.as_boolean()) {
        return Value(flag->get());
    }
    if (const auto* number = node.as_floating_point(); number != nullptr && key.kind == engine::ValueKind::decimal) {
        // As it was written: the shortest text that means this number.
        std::array<char, 32> text{};
        const auto [end, error] =
            std::to_chars(text.data(), text.data() + text.size(), number->get(), std::chars_format::fixed);
        return error == std::errc{} ? std::optional<Value>(std::string(text.data(), end)) : std::nullopt;
    }
    return std::nullopt;
}

std::string type_name(const toml::node& node) {
    std::ostringstream name;
    name << node.type();
    return name.str();
}

std::string wrong_type(const std::string& expected, const toml::node& node) {
    return "must be " + expected + ", not of type " + type_name(node);
}

// Reads one TOML document into a Config. Thrown-away after use.
class Reader {
public:
    explicit Reader(const std::string& source) : source_(source) {}

    Result<Config> read(const toml::table& document) {
        for (const auto& [key, node] : document) {
            const Result<void> done = key.str() == "peer" ? read_peers(key, node) : read_key(key, node);
            if (!done) {
                return done.error();
            }
        }
        return std::move(config_);
    }

private:
    Error error(const toml::source_region& at, const std::string& message) const {
        return configuration_error(place(source_, at.begin) + message);
    }

    Result<void> read_key(const toml::key& name, const toml::node& node) {
        const Key* const key = engine::find_key(name.str());
        if (key == nullptr) {
            return error(name.source(), unknown_key(name.str(), key_names()));
        }
        const std::optional<Value> value = scalar(*key, node);
        const std::optional<std::string> wrong =
            value ? engine::assign(config_, *key, *value, true) : wrong_type(engine::allowed_text(*key), node);
        return wrong ? Result<void>(error(node.source(), about_key(key->name, *wrong))) : Result<void>();
    }

    Result<void> read_peers(const toml::key& name, const toml::node& node) {
        const toml::array* const tables = node.as_array();
        if (tables == nullptr) {
            return error(name.source(), about_key("peer", "peers are written as [[peer]], with double brackets"));
        }
        for (const toml::node& element : *tables) {
            const toml::table* const table = element.as_table();
            if (table == nullptr) {
                return error(element.source(), about_key("peer", wrong_type("a [[peer]] table", element)));
            }
            if (Result<void> done = read_peer(*table); !done) {
                return done;
            }
        }
        return {};
    }

    Result<void> read_peer(const toml::table& table) {
        PeerConfig peer;
        for (const auto& [key, node] : table) {
            if (Result<void> done = read_peer_field(peer, key, node); !done) {
                return done;
            }
        }
        for (const PeerField& field : engine::peer_fields()) {
            if (field.required && (peer.*field.field).empty()) {
                return error(table.source(), "[[peer]] has no '" + std::string(field.name) + '\'');
            }
        }
        if (const auto wrong = engine::clash(config_.peers, peer)) {
            return error(table.source(), *wrong);
        }
        config_.peers.push_back(std::move(peer));
        return {};
    }

    Result<void> read_peer_field(PeerConfig& peer, const toml::key& name, const toml::node& node) const {
        std::vector<std::string_view> known;
        for (const PeerField& field : engine::peer_fields()) {
            known.push_back(field.name);
            if (field.name != name.str()) {
                continue;
            }
            const auto* const text = node.as_string();
            if (text == nullptr) {
                return error(node.source(), about_key(field.name, wrong_type(std::string(field.shape), node)));
            }
            if (!field.legal(text->get())) {
                return error(node.source(), about_key(field.name, engine::must_be(field, text->get())));
            }
            peer.*field.field = text->get();
            return {};
        }
        return error(name.source(), unknown_key(name.str(), known) + " (in [[peer]])");
    }

    const std::string& source_;
    Config config_;
};

/// Thousands of peers fit.
constexpr std::size_t kConfigBytesMax = std::size_t{16} << 20U;

}  // namespace

Result<Config> Config::load(const std::string& path) {
    // A device or a pipe may never end, or block; a configuration is a file, and not a large one.
    std::error_code unknown;
    if (std::filesystem::exists(path, unknown) && !std::filesystem::is_regular_file(path, unknown) &&
        !std::filesystem::is_directory(path, unknown)) {
        return configuration_error(path + ": cannot read the configuration: not a regular file");
    }
    std::ifstream file(path, std::ios::binary);
    std::string text;
    std::array<char, 4096> chunk{};
    while (file.read(chunk.data(), chunk.size()), file.gcount() > 0) {
        text.append(chunk.data(), static_cast<std::size_t>(file.gcount()));
        if (text.size() > kConfigBytesMax) {
            return configuration_error(path + ": the configuration is larger than " +
                                       protocol::format_size(kConfigBytesMax) + ": is it the right file?");
        }
    }
    // Opening a directory succeeds; reading it does not.
    if (!file.is_open() || file.bad()) {
        return configuration_error(path + ": cannot read the configuration: " + std::strerror(errno));
    }
    return parse(text, path);
}

Result<Config> Config::parse(std::string_view text, const std::string& source) {
    try {
        return Reader(source).read(toml::parse(text));
    } catch (const toml::parse_error& malformed) {
        return configuration_error(place(source, malformed.source().begin) +
                                   "not TOML: " + std::string(malformed.description()));
    }
}

Result<void> Config::set(std::string_view key, std::string_view value) {
    if (key == "peer") {
        Result<PeerConfig> peer = engine::parse_peer(value);
        if (!peer) {
            return configuration_error(about_key(key, peer.error().message));
        }
        if (const auto wrong = engine::clash(peers, *peer)) {
            return configuration_error(about_key(key, *wrong));
        }
        peers.push_back(*std::move(peer));
        return {};
    }
    const Key* const known = engine::find_key(key);
    if (known == nullptr) {
        return configuration_error(unknown_key(key, key_names()));
    }
    if (const auto wrong = engine::assign(*this, *known, std::string(value), false)) {
        return configuration_error(about_key(key, *wrong));
    }
    return {};
}

}  // namespace bowline
