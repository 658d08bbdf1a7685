// SPDX-License-Identifier: Apache-2.0
#include "server/alert_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/engine_story_for_test.h"

namespace berth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

config::AlertRule rule(std::string_view when) {
  return {.when = *alerts::parse_expression(when)};
}

class Desk : public ::testing::Test {
 public:
  AlertService desk(const AlertService::Rules& rules) {
    AlertService::Ports ports;
    ports.publish = [this](const Alert& alert, bool to_its_lease) {
      published.push_back((to_its_lease ? "both " : "all ") + alert.text);
    };
    ports.listeners = [] { return std::size_t{0}; };
    ports.log = [this](const std::string& line) { log.push_back(line); };
    ports.deliver = [this](const wire::Delivery& delivery, auto then) {
      sent.push_back(delivery);
      endings.push_back(std::move(then));
    };
    ports.keep = [this](const AlertService::Changes& changes) {
      kept += changes.messages.put.size();
      dropped += changes.messages.drop.size();
      if (changes.firing) firing = *changes.firing;
      return !disk_is_full;
    };
    ports.now = [this] { return story.now; };
    return {rules, std::move(ports)};
  }
  /// The oldest try that has not ended yet ends so.
  void end(wire::DeliveryOutcome::Kind kind) {
    const auto ending = std::move(endings.front());
    endings.erase(endings.begin());
    ending({.kind = kind, .reason = "so it is"});
  }
  std::vector<wire::Delivery> sent;
  std::vector<std::function<void(const wire::DeliveryOutcome&)>> endings;
  std::size_t kept = 0;
  std::size_t dropped = 0;
  std::vector<FiringAlert> firing;
  bool disk_is_full = false;
  EngineStory story;
  std::vector<std::string> published;
  std::vector<std::string> log;
};

TEST_F(Desk, WhatASampleShowsIsToldAtTheEndOfTheTurn) {
  AlertService alerts = desk({{"crowded", rule("gpu.unmanaged > 2G")}});
  alerts.restore({});
  story.sample(gib(3));
  alerts.looked(story.now, story.engine.coordinator());
  EXPECT_TRUE(published.empty());
  alerts.flush();
  EXPECT_THAT(published, ElementsAre(HasSubstr("all programs without a lease use 3.0 GiB")));
  EXPECT_THAT(log, ElementsAre(HasSubstr("alert crowded: programs without")));
  ASSERT_EQ(alerts.list(story.now).items.size(), 1);
  EXPECT_EQ(wire::state_of(alerts.list(story.now).items[0]), wire::Standing::kFiring);
  EXPECT_EQ(alerts.list(story.now).items[0].states[0].subject.device, (DeviceId{0xd0, 1}));
}

TEST_F(Desk, WhatHappensToALeaseIsToldOfTheRulesThatNameIt) {
  config::AlertRule own = rule("lease.queued");
  own.terminal = true;
  AlertService alerts = desk({{"own", own}, {"other", rule("lease.queued name=other")}});
  story.submit(1, EngineStory::budget(gib(16)));
  story.submit(2, EngineStory::budget(gib(8)));
  for (const LeaseId id : {LeaseId{1}, LeaseId{2}}) {
    alerts.on_lease_event(story.now, story.engine.coordinator(),
                          {.lease = id, .news = core::LeaseEvent::kQueued});
  }
  alerts.on_lease_event(story.now, story.engine.coordinator(),
                        {.lease = {1}, .news = core::LeaseEvent::kGranted});
  alerts.flush();
  EXPECT_THAT(published,
              ElementsAre("both lease 1 waits for memory", "both lease 2 waits for memory"));
}

TEST_F(Desk, ARefusedAllocationIsToldWithTheBudgetThatWouldDo) {
  AlertService alerts = desk({{"oom", rule("lease.refused")}, {"end", rule("lease.ended")}});
  story.submit(1, EngineStory::budget(gib(8)));
  alerts.on_audit(story.now, story.engine.coordinator(),
                  {.verb = Verb::kRefuse, .lease = {1}, .reason = "2.0 GiB, ...: -m 9G would"});
  alerts.on_audit(story.now, story.engine.coordinator(), {.verb = Verb::kResize, .lease = {1}});
  alerts.flush();
  EXPECT_THAT(published, ElementsAre("all lease 1 was refused 2.0 GiB, ...: -m 9G would"));
}

TEST_F(Desk, AMessageIsToldToItsHolder) {
  AlertService alerts = desk({{"asked", rule("lease.message")}});
  story.submit(1, EngineStory::budget(gib(8)));
  const core::Notify news{.lease = {1}, .news = core::LeaseEvent::kMessageSent};
  alerts.on_lease_event(story.now, story.engine.coordinator(), news);
  alerts.flush();
  EXPECT_THAT(published, ElementsAre("all lease 1 has a message: "));
}

TEST_F(Desk, WhatIsSwitchedOffIsListedAndSaysNothing) {
  config::AlertRule off = rule("gpu.unmanaged > 2G");
  off.enabled = false;
  AlertService alerts = desk({{"off", off}});
  alerts.restore({});
  story.sample(gib(3));
  alerts.looked(story.now, story.engine.coordinator());
  alerts.flush();
  EXPECT_TRUE(published.empty());
  EXPECT_EQ(wire::state_of(alerts.list(story.now).items[0]), wire::Standing::kOff);
}

