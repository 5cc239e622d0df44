#pragma once

#include <cstdint>
#include <string>

#include "bowline/engine.hpp"
#include "bowline/result.hpp"
#include "tools/options.hpp"
#include "tools/session.hpp"

namespace bowline::tools {

// `bowline cat`: standard input to standard output, through two engines. The protocol is in cat_frames.hpp.

struct CatOptions {
    CommonOptions common;
    std::string to;
    std::string from;
    bool lines = false;
    std::uint64_t size = 0;           ///< bytes a block; 0: the default
    Duration wait = Duration::s(10);  ///< for a peer that is not there
    Duration timeout;                 ///< for the whole; zero: none
};

/// What is printed of a finished transfer.
struct CatFigures {
    std::uint64_t bytes = 0;
    std::uint64_t messages = 0;
    double seconds = 0;
    std::uint64_t retransmits = 0;  ///< packets that this end sent again
    std::uint64_t packets = 0;      ///< data packets that this end sent
};

/// A limit on how long the whole may take.
class Deadline {
public:
    /// Zero: none.
    explicit Deadline(Duration limit) : limit_(limit), start_(std::chrono::steady_clock::now()) {}
    [[nodiscard]] Result<void> check() const;

private:
    Duration limit_;
    std::chrono::steady_clock::time_point start_;
};

/// Sends standard input to the peer and waits until it has confirmed all of it.
Result<CatFigures> cat_send(Session& session, Peer peer, const CatOptions& options);

/// Waits for the peer to begin, and writes what it sends to standard output until it ends.
Result<CatFigures> cat_receive(Session& session, Peer peer, const CatOptions& options);

}  // namespace bowline::tools
