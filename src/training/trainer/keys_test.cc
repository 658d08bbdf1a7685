// SPDX-License-Identifier: Apache-2.0
// Every key has an effect: of each that may move weights there is a run that ends elsewhere with
// another value of it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trainer/run.h"

namespace berth::trainer {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

class KeysTest : public testing::Test {
 protected:
  KeysTest() : folder_(testing::TempDir() + "keysXXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    std::ofstream text(folder_ + "/text");
    for (int i = 0; i < 3000; ++i) text << "the quick brown fox " << i % 7 << '\n';
  }
  ~KeysTest() override { std::filesystem::remove_all(folder_); }

  /// All that a run says of where it has ended.
  std::string outcome_of(const Values& values) const {
    train::Settings settings{.text = folder_ + "/text"};
    for (const auto& [key, value] : values) {
      const Status set = train::set(settings, key, value);
      EXPECT_TRUE(set.ok()) << set.error().message;
    }
    const auto summary = run_training(settings, {});
    if (!summary.ok()) return summary.error().message;
    std::string text = std::to_string(summary->validation_loss * 1e9);
    text += ' ' + std::to_string(summary->average_loss.value_or(0) * 1e9);
    for (const std::uint64_t count :
         {summary->totals.real_steps, summary->totals.predicted_steps, summary->totals.trials,
          summary->totals.accepted, summary->totals.rollbacks, summary->totals.skipped}) {
      text += ' ' + std::to_string(count);
    }
    return text;
  }
  std::string folder_;
};

const Values kSmallRun = {{"data.rows", "2"},          {"data.columns", "16"},
                          {"validate.every", "0"},     {"validate.rows", "4"},
                          {"run.threads", "1"},        {"rate.steps", "60"},
                          {"rate.warmup_steps", "4"},  {"rate.rate", "0.002"},
                          {"predict.mode", "forced"},  {"predict.warmup_steps", "6"},
                          {"predict.full_steps", "5"}, {"predict.steps_max", "6"}};
// What shows more of some keys; they go after the small run's.
const Values kPlain = {{"predict.mode", "off"}};
const Values kAuto = {{"predict.mode", "auto"}, {"predict.worth_min", "0.1"}};
const Values kDoubtful = {
    {"predict.mode", "auto"}, {"predict.worth_min", "0.8"}, {"predict.full_steps", "3"}};
const Values kManyJumps = {
    {"rate.steps", "160"}, {"predict.full_steps", "2"}, {"predict.steps_max", "10"}};
const Values kMuon = {{"optimizer.kind", "muon"}};
const Values kAhead = {{"predict.mode", "off"}, {"lookahead.steps", "0.5"}};
// A rate at which it comes apart again and again.
const Values kTrouble = {{"predict.mode", "off"},
                         {"rate.rate", "3"},
                         {"adamw.clip", "0"},
                         {"monitor.deviation_max", "1"},
                         {"recovery.snapshot_every", "7"},
                         {"recovery.rollbacks_max", "3"}};
// Gradients that get smaller, as they do, are taken for trouble.
const Values kTroubleAgain = {
    {"predict.mode", "off"}, {"monitor.vanishing_factor", "0.85"}, {"recovery.rollbacks_max", "3"}};

struct Effect {
  std::string key, value;
  Values before = {};
};

std::vector<Effect> effects() {
  return {{"run.model", "micro"},
          {"run.device", "cuda"},
          {"run.seed", "2"},
          {"run.threads", "2", {{"data.rows", "16"}, {"data.columns", "64"}}},
          {"data.rows", "3"},
          {"data.columns", "17"},
          {"data.micro_rows", "1"},
          {"data.precision", "bf16"},
          {"data.held_out", "0.3"},
          {"rate.steps", "61"},
          {"rate.schedule", "cosine"},
          {"rate.rate", "0.003"},
          {"rate.warmup_steps", "5"},
          {"rate.decay_share", "0.5"},
          {"rate.min_share", "0.5"},
          {"optimizer.kind", "muon"},
          {"optimizer.momentum", "0.5", kMuon},
          {"adamw.beta1", "0.8"},
          {"adamw.beta2", "0.9"},
          {"adamw.epsilon", "0.001"},
          {"adamw.decay", "0.5"},
          {"adamw.clip", "0.1"},
          {"average.decay", "0.9"},
          {"lookahead.steps", "0.5", kPlain},
          {"lookahead.decay", "0.5", kAhead},
          {"predict.mode", "off"},
          {"predict.predictor", "nesterov"},
          {"predict.scheduler", "dynamics", kManyJumps},
          {"predict.worth_min", "3.9", kAuto},
          {"predict.trial_rows", "1", kDoubtful},
          {"predict.warmup_steps", "12"},
          {"predict.full_steps", "7"},
          {"predict.steps_max", "3"},
          {"predict.correct_steps", "2"},
          {"predict.correction_interval", "2"},
          {"predict.consecutive_max", "1"},
          {"predict.confidence_min", "0.99", kAuto},
          {"predict.only_stable_rate", "false"},
          {"monitor.deviation_max", "100", kTrouble},
          {"monitor.explosion_factor", "1.1"},
          {"monitor.vanishing_factor", "0.9"},
          {"recovery.snapshot_every", "3", kTrouble},
          {"recovery.rollbacks_max", "0", kTrouble},
          {"recovery.rate_factor", "0.01", kTrouble},
          {"recovery.clean_steps", "1", kTroubleAgain}};
}

TEST_F(KeysTest, EachThatMayMoveWeightsDoes) {
  std::map<Values, std::string> ends;  // Of the runs that others are compared with.
  // A scale moves no bit but where a gradient is too large: LossScaling's tests have such ones.
  std::set<std::string> shown = {"data.loss_scale"};
  for (const Effect& effect : effects()) {
    Values values = kSmallRun;
    values.insert(values.end(), effect.before.begin(), effect.before.end());
    const auto [end, is_new] = ends.try_emplace(values);
    if (is_new) end->second = outcome_of(values);
    values.emplace_back(effect.key, effect.value);
    EXPECT_NE(outcome_of(values), end->second) << effect.key;
    shown.insert(effect.key);
  }
  for (const train::KeyAndValue& each : train::values_of({})) {
    EXPECT_EQ(shown.contains(std::string(each.key)), train::moves_weights(each.key)) << each.key;
  }
}

TEST_F(KeysTest, NoOtherDoes) {
  const std::string end = outcome_of(kSmallRun);
  for (const auto& [key, value] : Values{{"data.recompute", "true"},
                                         {"optimizer.offload", "always"},
                                         {"memory.budget", "1GiB"},
                                         {"validate.every", "7"},
                                         {"run.folder", folder_ + "/out"}}) {
    Values values = kSmallRun;
    values.emplace_back(key, value);
    EXPECT_EQ(outcome_of(values), end) << key;
  }
  Values saved = kSmallRun;
  saved.insert(saved.end(), {{"run.folder", folder_ + "/saved"},
                             {"checkpoint.every", "9"},
                             {"checkpoint.minutes", "0.0001"},
                             {"checkpoint.background", "false"},
                             {"checkpoint.keep", "1"}});
  EXPECT_EQ(outcome_of(saved), end);
}

}  // namespace
}  // namespace berth::trainer
