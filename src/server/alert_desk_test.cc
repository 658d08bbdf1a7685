// SPDX-License-Identifier: Apache-2.0
#include "server/alert_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/engine_story.h"

namespace berth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

config::AlertRule rule(std::string_view when) {
  return {.when = *alerts::parse_expression(when)};
}

class Desk : public ::testing::Test {
 public:
  AlertDesk desk(AlertDesk::Rules rules) {
    return AlertDesk(std::move(rules),
                     {.publish =
                          [this](const Alert& alert, bool to_its_lease) {
                            told.push_back((to_its_lease ? "both " : "all ") + alert.text);
                          },
                      .log = [this](const std::string& line) { log.push_back(line); }});
  }
  EngineStory story;
  std::vector<std::string> told;
  std::vector<std::string> log;
};

TEST_F(Desk, WhatASampleShowsIsToldAtTheEndOfTheTurn) {
  AlertDesk alerts = desk({{"strangers", rule("gpu.external > 2G")}});
  story.sample(gib(3));
  alerts.looked(story.now, story.engine.coordinator());
  EXPECT_TRUE(told.empty());
  alerts.flush();
  EXPECT_THAT(told, ElementsAre(HasSubstr("all programs without a lease use 3.0 GiB")));
  EXPECT_THAT(log, ElementsAre(HasSubstr("alert strangers: programs without")));
  ASSERT_EQ(alerts.list(story.now).items.size(), 1);
  EXPECT_EQ(wire::state_of(alerts.list(story.now).items[0]), "firing");
  EXPECT_EQ(alerts.list(story.now).items[0].standing[0].subject.device, (DeviceId{0xd0, 1}));
}

TEST_F(Desk, WhatHappensToALeaseIsToldOfTheRulesThatNameIt) {
  config::AlertRule own = rule("lease.queued");
  own.terminal = true;
  AlertDesk alerts = desk({{"own", own}, {"other", rule("lease.queued name=other")}});
  story.submit(1, EngineStory::budget(gib(16)));
  story.submit(2, EngineStory::budget(gib(8)));
  for (const LeaseId id : {LeaseId{1}, LeaseId{2}}) {
    alerts.happened(story.now, story.engine.coordinator(),
                    {.lease = id, .news = core::News::kQueued});
  }
  alerts.happened(story.now, story.engine.coordinator(),
                  {.lease = {1}, .news = core::News::kGranted});
  alerts.flush();
  EXPECT_THAT(told, ElementsAre("both lease 1 waits for memory", "both lease 2 waits for memory"));
}

TEST_F(Desk, WhatIsSwitchedOffIsListedAndSaysNothing) {
  config::AlertRule off = rule("gpu.external > 2G");
  off.enabled = false;
  AlertDesk alerts = desk({{"off", off}});
  story.sample(gib(3));
  alerts.looked(story.now, story.engine.coordinator());
  alerts.flush();
  EXPECT_TRUE(told.empty());
  EXPECT_EQ(wire::state_of(alerts.list(story.now).items[0]), "off");
}

TEST_F(Desk, RuleThatGoesWithAReloadSaysNothingMore) {
  AlertDesk alerts = desk({{"strangers", rule("gpu.external > 2G")}});
  story.sample(gib(3));
  alerts.looked(story.now, story.engine.coordinator());
  alerts.configure({});
  alerts.flush();
  EXPECT_TRUE(told.empty());
}

}  // namespace
}  // namespace berth::server
