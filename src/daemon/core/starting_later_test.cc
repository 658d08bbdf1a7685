// SPDX-License-Identifier: Apache-2.0
// Requests that start after others have ended, or after a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::HasSubstr;

/// Lease 1 runs on a GPU that has room for all.
class StartingLater : public StoryTest {
 protected:
  StartingLater() {
    (void)story.sample();
    (void)story.ask(S::budget(gib(2)));
    run(1, gib(1));
  }
  std::string ask(std::vector<Predecessor> after) {
    Request request = S::budget(gib(2));
    request.after = std::move(after);
    return story.ask(request);
  }
  std::string ask_for(UnixMs not_before) {
    Request request = S::budget(gib(2));
    request.not_before = not_before;
    return story.ask(request);
  }
  UnixMs later(Duration time) { return {story.now.wall.value + time.ns / 1'000'000}; }
  /// Its command exits so, and is gone.
  std::string ends(std::uint64_t n, int code) {
    story.use(n, {});
    std::string out = story.feed(ReportExit{{n}, {{1000}, true}, {0, n}, {.exit = {.code = code}}});
    return out + story.feed(ProcessEnded{S::process(n)}) + story.sample();
  }
  WhyView why(std::uint64_t n) { return *story.coordinator.why({n}, story.now); }
};

TEST_F(StartingLater, ItStartsWhenTheOtherHasEnded) {
  EXPECT_EQ(ask({{{1}}}), "waiting 2; ");
  EXPECT_EQ(why(2).reason, WhyView::Reason::kAfter);
  EXPECT_EQ(why(2).expected_start, std::nullopt);
  EXPECT_EQ(seconds_pass(3), "") << "there is room, and it waits all the same";
  EXPECT_THAT(ends(1, 3), HasSubstr("grant 2; "));
}

TEST_F(StartingLater, AClockThatIsSetAheadIsNoticedWithinAMinute) {
  EXPECT_EQ(ask_for(later(hours(3))), "waiting 2; ");
  Instant wakes_at = Instant::never();
  for (const Effect& effect : story.effects) {
    if (const auto* wake = std::get_if<WakeAt>(&effect)) wakes_at = wake->at;
  }
  EXPECT_LE(wakes_at, story.now.instant + minutes(1));
  story.now.wall.value += hours(4).ns / 1'000'000;
  EXPECT_EQ(story.pass(minutes(1)), "grant 2; ");
}

TEST_F(StartingLater, AllOfThemHaveToEnd) {
  (void)story.ask(S::budget(gib(2)));
  run(2, gib(1));
  EXPECT_EQ(ask({{{1}}, {{2}, Ends::kOk}}), "waiting 3; ");
  EXPECT_THAT(ends(1, 1), Not(HasSubstr("grant 3; ")));
  EXPECT_THAT(ends(2, 0), HasSubstr("grant 3; "));
}

TEST_F(StartingLater, WhatWaitsForAnotherEndIsRefusedAtOnceAndWhy) {
  (void)ask({{{1}, Ends::kOk}});
  (void)ask({{{1}, Ends::kFailed}});
  EXPECT_THAT(ends(1, 3), AllOf(HasSubstr("end 2; "), HasSubstr("grant 3; ")));
  EXPECT_EQ(story.coordinator.lease({2}, story.now)->result, EndResult::kRefused);
  std::string said;
  for (const Effect& effect : story.effects) {
    const auto* news = std::get_if<Notify>(&effect);
    if (news != nullptr && news->lease == LeaseId{2} && !news->refusal.empty())
      said = news->refusal.front().message;
  }
  EXPECT_EQ(said, "lease 1 ended otherwise than well (failed), so it never starts");
}

TEST_F(StartingLater, AfterAFailureIsNotAfterAGoodEnd) {
  (void)ask({{{1}, Ends::kFailed}});
  EXPECT_THAT(ends(1, 0), HasSubstr("end 2; "));
}

TEST_F(StartingLater, WhatWaitsForThatEndsToo) {
  (void)ask({{{1}, Ends::kOk}});
  for (std::uint64_t n = 2; n < 50; ++n) (void)ask({{{n}}});
  EXPECT_THAT(ends(1, 3), HasSubstr("end 50; "));
  EXPECT_EQ(story.left_undone(), "");
}

