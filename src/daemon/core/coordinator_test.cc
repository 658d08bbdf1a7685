// SPDX-License-Identifier: Apache-2.0
// Each test is one story: what happens, and what the coordinator answers.
#include "core/coordinator.h"

#include <gtest/gtest.h>

#include "core/limits.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;

TEST(Coordinator, TwoThatFitRunSideBySideAndTheThirdWaitsItsTurn) {
  Story story({.order = Order::kFifo, .reserve = gib(2)});
  EXPECT_EQ(story.ask(S::budget(gib(8))), "held 1; ");
  EXPECT_EQ(story.ask(S::budget(gib(6))), "held 2; ");
  EXPECT_EQ(story.ask(S::budget(gib(6))), "waiting 3; ");
  EXPECT_EQ(story.claim(1), "held 1; ");
  EXPECT_EQ(story.claim(2), "held 2; ");
  EXPECT_EQ(story.look().grantable, Bytes{});
  EXPECT_EQ(story.end(2), "held 2; end 2; grant 3; ");
}

TEST(Coordinator, LargeRequestIsNotOvertakenBySmallOneThatWouldDelayIt) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  EXPECT_EQ(story.ask(S::budget(gib(12))), "waiting 2; ");
  EXPECT_EQ(story.ask(S::budget(gib(5))), "waiting 3; ");
  EXPECT_EQ(story.ask(S::budget(gib(4))), "held 4; ");  // 12 + 4 fit together.
  EXPECT_EQ(story.ask(S::budget(gib(1))), "waiting 5; ");
}

TEST(Coordinator, WhoEndsBeforeTheReservationMayPass) {
  Story story({.order = Order::kFifo, .reserve = {}});
  Request first = S::budget(gib(10));
  first.eta = minutes(30);
  (void)story.ask(first);
  (void)story.claim(1);
  (void)story.ask(S::budget(gib(16)));
  Request with_eta = S::budget(gib(2));
  with_eta.eta = minutes(10);
  EXPECT_EQ(story.ask(with_eta), "waiting 3; ");  // An eta is a guess; a limit is enforced.
  Request with_limit = S::budget(gib(2));
  with_limit.limit = minutes(10);
  EXPECT_EQ(story.ask(with_limit), "held 4; ");
  Request too_long = S::budget(gib(2));
  too_long.limit = minutes(40);
  EXPECT_EQ(story.ask(too_long), "waiting 5; ");
}

TEST(Coordinator, NobodyIsPassedForLongerThanPassMax) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  (void)story.ask(S::budget(gib(12)));
  EXPECT_EQ(story.ask(S::budget(gib(1))), "held 3; ");
  (void)story.pass(minutes(9));
  EXPECT_EQ(story.ask(S::budget(gib(1))), "held 4; ");
  (void)story.pass(minutes(1));
  EXPECT_EQ(story.ask(S::budget(gib(1))), "waiting 5; ");
  EXPECT_EQ(story.coordinator.why({5}, story.now)->reason, WhyView::Reason::kPassed);
}

TEST(Coordinator, ARequestForAnotherDevicePassesNobody) {
  Story story({.order = Order::kFifo, .reserve = {}}, {gib(16), gib(16)});
  Request zero = S::budget(gib(16));
  zero.devices = {std::uint32_t{0}};
  Request one = S::budget(gib(1));
  one.devices = {std::uint32_t{1}};
  (void)story.ask(zero);
  (void)story.claim(1);
  EXPECT_EQ(story.ask(zero), "waiting 2; ");
  EXPECT_EQ(story.ask(one), "held 3; ");
  (void)story.pass(hours(2));
  EXPECT_EQ(story.ask(one), "held 4; ");
}

TEST(Coordinator, MemoryOfADeadHolderIsGrantedOnlyWhenTheDriverCountsItFree) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(16)));
  (void)story.claim(1);
  story.use(1, gib(12));
  (void)story.sample();
  (void)story.ask(S::budget(gib(8)));
  EXPECT_EQ(story.feed(ProcessEnded{S::process(1)}), "");
  story.use(1, gib(12), 0, false);
  EXPECT_EQ(story.sample(), "");
  EXPECT_EQ(story.state(1), LeaseState::kReleasing);
  EXPECT_EQ(story.look().charged, gib(12));
  story.use(1, gib(8), 0, false);
  EXPECT_EQ(story.sample(), "grant 2; ");  // Half of it is free: that half is granted on.
  story.use(1, {});
  EXPECT_EQ(story.sample(), "");
  EXPECT_EQ(story.look().charged, gib(8));
  // Word of how it ended may still come from its supervisor, for a second.
  EXPECT_EQ(story.pass(seconds(1)), "end 1; ");
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->result, EndResult::kLost);
}

