// SPDX-License-Identifier: Apache-2.0
// Leases whose processes are stopped, and go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::ElementsAre;
using testing::HasSubstr;

/// One GPU of 16 GiB, and a lease of 10 GiB of which its command uses 8.
class Freezing : public StoryTest {
 protected:
  Freezing() {
    (void)story.ask(S::budget(gib(10)));
    run(1, gib(8));
  }

  std::string freeze() { return story.feed(Freeze{{70}, {{1000}}, {1}}); }
  std::string suspend() { return story.feed(Suspend{{71}, {{1000}}, {1}}); }
  std::string resume() { return story.feed(Resume{{72}, {{1000}}, {1}}); }
  std::string frozen() {
    const std::string reported = freeze();
    return reported + transfer_done();
  }
};

TEST_F(Freezing, AllIsStoppedAndKeepsWhatItHas) {
  (void)story.feed(Join{{9}, {{1000}}, {0, 1}, S::process(50)});
  EXPECT_EQ(freeze(), "stop 1; ") << "nobody is answered yet";
  EXPECT_THAT(story.last_move().value().processes, ElementsAre(S::process(1), S::process(50)));
  EXPECT_EQ(story.last_move().value().supervisor, S::process(1001));
  EXPECT_EQ(transfer_done(), "freeze 1; held 1; ");
  EXPECT_TRUE(lease().flags.frozen);
  EXPECT_EQ(story.look().charged, gib(10));
  EXPECT_EQ(resume(), "let go on 1; ");
  EXPECT_TRUE(lease().flags.frozen) << "until all do";
  EXPECT_EQ(transfer_done(), "resume 1; held 1; ");
  EXPECT_FALSE(lease().flags.frozen);
}

TEST_F(Freezing, WhatRunsInsideOfItGoesOnWithItUnlessItIsFrozenItself) {
  Request inner = S::budget(gib(2));
  inner.ancestors = {{1}};
  (void)story.ask(inner);
  (void)story.claim(2);
  (void)story.ask(inner);
  (void)story.claim(3);
  (void)story.ask(S::budget(gib(2)));
  (void)story.claim(4);
  (void)story.feed(Freeze{{70}, {{1000}}, {3}});
  (void)transfer_done();
  (void)frozen();
  EXPECT_EQ(resume(), "let go on 1; ");
  EXPECT_THAT(story.last_move().value().processes, ElementsAre(S::process(1), S::process(2)))
      << "although its `berth run`, by which it was found, may have ended";
}

TEST_F(Freezing, WhoAsksMeanwhileWaitsForTheSame) {
  (void)freeze();
  EXPECT_EQ(freeze(), "");
  EXPECT_EQ(transfer_done(), "freeze 1; held 1; held 1; ");
  EXPECT_EQ(freeze(), "stop 1; ") << "what it has started since is stopped as well";
  EXPECT_EQ(transfer_done(), "freeze 1; held 1; ");
  (void)resume();
  EXPECT_EQ(resume(), "");
  EXPECT_EQ(transfer_done(), "resume 1; held 1; held 1; ");
  EXPECT_EQ(resume(), "refuse wrong_state; ");
}

TEST_F(Freezing, WhoWantsItToGoOnWhileItIsBeingStoppedIsServedAfterThat) {
  (void)freeze();
  EXPECT_EQ(resume(), "");
  EXPECT_EQ(transfer_done(), "freeze 1; let go on 1; held 1; ");
  EXPECT_EQ(transfer_done(), "resume 1; held 1; ");
  (void)freeze();
  EXPECT_EQ(resume(), "");
  EXPECT_EQ(transfer_done(Outcome::kUndone, "not permitted"), "refuse not_moved; let go on 1; ");
  EXPECT_EQ(transfer_done(), "resume 1; held 1; ");
  (void)freeze();
  EXPECT_EQ(resume(), "");
  EXPECT_THAT(story.end(1), HasSubstr("refuse")) << "it has ended";
}