TEST_F(Desk, RuleThatGoesWithAReloadSaysNothingMore) {
  AlertService alerts = desk({{"crowded", rule("gpu.unmanaged > 2G")}});
  alerts.restore({});
  story.sample(gib(3));
  alerts.looked(story.now, story.engine.coordinator());
  alerts.configure({});
  alerts.flush();
  EXPECT_TRUE(published.empty());
}

config::AlertRule with_webhook(std::string_view when) {
  config::AlertRule hook = rule(when);
  hook.webhook = "https://example.org/hook";
  return hook;
}

TEST_F(Desk, AMessageIsKeptUntilItIsDelivered) {
  AlertService alerts = desk({{"hook", with_webhook("gpu.unmanaged > 2G")}});
  story.sample(gib(3));
  alerts.looked(story.now, story.engine.coordinator());
  alerts.flush();
  EXPECT_EQ(kept, 0);  // What a daemon before this one kept comes first.
  alerts.restore({});
  alerts.looked(story.now, story.engine.coordinator());
  alerts.flush();
  EXPECT_EQ(kept, 1);
  ASSERT_EQ(sent.size(), 1);
  EXPECT_EQ(std::get<wire::Webhook>(sent[0].to).url, "https://example.org/hook");
  EXPECT_THAT(sent[0].body, HasSubstr(R"("rule":"hook","state":"firing")"));
  end(wire::DeliveryOutcome::Kind::kRetry);
  alerts.flush();
  EXPECT_EQ(sent.size(), 1);
  EXPECT_EQ(alerts.list(story.now).items[0].undelivered, 1);
  ASSERT_LT(alerts.next(), story.now.instant + seconds(3));
  story.now.instant = alerts.next();
  story.now.wall.value += 2'000;
  alerts.flush();
  ASSERT_EQ(sent.size(), 2);
  EXPECT_EQ(sent[1].id, sent[0].id);
  end(wire::DeliveryOutcome::Kind::kDelivered);
  alerts.flush();
  EXPECT_EQ(dropped, 1);
  EXPECT_EQ(alerts.list(story.now).items[0].undelivered, 0);
  EXPECT_EQ(alerts.list(story.now).items[0].last_delivery->outcome, "delivered");
  EXPECT_EQ(alerts.next(), Instant::never());
}

TEST_F(Desk, WhatTheDiskDidNotTakeIsOfferedAgain) {
  AlertService alerts = desk({{"hook", with_webhook("gpu.unmanaged > 2G")}});
  alerts.restore({});
  disk_is_full = true;
  story.sample(gib(3));
  alerts.looked(story.now, story.engine.coordinator());
  alerts.flush();
  EXPECT_EQ(alerts.next(), story.now.instant + seconds(1));
  disk_is_full = false;
  kept = 0;
  alerts.flush();
  EXPECT_EQ(kept, 1);
}

TEST_F(Desk, WhatFiredBeforeTheDaemonWasStartedAgainIsNotToldAgainAndItsEndIs) {
  const AlertService::Rules rules = {{"crowded", rule("gpu.unmanaged > 2G")}};
  AlertService before = desk(rules);
  before.restore({});
  story.sample(gib(3));
  before.looked(story.now, story.engine.coordinator());
  before.flush();
  ASSERT_EQ(published.size(), 1);
  ASSERT_EQ(firing.size(), 1);
  published.clear();

  AlertService after = desk(rules);
  after.restore({.messages = {}, .firing = firing});
  after.looked(story.now, story.engine.coordinator());
  after.flush();
  EXPECT_TRUE(published.empty());
  EXPECT_EQ(wire::state_of(after.list(story.now).items[0]), wire::Standing::kFiring);
  for (int i = 0; i < 12; ++i) {
    story.now.instant = story.now.instant + seconds(1);
    story.sample(gib(1));
    after.looked(story.now, story.engine.coordinator());
    after.flush();
  }
  EXPECT_THAT(published, ElementsAre(HasSubstr("over after")));
  EXPECT_TRUE(firing.empty());
}

TEST_F(Desk, AMessageOfARuleThatIsGoneIsNotSent) {
  AlertService alerts = desk({{"other", rule("gpu.lost")}});
  alerts.restore(
      {.messages = {{.number = 1, .id = "a", .rule = "hook"}, {.number = 2, .rule = "other"}}});
  alerts.flush();
  EXPECT_TRUE(sent.empty());
  EXPECT_EQ(dropped, 2);
}

TEST_F(Desk, ATestIsOverWhenAllChannelsHaveAnswered) {
  config::AlertRule both = with_webhook("gpu.lost");
  both.command = {"/bin/true"};
  AlertService alerts = desk({{"both", both}});
  std::optional<wire::AlertTest> result;
  const auto keep = [&](const wire::AlertTest& test) { result = test; };
  EXPECT_FALSE(alerts.test("other", keep));
  ASSERT_TRUE(alerts.test("both", keep));
  ASSERT_EQ(sent.size(), 2);
  EXPECT_EQ(sent[0].event, "alert.test");
  end(wire::DeliveryOutcome::Kind::kDelivered);
  EXPECT_FALSE(result);
  end(wire::DeliveryOutcome::Kind::kRefused);
  ASSERT_TRUE(result);
  ASSERT_EQ(result->outcomes.size(), 3);
  EXPECT_EQ(result->outcomes[0].outcome, "nobody");
  EXPECT_EQ(result->outcomes[1].channel, "webhook");
  EXPECT_EQ(result->outcomes[2].outcome, "refused");
  EXPECT_EQ(alerts.list(story.now).items[0].undelivered, 0);
}

}  // namespace
}  // namespace berth::server
