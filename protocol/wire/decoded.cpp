#include "protocol/wire/decoded.hpp"

#include <array>

namespace bowline::protocol::wire {

const char* name_of(DecodeError error) {
    static constexpr std::array<const char*, kDecodeErrors> names = {
        "none",         "too_short",     "bad_magic", "bad_version", "bad_type",  "bad_flags",
        "reserved_set", "bad_extension", "bad_body",  "bad_name",    "bad_frame", "empty_data",
    };
    static_assert(static_cast<std::size_t>(DecodeError::empty_data) + 1 == kDecodeErrors);
    return names[static_cast<std::size_t>(error)];
}

}  // namespace bowline::protocol::wire
