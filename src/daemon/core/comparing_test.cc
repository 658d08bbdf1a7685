// SPDX-License-Identifier: Apache-2.0
// Comparison of what the programs of a lease have charged with what the driver counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::ElementsAre;
using testing::HasSubstr;

class Comparing : public testing::Test {
 protected:
  Comparing() {
    (void)story.ask(S::budget(gib(10)));
    (void)story.claim(1);
  }

  /// A sample in which lease 1 has charged so much and the driver counts so much.
  void look(Bytes charged, Bytes measured, bool unchanged = true, Bytes excess = {}) {
    charge = {.lease = {0, 1},
              .device = device(0),
              .charged = charged,
              .peak = std::max(charge.peak, charged),
              .refused = charge.refused,
              .unchanged = unchanged,
              .excess = excess,
              .dead = charge.dead};
    story.use(1, measured);
    sample();
  }
  void sample() {
    story.effects.clear();
    Sample sample{story.now.instant, story.now.instant, true, "", "", story.hardware, {charge}};
    (void)story.feed(Sampled{std::move(sample)});
  }
  /// What the guard was told by the last sample; nothing if it was not.
  std::optional<std::vector<Bytes>> corrected() const {
    for (const Effect& effect : story.effects) {
      if (const auto* set = std::get_if<SetUnaccounted>(&effect)) return set->bytes;
    }
    return std::nullopt;
  }
  /// Another look, after so long, at a lease whose budget has refused so many in all.
  void refuse(std::uint64_t count, ChargeSample::Refusal last, Duration later = seconds(1)) {
    charge.refused = count;
    charge.refusal = last;
    (void)story.pass(later);
    sample();
  }
  /// What the last sample has told of that.
  std::string refusal() const {
    std::string reasons;
    for (const Effect& effect : story.effects) {
      const auto* append = std::get_if<Append>(&effect);
      if (append == nullptr) continue;
      if (const auto* fact = std::get_if<AllocationRefused>(&append->record.fact))
        reasons += fact->reason() + "; ";
    }
    return reasons;
  }
  /// Whether programs were told by it that they may give back what contexts cost less.
  std::optional<bool> may_give_back() const {
    for (const Effect& effect : story.effects) {
      if (const auto* set = std::get_if<SetUnaccounted>(&effect)) return set->may_give_back.at(0);
    }
    return std::nullopt;
  }
  LeasePart part() const { return story.coordinator.lease({1}, story.now)->parts.at(0); }

  Story story{{.order = Order::kFifo, .reserve = {}}};
  ChargeSample charge;
};

TEST_F(Comparing, ALeaseShowsBothAccountsAndTheirDifference) {
  look(gib(4), gib(4) + mib(96));
  EXPECT_EQ(part().used, gib(4) + mib(96));
  EXPECT_EQ(part().ledger, gib(4));
  EXPECT_EQ(part().drift, static_cast<std::int64_t>(mib(96).value));
  EXPECT_EQ(part().refused, 0U);
}

TEST_F(Comparing, WhatTheDriverCountsTwiceBeyondTheLedgerIsUsed) {
  look(gib(4), gib(4) + mib(96));
  EXPECT_EQ(corrected(), std::nullopt);
  look(gib(5), gib(5) + mib(80));
  EXPECT_THAT(corrected(), testing::Optional(ElementsAre(mib(80))));
  look(gib(5), gib(5) + mib(80));
  EXPECT_EQ(corrected(), std::nullopt);  // It was told.
}

TEST_F(Comparing, WhatItCountsNoMoreIsTakenOffAtOnce) {
  look(gib(4), gib(4) + mib(96));
  look(gib(4), gib(4) + mib(96));
  look(gib(4), gib(4) + mib(10));
  EXPECT_THAT(corrected(), testing::Optional(ElementsAre(mib(10))));
  look(gib(4), gib(4));
  EXPECT_THAT(corrected(), testing::Optional(ElementsAre(Bytes{})));
}

// The guard counts what they have charged: it would count it twice.
// It may have taken all of its budget between that account and the fall.
TEST_F(Comparing, AnAccountOfBeforeABudgetFellDoesNotBoundWhatLeaves) {
  look(gib(2), gib(2));
  (void)story.pass(milliseconds(1));
  (void)story.feed(Resize{{71}, {{1000}}, {1}, {.vram = gib(4)}});
  (void)story.feed(Suspend{{72}, {{1000}}, {1}});
  EXPECT_EQ(story.last_move()->bytes, gib(10));
}

TEST_F(Comparing, AnAccountOfAfterThatDoes) {
  look(gib(2), gib(2));
  (void)story.feed(Resize{{71}, {{1000}}, {1}, {.vram = gib(4)}});
  (void)story.pass(milliseconds(1));
  look(gib(3), gib(3));
  (void)story.feed(Suspend{{72}, {{1000}}, {1}});
  EXPECT_EQ(story.last_move()->bytes, gib(3));
}