TEST(Coordinator, ASampleAskedBeforeTheEndTellsNothingAboutIt) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(16)));
  (void)story.claim(1);
  (void)story.ask(S::budget(gib(8)));
  const Instant before = story.now.instant;
  (void)story.pass(milliseconds(5));
  (void)story.feed(ProcessEnded{S::process(1)});
  EXPECT_EQ(story.feed(Sampled{{before, story.now.instant, true, "", "", story.hardware}}), "");
  EXPECT_EQ(story.sample(), "grant 2; ");
}

TEST(Coordinator, AChildThatOutlivesTheCommandHoldsTheLease) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(16)));
  (void)story.claim(1);
  story.use(77, gib(4));
  story.hardware[0].processes->front().ancestors = {S::process(1)};
  (void)story.sample();
  EXPECT_EQ(story.look().unmanaged, Bytes{});
  (void)story.feed(ReportExit{{9}, {{1000}}, {0, 1}, {{3, 0}, {S::process(77)}}});
  EXPECT_EQ(story.sample(), "held 1; ");
  (void)story.ask(S::budget(gib(8)));
  EXPECT_EQ(story.state(2), LeaseState::kWaiting);
  story.use(77, {});
  EXPECT_EQ(story.feed(ProcessEnded{S::process(77)}), "");
  EXPECT_EQ(story.sample(), "end 1; grant 2; ");
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->result, EndResult::kFailed);
}

TEST(Coordinator, UnmanagedProcessesAreHeldBackAndTheReserveIsAFloorForThem) {
  Story story({.order = Order::kFifo, .reserve = gib(2)});
  EXPECT_EQ(story.look().grantable, gib(14));
  story.use(500, gib(1));
  (void)story.sample();
  EXPECT_EQ(story.look().grantable, gib(14));
  story.use(500, gib(5));
  (void)story.sample();
  EXPECT_EQ(story.look().grantable, gib(11));
  EXPECT_EQ(story.ask(S::budget(gib(12))), "waiting 1; ");
  EXPECT_EQ(story.coordinator.why({1}, story.now)->reason, WhyView::Reason::kUnmanaged);
}

TEST(Coordinator, GrowingUnmanagedProcessesTakeNoLeaseAwayAndStopGrants) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(12)));
  (void)story.claim(1);
  story.use(500, gib(6));
  (void)story.sample();
  EXPECT_TRUE(story.look().overcommitted);
  EXPECT_EQ(story.state(1), LeaseState::kHeld);
  EXPECT_EQ(story.ask(S::budget(gib(1))), "waiting 2; ");
  EXPECT_EQ(story.coordinator.why({2}, story.now)->reason, WhyView::Reason::kOvercommitted);
}

TEST(Coordinator, RequestLargerThanAnyDeviceIsRefusedWithTheLargestThatFits) {
  Story story({.order = Order::kFifo, .reserve = gib(2)});
  EXPECT_EQ(story.ask(S::budget(gib(15))), "refuse never_fits; ");
  const auto& reply = std::get<Reply>(story.effects.back());
  EXPECT_EQ(std::get<Refusal>(reply.answer).message,
            "15.0 GiB fits on no GPU here: the largest budget that can be granted is 14.0 GiB, "
            "because 2.0 GiB of it are kept in reserve: -m 14G, or -x for the whole GPU");
}

