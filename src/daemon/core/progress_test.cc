// SPDX-License-Identifier: Apache-2.0
// Programs that report their progress, and the end that is expected of them by that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::HasSubstr;

/// A lease of 10 GiB that runs, of the user 1000.
class Progressing : public StoryTest {
 protected:
  Progressing() { start(S::budget(gib(10))); }

  void start(const Request& request) {
    (void)story.ask(request);
    run(story.handles, gib(1));
  }
  std::string feed(const ProgressBody& body, LeaseId lease = {1}, Actor actor = {{1000}}) {
    return story.feed(ReportProgress{{70}, actor, lease, body});
  }
  /// How long it still takes, as expected now.
  std::optional<Duration> left(std::uint64_t id = 1) const {
    const std::optional<UnixMs> end = lease(id).expected_end;
    if (!end) return std::nullopt;
    return milliseconds(end->value - story.now.wall.value);
  }
  void pass(Duration time) { (void)story.pass(time); }
};

TEST_F(Progressing, WhatIsToldIsShown) {
  EXPECT_EQ(lease().progress, std::nullopt);
  EXPECT_EQ(feed({.done = 120, .total = 1'000, .left = minutes(9), .note = "epoch 2"}), "held 1; ");
  EXPECT_EQ(lease().progress, (Progress{.done = 120,
                                        .total = 1'000,
                                        .left = minutes(9),
                                        .note = "epoch 2",
                                        .at = story.now.wall}));
  EXPECT_EQ(left(), minutes(9));
  pass(minutes(1));
  EXPECT_EQ(left(), minutes(8));
  EXPECT_EQ(feed({.done = 130}), "held 1; ");
  EXPECT_EQ(lease().progress, (Progress{.done = 130, .at = story.now.wall}));
  EXPECT_EQ(left(), std::nullopt) << "nothing is made up";
}

TEST_F(Progressing, HowFastItGoesTellsWhenItEnds) {
  (void)feed({.done = 100, .total = 1'000});
  EXPECT_EQ(left(), std::nullopt) << "one point has no rate";
  pass(seconds(60));
  (void)feed({.done = 400, .total = 1'000});
  EXPECT_EQ(left(), seconds(120));
  EXPECT_EQ(lease().progress->left, seconds(120));
  pass(seconds(60));
  (void)feed({.done = 500, .total = 1'000});
  EXPECT_EQ(left(), seconds(150)) << "over all of it, not over the last stretch";
}

TEST_F(Progressing, WhatBeginsAnewIsCountedAnew) {
  (void)feed({.done = 0, .total = 10});
  pass(seconds(100));
  (void)feed({.done = 10, .total = 10});
  pass(seconds(10));
  (void)feed({.done = 0, .total = 10});
  EXPECT_EQ(lease().progress->left, std::nullopt);
  pass(seconds(10));
  (void)feed({.done = 5, .total = 10});
  EXPECT_EQ(lease().progress->left, seconds(10));
}

TEST_F(Progressing, AnEndThatHasPassedIsTwiceAsFar) {
  (void)feed({.done = 1, .left = seconds(30)});
  pass(seconds(30));
  EXPECT_EQ(left(), seconds(30));
  (void)feed({.done = 10, .total = 10, .left = seconds(0)});
  EXPECT_LE(*left(), milliseconds(1)) << "about to end";
}

TEST_F(Progressing, ItCountsMoreThanTheEtaAndLessThanTheLimit) {
  Request request = S::budget(gib(1));
  request.eta = minutes(10);
  request.limit = minutes(30);
  start(request);
  EXPECT_EQ(left(2), seconds(599)) << "it was granted a second ago";
  (void)feed({.done = 1, .left = minutes(20)}, {2});
  EXPECT_EQ(left(2), minutes(20));
  (void)feed({.done = 1, .left = hours(2)}, {2});
  EXPECT_EQ(left(2), seconds(1799));
}

TEST_F(Progressing, WhoWaitsIsPromisedItsEnd) {
  EXPECT_EQ(story.ask(S::budget(gib(8))), "waiting 2; ");
  const auto promised = [&] { return story.coordinator.why({2}, story.now)->expected_start; };
  EXPECT_EQ(promised(), std::nullopt);
  (void)feed({.done = 1, .left = minutes(9)});
  EXPECT_EQ(promised(), (UnixMs{story.now.wall.value + 540'000}));
  const auto why = story.coordinator.why({2}, story.now);
  ASSERT_EQ(why->holders.size(), 1u);
  EXPECT_EQ(why->holders[0].expected_end, promised());
}

// The first in the queue is served when the running one ends, by its own word: who is done before
// that may pass, as soon as that is told.
TEST_F(Progressing, WhoEndsBeforeMayPassAtOnce) {
  EXPECT_EQ(story.ask(S::budget(gib(12))), "waiting 2; ");
  Request brief = S::budget(gib(6));
  brief.limit = minutes(5);
  EXPECT_EQ(story.ask(brief), "waiting 3; ") << "no end is known that it could be before";
  EXPECT_EQ(feed({.done = 1, .left = minutes(9)}), "grant 3; held 1; ");
}

TEST_F(Progressing, WhatItTookAwayIsNoPartOfIt) {
  (void)feed({.done = 0, .total = 100});
  pass(seconds(10));
  (void)feed({.done = 50, .total = 100});
  (void)story.feed(Suspend{{71}, {{1000}}, {1}});
  (void)transfer_done();
  story.use(1, {});
  (void)seconds_pass(60);
  (void)story.feed(Resume{{72}, {{1000}}, {1}});
  (void)seconds_pass(2);
  story.use(1, gib(1));
  (void)transfer_done();
  EXPECT_EQ(left(), seconds(10)) << "as if it had just told";
  (void)feed({.done = 51, .total = 100});
  EXPECT_EQ(lease().progress->left, std::nullopt) << "what it did before has another pace";
}

TEST_F(Progressing, ANewDaemonHearsItAnew) {
  (void)feed({.done = 1, .left = minutes(9)});
  story.restart();
  EXPECT_EQ(lease().progress, std::nullopt);
  EXPECT_EQ(left(), std::nullopt);
  EXPECT_EQ(feed({.done = 2, .left = minutes(8)}), "held 1; ");
  EXPECT_EQ(left(), minutes(8));
}

TEST_F(Progressing, WhatMakesNoSenseIsRefused) {
  EXPECT_EQ(feed({.done = 11, .total = 10}), "refuse invalid; ");
  EXPECT_THAT(story.refusal(), HasSubstr("more is done (11) than there is to be done (10)"));
  EXPECT_EQ(feed({.left = hours(std::int64_t{24} * 366)}), "refuse invalid; ");
  EXPECT_EQ(feed({.left = Duration{-1}}), "refuse invalid; ");
  EXPECT_EQ(feed({.note = std::string(201, 'x')}), "refuse invalid; ");
  EXPECT_THAT(story.refusal(), HasSubstr("201 bytes"));
  EXPECT_EQ(lease().progress, std::nullopt);
  EXPECT_EQ(feed({.note = std::string(200, 'x')}), "held 1; ");
}

TEST_F(Progressing, LossAndPhaseAreShownAndTheirCourseIsKept) {
  (void)feed({.done = 1, .loss = 9.5, .phase = "warmup"});
  pass(seconds(1));
  (void)feed({.done = 2, .loss = 4.25, .phase = "predict"});
  EXPECT_EQ(lease().progress->loss, 4.25);
  EXPECT_EQ(lease().progress->phase, "predict");
  const auto& course = story.coordinator.progress({1});
  ASSERT_EQ(course.size(), 2U);
  EXPECT_EQ(course[0].loss, 9.5);
  EXPECT_EQ(course[0].phase, "warmup");
  EXPECT_EQ(course[1].at, story.now.wall);
  EXPECT_EQ(feed({.phase = std::string(33, 'x')}), "refuse invalid; ");
  EXPECT_THAT(story.refusal(), HasSubstr("the phase has 33 bytes: at most 32 are kept"));
  story.use(1, Bytes{});
  (void)story.end(1);
  EXPECT_TRUE(story.coordinator.progress({1}).empty()) << "nothing is kept of what is over";
}

TEST_F(Progressing, OnlyWhoseItIsAndWhatRunsTells) {
  EXPECT_EQ(feed({.done = 1}, {1}, {{1001}}), "refuse not_yours; ");
  EXPECT_EQ(story.ask(S::budget(gib(8))), "waiting 2; ");
  EXPECT_EQ(feed({.done = 1}, {2}), "refuse wrong_state; ");
  EXPECT_THAT(story.refusal(), HasSubstr("lease 2 does not run"));
  (void)story.end(1);
  EXPECT_EQ(feed({.done = 1}).substr(0, 6), "refuse");
}

}  // namespace
}  // namespace berth::core
