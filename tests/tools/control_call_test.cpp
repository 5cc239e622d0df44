#include "tools/control_call.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace bowline::tools {
namespace {

std::string error_of(std::string_view line) {
    const Result<ControlCall> call = parse_call(line);
    EXPECT_FALSE(call) << line;
    if (!call) {
        EXPECT_EQ(call.error().kind, Error::Kind::configuration) << line;
    }
    return call ? "" : call.error().message;
}

TEST(ControlCall, OfEveryCommandSurvivesTheWire) {
    for (const ControlCommand& command : control_commands()) {
        ControlCall call;
        call.command = command.name;
        call.peer = command.argument == ControlArgument::peer ? "b \"quoted\"" : "";
        if (command.argument == ControlArgument::members) {
            call.members = {"a", "b"};
        }
        call.reset = command.argument == ControlArgument::reset;
        const std::string line = write_call(call);
        EXPECT_EQ(line.find('\n'), std::string::npos);
        const Result<ControlCall> parsed = parse_call(line);
        ASSERT_TRUE(parsed) << line << ": " << parsed.error().message;
        EXPECT_EQ(*parsed, call) << line;
    }
}

TEST(ControlCall, NeedsNoResetAndTakesAnEmptyView) {
    const Result<ControlCall> counters = parse_call(R"({"command":"counters"})");
    ASSERT_TRUE(counters);
    EXPECT_FALSE(counters->reset);
    const Result<ControlCall> view = parse_call(R"({"command":"install-view","members":[]})");
    ASSERT_TRUE(view);
    EXPECT_TRUE(view->members.empty());
}

TEST(ControlCall, ThatIsNoObjectIsRefused) {
    for (const char* line :
         {"", "{", "peers", "[]", "\"peers\"", "null", "{\"command\":\"peers\"} x", "\xff\xfe", "{\"a\":1,}"}) {
        EXPECT_NE(error_of(line).find("a JSON object on a line"), std::string::npos) << line;
    }
    EXPECT_NE(error_of(std::string(60'000, '[')).find("a JSON object"), std::string::npos)
        << "deep, and not followed down";
}

TEST(ControlCall, ErrorsNameWhatIsWrong) {
    EXPECT_NE(error_of("{}").find("'command' is missing; it is one of peers, connections, view"), std::string::npos);
    EXPECT_NE(error_of(R"({"command":7})").find("'command' is missing"), std::string::npos);
    EXPECT_NE(error_of(R"({"command":"reboot"})").find("there is no command 'reboot'"), std::string::npos);
    EXPECT_EQ(error_of(R"({"command":"rotate"})"), "rotate: 'peer' is missing: a peer's name");
    EXPECT_EQ(error_of(R"({"command":"rotate","peer":7})"), "rotate: 'peer' must be a peer's name");
    EXPECT_EQ(error_of(R"({"command":"peers","peer":"b"})"), "peers: unknown field 'peer'");
    EXPECT_EQ(error_of(R"({"command":"counters","reset":1})"), "counters: 'reset' must be true or false");
    EXPECT_EQ(error_of(R"({"command":"install-view"})"), "install-view: 'members' is missing: a list of names");
    EXPECT_EQ(error_of(R"({"command":"install-view","members":["a",1]})"),
              "install-view: 'members' must be a list of names");
}

TEST(ControlCall, RefusalsAreAnswersToo) {
    const auto answer = nlohmann::json::parse(write_refusal({Error::Kind::misuse, "no\nnot \xff"}));
    EXPECT_EQ(answer["ok"], false);
    EXPECT_EQ(answer["kind"], "misuse");
    EXPECT_EQ(answer["error"], "no\nnot \xEF\xBF\xBD") << "what is not UTF-8 is replaced";
}

}  // namespace
}  // namespace bowline::tools