TEST(Coordinator, SenselessRequestsAreRefused) {
  Story story;
  Request named = S::budget(gib(1));
  for (const char* name : {"7up", "@mine", "l_x", "a\nb"}) {
    named.name = name;
    EXPECT_EQ(story.ask(named), "refuse invalid; ") << name;
  }
  EXPECT_EQ(story.ask(S::budget({})), "refuse invalid; ");
  Request many = S::budget(gib(1));
  many.device_count = 17;
  EXPECT_EQ(story.ask(many), "refuse invalid; ");
  many.device_count = 0;
  EXPECT_EQ(story.ask(many), "refuse invalid; ");
  many.device_count = 2;
  EXPECT_EQ(story.ask(many), "refuse never_fits; ");
  Request elsewhere = S::budget(gib(1));
  elsewhere.devices = {std::uint32_t{3}};
  EXPECT_EQ(story.ask(elsewhere), "refuse no_device; ");
  elsewhere.devices = {std::uint32_t{0}, device(0)};
  EXPECT_EQ(story.ask(elsewhere), "refuse invalid; ");
  Request yielding = S::budget(gib(1));
  yielding.may_yield = true;
  yielding.ttl = minutes(1);
  EXPECT_EQ(story.ask(yielding), "refuse invalid; ");
  Request no_time = S::budget(gib(1));
  no_time.limit = Duration{};
  EXPECT_EQ(story.ask(no_time), "refuse invalid; ");
}

TEST(Coordinator, NoWaitIsGrantedNowOrRefusedAndLeavesNoTrace) {
  Story story({.order = Order::kFifo, .reserve = {}});
  Request hasty = S::budget(gib(10));
  hasty.wait_max = Duration{};
  EXPECT_EQ(story.ask(hasty), "held 1; ");
  EXPECT_EQ(story.ask(hasty), "refuse busy; ");
  EXPECT_TRUE(story.coordinator.queue(story.now).empty());
}

TEST(Coordinator, AWaitThatIsOverIsRefusedWithWhatIsMissing) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  Request patient = S::budget(gib(10));
  patient.wait_max = minutes(5);
  EXPECT_EQ(story.ask(patient), "waiting 2; ");
  (void)story.claim(1);
  EXPECT_EQ(story.pass(minutes(4)), "");
  EXPECT_EQ(story.pass(minutes(1)), "end 2; ");
  EXPECT_EQ(story.coordinator.lease({2}, story.now)->result, EndResult::kRefused);
}

TEST(Coordinator, AWaitThatIsOverWhileItIsSetAsideSaysSo) {
  Story story({.order = Order::kFifo, .reserve = {}});
  Request patient = S::budget(gib(10));
  patient.wait_max = seconds(3);
  (void)story.ask(patient);
  EXPECT_EQ(story.pass(seconds(5)), "park 1; end 1; ");
  EXPECT_EQ(story.refusal(), "lease 1 was set aside, and the 3 s that it may wait are over");
}

TEST(Coordinator, AnOfferThatIsNotClaimedGoesToTheNextAndTheRequestIsParked) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.ask(S::budget(gib(10)));
  EXPECT_EQ(story.pass(seconds(5)), "park 1; grant 2; ");
  EXPECT_EQ(story.feed(Claim{{50}, {{1000}}, {0, 1}, {S::process(1)}}), "refuse wrong_state; ");
  EXPECT_EQ(story.feed(Park{{51}, {{1000}}, {0, 1}, {false}}), "waiting 1; ");
  (void)story.claim(2);
  EXPECT_EQ(story.end(2), "held 2; end 2; grant 1; ");
}

// The connection that parks and returns need not be the one that hears the news.
TEST(Coordinator, AGrantThatFollowsAReturnIsToldToTheRequesterToo) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  (void)story.ask(S::budget(gib(10)));
  (void)story.feed(Park{{50}, {{1000}}, {0, 2}, {true}});
  (void)story.end(1);
  EXPECT_EQ(story.feed(Park{{51}, {{1000}}, {0, 2}, {false}}), "grant 2; held 2; ");
}

TEST(Coordinator, AParkedRequestIsCancelledAfterAnHour) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  (void)story.ask(S::budget(gib(10)));
  (void)story.feed(Park{{50}, {{1000}}, {0, 2}, {true}});
  EXPECT_EQ(story.pass(hours(1)), "end 2; ");
  EXPECT_EQ(story.coordinator.lease({2}, story.now)->result, EndResult::kCancelled);
}

