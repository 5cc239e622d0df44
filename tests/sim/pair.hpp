#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "sim/simulation.hpp"

namespace bowline::sim {

inline constexpr NodeId kA = 0;
inline constexpr NodeId kB = 1;

/// Two nodes, A and B, on a clean network with 10 us each way unless told otherwise.
class Pair {
public:
    explicit Pair(std::uint64_t seed = 1, const protocol::Settings& settings = {}) : Pair(seed, configs(settings)) {}
    Pair(std::uint64_t seed, const std::vector<NodeConfig>& nodes) : sim_(seed, nodes, arena_) {}

    static std::vector<NodeConfig> configs(const protocol::Settings& settings) {
        std::vector<NodeConfig> nodes(2);
        nodes[kA].name = "A";
        nodes[kB].name = "B";
        nodes[kA].settings = settings;
        nodes[kB].settings = settings;
        return nodes;
    }

    Simulation* operator->() { return &sim_; }
    Simulation& operator*() { return sim_; }
    Node& a() { return sim_.node(kA); }
    Node& b() { return sim_.node(kB); }
    Network& network() { return sim_.network(); }
    [[nodiscard]] const protocol::SendCounters& sending(NodeId from) {
        return sim_.node(from).worker().peer(0).send.counters();
    }
    [[nodiscard]] std::uint64_t sent(NodeId from, protocol::wire::Type type) {
        return network().sent(from, from == kA ? kB : kA, static_cast<std::size_t>(type));
    }
    [[nodiscard]] std::uint64_t delivered() { return sim_.oracle().delivered(); }

    /// Until both know each other and all is quiet.
    void meet() { ASSERT_TRUE(sim_.run_quiet(Duration::s(5))) << sim_.failure(); }
    /// Everything must come through, and then nothing more.
    void finish(Duration most = Duration::s(30)) {
        ASSERT_TRUE(sim_.run_quiet(most)) << sim_.failure();
        sim_.finish();
        ASSERT_EQ(sim_.failure(), "");
    }

private:
    Arena arena_;
    Simulation sim_;
};

}  // namespace bowline::sim
