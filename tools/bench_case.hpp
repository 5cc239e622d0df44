#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bowline::tools {

/// What `bowline bench` measures at once: the engine and, beside it, the device without any protocol.
struct BenchCase {
    enum class Kind : std::uint8_t {
        round_trip,    ///< one message at a time, there and back
        one_way,       ///< as many messages as are accepted, counted by the receiver
        offered_rate,  ///< round trips at a fixed rate, timed from the intended send
    };
    enum class Medium : std::uint8_t {
        memif,  ///< shared memory
        veth,   ///< af_packet on a pair of kernel interfaces
    };
    Kind kind = Kind::round_trip;
    Medium medium = Medium::memif;
    std::uint64_t size = 64;  ///< bytes a message
    double rate = 0;          ///< messages a second; offered_rate only

    /// Whether a message of this size fits into one packet, so that a raw packet can stand beside it.
    [[nodiscard]] bool is_one_packet() const;
    /// Bytes of the raw frame that stands beside: what carries one such message, or a full one.
    [[nodiscard]] std::uint32_t raw_frame_bytes() const;
    /// Such as "memif round trip 64 B".
    [[nodiscard]] std::string name() const;
};

[[nodiscard]] const char* name_of(BenchCase::Kind kind);
[[nodiscard]] const char* name_of(BenchCase::Medium medium);

/// The matrix, in the order in which a round goes through it.
[[nodiscard]] std::vector<BenchCase> bench_cases(bool quick, bool with_veth);

/// What the commands of a case need to know.
struct BenchSetup {
    std::string bowline;           ///< this program
    std::string limit;             ///< bench/limit
    std::string folder;            ///< for the memif socket
    std::string namespaces;        ///< veth: those of the two ends are this and "-a", "-b"
    int cpus[2] = {0, 1};          ///< of the client's and of the server's polling thread
    std::int64_t time_ms = 1'000;  ///< a sample
};

using CommandLine = std::vector<std::string>;
/// The two ends of a sample. The client ends by itself and prints its figures; the server runs until it is stopped.
struct BenchCommands {
    CommandLine server;
    CommandLine client;
};
[[nodiscard]] BenchCommands raw_commands(const BenchCase& bench_case, const BenchSetup& setup);
[[nodiscard]] BenchCommands engine_commands(const BenchCase& bench_case, const BenchSetup& setup);

}  // namespace bowline::tools
