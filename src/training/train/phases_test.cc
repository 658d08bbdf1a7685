// SPDX-License-Identifier: Apache-2.0
#include "train/phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace berth::train {
namespace {

constexpr Forecast kConfident{.confidence = 1.0};
constexpr Forecast kDoubtful{.confidence = 0.5};

PhaseConfig small() {
  return {.warmup_steps = 3,
          .full_steps = 2,
          .predict_steps_max = 4,
          .correct_steps = 1,
          .consecutive_max = 2};
}

// A letter a step: w, f, P with the steps of the jump for the first predicted step, p, c.
std::string letters(PhaseController& controller, const Forecast& forecast, int steps) {
  std::string text;
  for (int i = 0; i < steps; ++i) {
    const PlannedStep step = controller.next(forecast);
    if (step.jump > 0) {
      text += "P" + std::to_string(step.jump);
      controller.accept_jump();
    } else {
      text += to_text(step.phase).substr(0, 1);
    }
  }
  return text;
}

struct PhaseStory {
  std::string name;
  PhaseConfig config;
  Forecast forecast;
  std::string letters;
  int steps;
};

PhaseConfig with(void (*change)(PhaseConfig&)) {
  PhaseConfig config = small();
  change(config);
  return config;
}

TEST(Phases, Table) {
  const std::vector<PhaseStory> stories = {
      {"WarmupIsFollowedByAFullPhaseWhateverTheConfidence", small(), kConfident, "wwwffP4", 6},
      {"NoWarmupIfNoneIsWanted", with([](PhaseConfig& c) { c.warmup_steps = 0; }), kConfident,
       "ffP4", 3},
      {"AfterCorrectionPredictionGoesOnWithConfidence", small(), kConfident, "wwwffP4pppcP3ppcffP4",
       17},
      {"NoMorePredictPhasesInARowThanAllowed", with([](PhaseConfig& c) { c.consecutive_max = 1; }),
       kConfident, "wwwffP4pppcffP4", 13},
      {"WithoutConfidenceACorrectionLeadsToAFullPhase", small(), kDoubtful, "wwwffP1cffP1cff", 13},
      {"TheFirstJumpNeedsNoConfidence", small(), Forecast{}, "wwwffP2pcff", 10},
      {"NotWhereTheRateChanges", small(), Forecast{.confidence = 1.0, .rate_stable = false},
       "wwwffffff", 9},
      {"WhereTheRateChangesIfToldSo", with([](PhaseConfig& c) { c.only_stable_rate = false; }),
       Forecast{.confidence = 1.0, .rate_stable = false}, "wwwffP4pp", 8},
      {"NotWhereItDoesNotPay", small(), Forecast{.confidence = 1.0, .pays = false}, "wwwffffff", 9},
      {"ARealStepAfterEachIntervalOfPredictedOnes", with([](PhaseConfig& c) {
         c.predict_steps_max = 8;
         c.correction_interval = 3;
       }),
       kConfident, "wwwffP3ppcP3ppcP2pc", 16},
      {"NoCorrectPhaseIfNoneIsWanted", with([](PhaseConfig& c) { c.correct_steps = 0; }),
       kConfident, "wwwffP4pppP3ppffP4", 15},
      {"TheLengthFollowsConfidence", with([](PhaseConfig& c) { c.predict_steps_max = 100; }),
       Forecast{.confidence = 0.9}, "wwwffP81", 6},
  };
  for (const PhaseStory& story : stories) {
    PhaseController controller(story.config);
    EXPECT_EQ(letters(controller, story.forecast, story.steps), story.letters) << story.name;
  }
}

TEST(Phases, PredictPhasesInARowGetShorter) {
  PhaseConfig config = small();
  config.predict_steps_max = 100;
  config.consecutive_max = 3;
  PhaseController controller(config);
  std::vector<std::uint32_t> jumps;
  while (jumps.size() < 4) {
    const PlannedStep step = controller.next(kConfident);
    if (step.jump > 0) {
      jumps.push_back(step.jump);
      controller.accept_jump();
    }
  }
  EXPECT_THAT(jumps, testing::ElementsAre(100, 90, 80, 100));
}

TEST(Phases, ALengthThatIsAskedForHoldsOverThatOfConfidence) {
  PhaseConfig config = small();
  config.predict_steps_max = 100;
  config.consecutive_max = 1;
  for (const auto& [asked, made] : {std::pair{17U, 17}, {100U, 100}, {101U, 100}, {0U, 1}}) {
    PhaseController controller(config);
    const Forecast forecast{.confidence = 0.9, .steps = asked};
    EXPECT_EQ(letters(controller, forecast, 6), "wwwffP" + std::to_string(made)) << asked;
  }
  // What was found wrong makes it shorter all the same.
  PhaseController controller(config);
  controller.shorten(0.5);
  EXPECT_EQ(letters(controller, {.confidence = 0.9, .steps = 17}, 6), "wwwffP8");
}

TEST(Phases, ALengthThatIsAskedForIsNoConfidence) {
  PhaseController controller(small());
  const Forecast forecast{.confidence = 0.5, .steps = 3};
  EXPECT_EQ(letters(controller, forecast, 15), "wwwffP3ppcffP3ppc");
}

TEST(Phases, ARejectedJumpMakesTheStepARealOne) {
  PhaseController controller(small());
  EXPECT_EQ(letters(controller, kConfident, 5), "wwwff");
  EXPECT_EQ(controller.next(kConfident).jump, 4U);
  controller.reject_jump();
  EXPECT_EQ(letters(controller, kConfident, 3), "ffP4");
}

TEST(Phases, WithoutConfidenceEachRejectionDoublesTheWait) {
  PhaseController controller(small());
  std::vector<int> waits;
  int fulls = 0;
  while (waits.size() < 8) {
    const PlannedStep step = controller.next(kDoubtful);
    if (step.phase == Phase::kFull) ++fulls;
    if (step.jump > 0) {
      controller.reject_jump();
      waits.push_back(fulls / 2);
      fulls = 0;
    }
  }
  EXPECT_THAT(waits, testing::ElementsAre(1, 2, 4, 8, 16, 32, 32, 32));
}

TEST(Phases, ANewRegimeIsTriedAgainSoon) {
  PhaseController controller(small());
  letters(controller, kConfident, 5);
  for (int i = 0; i < 3; ++i) {
    while (controller.next(kDoubtful).jump == 0) {
    }
    controller.reject_jump();
  }
  controller.raise_confidence(0.1);
  controller.begin_regime();
  EXPECT_EQ(letters(controller, kDoubtful, 5), "ffffP1");
  EXPECT_EQ(controller.confidence_wanted(), 0.85);
}

TEST(Phases, ForcedFullStepsEndAPredictPhase) {
  PhaseController controller(small());
  EXPECT_EQ(letters(controller, kConfident, 6), "wwwffP4");
  controller.force_full(5);
  EXPECT_EQ(letters(controller, kConfident, 6), "fffffP4");
}

TEST(Phases, TheFirstStepOfEachPhaseIsMarked) {
  PhaseController controller(small());
  std::string marks;
  for (int i = 0; i < 12; ++i) {
    const PlannedStep step = controller.next(kConfident);
    marks += step.begins ? 'b' : '.';
    if (step.jump > 0) controller.accept_jump();
    if (i == 10) controller.force_full(3);
  }
  // wwwffP4pppcP3, and a full phase by force.
  EXPECT_EQ(marks, "b..b.b...bbb");
}

TEST(Phases, ForcedFullStepsNeverShortenWhatIsLeft) {
  PhaseConfig config = small();
  config.full_steps = 6;
  PhaseController controller(config);
  EXPECT_EQ(letters(controller, kConfident, 4), "wwwf");
  controller.force_full(2);
  EXPECT_EQ(letters(controller, kConfident, 6), "fffffP4");
}

TEST(Phases, AWarmupGoesOnThoughFullStepsAreForced) {
  PhaseController controller(small());
  EXPECT_EQ(letters(controller, kConfident, 1), "w");
  controller.force_full(5);
  EXPECT_EQ(letters(controller, kConfident, 5), "wwffP4");
}

TEST(Phases, ShortenedPredictPhasesGrowBackByATenthAJump) {
  PhaseConfig config = small();
  config.predict_steps_max = 100;
  config.consecutive_max = 1;
  PhaseController controller(config);
  controller.shorten(0.5);
  EXPECT_EQ(letters(controller, kConfident, 6), "wwwffP50");
  letters(controller, kConfident, 49 + 1 + 2);
  EXPECT_EQ(letters(controller, kConfident, 1), "P55");
}

TEST(Phases, MoreConfidenceIsDemandedUpToALimit) {
  PhaseController controller(small());
  controller.raise_confidence(0.1);
  const Forecast forecast{.confidence = 0.9};
  EXPECT_EQ(letters(controller, forecast, 10), "wwwffP3ppcf");
  controller.raise_confidence(5);
  EXPECT_EQ(controller.confidence_wanted(), PhaseController::kConfidenceMost);
}

TEST(Phases, APhaseOfSeveralJumpsEndsWhereTheRateBeginsToChange) {
  PhaseConfig config = small();
  config.predict_steps_max = 8;
  config.correction_interval = 3;
  PhaseController controller(config);
  EXPECT_EQ(letters(controller, kConfident, 8), "wwwffP3pp");
  EXPECT_EQ(letters(controller, {.confidence = 1.0, .rate_stable = false}, 3), "cff");
}

TEST(Phases, SavedAtAnyStepItGoesOnTheSameWay) {
  PhaseConfig config = small();
  config.predict_steps_max = 8;
  config.correction_interval = 3;
  for (int cut = 0; cut < 30; ++cut) {
    PhaseController whole(config);
    letters(whole, kConfident, cut);
    StateText saved;
    saved.section("phases");
    whole.visit(saved);
    PhaseController resumed(config);
    StateText loaded(saved.values());
    loaded.section("phases");
    resumed.visit(loaded);
    ASSERT_TRUE(loaded.outcome().ok());
    EXPECT_EQ(letters(resumed, kConfident, 30), letters(whole, kConfident, 30)) << cut;
  }
}

}  // namespace
}  // namespace berth::train
