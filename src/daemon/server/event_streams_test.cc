// SPDX-License-Identifier: Apache-2.0
// News of all leases and of none, and who hears it.
#include "server/event_streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/engine_story_for_test.h"

namespace berth::server {
namespace {

using S = EngineStory;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(EventStreams, OfAllLeasesIsNumbered) {
  S story;
  story.engine.follow_all({9});
  story.submit(1, S::budget(gib(16)));
  story.claim(1, 1);
  story.submit(2, S::budget(gib(16)));
  story.exit(1, 3);
  story.sample();
  EXPECT_THAT(story.done(), AllOf(Contains("item 9 granted 1"), Contains("item 9 queued 2"),
                                  Contains("item 9 ended 1"), Contains("item 9 granted 2")));
  EXPECT_EQ(story.outbox.last_number, 4U);
  story.engine.on_disconnect(story.now, {9});
  story.claim(2, 2);
  story.exit(2, 3);
  story.sample();
  EXPECT_THAT(story.done(), Not(Contains(HasSubstr("item 9"))));
}

TEST(EventStreams, OfUnmanagedProcessesIsToldToStreamsOfEverything) {
  S story({.core = {.unmanaged = Unmanaged::kWarn}, .journal_path = "/state/leases.db"});
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
  EXPECT_THAT(done, Contains("item 9 unmanaged_seen"));
  EXPECT_THAT(done, Contains(HasSubstr("say GPU 0: a process (pid 500, ")));
  EXPECT_THAT(done, Not(Contains("item 1 unmanaged_seen")));
  sample.devices[0].processes->clear();
  sample.asked_at = story.now.instant + minutes(1);
  story.engine.sampled(story.now, sample);
  EXPECT_THAT(story.done(), Contains("item 9 unmanaged_gone"));
  EXPECT_EQ(story.outbox.last_number, 3U);  // The grant was the first.
}

TEST(EventStreams, WhatTheAuditAloneHasIsToldToStreamsOfEverythingAndOfTheLease) {
  S story;
  EventStreams streams(story.outbox);
  streams.open_all({7});
  streams.open_lease({8}, {.id = {1}, .state = LeaseState::kHeld});
  streams.open_lease({9}, {.id = {2}, .state = LeaseState::kHeld});
  (void)story.done();
  streams.publish(AuditEntry{.lease = {1}});
  EXPECT_THAT(story.done(), ElementsAre("item 7 audit", "item 8 audit"));
}

}  // namespace
}  // namespace berth::server
