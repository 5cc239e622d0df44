// The interface to views and connections of a running engine. DPDK starts once a process, so that all tests share one
// engine, on a device that takes everything and brings nothing; they are written to run in any order but for the last.
#include "bowline/engine.hpp"

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/admin.hpp"

namespace bowline {
namespace {

using engine::Admin;

struct Recorder {
    std::vector<Event> events;
    void on_message(const Message& /*message*/) {}
    void on_event(const Event& event) { events.push_back(event); }
    [[nodiscard]] std::optional<std::uint64_t> latest_view() const {
        std::optional<std::uint64_t> id;
        for (const Event& event : events) {
            if (event.kind == Event::Kind::view_changed) {
                id = event.first;
            }
        }
        return id;
    }
};

class EngineTest : public testing::Test {
protected:
    static void SetUpTestSuite() {
        Config config;
        config.name = "a";
        config.device = "null";
        config.address = "10.0.0.1/24";
        config.peers = {{"b", "10.0.0.2", "02:00:00:00:00:02"}, {"c", "10.0.0.3", "02:00:00:00:00:03"}};
        config.views = Config::Views::external;
        config.hugepages = Config::Hugepages::off;
        config.window = 64;
        config.send_queue = 64;
        config.message_max = 64 << 10;
        config.log_level = "error";
        Result<Engine> started = Engine::start(config);
        ASSERT_TRUE(started) << started.error().message;
        engine_ = std::make_unique<Engine>(*std::move(started));
    }
    static void TearDownTestSuite() { engine_.reset(); }

    /// Polls until the condition holds; bounded.
    template <typename Condition>
    static bool poll_until(Recorder& recorder, Condition&& condition) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!condition()) {
            if (std::chrono::steady_clock::now() > deadline) {
                return false;
            }
            engine_->poll(recorder);
        }
        return true;
    }
    /// What `ask` gets from a thread of its own while this one polls.
    template <typename Ask>
    static auto while_polling(Ask&& ask) {
        auto answer = std::async(std::launch::async, ask);
        Recorder recorder;
        EXPECT_TRUE(poll_until(recorder,
                               [&] { return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
        return answer.get();
    }
    static std::uint64_t install(std::vector<std::string_view> names) {
        Recorder recorder;
        const Result<void> queued = engine_->install_view(names);
        EXPECT_TRUE(queued) << queued.error().message;
        EXPECT_TRUE(poll_until(recorder, [&] { return recorder.latest_view().has_value(); }));
        return recorder.latest_view().value_or(0);
    }
    static std::vector<std::string> members() {
        std::vector<std::string> names;
        for (const ViewMember& member : engine_->view().members) {
            names.push_back(member.name);
        }
        return names;
    }
    static Admin& admin() { return engine::admin_of(*engine_); }

    static std::unique_ptr<Engine> engine_;  // NOLINT(readability-identifier-naming): a member
};
std::unique_ptr<Engine> EngineTest::engine_;

using Names = std::vector<std::string>;

TEST_F(EngineTest, InstallsViewsAndSaysWhichIsInForce) {
    const std::uint64_t first = install({"b", "a"});
    EXPECT_EQ(members(), Names{"b"});
    EXPECT_EQ(engine_->view().id, first);
    EXPECT_EQ(engine_->view().self, "a");
    EXPECT_EQ(engine_->view().members[0].address, "10.0.0.2");
    EXPECT_EQ(engine_->view().members[0].incarnation, 0U) << "never met";
    EXPECT_FALSE(engine_->view().members[0].up);
    EXPECT_EQ(install({"c", "b"}), first + 1);
    EXPECT_EQ(members(), (Names{"c", "b"}));
    EXPECT_EQ(install({}), first + 2);
    EXPECT_EQ(members(), Names());
}

TEST_F(EngineTest, RefusesViewsThatCannotBe) {
    const std::uint64_t before = engine_->view().id;
    for (const std::vector<std::string_view>& names : {std::vector<std::string_view>{"x"}, {"b", "b"}}) {
        const Result<void> queued = engine_->install_view(names);
        ASSERT_FALSE(queued);
        EXPECT_EQ(queued.error().kind, Error::Kind::configuration);
    }
    EXPECT_EQ(engine_->view().id, before);
}

TEST_F(EngineTest, TakesAPeersRequestsOnItsOwnersThreadOnly) {
    Peer b = *engine_->peer("b");
    EXPECT_TRUE(b.close());
    EXPECT_TRUE(b.rotate());
    EXPECT_TRUE(b.forget());
    const Result<void> elsewhere = std::async(std::launch::async, [&] { return b.close(); }).get();
    ASSERT_FALSE(elsewhere);
    EXPECT_EQ(elsewhere.error().kind, Error::Kind::misuse);
    const Result<void> view = std::async(std::launch::async, [&] { return engine_->install_view({}); }).get();
    EXPECT_FALSE(view);
    Peer self = *engine_->peer("a");
    const Result<void> own = self.rotate();
    ASSERT_FALSE(own);
    EXPECT_NE(own.error().message.find("this node itself"), std::string::npos);
}

TEST_F(EngineTest, ReportsConnectionsWhileTheApplicationPolls) {
    const Result<engine::Report> report = while_polling([] { return admin().peers(); });
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->name, "a");
    ASSERT_EQ(report->peers.size(), 2U);
    EXPECT_EQ(report->peers[1].name, "c");
    EXPECT_FALSE(report->peers[1].connection.up);
    EXPECT_EQ(report->peers[1].connection.send.next_message, 1U);
    EXPECT_EQ(report->peers[1].connection.receive.free_pkts, 64U);
}

TEST_F(EngineTest, SaysSoWhenTheApplicationDoesNotPoll) {
    const Result<engine::Report> report = std::async(std::launch::async, [] { return admin().peers(); }).get();
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().message.find("the application does not poll"), std::string::npos)
        << report.error().message;
    const Result<engine::Report> view = std::async(std::launch::async, [] { return admin().view(); }).get();
    ASSERT_TRUE(view) << "what control knows needs no poll: " << view.error().message;
    const Result<engine::Report> again = while_polling([] { return admin().peers(); });
    EXPECT_TRUE(again) << "and the next one is answered";
}

TEST_F(EngineTest, DoesAnOperatorsWordWithoutItsApplication) {
    install({"b", "c"});
    const auto answer = std::async(std::launch::async, [] { return admin().exclude("b"); }).get();
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_FALSE(answer->peers[0].in_view);
    EXPECT_TRUE(answer->peers[1].in_view);
    EXPECT_EQ(members(), Names{"c"});
    const auto rotated = std::async(std::launch::async, [] { return admin().rotate("c"); }).get();
    ASSERT_FALSE(rotated);
    EXPECT_NE(rotated.error().message.find("not associated"), std::string::npos);
    const auto unknown = std::async(std::launch::async, [] { return admin().close("x"); }).get();
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().kind, Error::Kind::configuration);
    EXPECT_TRUE(std::async(std::launch::async, [] { return admin().forget("c"); }).get());
}

