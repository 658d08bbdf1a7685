// SPDX-License-Identifier: Apache-2.0
// Unmanaged processes under each policy, and sessions on devices that they were not given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/coordinator.h"
#include "core/limits.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint64_t kUnmanaged = 500;

Settings under(Unmanaged unmanaged) {
  return {.order = Order::kFifo, .reserve = gib(1), .unmanaged = unmanaged};
}

ProcessSample& process_on(Story& story, std::uint64_t n, std::size_t on = 0) {
  auto& processes = *story.hardware[on].processes;
  return *std::ranges::find(processes, S::process(n), &ProcessSample::process);
}

std::vector<std::string> said(const Story& story) {
  std::vector<std::string> lines;
  for (const Effect& effect : story.effects) {
    if (const auto* say = std::get_if<Say>(&effect)) lines.push_back(say->text);
  }
  return lines;
}

TEST(UnmanagedProcesses, AreAccountedForInSilence) {
  Story story(under(Unmanaged::kAccount));
  story.use(kUnmanaged, gib(4));
  EXPECT_EQ(story.sample(), "");
  EXPECT_EQ(story.look().held_back, gib(4));
  EXPECT_EQ(story.look().ignored, Bytes{});
  ASSERT_EQ(story.look().unmanaged_processes.size(), 1U);
  EXPECT_EQ(story.look().unmanaged_processes[0].used, gib(4));
  EXPECT_EQ(story.look().unmanaged_processes[0].lease, std::nullopt);
  story.use(kUnmanaged, {});
  (void)story.pass(minutes(1));
  EXPECT_EQ(story.sample(), "");
  EXPECT_THAT(said(story), IsEmpty());
}

class WarnedOf : public testing::Test {
 protected:
  std::string sample_after(Duration time) {
    (void)story.pass(time);
    return story.sample();
  }
  Story story{under(Unmanaged::kWarn)};
};