TEST(Coordinator, AWaiterThatHangsUpLeavesTheQueue) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.ask(S::budget(gib(10)));
  EXPECT_EQ(story.feed(RequesterGone{{2}}), "end 2; ");
  EXPECT_EQ(story.feed(RequesterGone{{1}}), "end 1; ");  // Offered and never claimed.
  EXPECT_EQ(story.look().charged, Bytes{});
}

TEST(Coordinator, TheLimitEndsTheCommandFirstPolitelyThenForGood) {
  Story story({.order = Order::kFifo, .reserve = {}});
  Request limited = S::budget(gib(10));
  limited.limit = minutes(10);
  (void)story.ask(limited);
  (void)story.claim(1);
  const auto result = [&story] { return story.coordinator.lease({1}, story.now)->result; };
  EXPECT_EQ(result(), std::nullopt);
  EXPECT_EQ(story.pass(minutes(10)), "revoke 1; signal 15 to 1; ");
  EXPECT_EQ(result(), EndResult::kLimit) << "whoever waits for it is told why at once";
  EXPECT_EQ(story.pass(seconds(10)), "signal 9 to 1; ");
  (void)story.feed(ReportExit{{9}, {{1000}}, {0, 1}, {{0, 9}}});
  EXPECT_EQ(result(), EndResult::kLimit);
  EXPECT_EQ(story.sample(), "end 1; ");
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->result, EndResult::kLimit);
}

TEST(Coordinator, AnOfferIsNotEndedByALimitThatHasNotBegun) {
  Story story({.order = Order::kFifo, .claim_within = seconds(60), .reserve = {}});
  Request limited = S::budget(gib(10));
  limited.limit = seconds(10);
  (void)story.ask(limited);
  EXPECT_EQ(story.pass(seconds(30)), "");
  EXPECT_EQ(story.pass(seconds(30)), "park 1; ");
}

TEST(Coordinator, NobodyStoresMoreThanTheBoundInACommandLine) {
  Story story;
  Request long_winded = S::budget(gib(1));
  long_winded.command = std::string(limits::kCommandMax + 1, 'x');
  EXPECT_EQ(story.ask(long_winded), "refuse invalid; ");
  long_winded.command.pop_back();
  EXPECT_EQ(story.ask(long_winded), "held 1; ");
}

TEST(Coordinator, OthersLeasesAreNotTouchedAndAdministratorsMay) {
  Story story;
  (void)story.ask(S::budget(gib(8)));
  (void)story.claim(1);
  const Actor other{{1001}};
  EXPECT_EQ(story.feed(Release{{9}, other, {1}}), "refuse not_yours; ");
  EXPECT_EQ(story.feed(Resize{{9}, other, {1}, {Share::kBudget, gib(1)}}), "refuse not_yours; ");
  EXPECT_EQ(story.feed(Cancel{{9}, other, {1}}), "refuse not_yours; ");
  EXPECT_EQ(story.feed(Release{{9}, {{0}, true}, {1}, {.detach = true}}),
            "detach 1; releasing 1; ");
  EXPECT_EQ(story.feed(Release{{9}, other, {99}}), "refuse not_found; ");
}

TEST(Coordinator, ReleasingARunningProgramKeepsItsMemoryCharged) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(16)));
  (void)story.claim(1);
  story.use(1, gib(9));
  (void)story.sample();
  EXPECT_EQ(story.feed(Release{{9}, {{1000}}, {1}, {.detach = true}}), "detach 1; releasing 1; ");
  (void)story.sample();
  EXPECT_EQ(story.look().charged, gib(9));
  EXPECT_EQ(story.ask(S::budget(gib(8))), "waiting 2; ");
  (void)story.pass(seconds(31));
  EXPECT_EQ(story.sample(), "");
  EXPECT_EQ(story.look().unmanaged, gib(9));  // Reported as a leak: it is unmanaged now.
  EXPECT_EQ(story.state(1), LeaseState::kEnded);
}