TEST_F(StartingLater, WhatIsCancelledBeforeItRanIsNoEndToStartAfter) {
  (void)ask({{{1}}});
  (void)ask({{{2}}});
  EXPECT_THAT(story.feed(Cancel{{9}, {{1000}}, {2}}),
              AllOf(HasSubstr("end 2; "), HasSubstr("end 3; ")));
}

TEST_F(StartingLater, TheEndCountsThatItHadWhenItWasAskedFor) {
  (void)ends(1, 0);
  EXPECT_EQ(ask({{{1}, Ends::kOk}}), "held 2; ");
  EXPECT_EQ(ask({{{1}, Ends::kFailed}}), "refuse wrong_state; ");
  EXPECT_EQ(story.refusal(), "lease 1 ended well, so it would never start");
}

TEST_F(StartingLater, NobodyIsNamedThatIsNotThere) {
  EXPECT_EQ(ask({{{2}}}), "refuse not_found; ") << "nor itself";
  EXPECT_EQ(story.refusal(), "there is no lease 2 that it could start after");
}

TEST_F(StartingLater, NowOrNeverIsNotLater) {
  Request request = S::budget(gib(2));
  request.wait_max = Duration{};
  request.after = {{{1}}};
  EXPECT_EQ(story.ask(request), "refuse invalid; ");
  request.after.clear();
  request.not_before = later(hours(1));
  EXPECT_EQ(story.ask(request), "refuse invalid; ");
}

TEST_F(StartingLater, WhatIsRequeuedHasNotEnded) {
  Request request = S::budget(gib(2));
  request.requeue_grace = seconds(10);
  (void)story.ask(request);
  run(2, gib(1));
  (void)ask({{{2}}});
  (void)story.feed(AskRequeue{{9}, {{1000}}, {2}});
  (void)story.feed(BeginRequeue{{9}, {{1000}}, {0, 2}});
  story.use(2, {});
  (void)story.feed(ProcessEnded{S::process(2)});
  (void)story.sample();
  EXPECT_EQ(why(3).reason, WhyView::Reason::kAfter);
}

TEST_F(StartingLater, ItStartsAtItsTime) {
  EXPECT_EQ(ask_for(later(minutes(10))), "waiting 2; ");
  EXPECT_EQ(why(2).reason, WhyView::Reason::kNotBefore);
  EXPECT_EQ(story.pass(milliseconds(599'999)), "");
  EXPECT_EQ(story.pass(milliseconds(1)), "grant 2; ");
}

TEST_F(StartingLater, ByTheClockOnTheWall) {
  (void)ask_for(later(minutes(10)));
  story.now.wall.value -= 60'000;  // It is set back by a minute.
  EXPECT_EQ(story.pass(minutes(10)), "");
  const auto last =
      std::find_if(story.effects.rbegin(), story.effects.rend(),
                   [](const Effect& effect) { return std::holds_alternative<WakeAt>(effect); });
  ASSERT_NE(last, story.effects.rend());
  EXPECT_EQ(std::get<WakeAt>(*last).at, story.now.instant + minutes(1)) << "it is waited on";
  EXPECT_EQ(story.pass(minutes(1)), "grant 2; ");
}

TEST_F(StartingLater, ATimeThatIsOverIsNow) {
  EXPECT_EQ(ask_for(later(minutes(-10))), "held 2; ");
  EXPECT_EQ(ask_for(later(hours(9'600))), "refuse invalid; ");
}

TEST_F(StartingLater, OthersPassIt) {
  (void)ask({{{1}}});
  (void)ask_for(later(hours(1)));
  EXPECT_EQ(story.ask(S::budget(gib(12))), "held 4; ");
}

TEST_F(StartingLater, ItWaitsOnAfterARestart) {
  (void)ask({{{1}}});
  (void)ask_for(later(minutes(10)));
  for (const bool snapshot : {false, true}) {
    snapshot ? story.restart_from_snapshot() : story.restart();
    EXPECT_EQ(story.records_refused, 0);
    (void)story.feed(Reconnect{{2}, {{1000}}, {0, 2}, {}});
    (void)story.feed(Reconnect{{3}, {{1000}}, {0, 3}, {}});
    EXPECT_EQ(seconds_pass(2), "");
  }
  EXPECT_THAT(ends(1, 0), HasSubstr("grant 2; "));
  EXPECT_THAT(story.pass(minutes(10)), HasSubstr("grant 3; "));
}

}  // namespace
}  // namespace berth::core