TEST_F(Comparing, WhatDeadOnesMayHaveStillIsNotUnaccounted) {
  charge.dead = mib(80);
  for (int i = 0; i < 2; ++i) {
    look(gib(4), gib(4) + mib(80));
    EXPECT_EQ(corrected(), std::nullopt);
  }
  EXPECT_EQ(part().ledger, gib(4));
  EXPECT_EQ(part().drift, static_cast<std::int64_t>(mib(80).value));
  for (int i = 0; i < 2; ++i) look(gib(4), gib(4) + mib(96));
  EXPECT_THAT(corrected(), testing::Optional(ElementsAre(mib(16))));
}

TEST_F(Comparing, AnAllocationBetweenTheTwoLooksIsNoDrift) {
  look(gib(4), gib(6), false);
  look(gib(4), gib(6), false);
  EXPECT_EQ(corrected(), std::nullopt);
  EXPECT_EQ(part().drift, std::nullopt);
  EXPECT_EQ(part().ledger, gib(4));
}

TEST_F(Comparing, ALedgerAboveTheDriversFigureIsLeftAsItIs) {
  look(gib(4), gib(3));
  look(gib(4), gib(3));
  EXPECT_EQ(corrected(), std::nullopt);
  EXPECT_EQ(part().drift, -static_cast<std::int64_t>(gib(1).value));
}

TEST_F(Comparing, WhatContextsCostLessIsGivenBackWhenItWasSeenTwice) {
  const Bytes charged = gib(4) + mib(200);
  look(charged, gib(4), true, mib(200));
  EXPECT_EQ(may_give_back(), std::nullopt);
  look(charged, gib(4), true, mib(200));
  EXPECT_EQ(may_give_back(), true);
  EXPECT_THAT(corrected(), testing::Optional(ElementsAre(Bytes{})));
  look(charged, gib(4), true, mib(200));
  EXPECT_EQ(may_give_back(), std::nullopt);  // It was told.
  look(gib(4), gib(4), true);                // They did.
  EXPECT_EQ(may_give_back(), false);
}

TEST_F(Comparing, WhatIsHiddenBehindItIsCountedAsUsedFirst) {
  const Bytes charged = gib(4) + mib(200);
  look(charged, gib(4) + mib(150));
  look(charged, gib(4) + mib(150));
  EXPECT_EQ(corrected(), std::nullopt);
  look(charged, gib(4) + mib(150), true, mib(200));
  EXPECT_EQ(corrected(), std::nullopt);
  look(charged, gib(4) + mib(150), true, mib(200));
  EXPECT_THAT(corrected(), testing::Optional(ElementsAre(mib(150))));
  EXPECT_EQ(may_give_back(), true);
  look(gib(4), gib(4) + mib(150));
  EXPECT_THAT(corrected(), testing::Optional(ElementsAre(mib(150))));
  EXPECT_EQ(part().drift, static_cast<std::int64_t>(mib(150).value));
}

TEST_F(Comparing, AnExcessThatIsAnotherEachTimeIsNotGivenBack) {
  look(gib(4), gib(3), true, mib(100));
  look(gib(4), gib(3), true, mib(200));
  EXPECT_EQ(may_give_back(), std::nullopt);
  look(gib(4), gib(3), false, mib(200));
  EXPECT_EQ(may_give_back(), std::nullopt);
  look(gib(4), gib(3), true, mib(200));
  EXPECT_EQ(may_give_back(), true);
}

TEST_F(Comparing, ADriverThatGivesNoFigureCorrectsNothing) {
  look(gib(4), gib(4) + mib(96));
  look(gib(4), gib(4) + mib(96));
  story.hardware[0].processes->front().used.reset();
  sample();
  EXPECT_EQ(corrected(), std::nullopt);
  story.hardware[0].processes.reset();
  sample();
  EXPECT_EQ(corrected(), std::nullopt);
  EXPECT_EQ(part().drift, static_cast<std::int64_t>(mib(96).value));
}

TEST_F(Comparing, ALedgerIsNotBelievedBeyondTheDevice) {
  look(gib(4000), gib(4));
  EXPECT_EQ(part().ledger, gib(16));
  EXPECT_EQ(part().peak, gib(16));
}

TEST_F(Comparing, APeakBetweenTwoLooksIsKnownFromTheLedger) {
  look(gib(4), gib(4));
  charge.peak = gib(9);
  charge.refused = 2;
  sample();
  EXPECT_EQ(part().peak, gib(9));
  EXPECT_EQ(part().refused, 2U);
}

TEST_F(Comparing, AnAllocationThatIsRefusedIsARecordWithTheBudgetThatWouldDo) {
  look(gib(9), gib(9));
  refuse(1, {.bytes = gib(3), .used = gib(9)});
  EXPECT_EQ(refusal(),
            "3.0 GiB, with 9.0 GiB of 10.0 GiB in use: -m 12544M would have allowed it; ");
  sample();
  EXPECT_EQ(refusal(), "") << "once";
}

