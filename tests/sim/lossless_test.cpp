#include <gtest/gtest.h>

#include "sim/simulation.hpp"

namespace bowline::sim {
namespace {

std::vector<NodeConfig> two() {
    std::vector<NodeConfig> nodes(2);
    nodes[0].name = "A";
    nodes[1].name = "B";
    return nodes;
}

TEST(Lossless, FirstMessageTakesOneTrip) {
    Arena arena;
    const auto nodes = two();
    Simulation sim(1, nodes, arena);
    if (getenv("TRACE") != nullptr) sim.set_trace([](const std::string& s) { puts(s.c_str()); });
    ASSERT_TRUE(sim.run_quiet(Duration::s(1))) << sim.failure();
    sim.node(0).send({.to = 1, .count = 100});
    sim.node(1).send({.to = 0, .count = 50});
    ASSERT_TRUE(sim.run_quiet(Duration::s(1))) << sim.failure();
    sim.finish();
    EXPECT_EQ(sim.failure(), "");
    EXPECT_EQ(sim.oracle().delivered(), 150U);
}

}  // namespace
}  // namespace bowline::sim