TEST_F(Freezing, WhatCannotBeStoppedRunsOn) {
  for (const Outcome outcome : {Outcome::kUndone, Outcome::kStuck}) {
    (void)freeze();
    EXPECT_EQ(transfer_done(outcome, "not permitted"), "refuse not_moved; let go on 1; ");
    EXPECT_TRUE(lease().flags.frozen) << "some may be stopped";
    EXPECT_EQ(transfer_done(), "resume 1; ");
    EXPECT_FALSE(lease().flags.frozen);
  }
}

TEST_F(Freezing, WhatCannotBeThawedIsFrozenStill) {
  (void)frozen();
  (void)resume();
  EXPECT_EQ(transfer_done(Outcome::kStuck, "not permitted"), "refuse not_moved; ");
  EXPECT_TRUE(lease().flags.frozen);
  EXPECT_EQ(resume(), "let go on 1; ");
}

TEST_F(Freezing, ADaemonThatFindsItFrozenStopsItOnceMore) {
  (void)freeze();
  story.restart({.order = Order::kFifo, .reserve = {}});
  EXPECT_EQ(story.last_move().value().direction, Direction::kFreeze);
  EXPECT_TRUE(lease().flags.frozen);
  EXPECT_EQ(transfer_done(), "freeze 1; ");
  EXPECT_EQ(resume(), "let go on 1; ");
}

TEST_F(Freezing, WhatIsToldToEndGoesOnSoThatItHears) {
  (void)frozen();
  EXPECT_EQ(story.feed(Cancel{.token = {5}, .actor = {{1000}}, .lease = {1}}),
            "revoke 1; signal 15 to 1; let go on 1; held 1; ");
  EXPECT_EQ(transfer_done(), "resume 1; ");
  EXPECT_EQ(freeze(), "refuse wrong_state; ");
}

TEST_F(Freezing, ItsProcessesAreReachedAsItsUserAndNotAsTheDaemon) {
  (void)freeze();
  EXPECT_EQ(story.last_move()->user, UserId{1000});
  (void)transfer_done();
  (void)story.feed(Cancel{.token = {5}, .actor = {{0}, true}, .lease = {1}});
  const auto signal = std::ranges::find_if(
      story.effects, [](const Effect& effect) { return std::holds_alternative<Signal>(effect); });
  ASSERT_NE(signal, story.effects.end());
  EXPECT_EQ(std::get<Signal>(*signal).user, UserId{1000}) << "whoever asked for it";
}

TEST_F(Freezing, WhatOfItIsAnotherUsersIsToldOnce) {
  const auto lines = [&] {
    return std::ranges::count_if(story.effects, [](const Effect& effect) {
      const auto* said = std::get_if<Say>(&effect);
      return said != nullptr &&
             said->text.find("process 77 of it belongs to another user") != std::string::npos;
    });
  };
  for (int i = 0; i < 2; ++i) {
    (void)freeze();
    const Transfer move = story.last_move().value();
    (void)story.feed(TransferDone{move.lease, move.number, {.left_alone = {77}}});
    EXPECT_EQ(lease().left_alone, std::vector{77}) << "whoever paused it reads it in the answer";
    (void)resume();
    (void)transfer_done();
  }
  EXPECT_EQ(lines(), 1);
}

TEST_F(Freezing, WhatIsToldToEndWhileItIsStoppedGoesOnOnceItIs) {
  (void)freeze();
  EXPECT_EQ(story.feed(Cancel{.token = {5}, .actor = {{1000}}, .lease = {1}}),
            "revoke 1; signal 15 to 1; held 1; ")
      << "two at once could end in either order";
  EXPECT_EQ(transfer_done(), "refuse not_moved; let go on 1; ")
      << "it is not frozen, as somebody wanted";
  EXPECT_EQ(transfer_done(), "resume 1; ");
}

TEST_F(Freezing, WhatIsAwayAndToldToEndWhileItIsStoppedStaysAway) {
  (void)story.ask({.vram = gib(1), .may_yield = false});
  (void)suspend();
  (void)transfer_done();
  (void)freeze();
  (void)story.feed(Cancel{.token = {5}, .actor = {{1000}}, .lease = {1}});
  EXPECT_EQ(transfer_done(), "refuse not_moved; let go on 1; ");
  EXPECT_EQ(transfer_done(), "");
  EXPECT_FALSE(lease().flags.frozen);
  story.use(1, {});
  EXPECT_EQ(story.second(), "") << "nobody wants its memory back";
}

