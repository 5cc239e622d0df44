#include "protocol/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace bowline::protocol {

void check_failed(const char* fact, const char* file, int line) noexcept {
    std::fprintf(stderr, "bowline: internal error: %s does not hold at %s:%d\n", fact, file, line);
    std::abort();
}

}  // namespace bowline::protocol
