// SPDX-License-Identifier: Apache-2.0
#include "train/recovery.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth::train {
namespace {

std::string name(const Action& action) {
  struct Namer {
    std::string operator()(const Shorten&) { return "shorten"; }
    std::string operator()(const ForceFull& a) { return "full" + std::to_string(a.steps); }
    std::string operator()(const RaiseConfidence&) { return "confidence"; }
    std::string operator()(const RollBack&) { return "rollback"; }
    std::string operator()(const SkipBatch&) { return "skip"; }
    std::string operator()(const ResetPredictor&) { return "reset"; }
    std::string operator()(const Abort&) { return "abort"; }
  };
  return std::visit(Namer{}, action);
}

std::string names(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& action : actions) text += (text.empty() ? "" : " ") + name(action);
  return text;
}

Verdict verdict(Sign sign, Level level) {
  return {.level = level, .findings = {{.sign = sign, .level = level}}};
}

TEST(Recovery, Table) {
  struct RecoveryStory {
    Sign sign;
    Level level;
    Phase phase;
    std::string actions;
  };
  const std::vector<RecoveryStory> stories = {
      {Sign::kLossDeviation, Level::kCaution, Phase::kFull, ""},
      {Sign::kLossDeviation, Level::kWarning, Phase::kCorrect, "full20"},
      {Sign::kGradientExplosion, Level::kWarning, Phase::kFull, "skip"},
      {Sign::kGradientExplosion, Level::kWarning, Phase::kWarmup, "skip"},
      {Sign::kGradientVanishing, Level::kWarning, Phase::kFull, "reset"},
      {Sign::kPredictionError, Level::kCaution, Phase::kPredict, "shorten"},
      {Sign::kPredictionError, Level::kWarning, Phase::kPredict, "shorten confidence full20"},
      {Sign::kOscillation, Level::kCaution, Phase::kFull, "shorten"},
      {Sign::kOscillation, Level::kWarning, Phase::kFull, "shorten confidence"},
      {Sign::kOscillation, Level::kWarning, Phase::kWarmup, ""},
      {Sign::kNotFinite, Level::kCritical, Phase::kFull, "rollback reset full20"},
      {Sign::kLossDeviation, Level::kCritical, Phase::kFull, "rollback reset full20"},
  };
  for (const RecoveryStory& story : stories) {
    Recovery recovery({}, 20);
    EXPECT_EQ(names(recovery.decide(verdict(story.sign, story.level), story.phase)), story.actions)
        << to_text(story.sign) << ' ' << to_text(story.level);
  }
}

TEST(Recovery, NothingIsDoneAboutANormalStep) {
  Recovery recovery({}, 20);
  EXPECT_TRUE(recovery.decide({}, Phase::kFull).empty());
}

TEST(Recovery, ARunThatCannotBeSavedIsAbortedWithAReason) {
  Recovery recovery({.rollbacks_max = 2}, 20);
  const Verdict broken = verdict(Sign::kNotFinite, Level::kCritical);
  EXPECT_EQ(names(recovery.decide(broken, Phase::kFull)), "rollback reset full20");
  EXPECT_EQ(names(recovery.decide(broken, Phase::kFull)), "rollback reset full20");
  const std::vector<Action> last = recovery.decide(broken, Phase::kFull);
  ASSERT_EQ(names(last), "abort");
  EXPECT_NE(std::get<Abort>(last[0]).reason.find("not_finite"), std::string::npos);
}

TEST(Recovery, CleanStepsMakeRollbacksForgotten) {
  Recovery recovery({.rollbacks_max = 1, .clean_steps = 10}, 20);
  const Verdict broken = verdict(Sign::kNotFinite, Level::kCritical);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(names(recovery.decide(broken, Phase::kFull)), "rollback reset full20") << i;
    for (int step = 0; step < 10; ++step) recovery.decide({}, Phase::kFull);
  }
  recovery.decide(broken, Phase::kFull);
  for (int step = 0; step < 9; ++step) recovery.decide({}, Phase::kFull);
  EXPECT_EQ(names(recovery.decide(broken, Phase::kFull)), "abort");
}

TEST(Recovery, TheRateFallsByWhatIsConfigured) {
  Recovery recovery({.rate_factor = 0.25}, 20);
  const auto actions = recovery.decide(verdict(Sign::kNotFinite, Level::kCritical), Phase::kFull);
  EXPECT_EQ(std::get<RollBack>(actions.at(0)).rate_factor, 0.25);
}

TEST(Recovery, TheCountOfRollbacksIsSaved) {
  Recovery whole({.rollbacks_max = 1}, 20);
  const Verdict broken = verdict(Sign::kNotFinite, Level::kCritical);
  whole.decide(broken, Phase::kFull);
  StateText saved;
  whole.visit(saved);
  Recovery resumed({.rollbacks_max = 1}, 20);
  StateText loaded(saved.values());
  resumed.visit(loaded);
  EXPECT_EQ(names(resumed.decide(broken, Phase::kFull)), "abort");
}

}  // namespace
}  // namespace berth::train
