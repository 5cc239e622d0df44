#include <string>

#include "engine/c_abi.hpp"
#include "engine/config_keys.hpp"

using bowline::Config;
using bowline::Result;
using bowline::c_abi::fail;
using bowline::c_abi::fail_null;
using bowline::c_abi::guarded;

namespace {

bowline_status hand_out(Result<Config> made, bowline_config** config) {
    if (!made) {
        return fail(made.error());
    }
    *config = new bowline_config{*std::move(made)};
    return BOWLINE_OK;
}

}  // namespace

extern "C" {

bowline_status bowline_config_create(bowline_config** config) {
    if (config == nullptr) {
        return fail_null("config");
    }
    *config = nullptr;
    return guarded([&] { return hand_out(Config(), config); });
}

bowline_status bowline_config_load(const char* path, bowline_config** config) {
    if (config == nullptr) {
        return fail_null("config");
    }
    *config = nullptr;
    if (path == nullptr) {
        return fail_null("path");
    }
    return guarded([&] { return hand_out(Config::load(path), config); });
}

bowline_status bowline_config_parse(const char* text, const char* source, bowline_config** config) {
    if (config == nullptr) {
        return fail_null("config");
    }
    *config = nullptr;
    if (text == nullptr || source == nullptr) {
        return fail_null(text == nullptr ? "text" : "source");
    }
    return guarded([&] { return hand_out(Config::parse(text, source), config); });
}

void bowline_config_destroy(bowline_config* config) { delete config; }

bowline_status bowline_config_set(bowline_config* config, const char* key, const char* value) {
    if (config == nullptr || key == nullptr || value == nullptr) {
        return fail_null(config == nullptr ? "config" : key == nullptr ? "key" : "value");
    }
    return guarded([&] {
        const Result<void> done = config->config.set(key, value);
        return done ? BOWLINE_OK : fail(done.error());
    });
}

bowline_status bowline_config_get(const bowline_config* config, const char* key, char* buffer, size_t capacity,
                                  size_t* length) {
    if (length != nullptr) {
        *length = 0;
    }
    if (config == nullptr || key == nullptr || (buffer == nullptr && capacity > 0)) {
        return fail_null(config == nullptr ? "config" : key == nullptr ? "key" : "buffer");
    }
    return guarded([&] {
        const bowline::engine::Key* const known = bowline::engine::find_key(key);
        if (known == nullptr) {
            return fail(BOWLINE_CONFIGURATION, "key '" + std::string(key) + "': unknown key");
        }
        const std::string text = value_text(config->config, *known);
        if (length != nullptr) {
            *length = text.size();
        }
        if (text.size() >= capacity) {
            return fail(BOWLINE_TOO_LARGE, "key '" + std::string(key) + "': the value needs a buffer of " +
                                               std::to_string(text.size() + 1) + " bytes, not " +
                                               std::to_string(capacity));
        }
        std::memcpy(buffer, text.c_str(), text.size() + 1);
        return BOWLINE_OK;
    });
}

bowline_status bowline_config_validate(const bowline_config* config) {
    if (config == nullptr) {
        return fail_null("config");
    }
    return guarded([&] {
        const Result<void> valid = config->config.validate();
        return valid ? BOWLINE_OK : fail(valid.error());
    });
}

}  // extern "C"