TEST_F(Comparing, ABudgetThatTheDeviceCannotGrantIsNotProposed) {
  look(gib(9), gib(9));
  refuse(1, {.bytes = gib(7), .used = gib(9)});
  EXPECT_THAT(refusal(), HasSubstr("-m 16G would"));
  refuse(2, {.bytes = gib(7) + mib(1), .used = gib(9)}, minutes(1));
  EXPECT_THAT(refusal(), HasSubstr("none would allow it"));
}

TEST_F(Comparing, AProgramThatTriesAgainAndAgainIsToldOfOnceAMinute) {
  look(gib(9), gib(9));
  refuse(1, {.bytes = gib(3), .used = gib(9)});
  refuse(500, {.bytes = gib(2), .used = gib(9)});
  EXPECT_EQ(refusal(), "");
  refuse(501, {.bytes = gib(2), .used = gib(9)}, seconds(58));
  EXPECT_EQ(refusal(), "");
  refuse(501, {.bytes = gib(2), .used = gib(9)});
  EXPECT_THAT(refusal(), HasSubstr("2.0 GiB, with 9.0 GiB of 10.0 GiB in use, the last of 500: "));
}

TEST_F(Comparing, AfterARestartNewRefusalsAloneAreTold) {
  look(gib(9), gib(9));
  refuse(2, {.bytes = gib(3), .used = gib(9)});
  story.restart_from_snapshot();
  refuse(2, {.bytes = gib(3), .used = gib(9)});
  EXPECT_EQ(refusal(), "");
  refuse(3, {.bytes = gib(3), .used = gib(9)});
  EXPECT_THAT(refusal(), HasSubstr("in use: ")) << "one of three";
}

// Its files are read from the second sample on.
TEST_F(Comparing, AnAccountThatComesLateAfterARestartIsOldAsWell) {
  look(gib(9), gib(9));
  refuse(2, {.bytes = gib(3), .used = gib(9)});
  story.restart_from_snapshot();
  (void)story.second();
  refuse(2, {.bytes = gib(3), .used = gib(9)});
  EXPECT_EQ(refusal(), "");
}

TEST_F(Comparing, AnEndedLeaseKeepsItsPeakAlsoAfterARestart) {
  look(gib(4), gib(4));
  charge.peak = gib(9);
  charge.refused = 2;
  charge.charged = {};
  story.use(1, {});
  (void)story.feed(ReportExit{{1}, {{1000}, true}, {0, 1}});
  (void)story.feed(ProcessEnded{S::process(1)});
  sample();
  ASSERT_EQ(story.state(1), LeaseState::kEnded);
  EXPECT_EQ(part().peak, gib(9));
  EXPECT_EQ(part().refused, 2U);
  EXPECT_EQ(part().index, 0U);

  Coordinator fresh{Settings{}};
  for (const Record& record : story.coordinator.snapshot(story.now)) {
    ASSERT_TRUE(fresh.apply(record).ok());
  }
  EXPECT_EQ(fresh.lease({1}, story.now)->parts.at(0).peak, gib(9));
}

TEST_F(Comparing, WhoWaitsForRoomInItsBudgetIsToldOfOnce) {
  const auto reported = [this] {
    std::vector<LeaseEvent> news;
    for (const Effect& effect : story.effects) {
      if (const auto* notify = std::get_if<Notify>(&effect)) news.push_back(notify->news);
    }
    return news;
  };
  look(gib(9), gib(9));
  EXPECT_EQ(part().wanted, Bytes{});
  charge.wanted = gib(2);
  sample();
  EXPECT_THAT(reported(), ElementsAre(LeaseEvent::kFull));
  EXPECT_TRUE(story.coordinator.lease({1}, story.now)->flags.full);
  EXPECT_EQ(part().wanted, gib(2));
  charge.wanted = gib(1);
  sample();
  EXPECT_THAT(reported(), testing::IsEmpty());
  charge.wanted = Bytes::max();  // Whatever a program has written there.
  sample();
  EXPECT_LE(part().wanted, gib(16));
  charge.wanted = {};
  sample();
  EXPECT_THAT(reported(), ElementsAre(LeaseEvent::kNotFull));
  EXPECT_FALSE(story.coordinator.lease({1}, story.now)->flags.full);
}

TEST_F(Comparing, ChargesOfALeaseThatThereIsNotAreNobodys) {
  charge = {.lease = {7, 7}, .device = device(0), .charged = gib(4), .unchanged = true};
  sample();
  charge = {.lease = {0, 1}, .device = device(9), .charged = gib(4), .unchanged = true};
  sample();
  EXPECT_EQ(part().ledger, std::nullopt);
}

}  // namespace
}  // namespace berth::core
