#include "sim/scenario_run.hpp"

#include <gtest/gtest.h>

#include "sim/scenario_parse.hpp"

namespace bowline::sim {
namespace {

class ScenarioRun : public testing::Test {
protected:
    ScenarioResult run(std::string_view text, const ScenarioOptions& options = {}) {
        const ParsedScenario parsed = parse_scenario(text);
        EXPECT_FALSE(parsed.error) << parsed.error->line << ": " << parsed.error->text;
        return run_scenario(parsed.scenario, arena_, options);
    }
    void expect_ok(std::string_view text) { EXPECT_EQ(report("file", run(text)), "file: ok"); }
    void expect_failure(std::string_view text, std::uint32_t line, std::string_view part) {
        const ScenarioResult result = run(text);
        EXPECT_EQ(result.line, line) << result.failure;
        EXPECT_NE(result.failure.find(part), std::string::npos) << "it said: '" << result.failure << "'";
    }

private:
    Arena arena_;
};

TEST_F(ScenarioRun, WhatIsExpectedAndSeenPasses) {
    expect_ok(
        "nodes A B\n"
        "at 0us send A B 5\n"
        "at 0us send B A 3 packed size=100\n"
        "run quiet\n"
        "expect delivered B from A = 1..5\n"
        "expect delivered A from B = 1..3\n"
        "expect undelivered A to B = none\n"
        "expect uncertain A to B = none\n"
        "expect unacked A to B = 0\n"
        "expect window B from A = open\n"
        "expect conn A to B = 1\n"
        "expect conn B to A = 1\n"
        "expect count A data_packets_sent peer=B = 5\n"
        "expect count A data_packets_sent >= 5\n"
        "expect count A control_hello_sent = 0\n"
        "expect count A hello_sent = 0\n"
        "expect packets A->B DATA = 5\n"
        "expect packets B->A DATA = 1\n"
        "expect packets A<->B DATA = 6\n"
        "expect packets * HELLO = 0\n"
        "expect no event A PeerDown B\n"
        "expect no event A PeerUp B\n"
        "expect refused A to B = 0\n");
}

TEST_F(ScenarioRun, WrongExpectationFailsWithItsLineWhatWasExpectedAndWhatWasSeen) {
    const std::string head = "nodes A B\nat 0us send A B 2\nrun quiet\n";
    expect_failure(head + "\nexpect delivered B from A = 1..3\n", 5, "expected delivered B from A = 1..3, seen 1..2");
    expect_failure(head + "expect delivered B from A = none\n", 4, "expected delivered B from A = none, seen 1..2");
    expect_failure(head + "expect undelivered A to B = 1\n", 4, "expected undelivered A to B = 1, seen none");
    expect_failure(head + "expect unacked A to B > 0\n", 4, "expected unacked A to B > 0, seen 0");
    expect_failure(head + "expect window B from A = none\n", 4, "seen open");
    expect_failure(head + "expect conn A to B = 2\n", 4, "expected conn A to B = 2, seen 1");
    expect_failure(head + "expect packets A->B DATA <= 1\n", 4, "expected packets A->B DATA <= 1, seen 2");
    expect_failure(head + "expect count A retransmits peer=B >= 1\n", 4,
                   "expected count A retransmits peer=B >= 1, seen 0");
    expect_failure(head + "expect event A PeerDown B\n", 4, "expected event A PeerDown B, seen no event");
    // The first that fails is named.
    expect_failure(head + "expect unacked A to B = 0\nexpect conn A to B = 7\nexpect conn A to B = 8\n", 5, "= 7");
}

TEST_F(ScenarioRun, AFailureShowsTheEndOfTheTrace) {
    const ScenarioResult result =
        run("nodes A B\n"
            "at 1ms send A B 2\n"
            "run quiet\n"
            "expect conn A to B = 7\n");
    ASSERT_FALSE(result.ok());
    ASSERT_GE(result.last_trace.size(), 4U);
    EXPECT_NE(result.last_trace.front().find("1000.000us script: at 1ms send A B 2"), std::string::npos);
    EXPECT_NE(result.last_trace.back().find("B->A ACK"), std::string::npos) << result.last_trace.back();
    const std::string text = report("x.scn", result);
    EXPECT_EQ(text.find("x.scn:4: expected conn A to B = 7, seen 1\n"), 0U) << text;
    EXPECT_NE(text.find("A->B DATA"), std::string::npos);
}

TEST_F(ScenarioRun, TracingDoesNotChangeARun) {
    const std::string_view text =
        "nodes A B\nseed 5\nlink * loss=10% jitter=5us\nat 0us send A B 50\nat 0us send B A 50\nrun quiet\n";
    std::size_t lines = 0;
    const ScenarioResult traced = run(text, {.trace = [&lines](const std::string&) { ++lines; }, .last_lines = 0});
    const ScenarioResult plain = run(text);
    EXPECT_EQ(plain.failure, "");
    EXPECT_EQ(traced.trace_hash, plain.trace_hash);
    EXPECT_GT(lines, 100U);
}

TEST_F(ScenarioRun, TimesCountFromTheStartOfTheScript) {
    std::vector<std::string> lines;
    const ScenarioResult result =
        run("nodes A B\nat 2ms send A B 1\nafter 3ms send A B 1\nrun 1ms\nafter 1ms send A B 1\nrun quiet\n",
            {.trace = [&](const std::string& line) { lines.push_back(line); }, .last_lines = 0});
    EXPECT_EQ(result.failure, "");
    std::vector<std::string> sends;
    for (const std::string& line : lines) {
        if (line.find("script:") != std::string::npos) {
            sends.push_back(line.substr(0, line.find(" script")));
        }
    }
    EXPECT_EQ(sends, (std::vector<std::string>{"    2000.000us", "    5000.000us", "    6000.000us"}));
}

TEST_F(ScenarioRun, AnActionForATimeThatHasPassedFails) {
    expect_failure("nodes A B\nat 0us send A B 1\nrun 5ms\nat 1ms send A B 1\n", 4, "have come to 5000.000us");
}

TEST_F(ScenarioRun, QuietThatDoesNotComeFailsAndNamesWhoIsBusy) {
    expect_failure("nodes A B\nat 0us cut A->B\nat 0us send A B 1\nrun quiet max=50ms\n", 4,
                   "not quiet within 50 ms: A is busy with what is queued or not acknowledged");
}

TEST_F(ScenarioRun, ExpectationsBetweenRunsSeeWhatIsSoFar) {
    expect_ok(
        "nodes A B\n"
        "expect delivered B from A = none\n"
        "at 0us send A B 2\n"
        "run quiet\n"
        "expect delivered B from A = 1..2\n"
        "at 10ms send A B 2\n"
        "run 1us\n"
        "expect unacked A to B = 2\n"
        "run quiet\n"
        "expect delivered B from A = 1..4\n"
        "expect unacked A to B = 0\n");
}

TEST_F(ScenarioRun, FaultsHitThePacketsThatTheyName) {
    // The second packet and its repetition are lost, then it comes.
    expect_ok(
        "nodes A B\n"
        "at 0us drop A->B DATA msg=2\n"
        "at 0us drop A->B DATA msg=2\n"
        "at 0us send A B 3\n"
        "run quiet\n"
        "expect delivered B from A = 1..3\n"
        "expect packets A->B DATA = 5\n");
    // The first and the third.
    expect_ok(
        "nodes A B\n"
        "at 0us drop A->B DATA nth=1\n"
        "at 0us drop A->B DATA nth=3\n"
        "at 0us send A B 4\n"
        "run quiet\n"
        "expect packets A->B DATA = 6\n"
        "expect delivered B from A = 1..4\n");
    // Every one until it is cleared; other kinds and other links pass.
    expect_ok(
        "nodes A B\n"
        "at 0us drop A->B DATA count=all\n"
        "at 0us send A B 1\n"
        "at 0us send B A 1\n"
        "run 20ms\n"
        "expect delivered B from A = none\n"
        "expect delivered A from B = 1\n"
        "at 30ms clear A->B\n"
        "run quiet\n"
        "expect delivered B from A = 1\n");
    expect_ok(
        "nodes A B\n"
        "at 0us dup A->B DATA count=3\n"
        "at 0us corrupt B->A ACK\n"
        "at 0us delay A->B DATA nth=4 by=5ms\n"
        "at 0us send A B 5\n"
        "run 1ms\n"
        "expect count B duplicates >= 3\n"
        "run quiet\n"
        "expect delivered B from A = 1..5\n");
}

TEST_F(ScenarioRun, AMessageIsFoundInWhicheverPacketsCarryIt) {
    // Packed, three fill a packet; the tenth is of two packets.
    expect_ok(
        "nodes A B\n"
        "set mtu=576\n"
        "at 0us send A B 9 size=150 packed\n"
        "at 0us send A B 1 size=700 packed\n"
        "at 0us send A B 2 packed\n"
        "at 0us hold A->B DATA as=tenth msg=10 count=all\n"
        "run 500us\n"
        "expect delivered B from A = 1..9\n"
        "at 1ms clear *\n"
        "at 1ms release tenth\n"
        "run quiet\n"
        "expect delivered B from A = 1..12\n");
}

TEST_F(ScenarioRun, WhatIsHeldIsReleasedInCopies) {
    expect_ok(
        "nodes A B\n"
        "at 0us hold A->B DATA as=first\n"
        "at 0us send A B 1\n"
        "run quiet\n"
        "expect delivered B from A = 1\n"
        "at 10ms release first times=4\n"
        "run quiet\n"
        "expect count B duplicates peer=A = 4\n"
        "expect delivered B from A = 1\n");
}

TEST_F(ScenarioRun, RestartsBeginNumbersAgain) {
    expect_ok(
        "nodes A B\n"
        "at 0us send A B 3\n"
        "run quiet\n"
        "at 10ms crash A\n"
        "at 11ms restart A\n"
        "at 30ms send A B 2\n"
        "run quiet\n"
        "expect delivered B from A = 1..3,1..2\n"
        "expect event B PeerDown A\n"
        "at 60ms crash B\n"
        "at 61ms restart B\n"
        "at 90ms send A B 1\n"
        "run quiet\n"
        "expect delivered B from A = 3\n"
        "expect packets A->B DATA = 6\n");
}

TEST_F(ScenarioRun, StalledApplicationsReadNothingAndPausedNodesDoNothing) {
    expect_ok(
        "nodes A B\n"
        "at 0us stall B\n"
        "at 0us send A B 2\n"
        "run 5ms\n"
        "expect delivered B from A = none\n"
        "expect unacked A to B = 0\n"
        "at 10ms unstall B\n"
        "run quiet\n"
        "expect delivered B from A = 1..2\n"
        "at 20ms pause B\n"
        "at 20ms send A B 2\n"
        "run 5ms\n"
        "expect unacked A to B = 2\n"
        "at 30ms resume B\n"
        "run quiet\n"
        "expect delivered B from A = 1..4\n");
}

TEST_F(ScenarioRun, AnOrderlyStopEndsTheProcess) {
    expect_ok(
        "nodes A B\n"
        "at 0us send A B 2\n"
        "at 5ms stop A\n"
        "run 10ms\n"
        "expect event B PeerDown A\n"
        "expect delivered B from A = 1..2\n"
        "at 20ms restart A\n"
        "at 300ms send A B 1\n"
        "run quiet\n"
        "expect delivered B from A = 1..2,1\n");
}

TEST_F(ScenarioRun, SettingsReachTheNodesThatTheyAreFor) {
    expect_ok(
        "nodes A B\n"
        "set ack_every=1\n"
        "set A message_max=100\n"
        "at 0us send A B 1 size=101\n"
        "at 0us send B A 1 size=101\n"
        "at 0us send A B 1 size=100\n"
        "run quiet\n"
        "expect refused A to B = 1\n"
        "expect refused B to A = 1\n"
        "expect delivered B from A = 1\n");
}

TEST_F(ScenarioRun, LinksChangeWhereTheScriptSaysSo) {
    expect_ok(
        "nodes A B\n"
        "link * delay=1ms\n"
        "at 0us send A B 1\n"
        "run 900us\n"
        "expect delivered B from A = none\n"
        "run quiet\n"
        "expect delivered B from A = 1\n"
        "link A->B delay=10us\n"
        "after 10ms send A B 1\n"
        "run 50us\n"
        "expect delivered B from A = 1..2\n");
}

TEST_F(ScenarioRun, WhatTheOracleObjectsToFailsWhateverIsExpected) {
    // Nothing does, of what there is: a pool that cannot hold a window is refused before that.
    const ScenarioResult result = run("nodes A B\nset packet_pool=600\nrun quiet\n");
    EXPECT_NE(result.failure.find("packet_pool=600 is too small for 1 peers"), std::string::npos) << result.failure;
    EXPECT_EQ(report("f", result), "f: " + result.failure);
}

TEST_F(ScenarioRun, NodesApartMeetInTheScript) {
    expect_ok(
        "nodes A B apart\n"
        "expect packets * HELLO = 0\n"
        "at 0us send A B 3\n"
        "run quiet\n"
        "expect packets A<->B HELLO >= 1\n"
        "expect event A PeerUp B\n"
        "expect delivered B from A = 1..3\n");
}

}  // namespace
}  // namespace bowline::sim
