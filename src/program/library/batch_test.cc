// SPDX-License-Identifier: Apache-2.0
#include "library/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "berth/berth.h"

namespace berth::library {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BatchCalls : public ::testing::Test {
 protected:
  BatchCalls() : directory_(make_directory()) {}
  ~BatchCalls() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  static std::string make_directory() {
    std::string path = (std::filesystem::temp_directory_path() / "berth.XXXXXX").string();
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    return path;
  }
  berth_batch make(std::uint64_t size, const char* fingerprint) {
    const std::string below = directory_ + "/below";
    const berth_batch_options options = {.size = sizeof options,
                                         .batch = size,
                                         .fingerprint = fingerprint,
                                         .directory = below.c_str()};
    berth_batch batch = 0;
    EXPECT_EQ(berth_batch_create(0, &options, &batch), BERTH_OK) << berth_last_error();
    return batch;
  }
  berth_batch_plan fresh() const { return {.size = sizeof(berth_batch_plan)}; }

  std::string directory_;
};

TEST_F(BatchCalls, HalvesUntilThereIsNothingSmallerAndSaysWhatToChange) {
  const berth_batch batch = make(8, nullptr);
  berth_batch_plan plan = fresh();
  ASSERT_EQ(berth_batch_current(batch, &plan), BERTH_OK);
  EXPECT_EQ(plan.micro, 8U);
  std::vector<std::uint64_t> sizes;
  while (berth_batch_out_of_memory(batch, &plan) == BERTH_OK) {
    sizes.push_back(plan.micro);
    EXPECT_EQ(plan.micro * plan.accumulation, 8U);
  }
  EXPECT_THAT(sizes, ElementsAre(4, 2, 1));
  EXPECT_THAT(berth_last_error(), HasSubstr("gradient checkpointing"));
  EXPECT_EQ(plan.failures, 4U);
  EXPECT_EQ(berth_batch_destroy(batch), BERTH_OK);
  EXPECT_EQ(berth_batch_current(batch, &plan), BERTH_STALE);
}

TEST_F(BatchCalls, WhatHasWorkedIsRememberedForTheNextRun) {
  berth_batch_plan plan = fresh();
  berth_batch batch = make(64, "gpt2 T=1024");
  ASSERT_EQ(berth_batch_out_of_memory(batch, &plan), BERTH_OK);
  ASSERT_EQ(berth_batch_out_of_memory(batch, &plan), BERTH_OK);
  ASSERT_EQ(berth_batch_step_done(batch, &plan), BERTH_OK) << berth_last_error();
  EXPECT_EQ(berth_batch_destroy(batch), BERTH_OK);

  batch = make(64, "gpt2 T=1024");
  ASSERT_EQ(berth_batch_current(batch, &plan), BERTH_OK);
  EXPECT_EQ(plan.micro, 16U);
  EXPECT_EQ(plan.remembered, 1U);
  EXPECT_EQ(berth_batch_destroy(batch), BERTH_OK);

  batch = make(64, "gpt2 T=2048");
  ASSERT_EQ(berth_batch_current(batch, &plan), BERTH_OK);
  EXPECT_EQ(plan.micro, 64U);
  EXPECT_EQ(plan.remembered, 0U);
  EXPECT_EQ(berth_batch_destroy(batch), BERTH_OK);
}

TEST_F(BatchCalls, FileOfWhateverContentIsNoReasonToFail) {
  berth_batch_plan plan = fresh();
  berth_batch batch = make(64, "x");
  ASSERT_EQ(berth_batch_step_done(batch, &plan), BERTH_OK);
  EXPECT_EQ(berth_batch_destroy(batch), BERTH_OK);
  for (const auto& entry : std::filesystem::directory_iterator(directory_ + "/below")) {
    std::ofstream(entry.path()) << "berth batch 1\nmicro 99999999999999999999999\nx\n";
  }
  batch = make(64, "x");
  ASSERT_EQ(berth_batch_current(batch, &plan), BERTH_OK);
  EXPECT_EQ(plan.micro, 64U);
  EXPECT_EQ(berth_batch_destroy(batch), BERTH_OK);
}

TEST_F(BatchCalls, WhereNothingCanBeWrittenThePlanIsToldAllTheSame) {
  std::ofstream(directory_ + "/below") << "a file, where a directory is to be";
  const berth_batch batch = make(64, "x");
  berth_batch_plan plan = fresh();
  EXPECT_EQ(berth_batch_step_done(batch, &plan), BERTH_IO);
  EXPECT_EQ(plan.micro, 64U);
  EXPECT_EQ(berth_batch_step_done(batch, &plan), BERTH_OK) << "it is tried once";
  EXPECT_EQ(berth_batch_destroy(batch), BERTH_OK);
}

TEST_F(BatchCalls, RememberedTextIsOfOneFingerprint) {
  EXPECT_EQ(parse_remembered(remembered_text("a", 12), "a"), 12U);
  EXPECT_FALSE(parse_remembered(remembered_text("a", 12), "b"));
  EXPECT_FALSE(parse_remembered("", "a"));
  EXPECT_FALSE(parse_remembered("berth batch 2\nmicro 1\na\n", "a"));
  EXPECT_FALSE(parse_remembered("berth batch 1\nmicro -1\na\n", "a"));
}

TEST_F(BatchCalls, OptionsThatMakeNoSenseAreRefused) {
  berth_batch batch = 0;
  berth_batch_options options = {.size = sizeof options};
  EXPECT_EQ(berth_batch_create(0, &options, &batch), BERTH_INVALID);
  options.batch = 8;
  options.fingerprint = "two\nlines";
  EXPECT_EQ(berth_batch_create(0, &options, &batch), BERTH_INVALID);
  EXPECT_EQ(berth_batch_create(0, nullptr, &batch), BERTH_INVALID);
  EXPECT_EQ(berth_batch_create(12, &options, &batch), BERTH_INVALID);
  options.fingerprint = nullptr;
  EXPECT_EQ(berth_batch_create(12, &options, &batch), BERTH_STALE);
}

struct Trials {
  std::uint64_t limit = 0;
  std::vector<std::uint64_t> sizes;
};
std::int32_t trial(void* user, std::uint64_t size) {
  auto& trials = *static_cast<Trials*>(user);
  trials.sizes.push_back(size);
  return size <= trials.limit ? BERTH_OK : BERTH_OUT_OF_MEMORY;
}

TEST_F(BatchCalls, SearchTriesAndKeepsAMargin) {
  Trials trials{.limit = 100, .sizes = {}};
  const berth_batch_search search = {
      .size = sizeof search, .model_bytes = 1, .user = &trials, .trial = &trial};
  std::uint64_t best = 0;
  ASSERT_EQ(berth_find_batch_size(0, &search, &best), BERTH_OK) << berth_last_error();
  EXPECT_LE(best, 95U);
  EXPECT_GE(best, 88U);
  EXPECT_EQ(trials.sizes.front(), 1U) << "nothing is known of the device";
}

TEST_F(BatchCalls, SearchWithoutRoomForOneSaysSo) {
  Trials trials{.limit = 0, .sizes = {}};
  const berth_batch_search search = {.size = sizeof search, .user = &trials, .trial = &trial};
  std::uint64_t best = 7;
  EXPECT_EQ(berth_find_batch_size(0, &search, &best), BERTH_OUT_OF_MEMORY);
  EXPECT_EQ(best, 0U);
  EXPECT_THAT(berth_last_error(), HasSubstr("batch of one"));
}

TEST_F(BatchCalls, TrialThatFailsOtherwiseEndsTheSearch) {
  const berth_batch_search search = {
      .size = sizeof search, .trial = [](void*, std::uint64_t) -> std::int32_t { return 77; }};
  std::uint64_t best = 0;
  EXPECT_EQ(berth_find_batch_size(0, &search, &best), BERTH_CALLBACK);
  const berth_batch_search wrong = {.size = sizeof wrong, .margin = 2};
  EXPECT_EQ(berth_find_batch_size(0, &wrong, &best), BERTH_INVALID);
}

}  // namespace
}  // namespace berth::library
