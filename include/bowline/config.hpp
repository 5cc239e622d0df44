#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bowline/result.hpp"

namespace bowline {

/// A peer that is configured by hand.
struct PeerConfig {
    std::string name;     ///< 1..63 printable characters without space
    std::string address;  ///< A.B.C.D
    std::string mac;      ///< aa:bb:cc:dd:ee:ff, or empty: asked by ARP
};

/// Everything that an engine is started with. A plain value; `docs/CONFIGURATION.md` explains every key.
///
/// Thread: any. Errors name file, line, key and what was expected.
struct Config {
    /// Who runs the worker.
    enum class Mode {
        inline_,    ///< "inline": the thread that calls poll() is the worker; lowest latency
        dedicated,  ///< "dedicated": a worker of its own on a core of its own; applications use rings
    };
    /// UDP checksums.
    enum class Integrity {
        auto_,  ///< "auto": on every device but those that share memory (memif, ring)
        always,
        never,
    };
    enum class Hugepages { auto_, on, off };
    /// Who decides which peers are in view.
    enum class Views {
        static_,   ///< "static": the configured peers, while they answer
        external,  ///< "external": the application, by Engine::install_view()
    };
    /// What becomes of unacknowledged messages to a peer that leaves the view.
    enum class Exclusion {
        retain,   ///< they wait for retain_time for it to come back
        discard,  ///< they are reported at once
    };
    /// What becomes of messages of which nobody can know whether a peer that had to forget us has delivered them.
    enum class OnUncertain { report, resend };
    /// How many packets may be in flight to a peer.
    enum class Congestion {
        fixed,  ///< as many as `window` says: for links that nobody else fills
        swift,  ///< as many as keep the delay at a target: for networks
    };

    std::string name;
    std::string device;
    std::string address;        ///< A.B.C.D/N
    std::string gateway;        ///< A.B.C.D, or empty
    std::uint16_t port = 7727;  ///< UDP
    std::uint32_t mtu = 1500;   ///< bytes, the largest IP packet
    std::uint16_t vlan = 0;     ///< 802.1Q id, 0: none
    std::vector<PeerConfig> peers;

    Mode mode = Mode::inline_;
    int cpu = -1;  ///< the dedicated worker's CPU; -1: where the scheduler puts it
    Integrity integrity = Integrity::auto_;
    Hugepages hugepages = Hugepages::auto_;
    std::uint32_t memory_mb = 0;        ///< DPDK's memory; 0: what the pools need
    std::uint32_t packet_pool = 0;      ///< packets; 0: from windows and peers
    std::string log_level = "warning";  ///< error, warning, info, debug
    /// Where the commands of this tree listen for `bowline ctl`: a path, `auto` or `none`. The library itself does not.
    std::string control_socket = "auto";

    // Protocol: durations in nanoseconds, sizes in packets or bytes as named.
    std::uint32_t window = 1024;             ///< packets in flight and in the receive ring, a power of two
    std::uint32_t send_queue = 1024;         ///< packets that wait for the window
    std::uint32_t message_max = 16U << 20U;  ///< bytes
    std::uint32_t held_max = 256;            ///< messages that the application may hold beyond their handler
    std::uint32_t ack_every = 16;            ///< packets
    std::int64_t ack_delay_ns = 25'000;
    std::int64_t rto_min_ns = 500'000;
    std::int64_t rto_max_ns = 1'000'000'000;
    std::int64_t give_up_ns = 60'000'000'000;
    std::int64_t heartbeat_ns = 200'000'000;
    std::int64_t suspect_after_ns = 1'000'000'000;
    Views views = Views::static_;
    Exclusion exclusion = Exclusion::retain;
    std::int64_t retain_time_ns = 10'000'000'000;
    OnUncertain on_uncertain = OnUncertain::report;
    std::int64_t conn_expiry_ns = 0;
    Congestion congestion = Congestion::fixed;
    std::int64_t swift_base_target_ns = 50'000;
    std::int64_t swift_fs_range_ns = 250'000;
    std::uint32_t swift_fs_min_cwnd_milli = 100;      ///< thousandths of a packet
    std::uint32_t swift_fs_max_cwnd_milli = 100'000;  ///< thousandths of a packet
    std::uint32_t swift_ai_milli = 1000;              ///< thousandths of a packet
    std::uint32_t swift_beta_milli = 800;             ///< thousandths
    std::uint32_t swift_max_mdf_milli = 500;          ///< thousandths
    std::uint32_t swift_min_cwnd_milli = 10;          ///< thousandths of a packet

    /// Reads a TOML file.
    static Result<Config> load(const std::string& path);
    /// The same from text; `source` stands in for the file's name in errors.
    static Result<Config> parse(std::string_view text, const std::string& source);
    /// Sets one key from text, as `-o KEY=VALUE` does: durations as `10us`, `5ms`, `2s`, sizes as `64KiB`, `16MiB`.
    Result<void> set(std::string_view key, std::string_view value);
    /// Checks the whole for what no single key can show (no name, peer twice, address outside every network, ...).
    [[nodiscard]] Result<void> validate() const;
};

}  // namespace bowline
