// SPDX-License-Identifier: Apache-2.0
#include "train/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace berth::train {
namespace {

using testing::HasSubstr;

std::string problem(std::string_view key, std::string_view value) {
  Settings settings;
  const Status status = set(settings, key, value);
  return status.ok() ? "" : status.error().message;
}

TEST(Settings, EachKeyHasAPlaceOfItsOwn) {
  // Another value for each of them; each is told again, and changes nothing else.
  const std::map<std::string_view, std::string> by_type = {
      {"true", "false"},  {"false", "true"},      {"stable_decay", "cosine"},
      {"auto", "forced"}, {"linear", "nesterov"}, {"nano", "micro"},
      {"adamw", "muon"},  {"fp32", "bf16"},       {"benefit", "dynamics"},
      {"", "elsewhere"},  {"cpu", "cuda"},        {"short", "always"}};
  const Settings defaults;
  const std::vector<KeyAndValue> before = values_of(defaults);
  for (std::size_t i = 0; i < before.size(); ++i) {
    Settings settings;
    const auto known = by_type.find(before[i].value);
    std::string other = known == by_type.end() ? "2" : known->second;
    if (before[i].value == "2") other = "3";
    // Numbers that are shares take no 2.
    if (!set(settings, before[i].key, other).ok()) other = "0.25";
    ASSERT_TRUE(set(settings, before[i].key, other).ok()) << before[i].key;
    const std::vector<KeyAndValue> after = values_of(settings);
    for (std::size_t k = 0; k < after.size(); ++k) {
      EXPECT_EQ(after[k].value, k == i ? other : before[k].value)
          << before[i].key << " changes " << after[k].key;
    }
  }
  EXPECT_EQ(before.size(), 62U);
}

TEST(Settings, WhatIsToldCanBeSet) {
  const Settings defaults;
  for (const KeyAndValue& each : values_of(defaults)) {
    EXPECT_EQ(problem(each.key, each.value), "") << each.key;
  }
}

TEST(Settings, AnUnknownKeyIsAnErrorThatNamesANearOne) {
  EXPECT_EQ(problem("rate.warmup_step", "3"),
            "no key 'rate.warmup_step'; did you mean 'rate.warmup_steps'?");
  EXPECT_THAT(problem("nonsense", "3"), HasSubstr("no key 'nonsense'"));
}

TEST(Settings, AWrongValueIsAnErrorThatSaysWhatWouldBeRight) {
  EXPECT_EQ(problem("data.rows", "many"),
            "data.rows: 'many' is not a whole number from 1 to 65536");
  EXPECT_EQ(problem("data.rows", "0"), "data.rows: '0' is not a whole number from 1 to 65536");
  EXPECT_EQ(problem("data.rows", "3.5"), "data.rows: '3.5' is not a whole number from 1 to 65536");
  EXPECT_EQ(problem("run.seed", "-1"), "run.seed: '-1' is not a whole number from 0 on");
  EXPECT_EQ(problem("rate.rate", "nan"), "rate.rate: 'nan' is not a number from 1e-12 to 10");
  EXPECT_EQ(problem("rate.min_share", "1.5"), "rate.min_share: '1.5' is not a number from 0 to 1");
  EXPECT_EQ(problem("predict.mode", "on"), "predict.mode: 'on' is not off, auto or forced");
  EXPECT_EQ(problem("predict.only_stable_rate", "1"),
            "predict.only_stable_rate: '1' is not true or false");
}

TEST(Settings, PartsMustFitTogether) {
  Settings settings;
  EXPECT_THAT(check(settings).error().message, HasSubstr("run.text"));
  settings.text = "book.txt";
  EXPECT_TRUE(check(settings).ok());
  settings.columns = 65;
  EXPECT_THAT(check(settings).error().message, HasSubstr("64 tokens"));
  settings.model = "micro";
  EXPECT_TRUE(check(settings).ok());
  settings.checkpoint_every = 5;
  EXPECT_THAT(check(settings).error().message, HasSubstr("run.folder"));
  settings.folder = "out";
  EXPECT_TRUE(check(settings).ok());
  settings.hybrid.predictor = PredictorKind::kAdam;
  EXPECT_TRUE(check(settings).ok());
  settings.hybrid.optimizer.kind = OptimizerKind::kMuon;
  EXPECT_THAT(check(settings).error().message, HasSubstr("predict.predictor: adam"));
  settings.hybrid.predictor = PredictorKind::kLinear;
  settings.lease_vram = "much";
  EXPECT_THAT(check(settings).error().message, HasSubstr("lease.vram: "));
  settings.lease_vram = "0";
  EXPECT_THAT(check(settings).error().message, HasSubstr("lease.vram: nothing would fit"));
  settings.lease_vram = "8";
  EXPECT_THAT(check(settings).error().message, HasSubstr("lease.vram: a size needs a unit"));
  settings.lease_vram = "1.5GiB";
  EXPECT_TRUE(check(settings).ok());
  settings.memory_budget = "some";
  EXPECT_THAT(check(settings).error().message, HasSubstr("memory.budget: "));
  settings.memory_budget = "2GiB";
  EXPECT_TRUE(check(settings).ok());
  settings.hybrid.loss_scale = 1000;
  EXPECT_THAT(check(settings).error().message,
              HasSubstr("data.loss_scale: '1000' is neither 0 nor a power of two up to 16777216"));
  settings.hybrid.loss_scale = 1024;
  settings.precision = Precision::kFp16;
  EXPECT_THAT(check(settings).error().message, HasSubstr("data.precision: fp16 is for GPUs"));
  settings.hybrid.device = Device::kCuda;
  EXPECT_TRUE(check(settings).ok());
  settings.model = "huge";
  EXPECT_THAT(check(settings).error().message, HasSubstr("nano, micro"));
}

TEST(Settings, CommandLine) {
  const std::vector<std::string> words = {"run.toml", "--rate.rate", "0.1", "--run.seed=2",
                                          "--resume"};
  const auto arguments = parse_arguments(words);
  ASSERT_TRUE(arguments.ok());
  EXPECT_EQ(arguments->file, "run.toml");
  EXPECT_TRUE(arguments->resume);
  EXPECT_FALSE(arguments->help);
  ASSERT_EQ(arguments->keys.size(), 2U);
  EXPECT_EQ(arguments->keys[0].key, "rate.rate");
  EXPECT_EQ(arguments->keys[0].value, "0.1");
  EXPECT_EQ(arguments->keys[1].key, "run.seed");
  EXPECT_EQ(arguments->keys[1].value, "2");
}

TEST(Settings, WrongCommandLinesAreErrors) {
  EXPECT_THAT(parse_arguments({"--rate.rate"}).error().message, HasSubstr("--rate.rate"));
  EXPECT_THAT(parse_arguments({"a.toml", "b.toml"}).error().message, HasSubstr("a.toml"));
}

TEST(Settings, WhatGoesOnAlreadyIsNotPredictedBesides) {
  Settings settings{.text = "text"};
  settings.hybrid.lookahead.steps = 0.5;
  EXPECT_THAT(check(settings).error().message, HasSubstr("it wants predict.mode 'off'"));
  settings.hybrid.mode = Mode::kOff;
  EXPECT_TRUE(check(settings).ok());
}

TEST(Settings, WhatDecidesNoWeightMayDifferBetweenTheProcessesOfARun) {
  for (const auto* key : {"run.folder", "validate.every", "checkpoint.http", "lease.vram"}) {
    EXPECT_FALSE(moves_weights(key)) << key;
  }
  for (const auto* key : {"run.seed", "data.rows", "rate.rate", "predict.mode"}) {
    EXPECT_TRUE(moves_weights(key)) << key;
  }
}

}  // namespace
}  // namespace berth::train
