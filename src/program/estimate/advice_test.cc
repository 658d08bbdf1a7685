// SPDX-License-Identifier: Apache-2.0
#include "estimate/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "estimate/models_for_test.h"

namespace berth::estimate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Rule rule(const Advice& advice, std::string_view name) {
  const auto found = std::ranges::find(advice.rules, name, &Rule::name);
  return found == advice.rules.end() ? Rule{} : *found;
}

TEST(Advice, WhatIsAdvisedFitsAndKeepsTheBatch) {
  for (const std::uint64_t size : {6U, 8U, 12U, 16U, 24U, 40U, 80U}) {
    for (const std::uint64_t batch : {1U, 7U, 32U, 100U, 512U}) {
      const Wish wish{.gpus = {gib(size)}, .effective_batch = batch};
      const Advice advice = advise(kGpt2, wish);
      ASSERT_TRUE(advice.fits) << size;
      EXPECT_LE(advice.peak + wish.context, gib(size));
      EXPECT_EQ(advice.peak, estimate_training(kGpt2, advice.training).peak);
      EXPECT_EQ(advice.effective_batch, advice.training.batch * advice.accumulation);
      EXPECT_GE(advice.effective_batch, batch);
      EXPECT_LT(advice.effective_batch, batch + advice.training.batch);
      for (const Rule& each : advice.rules) {
        EXPECT_FALSE(each.setting.empty() || each.reason.empty()) << each.name;
      }
    }
  }
}

TEST(Advice, EachProfileBeginsWhereItsMemoryLets) {
  EXPECT_EQ(profile_of(gib(8)), Profile::kOf8Gb);
  EXPECT_EQ(profile_of(mib(15'872)), Profile::kOf16Gb);
  EXPECT_EQ(profile_of(gib(24)), Profile::kOf24Gb);
  EXPECT_EQ(profile_of(gib(80)), Profile::kOf24Gb);
  const Advice large = advise(kGpt2, {.gpus = {gib(24)}});
  EXPECT_EQ(large.training.precision, Precision::kFull);
  EXPECT_EQ(large.training.checkpointing, Checkpointing::kNone);
  const Advice middle = advise(kGpt2, {.gpus = {gib(16)}});
  EXPECT_EQ(middle.training.precision, Precision::kMixed);
  EXPECT_EQ(middle.training.checkpointing, Checkpointing::kNone);
  const Advice small = advise(kGpt2, {.gpus = {gib(8)}});
  EXPECT_EQ(small.training.checkpointing, Checkpointing::kLayers);
  EXPECT_THAT(rule(small, "gradient_checkpointing").reason, HasSubstr("a fifth longer"));
}

TEST(Advice, TheSmallestGpuCountsAndNotTheSum) {
  const Advice four = advise(kSeven, {.gpus = {gib(10), gib(10), gib(10), gib(10)}});
  EXPECT_FALSE(four.fits);
  EXPECT_THAT(rule(four, "model_size").setting, "does not fit");
  EXPECT_THAT(rule(four, "model_size").reason,
              HasSubstr("each of 4 GPUs holds a whole copy, so the smallest counts and not the "
                        "40.0 GiB"));
  EXPECT_FALSE(rule(four, "largest_model").setting.empty());
  const Advice unequal = advise(kGpt2, {.gpus = {gib(80), gib(8)}});
  EXPECT_EQ(unequal.profile, Profile::kOf8Gb);
  EXPECT_LE(unequal.peak, gib(8));
  EXPECT_EQ(unequal.effective_batch, unequal.training.batch * unequal.accumulation * 2);
}

TEST(Advice, WhereMomentsOfFourBytesDoNotFitTheyAreMadeSmaller) {
  const Advice advice = advise(kSeven, {.gpus = {gib(48)}, .effective_batch = 8});
  ASSERT_TRUE(advice.fits);
  EXPECT_EQ(advice.training.optimizer, Optimizer::kAdamW8bit);
  EXPECT_EQ(rule(advice, "optimizer").setting, "adamw8bit");
  EXPECT_EQ(rule(advise(kGpt2, {.gpus = {gib(48)}}), "optimizer").setting, "");
}

TEST(Advice, OneMoreSequenceWouldNotFit) {
  const Wish wish{.gpus = {gib(8)}, .effective_batch = 1'000'000'007};  // A prime.
  const Advice advice = advise(kGpt2, wish);
  ASSERT_TRUE(advice.fits);
  Training more = advice.training;
  ++more.batch;
  EXPECT_GT(estimate_training(kGpt2, more).peak, advice.room);
  EXPECT_THAT(rule(advice, "batch_per_gpu").reason, HasSubstr("one more would take"));
  EXPECT_THAT(rule(advice, "accumulation").reason, HasSubstr("can be divided so"));
  EXPECT_THAT(
      rule(advise(kGpt2, {.gpus = {gib(80)}, .effective_batch = 2}), "batch_per_gpu").reason,
      Not(HasSubstr("one more")));
}

TEST(Advice, WithoutAModelItIsSaidHowLargeOneMayBe) {
  const std::vector<Rule> rules = advise_size({.gpus = {gib(16)}});
  ASSERT_EQ(rules.size(), 3);
  // 16 GiB less a twentieth and a context, 70 % of that, 16 bytes each.
  EXPECT_EQ(rules[0].setting, "up to 690.5 million parameters");
  EXPECT_THAT(rules[0].reason, HasSubstr("16 bytes each"));
  EXPECT_THAT(rules[1].reason, HasSubstr("10 bytes each"));
  EXPECT_THAT(rules[2].reason, HasSubstr("8 bytes each"));
}

}  // namespace
}  // namespace berth::estimate
