// SPDX-License-Identifier: Apache-2.0
// Effects of incomplete samples on the ledger.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/coordinator.h"
#include "core/limits.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;

constexpr Bytes kAll = gib(16);

class Sampling : public testing::Test {
 protected:
  Sampling() {
    (void)story.ask(S::budget(gib(10)));
    (void)story.claim(1);
    story.use(1, gib(9));
    (void)story.sample();
  }
  // The command ends; the driver still lists it.
  void command_ends() {
    (void)story.feed(ReportExit{{1}, {{1000}, true}, {0, 1}});
    (void)story.feed(ProcessEnded{S::process(1)});
  }
  std::vector<ProcessSample>& processes() { return *story.hardware[0].processes; }
  // How long after the last sample another one is wanted.
  std::optional<Duration> looks_again_in() {
    std::optional<Duration> in;
    for (const Effect& effect : std::exchange(story.effects, {})) {
      if (const auto* ask = std::get_if<AskProbe>(&effect)) in = ask->at - story.now.instant;
    }
    return in;
  }

  Story story{{.order = Order::kFifo, .reserve = {}}};
};

TEST_F(Sampling, OnADeviceThatSleepsNothingIsLeftOfWhatHasEnded) {
  command_ends();
  story.use(1, {});
  story.hardware[0].asleep = true;
  story.hardware[0].used.reset();
  story.hardware[0].processes.reset();
  EXPECT_THAT(story.sample(), testing::HasSubstr("end 1; "));
  EXPECT_EQ(story.look().used, std::nullopt);
  EXPECT_EQ(story.look().grantable, kAll);
  EXPECT_THAT(story.ask(S::whole()), testing::HasSubstr("held 2; ")) << "it may be granted";
}

TEST_F(Sampling, WhatIsLeftWithoutAFigureMayBeTheWholeBudget) {
  command_ends();
  story.use(1, gib(2), 0, false);
  processes()[0].used.reset();
  (void)story.sample();
  EXPECT_EQ(story.state(1), LeaseState::kReleasing);
  EXPECT_EQ(story.look().charged, gib(10));
  processes()[0].used = gib(2);
  (void)story.sample();
  EXPECT_EQ(story.look().charged, gib(2));
}

TEST_F(Sampling, WhatIsLeftWithoutAFigureIsAtLeastWhatWasKnownOfIt) {
  story.use(1, gib(12));
  (void)story.sample();
  processes()[0].used.reset();
  (void)story.sample();
  EXPECT_EQ(story.look().charged, gib(12));
  command_ends();
  story.hardware[0].processes.reset();
  (void)story.sample();
  EXPECT_EQ(story.look().charged, gib(12));
}

TEST_F(Sampling, AListThatIsMissingOnceEndsNoLease) {
  command_ends();
  story.use(1, gib(2), 0, false);
  auto& listed = story.hardware[0].processes;
  const auto kept = std::exchange(listed, std::nullopt);
  (void)story.sample();
  EXPECT_NE(story.state(1), LeaseState::kEnded);
  EXPECT_EQ(story.look().charged, gib(10));
  listed = kept;
  (void)story.sample();
  EXPECT_EQ(story.state(1), LeaseState::kReleasing);
  EXPECT_EQ(story.look().charged, gib(2));
  EXPECT_EQ(story.look().unmanaged, Bytes{});
}

// The outer lease's end tells of everything below its supervisor.
TEST_F(Sampling, WhatAnInnerLeaseRunsIsNotLeftBehindByTheOuter) {
  (void)story.ask(S::budget(gib(2)));
  (void)story.claim(2);
  const Process child = S::process(30);
  (void)story.feed(ReportExit{{1}, {{1000}, true}, {0, 1}, {{}, {S::process(2), child}}});
  story.use(1, {});
  story.use(30, gib(1));
  processes()[0].ancestors = {S::process(2)};
  (void)story.sample();
  EXPECT_THAT(story.coordinator.lease({2}, story.now)->members, testing::ElementsAre(child));
  EXPECT_NE(story.state(1), LeaseState::kHeld);
}

