// SPDX-License-Identifier: Apache-2.0
// Limits of one user: leases, requests and bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::HasSubstr;

Settings bounded_to(Bytes most) {
  return {.order = Order::kFifo, .reserve = {}, .limits_default = {.vram_max = most}};
}

TEST(UserLimits, AUserCannotFillTheQueueOrHoldMoreThanHisLimit) {
  Story story({.order = Order::kFifo,
               .reserve = {},
               .limits_default = {.waiting_max = 2, .leases_max = 2, .vram_max = gib(10)}});
  EXPECT_EQ(story.ask(S::budget(gib(8))), "held 1; ");
  EXPECT_EQ(story.ask(S::budget(gib(4))), "waiting 2; ");  // 12 GiB are above the user's 10.
  EXPECT_EQ(story.coordinator.why({2}, story.now)->reason, WhyView::Reason::kUserLimit);
  EXPECT_EQ(story.ask(S::budget(gib(4)), 2000), "held 3; ");
  EXPECT_EQ(story.ask(S::budget(gib(4))), "waiting 4; ");
  EXPECT_EQ(story.ask(S::budget(gib(4))), "refuse queue_full; ");
  EXPECT_EQ(story.ask(S::budget(gib(11)), 3000), "refuse queue_full; ");
}

TEST(UserLimits, AWholeDeviceCountsWithItsSizeForItsUser) {
  Story story(bounded_to(gib(20)));
  EXPECT_EQ(story.ask(S::budget(gib(8))), "held 1; ");
  (void)story.claim(1);
  EXPECT_EQ(story.ask(S::whole()), "waiting 2; ");
  EXPECT_EQ(story.coordinator.why({2}, story.now)->reason, WhyView::Reason::kUserLimit);
  EXPECT_THAT(story.end(1), HasSubstr("grant 2; "));
  Story small(bounded_to(gib(10)));
  EXPECT_EQ(small.ask(S::whole()), "refuse queue_full; ");
  EXPECT_THAT(small.refusal(), HasSubstr("16.0 GiB is above your limit of 10.0 GiB"));
  (void)small.ask(S::budget(gib(8)));
  (void)small.claim(2);
  EXPECT_EQ(small.feed(Resize{{70}, {{1000}}, {1}, {.share = Share::kExclusive}}),
            "refuse queue_full; ");
}

TEST(UserLimits, SeveralDevicesCountTogetherForTheirUser) {
  Story story(bounded_to(gib(10)), {gib(16), gib(16)});
  Request request = S::budget(gib(6));
  request.device_count = 2;
  EXPECT_EQ(story.ask(request), "refuse queue_full; ");
  EXPECT_THAT(story.refusal(), HasSubstr("12.0 GiB on all GPUs together is above your limit"));
  request.vram = gib(5);
  EXPECT_EQ(story.ask(request), "held 1; ");
}

TEST(UserLimits, OfDevicesOfTwoSizesTheLargerCounts) {
  Story story(bounded_to(gib(10)), {gib(16), gib(8)});
  EXPECT_EQ(story.ask(S::whole()), "refuse queue_full; ");
  Request request = S::whole();
  request.devices = {DeviceName(1U)};
  EXPECT_EQ(story.ask(request), "held 1; ");
}

}  // namespace
}  // namespace berth::core
