// SPDX-License-Identifier: Apache-2.0
// Runs where memory is short.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "trainer/memory.h"
#include "trainer/run.h"
#include "trainer/run_for_test.h"

namespace berth::trainer {
namespace {

using testing::HasSubstr;

using RunMemoryTest = RunTest;

TEST_F(RunMemoryTest, WhatTheOptimizerKeepsMakesRoomWhereItIsToldToOrAskedTo) {
  train::Settings settings = this->settings();
  const auto kept = run_training(settings, {});
  ASSERT_TRUE(kept.ok());
  settings.offload = train::Offload::kAlways;
  settings.folder = folder_ + "/always";
  const auto away = run_training(settings, {});
  ASSERT_TRUE(away.ok()) << away.error().message;
  EXPECT_EQ(away->validation_loss, kept->validation_loss);
  EXPECT_LT(away->memory_peak, kept->memory_peak);
  EXPECT_LT(away->memory, kept->memory);
  for (const bool may : {true, false}) {
    Listener listener;
    listener.asks = {{3, {.kind = Ask::Kind::kMakeRoom, .number = 0}}};
    std::vector<std::string> said;
    settings.offload = may ? train::Offload::kShort : train::Offload::kNever;
    settings.folder = folder_ + (may ? "/short" : "/never");
    const auto asked = run_training(
        settings,
        {.say = [&](const std::string& line) { said.push_back(line); }, .coordination = &listener});
    ASSERT_TRUE(asked.ok()) << asked.error().message;
    EXPECT_EQ(asked->memory, may ? away->memory : kept->memory);
    EXPECT_EQ(asked->validation_loss, kept->validation_loss);
    EXPECT_TRUE(listener.answers.empty());
    ASSERT_EQ(said.size(), may ? 1U : 0U);
    EXPECT_TRUE(!may || said[0].starts_with("asked for memory: "));
  }
}

// An episode: it saves itself once, takes smaller pieces, and offloads.
TEST_F(RunMemoryTest, NearItsBudgetItSavesItselfAndMakesRoom) {
  train::Settings settings = this->settings();
  const auto kept = run_training(settings, {});
  ASSERT_TRUE(kept.ok());
  settings.folder = fresh_folder();
  settings.memory_budget = std::to_string(kept->memory_peak.value) + "B";
  std::vector<std::string> said;
  const auto near =
      run_training(settings, {.say = [&](const std::string& line) { said.push_back(line); }});
  ASSERT_TRUE(near.ok()) << near.error().message;
  EXPECT_THAT(said, testing::Contains(HasSubstr("memory: critical: ")));
  EXPECT_EQ(std::ranges::count_if(
                said, [](const std::string& line) { return line.contains("/emergency-"); }),
            1);
  EXPECT_THAT(said, testing::Contains(HasSubstr("memory: smaller micro-batch: done")));
  EXPECT_THAT(said, testing::Contains(HasSubstr("memory: offload: done")));
  EXPECT_LT(near->memory, kept->memory);
  EXPECT_NEAR(near->validation_loss, kept->validation_loss, 0.05);
}

TEST_F(RunMemoryTest, ARunWhoseOptimizerIsOffloadedGoesOnToTheLastBit) {
  const auto whole = run_training(settings(), {});
  train::Settings apart = settings();
  apart.folder = folder_ + "/apart";
  apart.offload = train::Offload::kAlways;
  const auto rest = stopped_and_resumed(apart, 14);
  ASSERT_TRUE(rest.ok()) << rest.error().message;
  EXPECT_EQ(rest->validation_loss, whole->validation_loss);
}

// The last of what there is before a run saves itself and ends.
TEST_F(RunMemoryTest, WhenNotEvenOneRowFitsTheOptimizerMakesRoom) {
  train::Settings least = settings();
  least.hybrid.mode = Mode::kOff;
  least.hybrid.micro_rows = 1;
  least.recompute = true;
  least.validate_every = 0;
  const auto needs = run_training(least, {});
  ASSERT_TRUE(needs.ok());
  const Bytes step = saturating_sub(needs->memory_peak, needs->memory);
  least.folder = folder_ + "/short";
  std::vector<std::string> said;
  const auto leave_half = [&](const Progress& progress) {
    if (progress.report.step != 3) return;
    limit_tensor_memory(tensor_memory().now + Bytes{step.value / 2});
  };
  const RunControl control{.progress = leave_half,
                           .say = [&](const std::string& line) { said.push_back(line); }};
  const auto short_of = run_training(least, control);
  limit_tensor_memory(Bytes::max());
  ASSERT_TRUE(short_of.ok()) << short_of.error().message;
  EXPECT_EQ(short_of->validation_loss, needs->validation_loss);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(said[0], HasSubstr("out of memory: from here on what the optimizer keeps"));
}

TEST_F(RunMemoryTest, WhenMemoryIsAtItsEndItSavesBeforeItDies) {
  train::Settings plain = settings();
  plain.hybrid.mode = Mode::kOff;
  plain.recompute = true;  // So that nothing else is left to try.
  plain.offload = train::Offload::kNever;
  plain.hybrid.micro_rows = 1;
  plain.validate_every = 0;
  train::Settings other = plain;
  other.folder = folder_ + "/other";
  const auto whole = run_training(other, {});
  const auto died = run_training(plain, {.progress = [](const Progress& progress) {
                                   if (progress.report.step != 9) return;
                                   limit_tensor_memory(tensor_memory().now + Bytes{4096});
                                 }});
  limit_tensor_memory(Bytes::max());
  ASSERT_FALSE(died.ok());
  EXPECT_THAT(died.error().message, HasSubstr("out of memory with one row of 16 tokens"));
  EXPECT_THAT(died.error().message, HasSubstr("emergency"));
  const auto rest = run_training(plain, {.resume = true});
  ASSERT_TRUE(rest.ok()) << rest.error().message;
  EXPECT_EQ(rest->validation_loss, whole->validation_loss);
}

}  // namespace
}  // namespace berth::trainer
