// SPDX-License-Identifier: Apache-2.0
// Leases that make room for urgent requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Yielding : public testing::Test {
 protected:
  static Request yielding(Bytes vram, Priority priority = Priority::kNormal) {
    return {.priority = priority, .vram = vram, .may_yield = true};
  }
  static Request urgent(Bytes vram) { return {.priority = Priority::kUrgent, .vram = vram}; }

  /// Lease n is held and its command uses so much.
  void hold(std::uint64_t n, const Request& request, Bytes used, std::size_t on = 0) {
    (void)story.ask(request);
    (void)story.claim(n);
    story.use(n, used, on);
    (void)story.second();
  }
  /// Who is on the way out, and has not been told so here before.
  std::vector<std::uint64_t> leaving() {
    std::vector<std::uint64_t> ids;
    for (; looked_ < story.effects.size(); ++looked_) {
      const auto* move = std::get_if<Transfer>(&story.effects[looked_]);
      if (move == nullptr || move->direction != Direction::kSwapOut) continue;
      ids.push_back(move->lease.value);
      last_ = *move;
    }
    return ids;
  }
  std::string transfer_done(TransferResult::Outcome outcome = TransferResult::Outcome::kDone) {
    return story.feed(TransferDone{last_.lease, last_.number, {outcome, "it may not"}});
  }
  /// The last one that left is gone from the device.
  std::string gone(std::uint64_t n, std::size_t on = 0) {
    std::string reported = transfer_done();
    story.use(n, {}, on);
    return reported + story.second();
  }

  Story story{{.order = Order::kPriority, .reserve = {}}};

 private:
  std::size_t looked_ = 0;
  Transfer last_;
};

TEST_F(Yielding, AnUrgentRequestGetsTheRoomAndItComesBackAfterIt) {
  hold(1, yielding(gib(10)), gib(8));
  (void)story.ask(urgent(gib(12)));
  EXPECT_THAT(leaving(), ElementsAre(1));
  EXPECT_THAT(gone(1), HasSubstr("grant 2"));
  (void)story.claim(2);
  EXPECT_TRUE(story.coordinator.lease({1}, story.now)->flags.resuming);
  (void)story.end(2);
  EXPECT_THAT(story.second(), HasSubstr("move back 1"));
}

TEST_F(Yielding, WhoHasOnlyJustStartedMakesRoomAsSoonAsItIsOnTheGpu) {
  (void)story.ask(yielding(gib(10)));
  (void)story.ask(urgent(gib(12)));
  (void)story.claim(1);
  (void)story.second();
  (void)story.second();
  EXPECT_THAT(leaving(), IsEmpty()) << "nothing could be moved, and it was not asked for a minute";
  story.use(1, gib(1));
  (void)story.second();
  EXPECT_THAT(leaving(), ElementsAre(1));
}

TEST_F(Yielding, NobodyElseMakesRoom) {
  hold(1, S::budget(gib(10)), gib(8));
  (void)story.ask(urgent(gib(12)));
  EXPECT_THAT(leaving(), IsEmpty()) << "it was not started with --yield";
}

TEST_F(Yielding, OnlyForUrgentRequestsAndOnlyThoseOfLowerPriority) {
  hold(1, yielding(gib(10)), gib(8));
  Request high = S::budget(gib(12));
  high.priority = Priority::kHigh;
  (void)story.ask(high);
  EXPECT_THAT(leaving(), IsEmpty());
  hold(3, yielding(gib(4), Priority::kUrgent), gib(1));
  (void)story.ask(urgent(gib(14)));
  EXPECT_THAT(leaving(), IsEmpty()) << "lease 3 is as urgent";
}

TEST_F(Yielding, NotWhereItFitsBeside) {
  hold(1, yielding(gib(10)), gib(8));
  EXPECT_THAT(story.ask(urgent(gib(6))), HasSubstr("held 2"));
  EXPECT_THAT(leaving(), IsEmpty());
}

TEST_F(Yielding, NotWhereItWouldNotFitEvenThen) {
  hold(1, yielding(gib(6)), gib(5));
  hold(2, S::budget(gib(6)), gib(5));
  (void)story.ask(urgent(gib(12)));
  EXPECT_THAT(leaving(), IsEmpty());
}

TEST_F(Yielding, TheLowerPriorityFirstThenWhoHasLeastThenTheYoungest) {
  hold(1, yielding(gib(4)), gib(3));
  hold(2, yielding(gib(4), Priority::kLow), gib(4));
  hold(3, yielding(gib(4)), gib(1));
  hold(4, yielding(gib(4)), gib(1));
  (void)story.ask(urgent(gib(4)));
  EXPECT_THAT(leaving(), ElementsAre(2));
  (void)gone(2);
  (void)story.claim(5);
  (void)story.ask(urgent(gib(4)));
  EXPECT_THAT(leaving(), ElementsAre(4));
}

