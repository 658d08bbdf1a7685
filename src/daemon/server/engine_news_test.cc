// SPDX-License-Identifier: Apache-2.0
// News about devices, for those who follow everything; and when the driver is asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/engine.h"
#include "server/engine_story_for_test.h"

namespace berth::server {
namespace {

TEST(Engine, AStreamOfEverythingIsToldOfThePressureOnADevice) {
  EngineStory story;
  story.engine.follow_all({9});
  story.submit(1, EngineStory::budget(gib(16)));
  story.claim(1, 1);
  story.sample();
  EXPECT_THAT(story.done(), testing::Not(testing::Contains(testing::HasSubstr("device_pressure"))));
  story.sample(gib(2));
  EXPECT_THAT(story.done(), testing::Contains("item 9 device_pressure"));
  story.sample(gib(2));
  EXPECT_THAT(story.done(), testing::Not(testing::Contains(testing::HasSubstr("device_pressure"))))
      << "it was told";
}

TEST(Engine, ProbeIsAskedOfAnEndBeforeThatIsWrittenAndOnce) {
  EngineStory story;
  story.submit(1, EngineStory::budget(gib(8)));
  story.claim(1, 2);
  story.sample();
  const int before = story.world.questions;
  story.engine.process_ended(story.now, EngineStory::process(101));
  EXPECT_EQ(story.world.questions_at_append, before + 1);
  story.sample();
  EXPECT_EQ(story.world.questions, before + 1);
}

}  // namespace
}  // namespace berth::server
