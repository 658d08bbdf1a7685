// SPDX-License-Identifier: Apache-2.0
// News that is about no lease, and who hears it.
#include "server/news.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/engine_story.h"

namespace berth::server {
namespace {

using S = EngineStory;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(News, OfStrangersIsToldToWhoListensToEverything) {
  S story({.core = {.unmanaged = core::Unmanaged::kWarn}, .journal_path = "/state/leases.db"});
  story.engine.follow_all({9});
  story.submit(1, S::budget(gib(1)));
  Sample sample{.asked_at = story.now.instant, .answered_at = story.now.instant};
  sample.devices.push_back(
      {.id = {0xd0, 1},
       .capacity = gib(16),
       .used = gib(2),
       .processes = std::vector<ProcessSample>{{.process = {500, 7}, .used = gib(2)}}});
  story.engine.sampled(story.now, sample);
  std::vector<std::string> done = story.done();
  EXPECT_THAT(done, Contains("item 9 stranger_seen"));
  EXPECT_THAT(done, Contains(HasSubstr("say GPU 0: a process (pid 500, ")));
  EXPECT_THAT(done, Not(Contains("item 1 stranger_seen")));
  sample.devices[0].processes->clear();
  sample.asked_at = story.now.instant + minutes(1);
  story.engine.sampled(story.now, sample);
  EXPECT_THAT(story.done(), Contains("item 9 stranger_gone"));
  EXPECT_EQ(story.outbox.last_number, 2U);
}

}  // namespace
}  // namespace berth::server