TEST_F(Yielding, NoMoreOfThemThanAreNeeded) {
  hold(1, yielding(gib(10), Priority::kNormal), gib(9));
  hold(2, yielding(gib(2), Priority::kLow), gib(1));
  hold(3, yielding(gib(4), Priority::kLow), gib(2));
  (void)story.ask(urgent(gib(10)));
  EXPECT_THAT(leaving(), ElementsAre(1)) << "2 and 3 alone would not do, and are not needed then";
}

TEST_F(Yielding, TheDeviceOnWhichLeastIsMoved) {
  story = Story({.order = Order::kPriority, .reserve = {}}, {gib(16), gib(16)});
  Request first = yielding(gib(10));
  first.devices = {DeviceName{0U}};
  Request second_one = yielding(gib(10));
  second_one.devices = {DeviceName{1U}};
  hold(1, first, gib(8), 0);
  hold(2, second_one, gib(2), 1);
  (void)story.ask(urgent(gib(12)));
  EXPECT_THAT(leaving(), ElementsAre(2));
}

TEST_F(Yielding, NobodyIsAskedWhileOthersAreOnTheirWay) {
  hold(1, yielding(gib(6)), gib(6));
  hold(2, yielding(gib(6)), gib(6));
  (void)story.ask(urgent(gib(8)));
  EXPECT_EQ(leaving().size(), 1U);
  (void)story.second();
  (void)story.second();
  EXPECT_THAT(leaving(), IsEmpty());
}

TEST_F(Yielding, WhoCannotIsNotAskedAgainAtOnceAndAnotherIs) {
  hold(1, yielding(gib(6)), gib(2));
  hold(2, yielding(gib(6)), gib(3));
  (void)story.ask(urgent(gib(8)));
  EXPECT_THAT(leaving(), ElementsAre(1));
  (void)transfer_done(TransferResult::Outcome::kUndone);
  EXPECT_THAT(leaving(), ElementsAre(2));
  (void)transfer_done(TransferResult::Outcome::kUndone);
  (void)story.second();
  EXPECT_THAT(leaving(), IsEmpty());
  (void)story.pass(minutes(1));
  (void)story.second();
  EXPECT_THAT(leaving(), ElementsAre(1));
}

TEST_F(Yielding, AnUrgentRequestThatGoesAwayGivesTheRoomBack) {
  hold(1, yielding(gib(10)), gib(8));
  (void)story.ask(urgent(gib(12)));
  EXPECT_THAT(leaving(), ElementsAre(1));
  (void)story.feed(RequesterGone{{2}});
  EXPECT_THAT(gone(1), HasSubstr("move back 1"));
}

TEST_F(Yielding, WhoIsWantedBackDoesNotTakeWhatAnotherMadeRoomWith) {
  hold(1, yielding(gib(8)), gib(2));
  hold(2, yielding(gib(8)), gib(3));
  (void)story.ask(urgent(gib(8)));
  EXPECT_THAT(leaving(), ElementsAre(1));
  EXPECT_THAT(gone(1), HasSubstr("grant 3"));
  (void)story.claim(3);
  (void)story.ask(urgent(gib(8)));
  EXPECT_THAT(leaving(), ElementsAre(2));
  EXPECT_THAT(gone(2), HasSubstr("grant 4"));
}

TEST_F(Yielding, AWholeDeviceIsClearedForOneThatWantsIt) {
  hold(1, yielding(gib(6)), gib(2));
  hold(2, yielding(gib(6)), gib(3));
  (void)story.ask({.priority = Priority::kUrgent, .share = Share::kExclusive});
  EXPECT_THAT(leaving(), ElementsAre(1, 2));
}

TEST_F(Yielding, WhoMadeRoomComesBackAfterARestart) {
  hold(1, yielding(gib(10)), gib(8));
  (void)story.ask(urgent(gib(12)));
  EXPECT_THAT(leaving(), ElementsAre(1));
  (void)gone(1);
  (void)story.claim(2);
  (void)story.end(2);
  story.restart({.order = Order::kPriority, .reserve = {}});
  std::string reported = story.second();
  reported += story.second();
  EXPECT_THAT(reported, AllOf(HasSubstr("move back 1"), Not(HasSubstr("move out"))));
}

// Leases that make room because they are idle.
class IdleLeases : public Yielding {
 protected:
  static constexpr int kMinute = 60;  // Seconds.

  IdleLeases() { computes(0); }
  void computes(std::uint32_t percent) { story.hardware[0].figures.gpu_utilization = percent; }
  void lend_after(Duration idle) {
    (void)story.feed(Configured{{.order = Order::kPriority, .reserve = {}, .idle = {.max = idle}}});
  }
  static Request asks(Bytes vram, Priority priority = Priority::kNormal) {
    return {.priority = priority, .vram = vram};
  }
};