TEST_F(WarnedOf, AnUnmanagedProcessIsReportedOnceWhenItComesAndOnceWhenItHasGone) {
  story.use(kUnmanaged, gib(4));
  process_on(story, kUnmanaged).name = "firefox";
  EXPECT_EQ(story.sample(), "came 500; ");
  EXPECT_EQ(story.look().held_back, gib(4));  // As without a warning.
  story.use(kUnmanaged, gib(5));
  EXPECT_EQ(sample_after(minutes(5)), "");
  story.use(kUnmanaged, {});
  EXPECT_EQ(sample_after(milliseconds(9'999)), "");
  EXPECT_EQ(sample_after(milliseconds(1)), "gone 500; ");
  EXPECT_EQ(sample_after(minutes(5)), "");
  EXPECT_THAT(said(story),
              ElementsAre("GPU 0: firefox (pid 500, uid 1000) uses 4.0 GiB of it without a lease",
                          "GPU 0: a process (pid 500, uid 1000) uses it no more"));
}

TEST_F(WarnedOf, WhatTheListLacksOnceHasNotGone) {
  story.use(kUnmanaged, gib(4));
  EXPECT_EQ(story.sample(), "came 500; ");
  story.use(kUnmanaged, {});
  EXPECT_EQ(sample_after(seconds(9)), "");
  story.use(kUnmanaged, gib(4));
  EXPECT_EQ(sample_after(seconds(1)), "");
  story.hardware[0].processes.reset();
  EXPECT_EQ(sample_after(minutes(5)), "");
}

TEST_F(WarnedOf, TheSmallAreNotWorthAWord) {
  story.use(kUnmanaged, {limits::kUnmanagedReportable.value - 1});
  EXPECT_EQ(story.sample(), "");
  story.use(kUnmanaged, limits::kUnmanagedReportable);
  EXPECT_EQ(story.sample(), "came 500; ");
  // It stays known when it gives some back.
  story.use(kUnmanaged, mib(1));
  EXPECT_EQ(sample_after(minutes(1)), "");
}

TEST_F(WarnedOf, WhoseUseNobodyKnowsMayUseAnything) {
  story.use(kUnmanaged, mib(1));
  process_on(story, kUnmanaged).used.reset();
  EXPECT_EQ(story.sample(), "came 500; ");
}

TEST_F(WarnedOf, TheDeadAreNot) {
  story.use(kUnmanaged, gib(4), 0, false);
  EXPECT_EQ(story.sample(), "");
}

TEST_F(WarnedOf, ManyAreToldOfAFewAMinute) {
  for (std::uint64_t i = 0; i < 30; ++i) story.use(kUnmanaged + i, mib(256));
  const std::string first = story.sample();
  EXPECT_EQ(std::ranges::count(first, ';'), limits::kUnmanagedAnnouncedMax);
  EXPECT_EQ(sample_after(seconds(59)), "");
  story.use(kUnmanaged + 29, {});  // Of this one nobody hears, not even that it has gone.
  EXPECT_EQ(std::ranges::count(sample_after(seconds(1)), ';'), 9);
  EXPECT_EQ(sample_after(minutes(1)), "");
}

TEST_F(WarnedOf, OnEachDeviceByItself) {
  Story two(under(Unmanaged::kWarn), {gib(16), gib(16)});
  two.use(kUnmanaged, gib(1), 0);
  EXPECT_EQ(two.sample(), "came 500; ");
  two.use(kUnmanaged, gib(1), 1);
  EXPECT_EQ(two.sample(), "came 500; ");
}

TEST_F(WarnedOf, NobodyAnyMoreWhenThePolicyIsAnother) {
  story.use(kUnmanaged, gib(4));
  EXPECT_EQ(story.sample(), "came 500; ");
  (void)story.feed(Configured{under(Unmanaged::kAccount)});
  story.use(kUnmanaged, {});
  EXPECT_EQ(sample_after(minutes(1)), "");
  (void)story.feed(Configured{under(Unmanaged::kWarn)});
  EXPECT_EQ(sample_after(minutes(1)), "");
}

class Ignored : public testing::Test {
 protected:
  Bytes held_back() { return story.look().held_back; }
  Story story{under(Unmanaged::kIgnore), {gib(16), gib(16)}};
};

TEST_F(Ignored, UnmanagedProcessesAreShownAndTheirMemoryIsGranted) {
  story.use(kUnmanaged, gib(4));
  EXPECT_EQ(story.sample(), "");
  EXPECT_EQ(story.look().unmanaged, gib(4));
  EXPECT_EQ(story.look().ignored, gib(4));
  EXPECT_EQ(held_back(), gib(1));
  EXPECT_EQ(story.look().unmanaged_processes.size(), 1U);
  Request request = S::budget(gib(15));
  request.devices = {DeviceName{0U}};
  EXPECT_EQ(story.ask(request), "held 1; ");
  EXPECT_FALSE(story.look().overcommitted);
}

TEST_F(Ignored, AWholeDeviceIsGrantedBesideUnmanagedProcesses) {
  story.use(kUnmanaged, gib(4));
  (void)story.sample();
  Request request = S::whole();
  request.devices = {DeviceName{0U}};
  EXPECT_EQ(story.ask(request), "held 1; ");
  EXPECT_EQ(story.look().granted, gib(15));
}

TEST_F(Ignored, WhatALeaseLeftBehindCounts) {
  story.use(kUnmanaged, gib(4));
  process_on(story, kUnmanaged).env_lease = Handle{0, 77};  // Which has long ended.
  (void)story.sample();
  EXPECT_EQ(held_back(), gib(4));
}

TEST_F(Ignored, TheDeadAndTheUnlistedCount) {
  story.use(kUnmanaged, gib(4));
  story.use(kUnmanaged + 1, gib(2), 0, false);
  story.hardware[0].used = gib(9);  // 3 GiB of which nobody is listed for.
  (void)story.sample();
  EXPECT_EQ(story.look().unmanaged, gib(9));
  EXPECT_EQ(held_back(), gib(5));
}

TEST_F(Ignored, WhoseUseIsNotToldCounts) {
  story.use(kUnmanaged, gib(4));
  (void)story.sample();
  process_on(story, kUnmanaged).used.reset();
  (void)story.sample();
  EXPECT_EQ(held_back(), gib(4));
  story.hardware[0].processes.reset();
  (void)story.sample();
  EXPECT_EQ(held_back(), gib(4));
}

// What leases use without a figure may hide what is left behind: that is believed as before.
TEST_F(Ignored, WhatIsLeftBehindIsBelievedWhereAFigureIsMissing) {
  (void)story.ask(S::budget(gib(8)));
  (void)story.claim(1);
  story.use(1, gib(3));
  story.use(kUnmanaged, gib(4));
  story.hardware[0].used = gib(9);  // 2 GiB are unlisted.
  (void)story.sample();
  EXPECT_EQ(held_back(), gib(2));
  process_on(story, 1).used.reset();
  (void)story.sample();
  EXPECT_EQ(held_back(), gib(2));
}

TEST_F(Ignored, AnotherPolicyCountsThemAtOnceAndThisOneFromTheNextSampleOn) {
  story.use(kUnmanaged, gib(4));
  (void)story.sample();
  (void)story.feed(Configured{under(Unmanaged::kAccount)});
  EXPECT_EQ(held_back(), gib(4));
  (void)story.feed(Configured{under(Unmanaged::kIgnore)});
  EXPECT_EQ(held_back(), gib(4));
  (void)story.sample();
  EXPECT_EQ(held_back(), gib(1));
}

class Strays : public testing::Test {
 protected:
  Strays() {
    (void)story.ask(S::budget(gib(8)));
    (void)story.claim(1);
    story.use(1, gib(2));
    (void)story.sample();
  }
  LeaseView lease() { return *story.coordinator.lease({1}, story.now); }

  Story story{under(Unmanaged::kAccount), {gib(16), gib(16)}};
};

TEST_F(Strays, ASessionOnADeviceThatItWasNotGivenIsReportedOnce) {
  EXPECT_FALSE(lease().flags.astray);
  story.use(1, gib(3), 1);
  process_on(story, 1, 1).name = "python";
  EXPECT_EQ(story.sample(), "astray 1; ");
  EXPECT_TRUE(lease().flags.astray);
  ASSERT_EQ(lease().strays.size(), 1U);
  EXPECT_EQ(lease().strays[0].process, S::process(1));
  EXPECT_EQ(lease().strays[0].device, device(1));
  EXPECT_EQ(lease().strays[0].index, 1U);
  EXPECT_EQ(lease().strays[0].used, gib(3));
  EXPECT_THAT(said(story), ElementsAre("lease 1: python (pid 1) uses 3.0 GiB of GPU 1, which the "
                                       "lease was not given"));
  EXPECT_EQ(story.sample(), "");
  story.use(1, {}, 1);
  EXPECT_EQ(story.sample(), "");
  EXPECT_FALSE(lease().flags.astray);
  story.use(1, gib(3), 1);
  EXPECT_EQ(story.sample(), "");
  EXPECT_TRUE(lease().flags.astray);
}

TEST_F(Strays, AreUnmanagedThereAndChargedNothingHere) {
  story.use(1, gib(3), 1);
  (void)story.sample();
  EXPECT_EQ(story.look(1).unmanaged, gib(3));
  EXPECT_EQ(story.look(1).held_back, gib(3));
  EXPECT_EQ(story.look(1).charged, Bytes{});
  EXPECT_EQ(story.look(0).charged, gib(8));
  ASSERT_EQ(story.look(1).unmanaged_processes.size(), 1U);
  EXPECT_EQ(story.look(1).unmanaged_processes[0].lease, LeaseId{1});
  EXPECT_FALSE(lease().flags.over_budget);
}

TEST_F(Strays, EachProcessIsReported) {
  story.use(1, gib(3), 1);
  EXPECT_EQ(story.sample(), "astray 1; ");
  story.use(30, gib(1), 1);
  process_on(story, 30, 1).ancestors = {S::process(1)};
  EXPECT_EQ(story.sample(), "astray 1; ");
  EXPECT_EQ(lease().strays.size(), 2U);
}

TEST_F(Strays, AreNoUnmanagedProcessesWhateverThePolicy) {
  story.use(1, gib(3), 1);
  (void)story.feed(Configured{under(Unmanaged::kWarn)});
  EXPECT_EQ(story.sample(), "astray 1; ");
  (void)story.feed(Configured{under(Unmanaged::kIgnore)});
  EXPECT_EQ(story.sample(), "");
  EXPECT_EQ(story.look(1).ignored, Bytes{});
  EXPECT_EQ(story.look(1).held_back, gib(3));
}

TEST_F(Strays, OfALeaseThatHasEndedAreUnmanagedProcesses) {
  story.use(1, gib(3), 1);
  (void)story.sample();
  story.use(1, {});
  EXPECT_THAT(story.end(1), HasSubstr("end 1; "));
  EXPECT_THAT(lease().strays, IsEmpty());
  EXPECT_EQ(story.sample(), "");
  EXPECT_EQ(story.look(1).unmanaged_processes[0].lease, std::nullopt);
  EXPECT_EQ(story.look(1).held_back, gib(3));
}

TEST_F(Strays, OnALostDeviceAreNotSeen) {
  story.use(1, gib(3), 1);
  (void)story.sample();
  story.hardware[1].lost = true;
  (void)story.sample();
  EXPECT_FALSE(lease().flags.astray);
}

/// A driver that never says who uses its GPU, only how much of it is used.
class NobodyListed : public testing::Test {
 protected:
  NobodyListed() {
    story.hardware[0].processes.reset();
    story.restart(settings);
    used(Bytes{});
    (void)story.ask(S::budget(gib(10)));
    (void)story.claim(1);
  }

  std::string used(Bytes bytes) {
    story.hardware[0].used = bytes;
    return story.sample();
  }
  std::string first_ends() {
    return story.feed(ReportExit{{1}, {{1000}, true}, {0, 1}}) +
           story.feed(ProcessEnded{S::process(1)});
  }

  const Settings settings{.order = Order::kFifo, .reserve = {}};
  Story story{settings};
};

TEST_F(NobodyListed, WhatAnEndedLeaseStillHasIsNotGranted) {
  (void)used(gib(9));
  (void)story.ask(S::budget(gib(8)));
  EXPECT_THAT(first_ends(), Not(HasSubstr("grant")));
  EXPECT_EQ(used(gib(9)), "end 1; ");
  EXPECT_EQ(story.look().unmanaged, gib(9));
  EXPECT_EQ(used(gib(8)), "grant 2; ");
  EXPECT_EQ(story.look().unmanaged, gib(8));
}

TEST_F(NobodyListed, WhatOthersHaveIsTheirsWhenItIsFree) {
  (void)story.ask(S::budget(gib(4)));
  (void)story.claim(2);
  (void)used(gib(13));
  (void)first_ends();
  (void)used(gib(13));
  EXPECT_EQ(story.look().unmanaged, gib(9));
  EXPECT_EQ(story.look().grantable, gib(3));
  (void)used(gib(4));
  EXPECT_EQ(story.look().unmanaged, Bytes{});
  EXPECT_EQ(story.look().grantable, gib(12));
}

}  // namespace
}  // namespace berth::core