TEST_F(Sampling, AnOrphanOfAnInnerLeaseCountsForItBelowTheOuterToo) {
  (void)story.ask(S::budget(gib(2)));
  (void)story.claim(2);
  story.use(30, gib(1));
  auto& orphan = *std::ranges::find(processes(), S::process(30), &ProcessSample::process);
  orphan.ancestors = {S::process(1)};
  orphan.env_lease = Handle{0, 2};
  (void)story.sample();
  EXPECT_THAT(story.coordinator.lease({2}, story.now)->members,
              testing::ElementsAre(S::process(30)));
}

TEST_F(Sampling, AProcessOfAnotherUserThatNamesALeaseIsUnmanaged) {
  story.use(30, gib(1));
  auto& other = *std::ranges::find(processes(), S::process(30), &ProcessSample::process);
  other.env_lease = Handle{0, 1};
  other.user = {2000};
  (void)story.sample();
  EXPECT_THAT(story.coordinator.lease({1}, story.now)->members, testing::IsEmpty());
  EXPECT_EQ(story.look().unmanaged, gib(1));
  other.user = {1000};
  (void)story.sample();
  EXPECT_THAT(story.coordinator.lease({1}, story.now)->members,
              testing::ElementsAre(S::process(30)));
}

// Pids come again: the first lease has had a process of the pid that the second's command has now.
TEST_F(Sampling, ADeadProcessIsOfTheLeaseWhosePidItWasLast) {
  story.use(2, gib(1));
  processes().back().ancestors = {S::process(1)};
  (void)story.sample();
  (void)story.feed(ProcessEnded{S::process(2)});
  story.use(2, {});
  (void)story.sample();
  (void)story.ask(S::budget(gib(4)));
  const Process reuses{S::process(2).pid, 50};
  (void)story.feed(Claim{{2}, {{1000}, true}, {0, 2}, {reuses}});
  (void)story.feed(ReportExit{{2}, {{1000}, true}, {0, 2}});
  (void)story.feed(ProcessEnded{reuses});
  story.use(2, gib(3), 0, false);
  (void)story.sample();
  EXPECT_EQ(story.state(2), LeaseState::kReleasing);
  EXPECT_EQ(story.look().charged, gib(10) + gib(3));
}

// After a restart nobody knows what is charged for it until a sample tells.
TEST_F(Sampling, WhatADeadProcessOfALeaseThatIsAwayHasIsNotUnmanaged) {
  (void)story.feed(Join{{2}, {{1000}}, {0, 1}, S::process(30)});
  (void)story.feed(ProcessEnded{S::process(30)});
  story.use(30, gib(2), 0, false);
  (void)story.feed(Suspend{{3}, {{1000}}, {1}});
  (void)story.feed(TransferDone{{1}, story.last_move().value().number, {}});
  story.use(1, {});
  (void)story.second();
  EXPECT_EQ(story.look().charged, gib(2));
  story.restart({.order = Order::kFifo, .reserve = {}});
  (void)story.second();
  EXPECT_EQ(story.state(1), LeaseState::kSuspended);
  EXPECT_EQ(story.look().charged, gib(2));
  EXPECT_EQ(story.look().unmanaged, Bytes{});
}

// A snapshot replaces the records that told whose it was.
TEST_F(Sampling, WhatADeadProcessHasIsStillItsLeasesAfterASnapshot) {
  story.use(1, gib(5));
  (void)story.feed(Join{{2}, {{1000}}, {0, 1}, S::process(30)});
  (void)story.feed(ProcessEnded{S::process(30)});
  story.use(30, gib(2), 0, false);
  (void)story.sample();
  EXPECT_EQ(story.look().unmanaged, Bytes{});
  story.restart_from_snapshot({.order = Order::kFifo, .reserve = {}});
  (void)story.sample();
  EXPECT_EQ(story.look().charged, gib(10));
  EXPECT_EQ(story.look().unmanaged, Bytes{});
  EXPECT_THAT(story.ask(S::budget(gib(6))), testing::HasSubstr("held 2; "));
}

// It only waits for word of how its command ended.
TEST_F(Sampling, WhatTurnsUpOfALeaseThatWasFoundFreeIsUnmanaged) {
  (void)story.feed(ProcessEnded{S::process(1)});
  story.use(1, {});
  (void)story.sample();
  EXPECT_EQ(story.state(1), LeaseState::kReleasing);
  EXPECT_EQ(story.look().charged, Bytes{});
  story.use(1, gib(2), 0, false);
  (void)story.sample();
  EXPECT_EQ(story.look().unmanaged, gib(2));
}