TEST_F(IdleLeases, MakeRoomForWhoIsNextAfterSoLongAndComeBack) {
  lend_after(minutes(10));
  hold(1, asks(gib(12)), gib(11));
  (void)story.ask(asks(gib(8)), 1001);
  (void)story.seconds_pass(10 * kMinute - 1);
  EXPECT_THAT(leaving(), IsEmpty());
  (void)story.seconds_pass(1);
  ASSERT_THAT(leaving(), ElementsAre(1));
  const LeaseView lent = *story.coordinator.lease({1}, story.now);
  ASSERT_TRUE(lent.halt);
  EXPECT_EQ(lent.halt->reason, Halt::Reason::kYields);
  EXPECT_EQ(lent.halt->lease, LeaseId{2});
  EXPECT_EQ(lent.halt->idle, minutes(10));
  EXPECT_THAT(gone(1), HasSubstr("grant 2; "));
  (void)story.claim(2);
  (void)story.end(2);
  EXPECT_THAT(story.second(), HasSubstr("move back 1; "));
}

TEST_F(IdleLeases, MakeRoomAfterTheTimeOfTheirTier) {
  Settings settings{.order = Order::kPriority, .reserve = {}};
  settings.tiers = {{"notebook", {.idle_max = minutes(2)}}};
  (void)story.feed(Configured{settings});
  Request notebook = asks(gib(12));
  notebook.tier = "notebook";
  hold(1, notebook, gib(11));
  (void)story.ask(asks(gib(8)), 1001);
  (void)story.seconds_pass(2 * kMinute - 1);
  EXPECT_THAT(leaving(), IsEmpty());
  (void)story.seconds_pass(1);
  EXPECT_THAT(leaving(), ElementsAre(1));
}

TEST_F(IdleLeases, AreAskedWhereTheirTierSaysSo) {
  Settings settings{.order = Order::kPriority, .reserve = {}, .idle = {.max = minutes(2)}};
  settings.tiers = {{"notebook", {.idle_action = IdleAction::kAsk}}};
  (void)story.feed(Configured{settings});
  Request notebook = asks(gib(12));
  notebook.tier = "notebook";
  hold(1, notebook, gib(11));
  (void)story.ask(asks(gib(8)), 1001);
  (void)story.seconds_pass(3 * kMinute);
  EXPECT_THAT(leaving(), IsEmpty());
  EXPECT_TRUE(story.coordinator.lease({1}, story.now)->flags.message);
}

TEST_F(IdleLeases, StayWhereTheirTierSaysSo) {
  Settings settings{.order = Order::kPriority, .reserve = {}, .idle = {.max = minutes(2)}};
  settings.tiers = {{"server", {.idle_max = Duration{}}}};
  (void)story.feed(Configured{settings});
  Request server = asks(gib(12));
  server.tier = "server";
  hold(1, server, gib(11));
  (void)story.ask(asks(gib(8)), 1001);
  (void)story.seconds_pass(30 * kMinute);
  EXPECT_THAT(leaving(), IsEmpty());
}

TEST_F(IdleLeases, StayWhereNothingIsSaidOfThem) {
  hold(1, asks(gib(12)), gib(11));
  (void)story.ask(asks(gib(8), Priority::kUrgent));
  (void)story.seconds_pass(30 * kMinute);
  EXPECT_THAT(leaving(), IsEmpty());
}

TEST_F(IdleLeases, MakeNoRoomForLowerPriorities) {
  lend_after(minutes(2));
  hold(1, asks(gib(12)), gib(11));
  (void)story.ask(asks(gib(8), Priority::kLow));
  (void)story.seconds_pass(5 * kMinute);
  EXPECT_THAT(leaving(), IsEmpty());
  (void)story.ask(asks(gib(8)));
  EXPECT_THAT(leaving(), ElementsAre(1));
}

TEST_F(IdleLeases, StayWhileTheirDeviceComputesOrNobodyWaits) {
  lend_after(minutes(2));
  hold(1, asks(gib(12)), gib(11));
  (void)story.seconds_pass(5 * kMinute);
  EXPECT_THAT(leaving(), IsEmpty());
  computes(3);
  (void)story.second();
  (void)story.ask(asks(gib(8)));
  (void)story.seconds_pass(5 * kMinute);
  EXPECT_THAT(leaving(), IsEmpty());
}

TEST_F(IdleLeases, StayWhereOneThatIsFrozenIsInTheWayAllTheSame) {
  lend_after(minutes(2));
  hold(1, asks(gib(4)), gib(3));
  hold(2, asks(gib(10)), gib(9));
  (void)story.ask(asks(gib(15)));
  (void)story.seconds_pass(kMinute);
  (void)story.feed(Freeze{{9}, {{1000}}, {2}, {}});  // It is not idle, and so it stays.
  const Transfer stop = story.last_move().value();
  (void)story.feed(TransferDone{stop.lease, stop.number, {}});
  (void)story.seconds_pass(5 * kMinute);
  EXPECT_THAT(leaving(), IsEmpty());
}

}  // namespace
}  // namespace berth::core