TEST_F(EngineTest, ResetsCountersWithoutWritingToThem) {
    const auto value = [](const std::vector<Counter>& counters, std::string_view name) {
        for (const Counter& counter : counters) {
            if (counter.name == name) {
                return counter.value;
            }
        }
        ADD_FAILURE() << "no counter " << name;
        return std::uint64_t{0};
    };
    const auto first = while_polling([] { return admin().counters(true); });
    ASSERT_TRUE(first);
    EXPECT_GT(value(*first, "turns"), 0U);
    const auto second = while_polling([] { return admin().counters(false); });
    ASSERT_TRUE(second);
    const std::uint64_t total = value(engine_->counters(), "turns");
    EXPECT_GE(total, value(*first, "turns") + value(*second, "turns")) << "the engine's own go on";
    EXPECT_EQ(value(*second, "control_requests_refused"), 0U);
}

TEST_F(EngineTest, RefusesASecondEngineInItsProcess) {
    Config config;
    config.name = "second";
    config.device = "null";
    config.address = "10.0.0.9/24";
    const Result<Engine> second = Engine::start(config);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, Error::Kind::misuse);
    EXPECT_NE(second.error().message.find("this process has an engine already"), std::string::npos);
    EXPECT_TRUE(while_polling([] { return admin().peers(); })) << "the first goes on";
}

struct Holder {
    std::optional<HeldMessage> held;
    void on_message(const Message& message) { held = message.hold(); }
    void on_event(const Event& /*event*/) {}
};

TEST_F(EngineTest, ZAnswersAfterItsStopThatItHasStopped) {
    Recorder recorder;
    Peer self = *engine_->peer("a");
    ASSERT_GT(self.claim_max(), 0U);
    ASSERT_EQ(self.send("to be held").status, SendStatus::accepted);
    Holder holder;
    ASSERT_TRUE(poll_until(recorder, [&] {
        engine_->poll(holder);
        return holder.held.has_value();
    }));
    std::optional<Claim> claim = self.try_claim(8);
    ASSERT_TRUE(claim);
    engine_->stop(recorder, std::chrono::milliseconds(10));
    const auto report = std::async(std::launch::async, [] { return admin().peers(); }).get();
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().message, "the engine has stopped");
    EXPECT_FALSE(engine_->install_view({}));
    EXPECT_FALSE(engine_->peer("b")->rotate());
    EXPECT_EQ(self.send("late").status, SendStatus::closed);
    EXPECT_EQ(self.claim_max(), 0U);
    EXPECT_EQ(claim->commit().status, SendStatus::closed);
    holder.held.reset();  // the packet went with its pool: nothing is touched
}

}  // namespace
}  // namespace bowline
