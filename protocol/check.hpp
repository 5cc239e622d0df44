#pragma once

namespace bowline::protocol {

/// Prints the broken fact to standard error and aborts. Out of line and cold: a CHECK costs the path one compare.
[[noreturn, gnu::cold]] void check_failed(const char* fact, const char* file, int line) noexcept;

}  // namespace bowline::protocol

/// A fact about our own code that must hold in every build. Never used on what a peer or an application sent: that is
/// refused and counted.
#define BOWLINE_CHECK(fact)                                              \
    (__builtin_expect(static_cast<bool>(fact), 1) ? static_cast<void>(0) \
                                                  : ::bowline::protocol::check_failed(#fact, __FILE__, __LINE__))

/// The same for debug builds and simulation, where the cost does not matter.
#if defined(BOWLINE_DCHECKS)
#define BOWLINE_DCHECK(fact) BOWLINE_CHECK(fact)
#else
#define BOWLINE_DCHECK(fact) static_cast<void>(sizeof(!(fact)))
#endif