TEST(Coordinator, AReservationEndsWhenItIsNotRenewed) {
  Story story;
  Request reservation = S::budget(gib(8));
  reservation.ttl = hours(2);
  EXPECT_EQ(story.ask(reservation), "held 1; ");
  (void)story.pass(hours(1));
  EXPECT_EQ(story.feed(Renew{{9}, {{1000}}, {1}, {hours(2)}}), "held 1; ");
  (void)story.pass(hours(1) + minutes(30));
  EXPECT_EQ(story.state(1), LeaseState::kHeld);
  (void)story.pass(minutes(31));
  EXPECT_EQ(story.sample(), "end 1; ");
  EXPECT_EQ(story.feed(Renew{{9}, {{1000}}, {1}, {hours(2)}}), "refuse wrong_state; ");
}

TEST(Coordinator, WhatAWholeLeaseLeftOnOneDeviceKeepsNoOtherClosed) {
  Story story({.order = Order::kFifo, .reserve = {}}, {gib(16), gib(16)});
  Request both = S::whole();
  both.device_count = 2;
  (void)story.ask(both);
  (void)story.claim(1);
  story.use(1, gib(8), 0);
  (void)story.sample();
  (void)story.end(1);  // The driver has not freed it.
  EXPECT_EQ(story.state(1), LeaseState::kReleasing);
  EXPECT_EQ(story.ask(S::budget(gib(12))), "held 2; ");
  EXPECT_EQ(story.look(1).charged, gib(12));
  EXPECT_EQ(story.look(0).charged, gib(8));
  EXPECT_EQ(story.ask(S::budget(gib(5))), "waiting 3; ") << "its own device is not given away";
}

TEST(Coordinator, AWholeDeviceIsNotGrantedBesideATrainingRunWithoutALease) {
  Story story({.order = Order::kFifo, .reserve = {}, .exclusive_unmanaged_max = gib(2)});
  story.use(500, gib(2) + Bytes{1});
  (void)story.sample();
  EXPECT_EQ(story.ask(S::whole()), "waiting 1; ");
  story.use(500, gib(2));
  EXPECT_EQ(story.sample(), "grant 1; ");
}

TEST(Coordinator, AnExclusiveLeaseHasTheDeviceToItselfBesideADesktop) {
  Story story({.order = Order::kFifo, .reserve = mib(512)}, {gib(16), gib(16)});
  story.use(500, mib(700), 0);
  (void)story.sample();
  EXPECT_EQ(story.ask(S::whole()), "held 1; ");  // On device 1: the least unmanaged use.
  EXPECT_EQ(story.look(1).grantable, Bytes{});
  EXPECT_EQ(story.ask(S::whole()), "held 2; ");
  EXPECT_EQ(story.coordinator.lease({2}, story.now)->parts[0].granted,
            gib(16).value > 0 ? saturating_sub(gib(16), mib(700)) : Bytes{});
  EXPECT_EQ(story.ask(S::budget(gib(1))), "waiting 3; ");
  EXPECT_EQ(story.coordinator.why({3}, story.now)->reason, WhyView::Reason::kExclusive);
}

TEST(Coordinator, ABudgetGoesWhereTheSmallestGapStillHoldsIt) {
  Story story({.order = Order::kFifo, .reserve = {}}, {gib(16), gib(16), gib(8)});
  (void)story.ask(S::budget(gib(4)));
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->parts[0].device, device(2));
  (void)story.ask(S::budget(gib(6)));
  EXPECT_EQ(story.coordinator.lease({2}, story.now)->parts[0].device, device(0));
}

TEST(Coordinator, SeveralDevicesAreOfOneModelAndGrantedTogetherOrNotAtAll) {
  Story story({.order = Order::kFifo, .reserve = {}}, {gib(16), gib(16), gib(24)});
  story.hardware[2].model = "Another";
  (void)story.sample();
  Request two = S::budget(gib(10));
  two.device_count = 2;
  EXPECT_EQ(story.ask(two), "held 1; ");
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->parts.size(), 2u);
  EXPECT_EQ(story.ask(two), "waiting 2; ");
  EXPECT_EQ(story.look(2).charged, Bytes{});
  Request mixed = two;
  mixed.device_count = 3;
  mixed.vram = gib(1);
  EXPECT_EQ(story.ask(mixed), "refuse never_fits; ");
  mixed.mixed = true;
  EXPECT_EQ(story.ask(mixed), "held 3; ");
}

