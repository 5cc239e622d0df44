#pragma once

#include <optional>
#include <string>
#include <utility>

namespace bowline {

/// Why a call failed, for a person: what was wrong, where, and what to do about it.
struct Error {
    enum class Kind {
        configuration,  ///< a file, key, option or name is wrong: mend it and call again
        system,         ///< the machine refused: privilege, memory, device
        misuse,         ///< the call itself: wrong thread, engine stopped
    };
    Kind kind = Kind::system;
    std::string message;
};

/// A value, or the Error in its place. Errors are values: no call of this library throws.
template <typename T>
class [[nodiscard]] Result {
public:
    Result(T value) : value_(std::move(value)) {}      // NOLINT(google-explicit-constructor): reads as the value
    Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor): reads as the error

    [[nodiscard]] bool has_value() const { return value_.has_value(); }
    explicit operator bool() const { return has_value(); }

    /// Only when has_value().
    T& operator*() & { return *value_; }
    const T& operator*() const& { return *value_; }
    T&& operator*() && { return std::move(*value_); }
    T* operator->() { return &*value_; }
    const T* operator->() const { return &*value_; }

    /// Only when !has_value().
    [[nodiscard]] const Error& error() const { return error_; }

private:
    std::optional<T> value_;
    Error error_;
};

/// Success, or an Error.
template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor): reads as the error

    [[nodiscard]] bool has_value() const { return !error_.has_value(); }
    explicit operator bool() const { return has_value(); }
    [[nodiscard]] const Error& error() const { return *error_; }

private:
    std::optional<Error> error_;
};

}  // namespace bowline
