#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace bowline::protocol::wire {

/// Why the payload of a UDP datagram is not a Bowline packet. Each kind has its own counter at the receiver; the packet
/// is dropped without an answer.
enum class DecodeError : std::uint8_t {
    none,           ///< nothing wrong
    too_short,      ///< shorter than the fixed header
    bad_magic,      ///< not Bowline's magic: somebody else's datagram
    bad_version,    ///< Bowline, but a version that is not spoken here
    bad_type,       ///< no such packet type
    bad_flags,      ///< an unknown flag, or one that this type cannot carry, or flags that contradict each other
    reserved_set,   ///< a reserved field is not 0
    bad_extension,  ///< an extension passes the end, or says what cannot be
    bad_body,       ///< a control body of the wrong size or with impossible values
    bad_name,       ///< a node name of no or too many bytes, or with other than printable ASCII
    bad_frame,      ///< frames do not fill the content exactly, or stand in an order that no sender produces
    empty_data,     ///< DATA without a frame
};

/// How many DecodeErrors there are, `none` included: the size of a table of counters indexed by them.
inline constexpr std::size_t kDecodeErrors = 12;

/// The counter's name, such as "bad_magic"; static storage.
[[nodiscard]] const char* name_of(DecodeError error);

/// A validated value, or why there is none.
template <typename T>
class [[nodiscard]] Decoded {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
    constexpr Decoded(DecodeError error) : error_(error) {}  // NOLINT(google-explicit-constructor): returned by name
    constexpr Decoded(const T& value) : value_(value) {}     // NOLINT(google-explicit-constructor)

    /// What `make` constructs in place: it is given the memory of the value and returns what is wrong, in which case it
    /// need not have constructed one. Spares the hot path clearing and copying.
    template <typename Make>
    static Decoded made_by(Make make) {
        Decoded decoded(DecodeError::none);
        decoded.error_ = make(&decoded.value_);
        return decoded;
    }

    [[nodiscard]] constexpr explicit operator bool() const { return error_ == DecodeError::none; }
    [[nodiscard]] constexpr bool has_value() const { return error_ == DecodeError::none; }
    [[nodiscard]] constexpr DecodeError error() const { return error_; }

    /// Only when there is a value.
    [[nodiscard]] constexpr const T& operator*() const { return value_; }
    [[nodiscard]] constexpr const T* operator->() const { return &value_; }

private:
    union {
        T value_;  ///< alive exactly when error_ is none; otherwise never touched, not even cleared
    };
    DecodeError error_ = DecodeError::none;
};

}  // namespace bowline::protocol::wire