TEST_F(Sampling, UnmanagedProcessesAreBelievedToUseWhatTheyDidWhereAFigureIsMissing) {
  story.use(1, gib(1));
  story.use(7, gib(4));  // An unmanaged process.
  (void)story.sample();
  EXPECT_EQ(story.look().unmanaged, gib(4));
  std::ranges::find(processes(), S::process(1), &ProcessSample::process)->used.reset();
  (void)story.sample();
  EXPECT_EQ(story.look().unmanaged, gib(4));
  story.hardware[0].used = gib(2);  // It cannot use more than there is in use.
  (void)story.sample();
  EXPECT_EQ(story.look().unmanaged, gib(2));
}

TEST_F(Sampling, UnmanagedProcessesUseAtLeastWhatTheDriverSaysOfThem) {
  story.use(1, gib(1));
  processes()[0].used.reset();
  processes().push_back({.process = S::process(7), .used = gib(4), .alive = true});
  story.hardware[0].used = gib(5);
  (void)story.sample();
  EXPECT_EQ(story.look().unmanaged, gib(4));
}

TEST_F(Sampling, WhatIsLeftIsLookedAtOftenAtFirstWhileSomebodyWaits) {
  (void)story.ask(S::budget(gib(15)));
  command_ends();
  story.use(1, gib(2), 0, false);
  (void)story.sample();
  EXPECT_EQ(looks_again_in(), milliseconds(10));
  (void)story.pass(milliseconds(10));
  (void)story.sample();
  EXPECT_EQ(looks_again_in(), milliseconds(10));
  (void)story.pass(seconds(1));
  (void)story.sample();
  EXPECT_EQ(looks_again_in(), milliseconds(100));
}

TEST_F(Sampling, WhatIsLeftIsLookedAtSeldomWhereNobodyWaits) {
  command_ends();
  story.use(1, gib(2), 0, false);
  (void)story.sample();
  EXPECT_EQ(looks_again_in(), seconds(1));
}

TEST_F(Sampling, ADriverInTroubleIsNotAskedInALoop) {
  (void)story.ask(S::budget(gib(15)));
  command_ends();
  story.use(1, gib(2), 0, false);
  const Instant at = story.now.instant;
  (void)looks_again_in();
  (void)story.feed(Sampled{{at, at, true, "", "it has fallen off the bus", story.hardware}});
  EXPECT_EQ(looks_again_in(), seconds(1));
}

TEST_F(Sampling, WhoWasSeenBeforeTheGrantIsNoMember) {
  const Instant before = story.now.instant;
  (void)story.pass(seconds(1));
  (void)story.ask(S::budget(gib(2)));
  (void)story.claim(2);
  story.use(30, gib(1));
  processes().back().ancestors = {S::process(2)};
  (void)story.feed(Sampled{{before, story.now.instant, true, "", "", story.hardware}});
  EXPECT_THAT(story.coordinator.lease({2}, story.now)->members, testing::IsEmpty());
  (void)story.sample();
  EXPECT_THAT(story.coordinator.lease({2}, story.now)->members,
              testing::ElementsAre(S::process(30)));
}

TEST_F(Sampling, MembersOfALeaseHaveABound) {
  for (std::uint64_t n = 2'000; n < 2'600; ++n) {
    processes().push_back({.process = S::process(n),
                           .used = Bytes{1},
                           .user = {1000},
                           .ancestors = {S::process(1)},
                           .alive = true});
  }
  (void)story.sample();
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->members.size(), limits::kMembersPerLease);
}

TEST_F(Sampling, WhatWasAskedBeforeTheFirstSampleAndNeverFitsIsRefusedThen) {
  Coordinator coordinator({.order = Order::kFifo, .reserve = {}});
  std::swap(story.coordinator, coordinator);
  (void)story.feed(Recovered{});
  EXPECT_EQ(story.ask(S::budget(kAll + gib(1))), "waiting 1; ");
  EXPECT_EQ(story.ask(S::budget(kAll)), "waiting 2; ");
  processes().clear();
  story.hardware[0].used = Bytes{};
  EXPECT_EQ(story.sample(), "end 1; grant 2; ");
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->result, EndResult::kRefused);
}

}  // namespace
}  // namespace berth::core