TEST_F(Freezing, ItIsNotOverBeforeAllThatWasStoppedGoesOn) {
  (void)frozen();
  EXPECT_THAT(
      story.feed(Release{.token = {5}, .actor = {{1000}}, .lease = {1}, .body = {.detach = true}}),
      HasSubstr("let go on 1; "));
  story.use(1, {});
  EXPECT_EQ(story.second(), "");
  EXPECT_EQ(story.pass(minutes(10)), "");
  story.restart({.order = Order::kFifo, .reserve = {}});
  EXPECT_EQ(story.last_move().value().direction, Direction::kThaw);
  EXPECT_EQ(story.second(), "");
  EXPECT_EQ(transfer_done(Outcome::kStuck, "not permitted"), "end 1; ")
      << "nothing more can be done";
}

TEST_F(Freezing, WhatEndsWhileItsMemoryIsOnTheWayGoesOnAfterThat) {
  (void)frozen();
  (void)suspend();
  (void)story.feed(
      Release{.token = {5}, .actor = {{1000}}, .lease = {1}, .body = {.detach = true}});
  EXPECT_EQ(story.last_move().value().direction, Direction::kSwapOut);
  EXPECT_EQ(transfer_done(), "let go on 1; ");
}

TEST_F(Freezing, FrozenItCanBeSuspendedAndStaysFrozen) {
  (void)frozen();
  EXPECT_EQ(suspend(), "move out 1; ");
  EXPECT_EQ(freeze(), "refuse wrong_state; ");
  EXPECT_EQ(resume(), "refuse wrong_state; ");
  EXPECT_EQ(transfer_done(), "suspend 1; stop 1; suspended 1; ");
  EXPECT_EQ(transfer_done(), "freeze 1; ");
  story.use(1, {});
  (void)story.second();
  EXPECT_EQ(resume(), "let go on 1; ");
  EXPECT_EQ(transfer_done(), "") << "there must be room for its memory, too";
  EXPECT_FALSE(lease().flags.frozen);
  EXPECT_EQ(story.second(), "move back 1; ");
  EXPECT_EQ(transfer_done(), "resume 1; held 1; ");
}

TEST_F(Freezing, SuspendedItCanBeFrozenAndComesBackByItselfStopped) {
  (void)story.ask({.vram = gib(1), .may_yield = false});
  (void)suspend();
  (void)transfer_done();
  EXPECT_EQ(freeze(), "stop 1; ");
  EXPECT_EQ(suspend(), "suspended 1; ") << "it is";
  EXPECT_EQ(transfer_done(), "freeze 1; suspended 1; ");
}

TEST_F(Freezing, ItSavesItselfNeitherBeforeNorMeanwhile) {
  Request request = S::budget(gib(2));
  request.checkpoint = CheckpointWay{.grace = seconds(10)};
  (void)story.ask(request);
  (void)story.claim(2);
  EXPECT_EQ(story.feed(AskCheckpoint{.token = {80}, .actor = {{1000}}, .lease = {2}}), "save 2; ");
  EXPECT_EQ(story.feed(Freeze{{81}, {{1000}}, {2}}), "refuse wrong_state; ");
  (void)story.feed(
      ReportCheckpoint{{82}, {{1000}}, {0, 2}, {1, CheckpointOutcome::kSaved, "a file"}});
  EXPECT_EQ(story.feed(Freeze{{83}, {{1000}}, {2}}), "stop 2; ");
  EXPECT_EQ(story.feed(AskCheckpoint{.token = {84}, .actor = {{1000}}, .lease = {2}}),
            "refuse wrong_state; ");
}

TEST_F(Freezing, ALeaseWithoutProcessesIsNotFrozen) {
  EXPECT_EQ(story.feed(Freeze{{81}, {{1000}}, {7}}), "refuse not_found; ");
  Request request = S::budget(gib(2));
  request.ttl = hours(1);
  (void)story.ask(request);
  EXPECT_EQ(story.feed(Freeze{{81}, {{1000}}, {2}}), "refuse wrong_state; ");
}

}  // namespace
}  // namespace berth::core
