// SPDX-License-Identifier: Apache-2.0
// `value`: who costs others least comes first. docs/scheduling.md, «The order of the queue».
#include <gtest/gtest.h>

#include <vector>

#include "core/limits.h"
#include "core/policies/rank.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

Request whole(Priority priority = Priority::kNormal) {
  return {.priority = priority, .share = Share::kExclusive};
}
Request with_eta(Request request, Duration eta) {
  request.eta = eta;
  return request;
}

TEST(ValueWeight, ALowRequestForAWholeDeviceAndAnHourHasTheAllowance) {
  EXPECT_EQ(value_allowance(whole(Priority::kLow)), limits::kValueAllowance);
  EXPECT_EQ(value_allowance(with_eta(whole(Priority::kLow), hours(1))), limits::kValueAllowance);
}

TEST(ValueWeight, ALevelOfPriorityHalvesIt) {
  const Duration low = value_allowance(whole(Priority::kLow));
  EXPECT_EQ(value_allowance(whole(Priority::kNormal)).ns * 2, low.ns);
  EXPECT_EQ(value_allowance(whole(Priority::kHigh)).ns * 4, low.ns);
  EXPECT_EQ(value_allowance(whole(Priority::kUrgent)).ns * 8, low.ns);
}

TEST(ValueWeight, ItGrowsWithTheSquareOfTheDevices) {
  Request two = whole();
  two.device_count = 2;
  EXPECT_EQ(value_allowance(two).ns, value_allowance(whole()).ns * 4);
  Request named = whole();
  named.devices = {DeviceName{0U}, DeviceName{1U}};
  EXPECT_EQ(value_allowance(named), value_allowance(two));
  const Request half{.vram = {limits::kWholeDeviceCounts.value / 2}};
  EXPECT_EQ(value_allowance(half).ns * 4, value_allowance(whole()).ns);
}

TEST(ValueWeight, ItGrowsWithTheFourthRootOfTheTimeThatWasTold) {
  const Duration hour = value_allowance(whole());
  EXPECT_EQ(value_allowance(with_eta(whole(), hours(16))).ns, hour.ns * 2);
  EXPECT_EQ(value_allowance(with_eta(whole(), seconds(225))).ns * 2, hour.ns);
  Request limited = with_eta(whole(), hours(16));
  limited.limit = seconds(225);
  EXPECT_EQ(value_allowance(limited).ns * 2, hour.ns) << "the smaller of the two counts";
}

TEST(ValueWeight, LeaveToBeStoppedHalvesItOnce) {
  Request yields = whole();
  yields.may_yield = true;
  EXPECT_EQ(value_allowance(yields).ns * 2, value_allowance(whole()).ns);
  Request requeued = whole();
  requeued.requeue_grace = seconds(10);
  EXPECT_EQ(value_allowance(requeued), value_allowance(yields));
  requeued.may_yield = true;
  EXPECT_EQ(value_allowance(requeued), value_allowance(yields));
}

TEST(ValueWeight, NoAllowanceIsBeyondTheMost) {
  Request most = with_eta(whole(Priority::kLow), Duration::max());
  most.device_count = limits::kDevicesPerLease;
  EXPECT_EQ(value_allowance(most), limits::kValueAllowanceMax);
  EXPECT_GT(value_allowance(with_eta({.vram = {1}}, {1})), Duration{});
}

class Value : public StoryTest {
 protected:
  Value() : StoryTest({.order = Order::kValue, .reserve = {}}) {
    (void)story.ask(Story::whole());
    (void)story.claim(1);
  }
  std::vector<LeaseId> queue() const { return story.coordinator.queue(story.now); }
};

TEST_F(Value, ASmallRequestComesBeforeALargeOneThatWasThere) {
  (void)story.ask(Story::whole());
  (void)story.ask(Story::budget(gib(2)));
  EXPECT_EQ(queue(), (std::vector<LeaseId>{{3}, {2}}));
}

TEST_F(Value, OneThatIsSoonOverComesBeforeALongOne) {
  (void)story.ask(with_eta(Story::whole(), hours(10)));
  (void)story.ask(with_eta(Story::whole(), minutes(1)));
  EXPECT_EQ(queue(), (std::vector<LeaseId>{{3}, {2}}));
  EXPECT_EQ(story.end(1), "held 1; end 1; grant 3; ");
}

TEST_F(Value, WhoAskedFirstComesFirstAmongAlike) {
  for (int i = 0; i < 3; ++i) (void)story.ask(Story::whole());
  EXPECT_EQ(queue(), (std::vector<LeaseId>{{2}, {3}, {4}}));
}

TEST_F(Value, TheOrderOfThoseWhoWaitStaysAsItIs) {
  (void)story.ask(whole(Priority::kLow));
  (void)story.ask(Story::budget(gib(8)));
  (void)story.ask(whole(Priority::kUrgent));
  const std::vector<LeaseId> before = queue();
  (void)story.pass(hours(100));
  EXPECT_EQ(queue(), before);
  EXPECT_EQ(story.coordinator.why({2}, story.now)->position, 3U);
}

// One urgent request an hour, each of which takes the device for an hour.
TEST_F(Value, NoRequestStarvesBesideAStreamOfUrgentOnes) {
  (void)story.ask(whole(Priority::kLow));
  std::uint64_t runs = 1;
  int served = 0;
  while (story.state(2) == LeaseState::kWaiting && served < 100) {
    (void)story.ask(whole(Priority::kUrgent));
    (void)story.pass(hours(1));
    (void)story.end(runs);
    if (story.state(2) != LeaseState::kWaiting) break;
    runs = static_cast<std::uint64_t>(++served) + 2;
    (void)story.claim(runs);
  }
  EXPECT_EQ(story.state(2), LeaseState::kHeld);
  const Duration allowed = value_allowance(whole(Priority::kLow));
  const Duration urgent = value_allowance(whole(Priority::kUrgent));
  EXPECT_NEAR(served, static_cast<double>((allowed.ns - urgent.ns) / hours(1).ns), 1);
}

TEST_F(Value, ARestartKeepsTheOrder) {
  (void)story.ask(whole(Priority::kLow));
  (void)story.ask(Story::budget(gib(8)));
  (void)story.ask(whole(Priority::kHigh));
  const std::vector<LeaseId> before = queue();
  story.restart({.order = Order::kValue, .reserve = {}});
  EXPECT_EQ(queue(), before);
  story.restart_from_snapshot({.order = Order::kValue, .reserve = {}});
  EXPECT_EQ(queue(), before);
}

}  // namespace
}  // namespace berth::core