TEST(Coordinator, AnUrgentRequestComesFirstByPriorityAndALowOneDoesNotStarve) {
  Story story({.order = Order::kPriority, .aging = minutes(15), .reserve = {}});
  (void)story.ask(S::budget(gib(16)));
  (void)story.claim(1);
  Request low = S::budget(gib(16));
  low.priority = Priority::kLow;
  Request urgent = S::budget(gib(16));
  urgent.priority = Priority::kUrgent;
  (void)story.ask(low);     // 2
  (void)story.ask(urgent);  // 3
  EXPECT_EQ(story.coordinator.queue(story.now).front(), LeaseId{3});
  (void)story.pass(minutes(46));
  (void)story.ask(urgent);  // 4: asked more than three levels' worth after the low one.
  EXPECT_EQ(story.coordinator.queue(story.now), (std::vector<LeaseId>{{3}, {2}, {4}}));
}

TEST(Coordinator, FairLetsTheOneWhoHadLeastGoFirst) {
  Story story({.order = Order::kFair, .reserve = {}});
  (void)story.ask(S::budget(gib(16)), 1);
  (void)story.claim(1);
  (void)story.pass(minutes(30));
  (void)story.ask(S::budget(gib(16)), 1);  // 2
  (void)story.ask(S::budget(gib(16)), 2);  // 3
  EXPECT_EQ(story.end(1), "held 1; end 1; grant 3; ");
}

TEST(Coordinator, FairAlternatesBetweenThoseWhoAskTogether) {
  Story story({.order = Order::kFair, .reserve = {}});
  (void)story.ask(S::budget(gib(16)), 9);
  (void)story.claim(1);
  for (int i = 0; i < 3; ++i) (void)story.ask(S::budget(gib(4)), 1);  // 2 3 4
  (void)story.ask(S::budget(gib(4)), 2);                              // 5
  EXPECT_EQ(story.coordinator.queue(story.now), (std::vector<LeaseId>{{2}, {5}, {3}, {4}}));
}

TEST(Coordinator, ALeaseInsideAnotherThatCouldNotStartBeforeItEndsIsRefused) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  Request inner = S::budget(gib(8));
  inner.ancestors = {{1}};
  EXPECT_EQ(story.ask(inner), "refuse would_wait_on_itself; ");
  inner.vram = gib(6);
  EXPECT_EQ(story.ask(inner), "held 2; ");
}

// Else it would be let go on, as a part of it, whenever that one is.
TEST(Coordinator, ALeaseInsideAnotherUsersIsRefused) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(2)));
  (void)story.claim(1);
  Request inner = S::budget(gib(2));
  inner.ancestors = {{1}};
  EXPECT_EQ(story.ask(inner, 2000), "refuse not_yours; ");
  EXPECT_NE(story.refusal().find("lease 1, which belongs to another user"), std::string::npos);
  EXPECT_EQ(story.ask(inner), "held 2; ");
  inner.ancestors = {{77}};
  EXPECT_EQ(story.ask(inner, 2000), "held 3; ") << "of one that is no more, nothing is known";
}

TEST(Coordinator, DevicesUnknownYetKeepARequestWaiting) {
  Coordinator coordinator({.order = Order::kFifo});
  const Now now{{1}, {1}};
  (void)coordinator.step(now, Recovered{});
  (void)coordinator.step(now, Submit{{1}, {{1000}}, {0, 1}, {}, Story::budget(gib(1))});
  EXPECT_EQ(coordinator.why({1}, now)->reason, WhyView::Reason::kDriver);
}

TEST(Coordinator, WithoutADriverARequestIsRefusedWithTheReason) {
  Coordinator coordinator({.order = Order::kFifo});
  const Now now{{1}, {1}};
  (void)coordinator.step(now, Recovered{});
  (void)coordinator.step(now, Sampled{{.trouble = "libnvidia-ml.so.1 is not installed"}});
  const auto effects =
      coordinator.step(now, Submit{{1}, {{1000}}, {0, 1}, {}, Story::budget(gib(1))});
  const auto& refusal = std::get<Refusal>(std::get<Reply>(effects.back()).answer);
  EXPECT_EQ(refusal.code, RefusalCode::kNoDevice);
  EXPECT_EQ(refusal.message, "no GPU can be used: libnvidia-ml.so.1 is not installed");
}

}  // namespace
}  // namespace berth::core
